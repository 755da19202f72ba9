"""The stretches of a session's open edits at a path: the work that a commit may take."""

from __future__ import annotations

from gitcp import memory
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import LookLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from gitcp.record.journal.line_kinds import Edit, JournalLine
    from gitcp.text.record_types import Recorded, Version

    Lines = Sequence[JournalLine]

_NEVER = 1 << 63  # ns


class Stretch:
    """Edits of a session at a path, each made upon the one before.

    before: the content that the first edit changed.  written: what the session made of it last.
    content: that with later changes by others.  live: whether the worktree has it; otherwise it
    was put away, or a commit left it out.  left: that commit is linked with the session.  undone:
    the session has taken it back.  base: the commit on which it was last seen, '' if unknown.
    undoing: the edit that gave the path a content from before, if nothing keeps what it replaced.
    """

    __slots__ = (
        "_is_lost",
        "_seen_at",
        "base",
        "before",
        "content",
        "edits",
        "left",
        "live",
        "undoing",
        "undone",
        "written",
    )

    def __init__(self, before: Version) -> None:
        self.before = before
        self.written = before
        self.content = before
        self.edits: list[Edit] = []
        self.live = True
        self.left = False
        self.undone = False
        self.base = ""
        self._seen_at = 0  # ns
        self._is_lost = False  # HEAD moved while others wrote here: what stands here is not known
        self.undoing: Edit | None = None

    def add(self, edit: Edit) -> None:
        """Add the session's next edit."""
        self.edits.append(edit)
        self.written = edit.after
        self.content = edit.after
        self.live = not edit.is_left
        self.left = edit.is_left_by_own
        self._note_seen(edit)

    def add_foreign(self, edit: Edit, *, elsewhere: bool) -> None:
        """Add an edit by another author.  elsewhere: HEAD has left the base, so the edit may
        change other content."""
        if elsewhere and edit.base not in ("", self.base):
            self._is_lost = True
        if not self._is_lost:
            self.content = edit.after
            self._seen_at = edit.at
            if self.content and not self.written:
                self.put_away()

    def put_away(self) -> None:
        """Note that another file is in the place of a moved or deleted one."""
        self.live = False
        self.content = self.written

    def replace(self, edit: Edit) -> None:
        """Note that an edit has given the path a content from before."""
        self.live = False
        self.undoing = None if edit.is_put_away or edit.is_stashed else edit

    def take_back(self) -> None:
        """Note that the session has taken it back."""
        self.undone = True

    def leave_base(self) -> None:
        """Note that HEAD has left the commit on which it was last seen."""
        self.live = False
        self.undoing = None

    def note_look(self, looks: Sequence[tuple[int, str]], end: int) -> None:
        """Update the base from the newest look (time, base) before end, which found the content
        unchanged."""
        if self.live and not self._is_lost:
            at, base = _find_look(looks, end)
            if at >= self._seen_at:
                self.base = base

    def _note_seen(self, edit: Edit) -> None:
        self.base = edit.base
        self._seen_at = edit.at
        self._is_lost = False

    def has_had(self, edit: Edit) -> bool:
        """Whether an edit restored the content now, or that after some edit of the session."""
        version = edit.after
        return version == self.content or self._has_written(version)

    def join(self, edit: Edit, blobs: Container[str]) -> None:
        """Note that a step has merged these former contents into the present one: what stands
        there has both the work that was live and that of these contents."""
        if not self.live:
            former = [self.written, self.content, *[own.after for own in self.edits]]
            if not any(version and version[1] in blobs for version in former):
                return
        self._stand(edit)

    def note_return(self, edit: Edit) -> None:
        """Note that an edit restored a content that the stretch has had."""
        self._stand(edit)
        if self._has_written(edit.after):
            self.written = edit.after

    def _stand(self, edit: Edit) -> None:
        """Note that the worktree has it, in the content after an edit."""
        self.live = True
        self.left = False
        self.undone = False
        self.content = edit.after
        self._note_seen(edit)

    def read_contents(
        self, blob: Callable[[str], bytes | None]
    ) -> tuple[bytes | None, bytes | None]:
        """The bytes before, and after the session's own last edit; b"" where nothing stood."""
        before = blob(self.before[1]) if self.before else b""
        after = blob(self.written[1]) if self.written else b""
        return before, after

    def build_record(self, path: str, later_name: str = "") -> Recorded:
        """The record that match() takes: what the session made last, since others' later changes
        may have left none of it.  later_name: where its file was moved or copied since: the record
        is evidence there."""
        live = self.live and not later_name
        mode, oid = self.written or ("000000", None)
        record: Recorded = {
            "path": later_name or path,
            "mode": mode,
            "oid": oid,
            "live": live,
            "before": self.before,
        }
        if live:
            record["now"] = self.content
            self._add_steps(record)
        elif self.undoing and not later_name:
            record["now"] = self.undoing.after
        return record

    def _add_steps(self, record: Recorded) -> None:
        """Add the session's own edits to a record if others edited the file between them."""
        if len(self.edits) < 2:
            return
        steps: list[tuple[str | None, str | None]] = []
        is_between = False
        last: Version = self.before
        for edit in self.edits:
            before = edit.before
            after = edit.after
            is_between = is_between or before != last
            steps.append((before[1] if before else None, after[1] if after else None))
            last = after
        if is_between:
            record["steps"] = steps

    def _has_written(self, version: Version) -> bool:
        return any(version == edit.after for edit in self.edits)


