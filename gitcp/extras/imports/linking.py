"""Importing the conversations that clients keep of a repository: how many there are, which
commits have edits of which, and their checkpoints."""

from __future__ import annotations

import heapq
import os
import tempfile
import time
from collections import Counter
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from gitcp import VERSION, agents
from gitcp.agents import transcripts
from gitcp.agents.reading import edits
from gitcp.agents.transcripts import transcript_facts
from gitcp.checkpoints import links, listing, notes, writing
from gitcp.checkpoints.redactor import Lazy, redact_text
from gitcp.checkpoints.stored import find_checkpoint, list_session_ids
from gitcp.checkpoints.transcripts import Source, StoredChunks, remove_copy, store_transcript
from gitcp.errors import Error, InputError
from gitcp.extras.imports import find, rules
from gitcp.extras.imports.find import Calls, Contents, Gathered
from gitcp.git import decode_name, files
from gitcp.git.objects import need_commit, object_lists
from gitcp.git.objects.object_lists import is_ancestor
from gitcp.lines import commit_lines, edit_lines
from gitcp.link import condense
from gitcp.record.session import others
from gitcp.record.unheard import unrecorded
from gitcp.record.unheard.conversations import find_conversation, find_conversations, list_roots
from gitcp.setup.clients import json_text
from gitcp.steps import undo
from gitcp.steps.step import CHECKPOINT, NOTE, Effect
from gitcp.text import ids as ids_
from gitcp.text import line_credit, term
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.agents import Client
    from gitcp.checkpoints.writing import SessionData
    from gitcp.extras.imports.find import Proof, Session
    from gitcp.git.objects import Changes
    from gitcp.git.repo import Repo
    from gitcp.record.unheard.unrecorded import Unheard
    from gitcp.text.line_credit import Attribution, PathCredit
    from gitcp.text.record_types import Staged, Usage

    Times = dict[str, list[float]]  # client -> the last change of each of its conversations

    class Part(TypedDict):
        """A session's work in a commit, for its metadata and lines.json.  coarse: it is known by
        time and files only, not by lines."""

        session: str
        coarse: bool
        files: dict[str, dict[str, Any]]
        lines: dict[str, list[dict[str, Any]]]
        attribution: Attribution

    class Link(TypedDict):
        """A checkpoint and the commit to link to it, '' for none.  time: that of the commit, or
        of the session's last edit, in s.  by_hand: a person links it, without evidence."""

        commit: str
        checkpoint_id: str
        by_hand: bool
        time: int
        parts: list[Part]


_OPENED = 1000  # conversations that are opened, of a client without a folder for each directory


def count_conversations(repo: Repo, home: str) -> Times:
    """client -> the times of its conversations, in s since 1970, for clients that keep them in
    files.

    A client may have a folder for each directory: then a few files of the folder are opened, since
    several directories may share it.  Of other clients the newest files of all are opened.
    """
    roots = list_roots(repo)
    times_by_client: Times = {}
    for client in map(agents.get_client, agents.list_names()):
        paths = dict.fromkeys(p for root in roots for p in client.list_conversations(home, root))
        folders: dict[str, list[str]] = {}
        for path in paths:
            if not os.path.basename(path).startswith("agent-"):  # a subagent's
                folders.setdefault(os.path.dirname(path), []).append(path)
        is_here = partial(find_conversation, client, default_root=roots[0], roots=roots)
        if client.name_project(home, roots[0]):
            here = [p for group in folders.values() if any(map(is_here, group[:3])) for p in group]
        else:
            newest = heapq.nlargest(_OPENED, chain(*folders.values()), _read_time)
            here = list(filter(is_here, newest))
        if here:
            times_by_client[client.NAME] = list(map(_read_time, here))
    return times_by_client


