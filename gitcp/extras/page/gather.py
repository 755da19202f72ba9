"""The commits of a range, the lines that they add, and what pages kept, for a page."""

from __future__ import annotations

from dataclasses import dataclass

from gitcp.checkpoints import listing
from gitcp.checkpoints.redactor import WITHHELD, can_read_rules, get_redactor, has_personal_rules
from gitcp.errors import Error
from gitcp.extras.page import page_parts
from gitcp.git import decode_name, refs
from gitcp.git.kept import Kept, make_key
from gitcp.lines import exports, sums, tally
from gitcp.link import commits
from gitcp.text import console

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.extras.page.page_parts import Links, Step
    from gitcp.git.repo import Repo
    from gitcp.lines.committed.evidence import Evidence
    from gitcp.text.record_types import Record

    Steps = dict[str, list[Step]]
    # Commit, path -> the authors of its lines, and that of the other lines.
    Credits = dict[tuple[str, str], tuple[Mapping[int, Author], Author]]

_RULES = "gitcp.redact"  # how the keys begin that decide what is redacted
_FORM = 2  # of what is kept; higher with each change of it
NEWEST = 50  # commits of a page without a name


def list_commits(repo: Repo, name: str) -> list[Record]:
    """The commit records of a range, a commit, a checkpoint or a session, '' for the
    newest commits; newest first.  A checkpoint of theirs that is not here is warned of.  Raises
    Error for an unknown name, and if no commit belongs to it.
    """
    records = _select_commits(repo, name)
    for record in records:
        for checkpoint in record["checkpoints"]:
            if "missing" in checkpoint:
                lack = f"checkpoint '{checkpoint['checkpoint_id']}' is not here"
                console.warn_lacking(lack, console.ABSENT)
    return records


def _select_commits(repo: Repo, name: str) -> list[Record]:
    if not name:
        return list(commits.list_commits(repo, [], [f"-n{NEWEST}"]))
    if is_range(name):
        return list(commits.list_commits(repo, name.split()))
    subject = commits.resolve_name(repo, name)
    if subject.kind == "commit":
        return list(commits.list_commits(repo, [subject.key], ["-n1"]))
    matching = []
    for record in commits.list_commits(repo, [], listing.ALL):
        names: set[str] = set()
        for checkpoint in record["checkpoints"]:
            names.add(checkpoint["checkpoint_id"])
            names.update(checkpoint.get("sessions", ()))
        if subject.key in names:
            matching.append(record)
    if not matching:
        raise Error(f"no commit belongs to '{name}': there is no page to make")
    return matching


def is_range(name: str) -> bool:
    """Whether a name is a range in git's syntax."""
    return ".." in name or name.startswith("^") or "^!" in name


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
    redactor = get_redactor(repo)
    every = has_personal_rules(repo)

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


def choose_branch(repo: Repo, name: str) -> str:
    """The branch whose work a range is that begins at another branch, as in `main..HEAD`; '' for
    another name."""
    start, dots, end = name.partition("..")
    if not dots or " " in name:
        return ""
    form = "--format=%(refname:short)"
    listed = repo.git.read_records("for-each-ref", form, "refs/heads", "refs/remotes", sep=b"\n")
    branches = {decode_name(line) for line in listed}
    end = end.removeprefix(".")
    if end in ("", "HEAD"):
        end = refs.read_branch(repo).removeprefix("refs/heads/")
    if {start, end} <= branches and start != end:
        return end
    return ""


def list_refs(repo: Repo) -> dict[str, list[str]]:
    """oid -> its branches and tags, without those of gitcp."""
    form = "--format=%(objectname) %(*objectname) %(refname:short)"
    names: dict[str, list[str]] = {}
    for line in repo.git.read_records("for-each-ref", form, "refs/heads", "refs/tags", sep=b"\n"):
        oid, peeled, name = decode_name(line).split(" ", 2)
        if not name.startswith("entire/"):
            names.setdefault(peeled or oid, []).append(name)
    return names


@dataclass(slots=True)
class Counts:
    """The lines of commits.

    stats: the record `stats`.  added: oid -> {path: {who: lines added}}.  steps: path -> the steps
    of commits, newest first.  credited: the authors of the lines that the commits add.
    """

    stats: Record
    added: dict[str, Any]
    steps: Steps
    credited: Credits


def count_lines(
    repo: Repo, records: Sequence[Record], share_with: Evidence | None = None
) -> Counts:
    """The lines of the commits of records.  share_with: as for Evidence."""
    names = [record["oid"] for record in records]
    counted = {}
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
    return Counts(counting.build_record(), counted, steps, credited)
