"""The calls on a path that commits have, by replaying the path's lines from commit to commit."""

from __future__ import annotations

from functools import lru_cache, partial

from gitcp.core.credit.entries import UNKNOWN
from gitcp.core.decide import line_evidence
from gitcp.core.imports import holding
from gitcp.core.lines import attribution, replay
from gitcp.core.lines.replay import Replay, Version
from gitcp.store.match import candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.core.decide.difference import Recorded, Staged
    from gitcp.core.imports.chain import Step
    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.record_types import Writer
    from gitcp.store.imports.gather import Contents

    # The proven authors of a path's lines in a commit; session whose edits it has -> last turn.
    Proof = tuple[PathCredit, dict[str, str]]
    Stored = tuple[int, Writer, str, str, bool]  # a step, with blobs for its contents

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
        self._contents, self._path, self._is_ancestor = contents, path, is_ancestor
        self._steps: list[Stored] = [
            (at, writer, contents.add(before), contents.add(after), sure)
            for at, writer, before, after, sure in steps
        ]
        self._version = lru_cache(_NEAR)(self._read)
        self._taken: dict[str, list[tuple[str, set[bytes]]]] = {}
        self._begin()

    def _begin(self) -> None:
        self._done, self._oid = 0, ""
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
        parent, new = self._read_file(old_mode, old_oid), self._read_file(mode, new_oid)
        if parent is None or new is None:
            return None
        if self._lines is None:
            self._note_unexplained(oid, set(new.lines) - set(parent.lines))
            return None
        _, writer, before, after, sure = self._steps[self._done - 1]
        single = writer if sure and (before, after) == (old_oid or "", new_oid or "") else None
        is_taken = partial(self._is_taken, oid)
        credit = attribution.credit_path(self._lines.copy(), [parent], new)
        credit = holding.prove(credit, parent.lines, new.lines, self._lines.lines, single, is_taken)
        taken = {
            session: holding.list_lines(session, credit, parent.lines, new.lines)
            for session in filter(in_time, sorted(holding.list_sessions(credit)))
            if candidates.match_edits(
                self._contents, [self._records[session]], {self._path: change}
            )
        }
        author, mark = self._sole_authors.get(new.oid, ""), b"\0\0" + new.oid.encode()
        if author and old_oid != new_oid and in_time(author) and not is_taken(author, mark):
            taken.setdefault(author, set()).add(mark)
        for session, lines in taken.items():
            self._note_taken(session, oid, lines)
        unknown = {new.lines[line - 1] for line, writer in credit["added"] if not writer[0]}
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
        old, new = self._version(before) or Version("", ()), self._version(after)
        assert new is not None
        if self._lines is None:
            self._lines, self._oid = Replay(old), before
        if sure and before != self._oid:  # an unknown change came between
            self._lines.add_step(old, UNKNOWN, replay.accepts_any_line, is_kept=True)
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
        return None if data is None else Version(oid, replay.split(oid, data))