def _read_time(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return time.time()


def describe_counts(repo: Repo, home: str, clients: Times) -> list[str]:
    """A line with the number of conversations, and one for each client that deletes them."""
    times = []
    for group in clients.values():
        times += group
    if not times:
        return []
    oldest = time.localtime(min(times))
    today = time.localtime()
    since = time.strftime("%B" if oldest.tm_year == today.tm_year else "%B %Y", oldest)
    count = count_noun(len(times), "conversation")
    lines = [f"{count} since {since}: 'gitcp import' links their commits"]
    return [*lines, *list_deletions(repo, home, clients)]


def list_deletions(repo: Repo, home: str, clients: Times) -> list[str]:
    """A line for each client that deletes conversations and has no setting for it."""
    lines = []
    for client in map(agents.get_client, clients):
        key, days = client.DELETION_DAYS
        if key and not _is_set(client, key, repo, home):
            lines.append(
                f"{client.AGENT_TYPE} deletes conversations after {days} days:"
                f" '{key}' in its settings keeps them longer"
            )
    return lines


def _is_set(client: Client, key: str, repo: Repo, home: str) -> bool:
    for path in (*client.MANAGED, *client.list_settings_paths(home, repo.worktree).values()):
        try:
            if key in json_text.parse(decode_name(files.peek(path)) or "{}", comments=True):
                return True
        except InputError:
            continue
    return False


# The plan of an import: which commits have which sessions' edits.  Nothing is written.
#
# Commits are read oldest first.  A session's line that a commit has taken is not taken again by
# later commits: a line that was removed and restored is no new work.
_DAY = 24 * 3600
WEEK = 7 * _DAY
_FORMAT = "--format=%H%n%ct%n%at%n%ce"


class Commit:
    """A commit that may have edits of the conversations.  Times are in s."""

    __slots__ = ("author_time", "changes", "oid", "time")

    def __init__(self, oid: str, time: int, author_time: int) -> None:
        self.oid = oid
        self.time = time
        self.author_time = author_time
        self.changes: Changes = {}


class Planner:
    """Finds the links of an import."""

    def __init__(self, repo: Repo, contents: Contents, gathered: Gathered) -> None:
        self._repo = repo
        self._contents = contents
        self._gathered = gathered
        self._ancestors: dict[tuple[str, str], bool] = {}

    def find_links(self, addresses: set[str], coarse: bool = False) -> Iterator[Link]:
        """The new links by evidence, oldest commit first.  coarse: also by time and files, for
        commits without evidence."""
        yield from self._find_links(self._list_commits(addresses), coarse)

    def find_links_among(self, oids: Sequence[str]) -> Iterator[Link]:
        """The new links by evidence of some commits by any author; without oids, of all commits
        since the conversations began."""
        if oids:
            commits = list(self._add_changes(self._read_commits("--no-walk", *oids)))
        else:
            commits = self._list_commits(None)
        yield from self._find_links(commits, False)

    def _find_links(self, commits: Sequence[Commit], coarse: bool) -> Iterator[Link]:
        new_commits = [commit for commit in commits if not self._is_recorded(commit.oid)]
        proofs = self._prove(new_commits, commits)
        for commit in new_commits:
            parts = self._make_parts(commit, proofs.get(commit.oid, {}))
            parts = parts or (self._guess_part(commit) if coarse else [])
            imported = self._list_imported(commit.oid)
            parts = [part for part in parts if part["session"] not in imported]
            if parts:
                yield {
                    "commit": commit.oid,
                    "checkpoint_id": make_import_id(commit.oid),
                    "by_hand": False,
                    "time": commit.time,
                    "parts": parts,
                }

    def list_unlinked(self, linked: Collection[str]) -> Iterator[Link]:
        """A checkpoint without a commit for each session without a link or checkpoint."""
        for session_id, session in sorted(self._gathered.sessions.items()):
            checkpoint_id = make_import_id(session_id)
            if session_id in linked or not session.path:
                continue
            if find_checkpoint(self._repo, checkpoint_id) is None:
                yield self.make_unproven_link(session_id)

    def make_unproven_link(self, session_id: str, oid: str = "") -> Link:
        """A session's checkpoint for a commit without evidence of it, or for no commit."""
        session = self._gathered.sessions[session_id]
        return {
            "commit": oid,
            "checkpoint_id": make_import_id(oid or session_id),
            "by_hand": bool(oid),
            "time": session.last // 10**9 or int(session.mtime),
            "parts": [_make_bare_part(session_id)],
        }

    def has(self, oid: str, session_id: str) -> bool:
        """Whether an import has linked a commit to a session."""
        return session_id in self._list_imported(oid)

    def _list_imported(self, oid: str) -> Collection[str]:
        """The sessions that imports have linked a commit to."""
        import_id = make_import_id(oid)
        if import_id not in listing.list_linked(self._contents, oid):
            return ()
        return list_session_ids(self._repo, import_id)

    def _guess_part(self, commit: Commit) -> list[Part]:
        """The part of the session that wrote most files of a commit within a day before it; []
        without one, or if several wrote as many."""
        written_by: dict[str, set[str]] = {}
        for path in commit.changes.keys() & set(self._gathered.list_paths()):
            for session in self._gathered.list_writers(path, commit.time - _DAY, commit.time):
                written_by.setdefault(session, set()).add(path)
        most = max(map(len, written_by.values()), default=0)
        winners = [session for session, paths in written_by.items() if len(paths) == most]
        if len(winners) != 1:
            return []
        part = _make_bare_part(winners[0])
        part["coarse"] = True
        for path in sorted(written_by[winners[0]]):
            part["files"][path] = _describe_file(commit.changes[path], [])
        return [part]

    def _list_commits(self, addresses: set[str] | None) -> list[Commit]:
        """The commits that may have edits, parents first.  addresses: of their committers, None
        for all."""
        times = [session.first for session in self._gathered.sessions.values() if session.first]
        if not times:
            return []
        since = f"--since={min(times) // 10**9 - 1}"
        commits = self._read_commits(since, *listing.ALL, addresses=addresses)
        return list(self._add_changes(commits))

    def _read_commits(self, *where: str, addresses: set[str] | None = None) -> Iterator[Commit]:
        options = "log -z --no-merges --date-order --reverse --no-show-signature --no-notes"
        for item in self._repo.git.stream_records(*options.split(), _FORMAT, *where):
            oid, time, author_time, address = decode_name(item).split("\n")
            if addresses is None or address.lower() in addresses:
                yield Commit(oid, int(time), int(author_time))

    def _add_changes(self, commits: Iterable[Commit]) -> Iterator[Commit]:
        paths = set(self._gathered.list_paths())
        remaining = iter(commits)
        while True:
            window = list(islice(remaining, 500))
            if not window:
                break
            objects = (need_commit(self._contents, commit.oid) for commit in window)
            changed = object_lists.read_many_changes(self._repo, objects)
            for commit in window:
                changes = changed.get(commit.oid, {})
                if not paths.isdisjoint(changes):
                    commit.changes = changes
                    yield commit

    def _prove(
        self, new_commits: Sequence[Commit], commits: Sequence[Commit]
    ) -> dict[str, dict[str, Proof]]:
        """commit -> path -> proof of the calls on it.  Paths are handled one by one, so that memory
        holds few contents.  commits: those whose versions show what a call changed."""
        new_oids = {commit.oid for commit in new_commits}
        by_path = dict[str, list[Commit]]()
        for commit in commits:
            for path in commit.changes.keys() & set(self._gathered.list_paths()):
                by_path.setdefault(path, []).append(commit)
        proofs: dict[str, dict[str, Proof]] = {}
        for path in term.iterate_shown("Comparing commits", sorted(by_path)):
            versions = self._list_versions(path, by_path[path])
            steps = rules.list_steps(self._gathered.list_calls(path), versions)
            calls = Calls(self._contents, path, steps, self._is_ancestor)
            for commit in by_path[path]:
                if commit.oid not in new_oids:
                    continue
                in_time = partial(self._is_in_time, commit)
                proof = calls.prove(commit.oid, commit.time, commit.changes[path], in_time)
                if proof:
                    proofs.setdefault(commit.oid, {})[path] = proof
            self._contents.forget()
        return proofs

    def _is_in_time(self, commit: Commit, session_id: str) -> bool:
        """Whether a commit was made during a session, or in the week after it."""
        session = self._gathered.sessions[session_id]
        end = session.last // 10**9 + WEEK
        return session.first // 10**9 <= commit.time and (
            min(commit.time, commit.author_time) <= end
        )

    def _list_versions(self, path: str, commits: Sequence[Commit]) -> list[rules.Version]:
        """The versions of a path with their times: each commit's, and before it its parent's,
        unless that is the version listed last."""
        versions: list[tuple[int, str | None]] = []
        for commit in sorted(commits, key=lambda commit: commit.time):
            _, old, _, new = commit.changes[path]
            if not versions or versions[-1][1] != old:
                versions.append((commit.time - 1, old))
            versions.append((commit.time, new))
        return [(time, partial(self._contents.read_blob, oid)) for time, oid in versions]

    def _is_recorded(self, oid: str) -> bool:
        """Whether a commit has a link other than an import's, or a person has removed that one."""
        texts = listing.read_texts(self._contents, oid)
        import_id = make_import_id(oid)
        linked = links.list_carried(texts.message, texts.note).keys() - {import_id}
        return bool(linked) or import_id in links.list_removed(texts.note)

    def _is_ancestor(self, old: str, new: str) -> bool:
        if (old, new) not in self._ancestors:
            self._ancestors[old, new] = bool(is_ancestor(self._repo, old, new))
        return self._ancestors[old, new]

    def _make_parts(self, commit: Commit, proofs: Mapping[str, Proof]) -> list[Part]:
        """The parts of the sessions whose edits a commit has."""
        sessions = sorted({session for _, turns in proofs.values() for session in turns})
        if not sessions:
            return []
        credits = {path: credit for path, (credit, _) in proofs.items()}
        # The attribution counts all paths; nobody is known to have written those without a proof.
        unproven = {path: c for path, c in commit.changes.items() if path not in credits}
        unproven_credits = edit_lines.Edits(self._contents, ()).credit_paths(unproven)
        all_credits = [
            *credits.values(),
            *map(rules.make_person_unknown, unproven_credits.values()),
        ]
        parts: list[Part] = []
        for session in sessions:
            files: dict[str, dict[str, Any]] = {}
            own_credits: dict[str, PathCredit] = {}
            for path, (credit, last_turns) in sorted(proofs.items()):
                if session in last_turns:
                    turn_ids = credit.list_turns(session) or [last_turns[session]]
                    files[path] = _describe_file(commit.changes[path], turn_ids)
                    own_credits[path] = credit
            part: Part = {
                "session": session,
                "coarse": False,
                "files": files,
                "lines": line_credit.build_entries(session, own_credits, {}),
                "attribution": line_credit.compute_attribution(session, all_credits),
            }
            parts.append(part)
        return parts


