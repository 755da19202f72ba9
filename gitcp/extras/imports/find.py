"""Finds the conversations that clients keep of a repository, in any of its worktrees or former
directories, and the calls in them that wrote what commits have."""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_right
from functools import lru_cache, partial
from typing import NamedTuple

from gitcp import agents
from gitcp.agents.reading import edits
from gitcp.errors import Error
from gitcp.extras.imports import rules
from gitcp.git.objects import Objects
from gitcp.git.records import decode_lines
from gitcp.record.match import open_edits
from gitcp.record.unheard.conversations import (
    find_conversation,
    find_conversations,
    list_roots,
    make_relative,
)
from gitcp.text import ids, json, line_credit, line_evidence, line_replay
from gitcp.text.ids import UNKNOWN
from gitcp.text.line_replay import Replay, Version
from gitcp.text.short_ids import is_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gitcp.extras.imports.rules import Step
    from gitcp.git.objects.cat_file import Object
    from gitcp.git.repo import Repo
    from gitcp.record.unheard.conversations import ConversationFile
    from gitcp.text.line_credit import PathCredit
    from gitcp.text.record_types import Recorded, Staged, Writer

    Extent = tuple[int, int]  # offset and size
    # The proven authors of a path's lines in a commit; session whose edits it has -> last turn.
    Proof = tuple[PathCredit, dict[str, str]]
    Stored = tuple[int, Writer, str, str, bool]  # a step, with blobs for its contents


def find_session(
    repo: Repo, home: str, name: str, agent: str, former: Sequence[str], folder: str
) -> tuple[list[ConversationFile], list[str]]:
    """(the conversations of one session, its own first; the roots of the repository).

    name: its id or a prefix of it, or the file of its transcript, whose directory is added to the
    roots.  Raises Error for none, and for several.
    """
    roots = list_roots(repo, former)
    if os.path.isfile(name):
        client = agents.get_client(agent or edits.recognise_client(name))
        roots += [edits.read_head(name)["cwd"] or roots[0]]
        folders = name.removesuffix(".jsonl"), os.path.join(os.path.dirname(name), "subagents")
        subagent_files = [path for root in folders for path in agents.list_files(root, ".jsonl")]
        files = (name, *subagent_files)
        candidates = [find_conversation(client, path, roots[0], roots) for path in files]
        own = candidates[0]
        conversations = [c for c in candidates if c and own and c.session == own.session]
    else:
        listed = find_conversations(home, roots, folder, [agent] if agent else ())
        conversations = [item for item in listed if is_named(item.session, name)]
    session_ids = sorted({conversation.session for conversation in conversations})
    if not session_ids:
        raise Error(f"no conversation of this repository: '{name}'")
    ids.pick_match("session", name, session_ids)
    return sorted(conversations, key=lambda item: item.agent), roots


def parse_date(repo: Repo, date: str) -> float:
    """A date as git reads it, in seconds since 1970; 0 for ''."""
    if not date:
        return 0.0
    out = repo.git.run("rev-parse", f"--since={date}")[1]
    return float(out.decode().strip().removeprefix("--max-age="))


def list_own_addresses(repo: Repo) -> set[str]:
    """The addresses of the people who commit here: the configured ones and those of HEAD's
    reflog, as they are and by the mailmap."""
    args = ("log", "-g", "--format=%ge%n%gE", "--max-count=2000", "HEAD", "--")
    addresses = decode_lines(repo.git.run(*args, ok=(0, 128))[1])
    for role in ("author", "committer", "user"):
        addresses.append(repo.config.get(f"{role}.email"))
        addresses.append(os.environ.get(f"GIT_{role.upper()}_EMAIL", ""))
    return {address.strip().lower() for address in addresses if address.strip()}


