"""The commits of a range, and their sessions with turns, for a page."""

from __future__ import annotations

from typing import NamedTuple

from gitcp.agents import find_client, transcripts
from gitcp.agents.reading.turns import gather_turns
from gitcp.checkpoints import listing
from gitcp.checkpoints.redactor import WITHHELD, can_read_rules, get_redactor, has_personal_rules
from gitcp.checkpoints.stored import Parts, Places, pick_session, read_task_transcripts
from gitcp.errors import Error
from gitcp.extras.page import page_parts
from gitcp.git import decode_name, refs
from gitcp.git.kept import Kept, make_key
from gitcp.git.records import load_entry
from gitcp.lines import exports, prices, sums, tally
from gitcp.lines.tally import find_model
from gitcp.link import commits
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.agents.reading.turns import Turn
    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.extras.page.page_parts import Links, Step
    from gitcp.git.repo import Repo
    from gitcp.lines.committed.evidence import Evidence
    from gitcp.lines.prices import Prices
    from gitcp.lines.tally import Tally
    from gitcp.text.record_types import Record

    # path -> (a session, or a word of tally.WHO; the author of the commit)
    Removers = dict[str, set[tuple[str, str]]]
    Steps = dict[str, list[Step]]
    # Commit, path -> the authors of its lines, and that of the other lines.
    Credits = dict[tuple[str, str], tuple[Mapping[int, Author], Author]]

_RULES = "gitcp.redact"  # how the keys begin that decide what is redacted
_FORM = 1  # of what is kept; higher with each change of it
NEWEST = 50  # commits of a page without a name


def list_commits(repo: Repo, name: str) -> list[Record]:
    """The commit records of a range, a commit, a checkpoint or a session, '' for the
    newest commits; newest first.  Raises Error for an unknown name, and if no commit belongs to it.
    """
    if not name:
        return list(commits.list_commits(repo, [], [f"-n{NEWEST}"]))
    if is_range(name):
        return list(commits.list_commits(repo, name.split()))
    kind, key = commits.resolve_name(repo, name)
    if kind == "commit":
        return list(commits.list_commits(repo, [key], ["-n1"]))
    matching = [
        record
        for record in commits.list_commits(repo, [], listing.ALL)
        if any(key in (c["checkpoint_id"], *c.get("sessions", ())) for c in record["checkpoints"])
    ]
    if not matching:
        raise Error(f"no commit belongs to '{name}': there is no page to make")
    return matching


def is_range(name: str) -> bool:
    """Whether a name is a range in git's syntax."""
    return ".." in name or name.startswith("^") or "^!" in name


def gather_sessions(repo: Repo, records: Sequence[Record]) -> Iterator[Record]:
    """The sessions of commit records (newest first) with their turns, oldest first.

    The transcript is that of a session's newest checkpoint, which has all turns; those of its
    subagents are in the checkpoints of the commits that they worked for.
    """
    root = (repo.top or repo.common) + "/"
    stored: dict[str, list[tuple[str, Record]]] = {}
    for checkpoint in (checkpoint for record in records for checkpoint in record["checkpoints"]):
        for part in checkpoint.get("contents", ()):
            parts = stored.setdefault(part["session_id"], [])
            parts.append((checkpoint["checkpoint_id"], part))
    table = prices.load(repo)
    ids = [checkpoint_id for parts in stored.values() for checkpoint_id, _ in parts]
    places = _find_checkpoints(repo, ids)
    opened = ""
    for session_id, parts in term.iterate_shown("reading sessions", [*reversed(stored.items())]):
        newest, part = parts[0]
        if opened != newest:  # sessions of a checkpoint come one after the other
            reader, opened = Parts(repo.objects, newest), newest
            checkpoint = reader.load_checkpoint(*places[newest])
        try:
            entry = pick_session(checkpoint, session_id)
        except Error:
            continue  # damaged: the page is made without it
        tasks: dict[str, bytes] = {}
        for checkpoint_id, _ in reversed(parts):
            folder = places[checkpoint_id][1]
            tasks |= read_task_transcripts(repo.objects, checkpoint_id, folder)
        transcript = reader.read_transcript(entry["files"], entry["directory"])
        turns = _gather_turns(transcript, tasks, part.get("agent"), root)
        yield _describe_session(session_id, part, entry["metadata"], turns, table)