def _describe_file(change: Staged, turn_ids: list[str]) -> dict[str, Any]:
    old_mode, old, mode, new = change
    before = [old_mode, old] if old else None
    return {"oid": new or "", "mode": mode, "turns": turn_ids, "before": before}


def _make_bare_part(session: str) -> Part:
    """A session's part without files or lines."""
    nothing = line_credit.compute_attribution(session, ())
    return {"session": session, "coarse": False, "files": {}, "lines": {}, "attribution": nothing}


def make_import_id(name: str) -> str:
    """The id of an import's checkpoint for a commit, or for a session without one: the same in
    every clone."""
    return str(ids_.start_sha256(f"gitcp import {name}".encode()).hexdigest()[:12])


# Carries out an import: checkpoints first, then all notes at once, then the step that undoes it.
#
# After a kill in between, the next import makes the same checkpoints under the same ids.
KIND = "imported"
_AT_ONCE = 100  # links whose checkpoints make one commit of the store
_PIECE = 1 << 20  # bytes of a conversation that are scanned at once
_PROMPT = 2000  # characters of a turn's prompt


class _Conversation(NamedTuple):
    """A session's stored conversation."""

    stored: StoredChunks | None  # its transcript
    prompts: list[str]
    usage: Usage | None
    spent: dict[int, Usage | None]  # time of a link -> its token usage until then
    turns: dict[str, dict[str, Any]]


