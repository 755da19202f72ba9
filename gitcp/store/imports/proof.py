"""What commits hold of the calls that wrote one path: its lines, replayed from commit to commit."""

from __future__ import annotations

from functools import lru_cache

from gitcp.core.credit.entries import UNKNOWN
from gitcp.core.decide import line_evidence
from gitcp.core.imports import holding
from gitcp.core.lines import attribution, replay
from gitcp.core.lines.replay import Replay, Version
from gitcp.store.git import commit_changes
from gitcp.store.match import candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.core.decide.difference import Recorded, Staged
    from gitcp.core.imports.chain import Step
    from gitcp.core.lines.attribution import PathCredit
    from gitcp.core.record_types import Writer
    from gitcp.store.imports.gather import Contents

    # The authors of a path's lines in a commit, as far as they are proven; each session whose edits
    # the commit has there -> the turn that wrote it last.
    Proof = tuple[PathCredit, dict[str, str]]
    Stored = tuple[int, Writer, str, str, bool]  # a step, its contents by their blobs
    Taken = Callable[[str, bytes], bool]  # session, line: whether a commit before this has taken it

_MODE = "100644"
_FILES = (_MODE, "100755", "120000")
_NEAR = 8  # contents that are asked for again soon


class Calls:
    """The calls on one path, replayed up to the time of the commit that was asked about last."""

    def __init__(
        self,
        contents: Contents,
        path: str,
        steps: Iterable[Step],
        is_ancestor: Callable[[str, str], bool],
    ) -> None:
        self._contents, self._path, self._is_ancestor = contents, path, is_ancestor
        self._steps: list[Stored] = [
            (at, who, contents.add(before), contents.add(after), sure)
            for at, who, before, after, sure in steps
        ]
        self._version = lru_cache(_NEAR)(self._read)
        self._taken: dict[str, list[tuple[str, set[bytes]]]] = {}
        self._begin()

    def _begin(self) -> None:
        self._done, self._oid = 0, ""
        self._lines: Replay | None = None
        self._records: dict[str, Recorded] = {}
        self._turns: dict[str, str] = {}
        self._whole: dict[str, str] = {}  # content -> the session that put all of it there

    def prove(
        self, oid: str, time: int, change: Staged, in_time: Callable[[str], bool]
    ) -> Proof | None:
        """What a commit of a time in s has of them, by its change of the path; None where no call
        was before it, or a content is missing.  in_time: whether a session may be behind it.  Ask
        of parents first; commits that are older than the one asked last cost more."""
        self._advance(time)
        old_mode, old, mode, new = change
        parent, now = (
            self._version(name if name and kind in _FILES else "")
            for kind, name in ((old_mode, old), (mode, new))
        )
        if parent is None or now is None:
            return None
        if self._lines is None:
            fresh = set(now.lines) - set(parent.lines)
            self._note_taken("", oid, set(filter(line_evidence.is_telling, fresh)))
            return None
        _, who, before, after, sure = self._steps[self._done - 1]
        single = who if sure and (before, after) == (old or "", new or "") else None

        def is_taken(session: str, line: bytes) -> bool:
            had = [*self._taken.get(session, ()), *self._taken.get("", ())]
            return any(line in lines and self._is_ancestor(one, oid) for one, lines in had)

        credit = attribution.credit_path(self._lines.copy(), [parent], now)
        credit = holding.prove(credit, parent.lines, now.lines, self._lines.lines, single, is_taken)
        took: dict[str, set[bytes]] = {}
        for session in filter(in_time, sorted(holding.list_sessions(credit))):
            record = [self._records[session]]
            if candidates.match_edits(self._contents, record, {self._path: change}):
                took[session] = holding.list_lines(session, credit, parent.lines, now.lines)
        whole, mark = self._whole.get(now.oid, ""), b"\0\0" + now.oid.encode()
        if whole and old != new and in_time(whole) and not is_taken(whole, mark):
            took.setdefault(whole, set()).add(mark)
        for session, lines in took.items():
            self._note_taken(session, oid, lines)
        anybodys = {now.lines[line - 1] for line, who in credit["added"] if not who[0]}
        self._note_taken("", oid, set(filter(line_evidence.is_telling, anybodys)))
        return credit, {session: self._turns[session] for session in took}

    def _note_taken(self, session: str, oid: str, lines: set[bytes]) -> None:
        """Note what a commit took of a session, or, of '', of what no call explains."""
        if lines:
            self._taken.setdefault(session, []).append((oid, lines))

    def _advance(self, time: int) -> None:
        """Take the steps that were made up to a time, and no others."""
        if self._done and self._steps[self._done - 1][0] // 10**9 > time:
            self._begin()
        while self._done < len(self._steps) and self._steps[self._done][0] // 10**9 <= time:
            self._take(*self._steps[self._done])
            self._done += 1

    def _take(self, at: int, who: Writer, before: str, after: str, sure: bool) -> None:
        was, now = self._version(before) or Version("", ()), self._version(after)
        assert now is not None
        if self._lines is None:
            self._lines, self._oid = Replay(was), before
        if sure and before != self._oid:  # nobody knows how it came to that
            self._lines.add_step(was, UNKNOWN, replay.accepts_any_line, is_kept=True)
        if sure:
            self._lines.add_step(now, who, line_evidence.is_telling)
            self._note_step(who[0], was, now)
        else:
            self._lines.add_step(now, UNKNOWN)
            self._whole[after] = who[0]
        self._oid, self._turns[who[0]] = after, who[1]

    def _note_step(self, session: str, was: Version, now: Version) -> None:
        """Add a step to a session's edits of the path; only lines that it added itself count."""
        before = (_MODE, was.oid) if was.oid else None
        record = self._records.setdefault(
            session,
            {"path": self._path, "oid": None, "live": False, "before": before, "own": frozenset()},
        )
        record["mode"], record["oid"] = (_MODE, now.oid) if now.oid else ("000000", None)
        record["own"] = record["own"] | (set(now.lines) - set(was.lines))

    def _read(self, oid: str) -> Version | None:
        """A content by its blob, '' for no file; None for one that is not there."""
        data = commit_changes.read_content(self._contents, oid) if oid else b""
        return None if data is None else Version(oid, replay.split(oid, data))