class Spool:
    """Bytes in a temporary file without a name."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as this
        self._end = 0

    def put(self, data: bytes) -> Extent:
        """Store bytes; return where they are."""
        self._file.seek(self._end)
        self._file.write(data)
        self._end += len(data)
        return self._end - len(data), len(data)

    def clear(self) -> None:
        """Drop all bytes."""
        self._end = 0

    def read(self, extent: Extent) -> bytes:
        """The bytes at an extent."""
        self._file.seek(extent[0])
        return self._file.read(extent[1])


class Contents(Objects):
    """The objects of a repository, and contents that are not stored in it."""

    def __init__(self, repo: Repo) -> None:
        super().__init__(repo)
        self._spool = Spool()
        self._extents: dict[str, Extent] = {}

    def add(self, data: bytes | None) -> str:
        """Add a content; return the oid that it would have, '' for None."""
        if data is None:
            return ""
        oid = self.hash_object("blob", data)
        if oid not in self._extents:
            self._extents[oid] = self._spool.put(data)
        return oid

    def forget(self) -> None:
        """Drop all contents that were added."""
        self._extents.clear()
        self._spool.clear()

    def read(self, spec: str) -> Object | None:
        """Read an object as Objects.read() does, or a content that was added."""
        if spec in self._extents:
            return spec, "blob", self._spool.read(self._extents[spec])
        return super().read(spec)


class Session:
    """A session by its conversations.  first, last: the times of its first and last edit, in ns."""

    def __init__(self, conversation: ConversationFile) -> None:
        self.client = conversation.client
        self.session_id = conversation.session
        # of its own transcript
        self.path = ""
        self.size = 0
        self.mtime = 0.0
        self.turns: list[edits.ToldTurn] = []
        self.first = self.last = 0

    def note_edit(self, at: int) -> None:
        """Note the time of an edit."""
        self.first, self.last = min(self.first or at, at), max(self.last, at)

    def make_turn_id(self, number: int) -> str:
        """The id of a turn, the same wherever it is imported."""
        name = f"{self.session_id} {number}".encode()
        return str(ids.start_sha256(name).hexdigest()[:12])

    def get_turn_number(self, at: int) -> int:
        """The number of the turn at a time in ns."""
        return max(1, bisect_right([turn["at"] for turn in self.turns], at))


class Told(NamedTuple):
    """A call on a path that a conversation tells of."""

    at: int  # ns
    writer: Writer
    content: dict[str, Any]


class Gathered:
    """The sessions of conversations, and their edits by path."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self._spool = Spool()
        # path -> (time in ns, session, turn, call, whether it is a subagent's, extent) of each call
        self._calls: dict[str, list[tuple[int, str, int, str, bool, Extent]]] = {}
        self._keys: set[tuple[str, int]] = set()  # call and time of all calls

    def read(self, conversation: ConversationFile, roots: Sequence[str], since: int = 0) -> None:
        """Add a conversation, unless it cannot be read, with its edits since a time in ns.  A call
        that an older conversation also has belongs to the older one."""
        session = self.sessions.setdefault(conversation.session, Session(conversation))
        client = conversation.client
        agent = conversation.agent
        reading = edits.Reading(client, conversation.cwd, agent, int(conversation.created * 10**9))
        keys: set[tuple[str, int]] = set()
        try:
            for edit in reading.read_edits(edits.read_entries(conversation.path)):
                path = make_relative(edit["path"], roots)
                key = edit["call"], edit["at"]
                if not path or not edit["at"] or edit["at"] < since or key in self._keys:
                    continue
                keys.add(key)
                extent = self._spool.put(json.dumps(edit["tells"]).encode())
                call = edit["at"], conversation.session, edit["turn"], edit["call"]
                self._calls.setdefault(path, []).append((*call, bool(agent), extent))
                session.note_edit(edit["at"])
        except OSError:
            return
        if keys and not reading.is_timed:
            session.note_edit(int(conversation.mtime * 10**9))
        self._keys |= keys
        if not agent:
            session.path = conversation.path
            session.turns = reading.turns
            session.size = conversation.size
            session.mtime = conversation.mtime

    def list_paths(self) -> Iterable[str]:
        """The paths that calls wrote."""
        return self._calls.keys()

    def list_calls(self, path: str) -> Iterator[Told]:
        """Each call on a path, oldest first."""
        for at, session_id, number, call, of_subagent, extent in sorted(self._calls[path]):
            session = self.sessions[session_id]
            turn_id = session.make_turn_id(session.get_turn_number(at) if of_subagent else number)
            yield Told(at, (session_id, turn_id, call), json.loads(self._spool.read(extent)))

    def list_writers(self, path: str, since: int, until: int) -> set[str]:
        """The sessions that wrote a path between two times in s."""
        return {call[1] for call in self._calls[path] if since <= call[0] // 10**9 <= until}


# The calls on a path that commits have, by replaying the path's lines from commit to commit.
_MODE = "100644"
_FILES = (_MODE, "100755", "120000")
_NEAR = 8  # contents in the cache


class Calls:
    """The calls on a path, replayed up to the time of the last commit that prove() was given."""

    def __init__(
        self,
        contents: Contents,
        path: str,
        steps: Iterable[Step],
        is_ancestor: Callable[[str, str], bool],
    ) -> None:
        self._contents = contents
        self._path = path
        self._is_ancestor = is_ancestor
        self._steps: list[Stored] = [
            (at, writer, contents.add(before), contents.add(after), sure)
            for at, writer, before, after, sure in steps
        ]
        self._version = lru_cache(_NEAR)(self._read)
        self._taken: dict[str, list[tuple[str, set[bytes]]]] = {}
        self._begin()

    def _begin(self) -> None:
        self._done = 0
        self._oid = ""
        self._lines: Replay | None = None
        self._records: dict[str, Recorded] = {}
        self._turns: dict[str, str] = {}
        self._sole_authors: dict[str, str] = {}  # content -> the session that put all of it there

    def prove(
        self, oid: str, time: int, change: Staged, in_time: Callable[[str], bool]
    ) -> Proof | None:
        """The proof of the calls that a commit, made at a time in s, has by its change of the path;
        None without an earlier call, or if a content is missing.  in_time: whether a session was
        in time for it.  Parents come first; an older commit costs a new replay."""
        self._advance(time)
        old_mode, old_oid, mode, new_oid = change
        parent = self._read_file(old_mode, old_oid)
        new = self._read_file(mode, new_oid)
        if parent is None or new is None:
            return None
        if self._lines is None:
            self._note_unexplained(oid, set(new.lines) - set(parent.lines))
            return None
        _, writer, before, after, sure = self._steps[self._done - 1]
        single = None
        if sure and (before, after) == (old_oid or "", new_oid or ""):
            single = writer
        is_taken = partial(self._is_taken, oid)
        credit = line_credit.credit_path(self._lines.copy(), [parent], new)
        credit = rules.prove_holding(
            credit, parent.lines, new.lines, self._lines.lines, single, is_taken
        )
        read = self._contents.read_blob
        taken = {
            session: rules.list_lines(session, credit, parent.lines, new.lines)
            for session in filter(in_time, sorted(credit.list_sessions()))
            if open_edits.compare_changes(self._records[session], change, read).units
        }
        author = self._sole_authors.get(new.oid, "")
        mark = b"\0\0" + new.oid.encode()
        if author and old_oid != new_oid and in_time(author) and not is_taken(author, mark):
            taken.setdefault(author, set()).add(mark)
        for session, lines in taken.items():
            self._note_taken(session, oid, lines)
        unknown = {new.lines[line - 1] for line, writer in credit.added if not writer[0]}
        self._note_unexplained(oid, unknown)
        return credit, {session: self._turns[session] for session in taken}

    def _note_taken(self, session: str, oid: str, lines: set[bytes]) -> None:
        """Note the lines that a commit took of a session, or of no call ('')."""
        if lines:
            self._taken.setdefault(session, []).append((oid, lines))

    def _note_unexplained(self, oid: str, lines: set[bytes]) -> None:
        """Note lines of a commit that no call explains."""
        self._note_taken("", oid, set(filter(line_evidence.is_significant, lines)))

    def _is_taken(self, oid: str, session: str, line: bytes) -> bool:
        """Whether a commit took a session's line, or has it from no call, before commit oid."""
        earlier = [*self._taken.get(session, ()), *self._taken.get("", ())]
        return any(line in lines and self._is_ancestor(older, oid) for older, lines in earlier)

    def _advance(self, time: int) -> None:
        """Replay exactly the steps up to a time in s."""
        if self._done and self._steps[self._done - 1][0] // 10**9 > time:
            self._begin()
        while self._done < len(self._steps) and self._steps[self._done][0] // 10**9 <= time:
            self._replay(*self._steps[self._done])
            self._done += 1

    def _replay(self, at: int, writer: Writer, before: str, after: str, sure: bool) -> None:
        old = self._version(before) or Version("", ())
        new = self._version(after)
        assert new is not None
        if self._lines is None:
            self._lines = Replay(old)
            self._oid = before
        if sure and before != self._oid:  # an unknown change came between
            self._lines.add_step(old, UNKNOWN, line_replay.accepts_any_line, is_kept=True)
        if sure:
            self._lines.add_step(new, writer, line_evidence.is_significant)
            self._note_step(writer[0], old, new)
        else:
            self._lines.add_step(new, UNKNOWN)
            self._sole_authors[after] = writer[0]
        self._oid, self._turns[writer[0]] = after, writer[1]

    def _note_step(self, session: str, old: Version, new: Version) -> None:
        """Add a step to a session's record of the path, with the lines that the step added."""
        before = (_MODE, old.oid) if old.oid else None
        record = self._records.setdefault(
            session,
            {"path": self._path, "oid": None, "live": False, "before": before, "own": frozenset()},
        )
        record["mode"], record["oid"] = (_MODE, new.oid) if new.oid else ("000000", None)
        record["own"] = record["own"] | (set(new.lines) - set(old.lines))

    def _read_file(self, mode: str, oid: str | None) -> Version | None:
        """One side of a change: empty for no file; None if its content is missing."""
        return self._version(oid if oid and mode in _FILES else "")

    def _read(self, oid: str) -> Version | None:
        """A content by its blob, '' for no file; None if it is missing."""
        data = self._contents.read_blob(oid) if oid else b""
        if data is None:
            return None
        return Version(oid, line_evidence.split_text_lines(oid, data))