def _store_conversation(repo: Repo, session: Session, times: Sequence[int]) -> _Conversation:
    name = session.session_id
    scan = session.client.scan
    redactor = Lazy(repo, name)
    source = Source(name, session.path or None, redactor, scan)
    stored = store_transcript(repo, source, complete=True)
    chunks = None
    if stored:
        chunks = StoredChunks(stored.chunks, stored.content_hash)
    scanned = None
    if stored and stored.scan:
        scanned = stored.scan
    usage = scanned["usage"] if scanned else None
    turns = {}
    for number, turn in enumerate(session.turns, 1):
        prompt = redact_text(repo, turn["prompt"], name)[:_PROMPT]
        facts = {"number": number, "prompt": prompt, "model": turn["model"]}
        turns[session.make_turn_id(number)] = facts
    spent = _compute_spent(session, times, usage)
    remove_copy(repo, name, "")
    prompts = list(scanned["prompts"]) if scanned else []
    return _Conversation(chunks, prompts, usage, spent, turns)


def _compute_spent(
    session: Session, times: Sequence[int], total: Usage | None
) -> dict[int, Usage | None]:
    """time in s -> a session's token usage until then.  A conversation that is one document has no
    lines with times: its total counts at each."""
    is_document = session.client.scan(b"{}\n")["bytes"] == 0  # its scan cannot be continued
    if total is None or is_document:
        return dict.fromkeys(times, total)
    spent: dict[int, Usage | None] = {}
    remaining = sorted(times)
    scan = session.client.scan(b"")
    unscanned: list[bytes] = []  # lines to scan
    size = 0
    try:
        with open(session.path, "rb") as stream:
            for line in stream:
                time = edits.find_line_time(line) // 10**9
                if time > remaining[0] or size > _PIECE:
                    scan = session.client.scan(b"".join(unscanned), scan)
                    scan = transcript_facts.make_cursor(scan)
                    unscanned.clear()
                    size = 0
                while remaining and time > remaining[0]:
                    spent[remaining.pop(0)] = scan["usage"]
                if not remaining:
                    break
                unscanned.append(line)
                size += len(line)
    except OSError:
        pass
    return {**dict.fromkeys(times, total), **spent}