def _find_look(looks: Sequence[tuple[int, str]], end: int) -> tuple[int, str]:
    """The newest of the looks, which are in the order of their times, before end; (0, "") if there
    is none."""
    low = 0
    high = len(looks)
    while low < high:
        middle = (low + high) // 2
        if looks[middle][0] < end:
            low = middle + 1
        else:
            high = middle
    return looks[low - 1] if low else (0, "")


class OpenEdits:
    """The open edits of a journal, grouped once for all sessions.

    by_path: path -> the open edits there, whoever made them.  later_names: path -> where its
    content was moved or copied.  looks: (time, base) of each look, oldest first.
    stream_lines: as credit.map_stream_lines().
    """

    __slots__ = ("_paths_by_session", "by_path", "later_names", "looks", "stream_lines")

    def __init__(self, lines: Lines) -> None:
        self.stream_lines = credit.map_stream_lines(lines)
        self.by_path: dict[str, list[Edit]] = {}
        self.later_names: dict[str, dict[str, None]] = {}
        self._paths_by_session: dict[str, dict[str, None]] = {}
        origins: dict[str, dict[str, None]] = {}  # path -> the names that its content had before
        for edit in credit.list_open_edits(lines):
            path = edit.path
            self.by_path.setdefault(path, []).append(edit)
            if edit.follows:
                origins[path] = {edit.follows: None, **origins.get(edit.follows, {})}
                for name in origins[path].keys() - {path}:
                    self.later_names.setdefault(name, {})[path] = None
        looks = [line for line in lines if isinstance(line, LookLine)]
        self.looks = sorted((look.time, look.base) for look in looks if look.base)
        for path, edits in self.by_path.items():
            for edit in edits:
                session_id = edit.by_session
                if session_id:
                    self._paths_by_session.setdefault(session_id, {})[path] = None

    def get_paths_of(self, session_id: str) -> dict[str, None]:
        """The paths at which a session made open edits, in the order of by_path."""
        return self._paths_by_session.get(session_id, {})

    def list_edits_of(self, session_id: str) -> list[Edit]:
        """The open edits of a session, also those that it took back."""
        found: list[Edit] = []
        for path in self.get_paths_of(session_id):
            found += [edit for edit in self.by_path[path] if edit.author[0] == session_id]
        return found