def _find_checkpoints(repo: Repo, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """id -> (ref, directory) of checkpoints, whose directories are fetched."""
    places = Places(repo)
    repo.objects.ahead.fetch(places.list_unread_shards(ids))
    directories = {cid: place for cid in ids if (place := places.find_checkpoint(cid))}
    repo.objects.ahead.fetch(tree for _, tree in directories.values())
    return directories


def _describe_session(
    session_id: str, part: Record, metadata: Record, turns: list[Turn], table: Prices | None
) -> Record:
    """The record of a session with its turns; cost is None if its prices are unknown."""
    spent = [turn["spent"] for turn in turns if turn["spent"]]
    stored = transcripts.add_tokens(*spent) if spent else part.get("token_usage")
    used = transcripts.count_spent(stored, part.get("agent")) if stored else None
    model = str(metadata.get("model") or find_model(metadata.get("turns")))
    return {
        "session_id": session_id,
        "agent": part.get("agent") or "agent",
        "model": model,
        "tokens": used,
        "cost": table.cost(model, used) if table and used and model else None,
        "prices": table,
        "resume": find_client(str(part.get("agent"))).format_resume_command(session_id),
        "turns": turns,
    }


def _gather_turns(data: bytes, tasks: dict[str, bytes], agent: object, root: str) -> list[Turn]:
    """The turns of a transcript with their tokens; paths are relative to the worktree's root."""
    gathered = gather_turns(data, find_client(str(agent)), tasks, load_entry)
    todo = [part for turn in gathered for part in turn["parts"]]
    for part in todo:
        if "path" in part:
            part["path"] = part["path"].removeprefix(root)
        todo += part.get("task", ())
    return gathered


def open_kept(repo: Repo, kind: str) -> Kept:
    """What was kept for pages of this repository's rules of redaction."""
    keys = [*sorted(repo.config.list_keys(_RULES, "")), "gitcp.images"]
    rules = [(key, repo.config.get_all(key)) for key in keys]
    return Kept(repo, kind, f"{_FORM} {rules}")


def open_drawn(repo: Repo) -> Kept | None:
    """The hunks that earlier pages drew, as they were redacted; None if the rules are not all in
    the configuration."""
    if not can_read_rules(repo) or has_personal_rules(repo):
        return None
    return open_kept(repo, "drawn")


def make_redaction(repo: Repo, clean: Kept) -> Callable[[Sequence[str]], list[str]]:
    """The function that redacts texts, many at once, which is faster for short ones.  clean: the
    digests of texts in which nothing was found; those are not searched again."""
    if not can_read_rules(repo):
        return lambda texts: [WITHHELD for _ in texts]
    redactor, every = get_redactor(repo), has_personal_rules(repo)

    def redact(texts: Sequence[str]) -> list[str]:
        data = [text.encode("utf-8", "surrogatepass") for text in texts]
        if every:
            data = [redactor.redact_text(text) for text in data]
        else:
            redact_suspects(data)
        return [text.decode("utf-8", "replace") for text in data]

    def redact_suspects(data: list[bytes]) -> None:
        keys = [make_key(text) for text in data]
        new = [number for number, key in enumerate(keys) if clean.find(key) is None]
        places = redactor.find_suspects([data[number] for number in new])
        suspects = {new[place] for place in places}
        for number in new:
            if number in suspects:
                data[number] = redactor.redact_text(data[number])
            else:
                clean.keep(keys[number], True)

    return redact


def read_forge(repo: Repo) -> Links:
    """The addresses at the forge of the current branch's remote, or else of origin."""
    branch = refs.read_branch(repo).removeprefix("refs/heads/")
    remote = repo.config.get(f"branch.{branch}.remote") or "origin"
    kind = repo.config.get("gitcp.page-forge") or "auto"
    return page_parts.find_links(repo.config.get(f"remote.{remote}.url") or "", kind)


def list_refs(repo: Repo) -> dict[str, list[str]]:
    """oid -> its branches and tags, without those of gitcp."""
    form = "--format=%(objectname) %(*objectname) %(refname:short)"
    names: dict[str, list[str]] = {}
    for line in repo.git.read_records("for-each-ref", form, "refs/heads", "refs/tags", sep=b"\n"):
        oid, peeled, name = decode_name(line).split(" ", 2)
        if not name.startswith("entire/"):
            names.setdefault(peeled or oid, []).append(name)
    return names


class Counts(NamedTuple):
    """The lines of commits."""

    stats: Record  # the record `stats`
    added: dict[str, Any]  # oid -> {path: {who: lines added}}
    removers: Removers  # path -> who may have removed lines of it
    steps: Steps  # path -> the steps of commits, newest first
    credited: Credits  # the authors of the lines that the commits add


def count_lines(
    repo: Repo, records: Sequence[Record], share_with: Evidence | None = None
) -> Counts:
    """The lines of the commits of records.  share_with: as for Evidence."""
    names = [record["oid"] for record in records]
    authors = {record["oid"]: str(record["author"]) for record in records}
    counted = {}
    removers: Removers = {}
    steps: Steps = {}
    credited: Credits = {}
    counting = sums.Sums()
    options = ["--no-walk=unsorted"]
    for commit in exports.list_commits(repo, names, (), options, share_with):
        counts = tally.count_commit(commit)
        counting.take(counts)
        for patch in tally.list_patches(commit):
            step = commit["oid"], patch["was"], patch["oid"], patch["hunks"]
            for path in {patch["path"], patch["old"]} - {""}:
                steps.setdefault(path, []).append(step)
        counted[commit["oid"]] = counts.map_files()
        for patch in tally.list_patches(commit):
            known = commit["known"].get(patch["path"], {})
            credited[commit["oid"], patch["path"]] = known, commit["unsaid"]
        cut = [p["old"] for p in tally.list_patches(commit) if any(hunk[1] for hunk in p["hunks"])]
        by = _find_removers(counts, authors[commit["oid"]]) if cut else set()
        for path in cut:
            removers.setdefault(path, set()).update(by)
    return Counts(counting.build_record(), counted, removers, steps, credited)


def _find_removers(counts: Tally, author: str) -> set[tuple[str, str]]:
    """Who may have removed lines of a commit: (session id or a word of WHO, its author)."""
    removed = counts.sum_removed()
    removers = {(kind, author) for kind, count in removed.items() if count and kind != "agent"}
    if removed["agent"]:
        for session in counts.sessions:
            if session.removed_by is not None and session.removed_by["agent"]:
                removers.add((session.session_id, author))
    return removers