def write_links(
    repo: Repo,
    gathered: Gathered,
    links: Sequence[Link],
    reason: str,
    imported: Mapping[str, Usage],
) -> str:
    """Store the checkpoints of links, and link the commits; return the id of the step that undoes
    it.  imported: session -> the token usage of its existing checkpoints."""
    conversations = _store_conversations(repo, gathered, links)
    counted = dict(imported)
    effects: list[Effect] = []
    for batch in term.iterate_shown("Storing checkpoints", list(_split_batches(links))):
        items = [
            (link["checkpoint_id"], _make_data(gathered, conversations, link, part, counted))
            for link in batch
            for part in link["parts"]
        ]
        ids = list(dict.fromkeys(checkpoint_id for checkpoint_id, _ in items))
        old_trees = [writing.find_tree_here(repo, id_) for id_ in ids]
        writing.write_sessions(repo, items, subject=f"Import: {reason}")
        for checkpoint_id, old in zip(ids, old_trees, strict=True):
            new = writing.find_tree_here(repo, checkpoint_id)
            if new != old:
                effects.append(Effect(CHECKPOINT, checkpoint_id, old, new))
    effects += _note_links(repo, links)
    step = undo.record_step(repo, "import", reason, effects)
    commit_lines.keep_ai_note(repo, [link["commit"] for link in links if link["commit"]])
    return step