class SessionWork:
    """The open edits of one session in a worktree.

    is_here: whether HEAD is a commit, or was made on it in this worktree.  Edits that were last
    seen on any other commit are away; by default none is.
    """

    def __init__(
        self,
        session_id: str,
        open_edits: OpenEdits,
        is_here: Callable[[str], bool],
    ) -> None:
        self._session = session_id
        self._edits_by_path = open_edits.by_path
        self._own_paths = open_edits.get_paths_of(session_id)
        self._later_names = open_edits.later_names
        self._looks = open_edits.looks
        self._is_here = is_here
        self._stretches: dict[str, list[Stretch]] = {}

    def list_stretches(self, path: str) -> list[Stretch]:
        """The session's stretches at a path, the newest last, less those that changed nothing or
        are undone.

        An edit by the session continues the current stretch if a commit left out both or neither,
        else it begins one; it also begins one if the file was moved away.  A restored content
        continues the last stretch that has had it, and puts away the others; a merge continues
        those that it brings in, too.  An edit by another author changes the content of a live
        stretch, or puts away a deletion.
        """
        if path not in self._stretches:
            self._stretches[path] = self._find_stretches(path)
        return self._stretches[path]

    def _find_stretches(self, path: str) -> list[Stretch]:
        if path not in self._own_paths:
            return []
        stretches: list[Stretch] = []
        current: Stretch | None = None
        for edit in self._edits_by_path[path]:
            if current:
                current.note_look(self._looks, edit.at)
            if self._is_own(edit):
                if current is None or not self._goes_on(current, edit):
                    current = Stretch(edit.before)
                    stretches.append(current)
                current.add(edit)
            elif edit.joined is not None and not edit.is_left:
                for stretch in stretches:
                    stretch.join(edit, edit.joined)
            elif edit.how == credit.RESTORED and not edit.is_left:
                current = self._restore(stretches, current, edit)
            elif current and current.live:
                current.add_foreign(edit, elsewhere=not self._is_here(current.base))
        for stretch in stretches:
            stretch.note_look(self._looks, _NEVER)
            if not self._is_here(stretch.base):
                stretch.leave_base()
        return [s for s in stretches if s.written != s.before and not s.undone]

    def _goes_on(self, stretch: Stretch, edit: Edit) -> bool:
        """Whether an edit of the session continues the current stretch."""
        is_gone = stretch.written and not stretch.content
        if is_gone and edit.path in self._later_names:
            stretch.put_away()
        return stretch.live is not edit.is_left

    def _restore(
        self, stretches: list[Stretch], current: Stretch | None, edit: Edit
    ) -> Stretch | None:
        """Put away the stretches but the last that has had the content which an edit restored;
        return that one."""
        if current and self._is_undoing(edit) and not current.has_had(edit):
            current.take_back()
        for stretch in stretches:
            stretch.replace(edit)
        for stretch in reversed(stretches):
            if stretch.has_had(edit):
                stretch.note_return(edit)
                return stretch
        return None

    def list_paths(self) -> list[str]:
        """The paths at which the session has open edits."""
        return [path for path in self._own_paths if self.list_stretches(path)]

    def list_edits(self, path: str) -> list[Edit]:
        """The session's open edits at a path."""
        found: list[Edit] = []
        for stretch in self.list_stretches(path):
            found += stretch.edits
        return found

    def build_records(self, with_left: bool = True) -> list[Recorded]:
        """The records of the session's open edits that match() takes, of a file that was moved or
        copied under each name.  with_left: also of those that a commit of the session left out."""
        records: list[Recorded] = []
        for path in self._own_paths:
            for stretch in reversed(self.list_stretches(path)):
                if stretch.left and not with_left:
                    continue
                records.append(stretch.build_record(path))
                if stretch.written:
                    for name in self._later_names.get(path, ()):
                        records.append(stretch.build_record(path, name))
        return records

    def is_present(self, path: str) -> bool:
        """Whether the worktree has some of the session's work at a path."""
        return any(stretch.live for stretch in self.list_stretches(path))

    def list_written(self, since: int) -> set[str]:
        """The paths that the session has written since a time in ns."""
        paths = set()
        for path in self._own_paths:
            for edit in self._edits_by_path[path]:
                if edit.at >= since and self._is_own(edit):
                    paths.add(path)
                    break
        return paths

    def list_foreign(self, since: int) -> set[str]:
        """The paths that only other sessions have changed since a time in ns."""
        paths = set()
        for path, edits in self._edits_by_path.items():
            authors = {edit.author[0] for edit in edits if edit.at >= since}
            if authors and authors.isdisjoint(("", self._session)):
                paths.add(path)
        return paths

    def is_undone(self, path: str, since: int = 0) -> bool:
        """Whether the last change of a path since a time in ns is the session's: a later edit, or
        the undoing of its work."""
        edits = self._edits_by_path.get(path)
        if not edits or edits[-1].at < since:
            return False
        return self._is_own(edits[-1]) or self._is_undoing(edits[-1])

    def map_away(self, dirty: Container[str]) -> dict[str, Version]:
        """path -> the session's content of each path that is not dirty any more, though the
        session did not undo its work there: it may have been stashed."""
        away = {}
        for path in self._own_paths:
            if path not in dirty and not self.is_undone(path):
                stretches = self.list_stretches(path)
                if stretches:
                    away[path] = stretches[-1].content
        return away

    def _is_own(self, edit: Edit) -> bool:
        return edit.author[0] == self._session

    def _is_undoing(self, edit: Edit) -> bool:
        return edit.restorer == self._session and not edit.is_put_away


def collect_work(
    lines: Lines,
    session_id: str,
    is_here: Callable[[str], bool] = lambda _: True,
) -> SessionWork:
    """The open edits of a session, by the lines of a journal.  is_here: as SessionWork has it."""
    return SessionWork(session_id, group_open_edits(lines), is_here)


class _Grouped:
    """The open edits of the lines of a journal."""

    __slots__ = ("lines", "open_edits")

    def __init__(self, lines: Lines) -> None:
        self.lines = [*lines]
        self.open_edits = OpenEdits(lines)


_GROUPED: dict[str, _Grouped] = memory.get_table("grouped")  # by "last", the one that was made last


def group_open_edits(lines: Lines) -> OpenEdits:
    """The open edits of a journal; grouped again only if its lines are others than last time."""
    known = _GROUPED.get("last")
    if known is None or known.lines != lines:
        known = _Grouped(lines)
        _GROUPED["last"] = known
    return known.open_edits