def _split_batches(links: Iterable[Link]) -> Iterable[list[Link]]:
    remaining = iter(links)
    while True:
        batch = list(islice(remaining, _AT_ONCE))
        if not batch:
            break
        yield batch


def _store_conversations(
    repo: Repo, gathered: Gathered, links: Sequence[Link]
) -> dict[str, _Conversation]:
    times: dict[str, list[int]] = {}
    for link in links:
        for part in link["parts"]:
            times.setdefault(part["session"], []).append(link["time"])
    return {
        name: _store_conversation(repo, gathered.sessions[name], times[name])
        for name in term.iterate_shown("Storing conversations", sorted(times))
    }


def _note_links(repo: Repo, links: Sequence[Link]) -> list[Effect]:
    """Note the checkpoints on the commits; return the effects."""
    links_by_commit = {link["commit"]: link for link in links if link["commit"]}
    old = {oid: notes.read_note(repo.objects, oid) for oid in links_by_commit}
    new = {oid: _add_to_note(link, old[oid]) for oid, link in links_by_commit.items()}
    edits = {oid: partial(_add_to_note, link) for oid, link in links_by_commit.items()}
    notes.edit_notes(repo, edits)
    effects: list[Effect] = []
    for oid, note in old.items():
        if note == new[oid]:
            continue
        before = None
        if note is not None:
            before = repo.objects.write("blob", note)
        after = repo.objects.write("blob", new[oid])
        effects.append(Effect(NOTE, oid, before, after))
    return effects


def _add_to_note(link: Link, note: bytes | None) -> bytes:
    if link["by_hand"]:
        edit = links.add_link_by_hand
    else:
        edit = links.add_link
    return edit(note or b"", link["checkpoint_id"])


def _make_data(
    gathered: Gathered,
    conversations: dict[str, _Conversation],
    link: Link,
    part: Part,
    counted: dict[str, Usage],
) -> SessionData:
    """A session's part in the checkpoint of a commit.  counted: session -> the token usage of
    checkpoints so far, which is updated."""
    session = gathered.sessions[part["session"]]
    conversation = conversations[part["session"]]
    turns = conversation.turns
    files = {path: _name_turns(file, turns) for path, file in part["files"].items()}
    turn_ids = {turn for file in files.values() for turn in file["turns"]}
    created_at = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(link["time"]))
    metadata: dict[str, Any] = {
        "cli_version": VERSION,
        "session_id": part["session"],
        "strategy": "manual-commit",
        "kind": KIND,
        "created_at": created_at,
        "checkpoints_count": 0,
        "files_touched": sorted(files),
        "agent": session.client.AGENT_TYPE,
        "turn_id": "".join(_sort_turns(turn_ids, turns)[-1:]),
        "transcript_path": condense.shorten_home(session.path),
        "files": files,
        "turns": _select_turns(turns, turn_ids),
        "initial_attribution": {"calculated_at": created_at, **part["attribution"]},
    }
    details = {"commit": link["commit"], "coarse": part["coarse"]}
    metadata |= {key: value for key, value in details.items() if value}
    metadata |= _compute_cost(conversation, link["time"], part["session"], counted)
    return {
        "session_id": part["session"],
        "transcript": conversation.stored,
        "prompts": conversation.prompts,
        "metadata": metadata,
        "lines": part["lines"],
    }


def _compute_cost(
    conversation: _Conversation, time: int, session: str, counted: dict[str, Usage]
) -> dict[str, Any]:
    """A session's token usage until a commit, and the part of it that no checkpoint counts yet."""
    if not conversation.usage:
        return {}
    spent = conversation.spent[time]
    delta = transcripts.subtract_tokens(spent, counted.get(session))
    counted[session] = transcripts.add_tokens(counted.get(session), delta)
    return {"token_usage": spent or transcripts.make_usage(), "token_usage_delta": delta}


def _name_turns(file: dict[str, Any], turns: dict[str, dict[str, Any]]) -> dict[str, Any]:
    turn_ids = _sort_turns(file["turns"], turns)
    last_id = turn_ids[-1] if turn_ids else ""
    prompt = turns.get(last_id, {}).get("prompt", "")
    return {**file, "turns": turn_ids, "turn_id": last_id, "prompt": prompt}


def _sort_turns(ids: Iterable[str], turns: dict[str, dict[str, Any]]) -> list[str]:
    """Turn ids by their numbers; those without a number first."""
    return sorted(ids, key=lambda turn: int(turns.get(turn, {}).get("number", 0)))


def _select_turns(turns: dict[str, dict[str, Any]], ids: Iterable[str]) -> dict[str, Any]:
    """The known turns of these ids, without empty values."""
    turn_ids = (turn for turn in sorted(ids) if turn in turns)
    return {turn: {key: value for key, value in turns[turn].items() if value} for turn in turn_ids}


class Plan:
    """The plan of an import.

    counted: session -> the token usage that its checkpoints have.  counts: agent -> number of
    conversations.  size: their bytes.  recorded: the number of those whose sessions gitcp recorded
    itself.  read: the sessions of the others.  folder: a temporary directory for copies from
    databases.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="gitcp-import-")
        self.folder = self._folder.name
        self.gathered = Gathered()
        self.links: list[Link] = []
        self.counted: dict[str, Usage] = {}
        self.counts = Counter[str]()
        self.recorded = self.size = 0
        self.read: set[str] = set()

    def list_linked_sessions(self) -> set[str]:
        """The sessions that the plan links."""
        found: set[str] = set()
        for link in self.links:
            for part in link["parts"]:
                found.add(part["session"])
        return found

    def format_reason(self) -> str:
        """The numbers of sessions and commits, on one line."""
        commits = sum(bool(link["commit"]) for link in self.links)
        sessions = len(self.list_linked_sessions())
        return f"{count_noun(sessions, 'session')}, {count_noun(commits, 'commit')}"


def prepare_import(
    repo: Repo,
    home: str,
    clients: Sequence[str] = (),
    former: Sequence[str] = (),
    since: str = "",
    coarse: bool = False,
    unlinked: bool = False,
    sessions: Collection[str] = (),
) -> Plan:
    """Plan an import of a repository's conversations.

    clients: names of agents, by default all.  former: former directories of the repository.
    since: a date as git reads it.  coarse, unlinked: link sessions without evidence by time and
    files, or store them without a commit.  sessions: only these; () for all.
    """
    plan = Plan()
    roots = list_roots(repo, former)
    recorded, plan.counted = list_known(repo)
    seconds = find.parse_date(repo, since)
    conversations = find_conversations(home, roots, plan.folder, clients, seconds)
    if sessions:
        conversations = [one for one in conversations if one.session in sessions]
    plan.size = sum(conversation.size for conversation in conversations)
    plan.counts = Counter(conversation.client.AGENT_TYPE for conversation in conversations)
    resumed = map_resumed(repo)
    recorded -= resumed.keys()
    plan.recorded = sum(conversation.session in recorded for conversation in conversations)
    new = [conversation for conversation in conversations if conversation.session not in recorded]
    plan.read = {conversation.session for conversation in new}
    for conversation in term.iterate_shown("Reading conversations", new):
        plan.gathered.read(conversation, roots, resumed.get(conversation.session, 0))
    with Contents(repo) as contents:
        planner = Planner(repo, contents, plan.gathered)
        plan.links = list(planner.find_links(find.list_own_addresses(repo), coarse))
        if unlinked:
            plan.links += planner.list_unlinked(plan.list_linked_sessions() | plan.counted.keys())
    return plan


def prepare_one(
    repo: Repo, home: str, name: str, agent: str, former: Sequence[str], oids: Sequence[str]
) -> Plan:
    """Plan to attach one session, by its id or the file of its transcript, to the commits that
    have its edits, and by hand to those of oids that have none.

    agent: the transcript's client, '' to recognise it.  former: former directories of the
    repository.  Raises Error if the name matches no conversation, or several, and for a session
    that gitcp recorded itself.
    """
    plan = Plan()
    conversations, roots = find.find_session(repo, home, name, agent, former, plan.folder)
    session = conversations[0].session
    recorded, plan.counted = list_known(repo)
    if session in recorded:
        raise Error(f"session '{session}' is recorded here: 'gitcp link <commit> {session}'")
    plan.read = {session}
    for conversation in conversations:
        plan.gathered.read(conversation, roots)
    with Contents(repo) as contents:
        planner = Planner(repo, contents, plan.gathered)
        plan.links = list(planner.find_links_among(oids))
        linked = {link["commit"] for link in plan.links}
        unlinked = [oid for oid in oids if oid not in linked and not planner.has(oid, session)]
        plan.links += [planner.make_unproven_link(session, oid) for oid in unlinked]
    return plan


def map_resumed(repo: Repo) -> dict[str, int]:
    """session -> when its last hook ran, in ns since 1970, of the recorded sessions that went on
    without hooks."""
    found = unrecorded.look(repo).list_unsettled()
    return {one.session: (one.heard + 1) * 10**9 for one in found if one.heard}


def list_known(repo: Repo) -> tuple[set[str], dict[str, Usage]]:
    """(the sessions that gitcp recorded itself; session -> the token usage that its checkpoints
    count)."""
    recorded = set(others.list_state_ids(repo))
    counted: dict[str, Usage] = {}
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        for entry in checkpoint["sessions"]:
            session_id = entry["session_id"]
            metadata = entry["metadata"]
            usage = metadata.get("token_usage_delta")
            counted[session_id] = transcripts.add_tokens(counted.get(session_id), usage)
            if metadata.get("kind") != KIND:
                recorded.add(session_id)
    return recorded, counted


def carry_out_plan(repo: Repo, plan: Plan) -> str:
    """Carry out a plan; return the id of the step that undoes it, '' if it links nothing."""
    step = ""
    if plan.links:
        reason = plan.format_reason()
        step = write_links(repo, plan.gathered, plan.links, reason, plan.counted)
    unrecorded.look(repo)
    unrecorded.settle(repo, plan.read)
    return step


# Conversations that no hook heard of: a person is told of them, or they are imported.


def notice_unrecorded(repo: Repo, *, tells: bool = True) -> str:
    """What a person is to be told of conversations that were not recorded, each once; '' for
    nothing.  With gitcp.import=auto they are imported first.  tells: whether somebody reads it."""
    found = unrecorded.read_current(repo).list_unrecorded()
    if is_automatic(repo):
        done = import_unrecorded(repo, found)
        return done if tells else ""
    fresh = [one for one in found if not one.told]
    if not fresh or not tells:
        return ""
    unrecorded.note_told(repo, fresh)
    return f"{unrecorded.describe(found)}: 'gitcp import'"


def import_silently(repo: Repo) -> None:
    """With gitcp.import=auto, import the conversations that were not recorded."""
    if is_automatic(repo):
        import_unrecorded(repo, unrecorded.look(repo).list_unrecorded())


def is_automatic(repo: Repo) -> bool:
    """Whether conversations that were not recorded are imported without a question."""
    return bool(repo.config.get_option("gitcp.import") == unrecorded.AUTO)


def import_unrecorded(repo: Repo, found: Sequence[Unheard]) -> str:
    """Import conversations that were not recorded; return what was done, '' for nothing."""
    if not found:
        return ""
    home = os.path.expanduser("~")
    sessions = {one.session for one in found}
    plan = prepare_import(repo, home, sessions=sessions)
    step = carry_out_plan(repo, plan)
    if not step:
        return ""
    return f"imported {plan.format_reason()}: 'gitcp undo' takes it back ({step[:8]})"
