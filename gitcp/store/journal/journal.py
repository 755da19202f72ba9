"""The journal of a worktree: one append-only file, <git-dir>/gitcp/journal, under its lock.

It records all sessions and the person in one order; gitcp-formats(5) describes its lines.
Objects are written before the line that names them, and each line is written at once.

Its neighbour journal-checked says how many bytes of it were checked, and their sum.  Their lines
are not checked again, which takes longer than to parse them; if the journal does not begin with
these bytes any more, it has lost lines.
"""

from __future__ import annotations

import os
from zlib import crc32

from gitcp import VERSION, git, memory, trace
from gitcp.core.credit import entries
from gitcp.core.git.ids import hash_worktree, parse_shadow
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.process.files import Damaged, open_file
from gitcp.start import late
from gitcp.store.git import private, refs
from gitcp.store.git.objects import Objects
from gitcp.store.session import markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any, Self

    from gitcp.core.record_types import JournalLine, Marker
    from gitcp.repo import Repo

NAME = "journal"
_NEIGHBOURS = "journal-checked", "look", "turn"
_STREAMS = "refs/heads/entire/", "refs/gitcp/streams/"
_MADE_ON_A_BASE = ("before", "trees", "look")
MANY = 2000  # edits of one look that are still written as a line each
LARGEST = 64 << 10  # bytes: a larger journal is cut back, as are lines that others repeat
_UNCHECKED = 4096  # bytes at the end that each process checks
# path -> its inode, how many of its bytes were read, the lines in them
_READ: dict[str, tuple[int, int, list[JournalLine]]] = memory.get_table("journals")


def read(repo: Repo, git_dir: str | None = None) -> list[JournalLine]:
    """Return the lines of this worktree's journal, or of git_dir's; [] without a journal."""
    git_dir = git_dir or repo.git_dir
    lines, is_complete = _read_raw(repo, git_dir)
    if _was_lost(repo, git_dir, lines, is_complete):
        try:
            return rebuild(repo, git_dir, lines)
        except Error:
            pass  # the refs cannot be read: what is left counts
    return expand_trees(repo, lines)


def rebuild(repo: Repo, git_dir: str, lines: list[JournalLine]) -> list[JournalLine]:
    """The journal of a worktree from the lines that are left of it and the refs of sessions."""
    worktree_hash = hash_home(repo, git_dir)
    return late.edits_ref.rebuild_lines(repo, worktree_hash, expand_trees(repo, lines))


def _was_lost(repo: Repo, git_dir: str, lines: list[JournalLine], is_complete: bool) -> bool:
    """Whether the journal of a worktree, which _read_raw() gave, has lost lines: what was checked
    of it is gone, or it has no edit although one of its neighbours, or a stream of the worktree, is
    still there."""
    if (is_complete and any(map(entries.is_lasting, lines))) or not os.path.isdir(git_dir):
        return False
    neighbours = (os.path.join(git_dir, "gitcp", name) for name in _NEIGHBOURS)
    if not is_complete and any(map(os.path.exists, neighbours)):
        return True
    worktree_hash = hash_home(repo, git_dir)
    return any(
        (parsed := parse_shadow(ref)) and parsed["worktree"] == worktree_hash
        for ref in refs.list_refs(repo, *_STREAMS)
    )


def hash_home(repo: Repo, git_dir: str) -> str:
    """The hash of the id of a worktree, by its git directory."""
    if git_dir == repo.git_dir:
        return repo.worktree_hash
    return hash_worktree("" if git_dir == repo.common else os.path.basename(git_dir))


def _read_raw(repo: Repo, git_dir: str | None = None) -> tuple[list[JournalLine], bool]:
    """Return (the lines as they stand in the file, whether it has all that was checked of it).

    A journal only grows or is replaced, so this process reads only what was added since.
    """
    path = os.path.join(git_dir or repo.git_dir, "gitcp", NAME)
    file, size, lines = _READ.get(path, (0, 0, []))
    if size and files.read_stamp(path)[:2] == [file, size]:
        return [*lines], True
    try:
        with os.fdopen(open_file(path), "rb", buffering=0) as f:
            st = os.fstat(f.fileno())
            if file != st.st_ino or size > st.st_size:
                size, lines = 0, []
            f.seek(size)
            data = f.read()
            if not data.isascii():
                raise Damaged(path, "it is no text")
    except (FileNotFoundError, PermissionError):
        return [], False
    except Damaged as e:
        private.set_aside(repo, e)
        return [], False
    end = data.rfind(b"\n") + 1  # a line that is still being written is read again
    is_complete = True
    if size:
        lines = lines + entries.parse_lines(data[:end])
    else:
        lines, is_complete = _parse_whole(repo, path, data[:end])
    if is_complete:
        _READ[path] = st.st_ino, size + end, lines
    return [*lines, *entries.parse_lines(data[end:])], is_complete


def _parse_whole(repo: Repo, path: str, data: bytes) -> tuple[list[JournalLine], bool]:
    """The lines of a journal, and whether it begins with what was checked of it, which is not
    checked again."""
    mark = private.read_cache(f"{path}-checked", tail=64)
    size = int(words[1]) if len(words := mark.split()) > 1 and words[1].isdigit() else 0
    same = _build_mark(data[:size])
    is_complete = not size or words[1:] == same.split()[1:]  # whichever version checked it
    size = size if mark == same else 0
    lines = entries.parse_lines(data[:size], are_checked=True) + entries.parse_lines(data[size:])
    if is_complete and len(data) - size > _UNCHECKED:
        _note_checked(repo, path, data, lines)
    return lines, is_complete


def _note_checked(repo: Repo, path: str, data: bytes, lines: list[JournalLine]) -> None:
    """Note that a journal has these bytes and lines, unless some of its lines are damaged."""
    if len(lines) == data.count(b"\n"):
        try:
            private.write_private(repo, f"{path}-checked", _build_mark(data))
        except OSError as e:
            trace.append_note("files", f"{path}-checked: {e.strerror}")


def _build_mark(data: bytes) -> bytes:
    return b"%s %d %x\n" % (VERSION.encode(), len(data), crc32(data))


def expand_trees(repo: Repo, lines: list[JournalLine]) -> list[JournalLine]:
    """Replace each `trees` line by a line for each of its edits."""
    if not any("trees" in line for line in lines):
        return lines
    return late.many_edits.expand_lines(Objects.get_shared(repo), lines)


def pack_edits(objects: Objects, edits: list[JournalLine]) -> list[JournalLine]:
    """Pack more than MANY edits of one look: a line for each author, with its paths in two
    trees.  Fewer edits are returned as they are."""
    return late.many_edits.pack_edits(objects, edits) if len(edits) > MANY else edits


def get_home(repo: Repo, session: Mapping[str, Any]) -> str:
    """The git directory of a session's home worktree.  session: its state or marker."""
    return get_git_dir(repo, session.get("worktree_id") or "")


def get_git_dir(repo: Repo, worktree_id: str) -> str:
    """The git directory of a worktree of this repository; worktree_id: git's name of it."""
    if worktree_id == repo.worktree_id:
        return repo.git_dir
    return os.path.join(repo.common, "worktrees", worktree_id) if worktree_id else repo.common


def read_end(repo: Repo) -> tuple[int, int]:
    """(inode, size) of this worktree's journal now, for Journal.list_edits_since()."""
    try:
        st = os.stat(repo.join_own(NAME))
    except OSError:
        return 0, 0
    return st.st_ino, st.st_size


def read_clock(repo: Repo) -> int:
    """The time in ns, by the clock that stamps the worktree's files."""
    path = repo.join_own("clock")
    private.touch_private(repo, path)
    return os.stat(path).st_mtime_ns


class Journal:
    """The journal under its lock, which is taken after the session's and before any ref's.

    base: the commit on which edits are made; None for HEAD.
    telling: the session whose client reports a tool or its end.
    naming: the paths that this tool names.
    closing: the call that has just ended, before the worktree is looked at.
    acting: the session whose turn goes on, whatever its marker says.
    committers: the sessions that make the commit that is looked at; None without one.
    visitors: sessions of other worktrees that work in this one.
    guests: sessions of other worktrees whose transcripts name what they write.
    """

    __slots__ = (
        "_lock",
        "_waiting",
        "acting",
        "base",
        "closing",
        "committers",
        "guests",
        "lines",
        "naming",
        "repo",
        "telling",
        "visitors",
    )

    def __init__(self, repo: Repo) -> None:
        self.repo, self._lock = repo, exclusive(repo, f"journal-{repo.worktree_hash}")
        self.lines: list[JournalLine] = []
        self._waiting = b""  # lines that are to be written with the next ones
        self.base: str | None = None
        self.telling = self.closing = ""
        self.naming: frozenset[str] = frozenset()
        self.acting: Marker | None = None
        self.committers: Collection[str] | None = None
        self.visitors: Sequence[Marker] = ()
        self.guests: Sequence[Marker] = ()

    def __enter__(self) -> Self:
        self._lock.__enter__()
        try:
            self._read()
        except BaseException:
            self._lock.__exit__()  # otherwise this process would wait for itself
            raise
        return self

    def _read(self) -> None:
        lines, is_complete = _read_raw(self.repo)
        self.lines = expand_trees(self.repo, lines)
        if _was_lost(self.repo, self.repo.git_dir, lines, is_complete):
            rebuilt = rebuild(self.repo, self.repo.git_dir, lines)
            if rebuilt != self.lines or not is_complete:
                replace(self.repo, self.repo.git_dir, rebuilt)
                self.lines = rebuilt

    def __exit__(self, *_: object) -> None:
        if self._waiting:  # an error is on its way
            _READ.pop(self.repo.join_own(NAME), None)
        self._lock.__exit__()

    def append(self, lines: list[JournalLine], waiting: bool = False) -> None:
        """Add lines at the end; a line that a kill cut short stays apart from them.

        waiting: they are written when others are added, or by write_waiting(), so that objects
        which are made until then come into the same pack.  This process reads them at once.
        """
        if not lines:
            return
        self._name_base(lines)
        data, path = b"".join(map(entries.dump_line, lines)), self.repo.join_own(NAME)
        self._waiting += data
        if not waiting or path not in _READ:
            self.write_waiting()
        if path in _READ:
            file, size, read = _READ[path]
            _READ[path] = file, size, read + entries.parse_lines(data, are_checked=True)
        self.lines += expand_trees(self.repo, lines)

    def note_held(self, commit: str | None) -> None:
        """Add the line that a session's ref holds the journal up to here, and note what the file
        has: a later loss of these lines is seen, and made good from the ref."""
        self.append([{"held": commit}])
        path = self.repo.join_own(NAME)
        _, size, lines = _READ.get(path, (0, 0, []))
        data = files.read_bytes(path) or b""
        if len(data) == size:
            _note_checked(self.repo, path, data, lines)

    def write_waiting(self) -> None:
        """Write the lines that wait, after the objects that they name."""
        data, self._waiting = self._waiting, b""
        if not data:
            return
        if git.has_pending():
            Objects.get_shared(self.repo).packs.flush_named(data)
        path = self.repo.join_own(NAME)
        file, size, read = _READ.pop(path, (0, 0, []))
        fd = private.open_private(self.repo, path, os.O_RDWR | os.O_APPEND)
        try:
            st = os.fstat(fd)
            torn = st.st_size and os.pread(fd, 1, st.st_size - 1) != b"\n"
            end = files.write_at(fd, b"\n" * bool(torn) + data, st.st_size)
        finally:
            os.close(fd)
        if (file, size) == (st.st_ino, st.st_size):
            _READ[path] = file, end, read

    def _name_base(self, lines: list[JournalLine]) -> None:
        """Set `base` of edits and looks that lack it: the commit on which they are made."""
        for line in lines:
            if line.keys().isdisjoint(_MADE_ON_A_BASE):
                continue
            if self.base is None:
                self.base = refs.read_base(self.repo)
            line.setdefault("base", self.base)

    def list_edits_since(self, mark: tuple[int, int], since: int) -> list[JournalLine]:
        """The edits that were added since read_end() returned mark, at the time since in ns."""
        file, size = read_end(self.repo)
        if (file, size) == mark:
            return []
        if file != mark[0]:  # it was cut back meanwhile
            return [line for line in entries.list_edits(self.lines) if line["at"] >= since]
        with os.fdopen(open_file(self.repo.join_own(NAME)), "rb") as f:
            f.seek(mark[1])
            return entries.list_edits(expand_trees(self.repo, entries.parse_lines(f.read())))

    def cut_back(self) -> None:
        """Cut a journal that has become long back to what is unsettled."""
        if read_end(self.repo)[1] <= LARGEST:
            return
        lines = late.cutting.drop_repeated(_read_raw(self.repo)[0])
        active = {m["session_id"] for m in markers.read_here(self.repo) if m["phase"] == "active"}
        self._replace_lines(late.cutting.cut_back(lines, self.lines, active))

    def drop_repeated(self) -> None:
        """Remove the lines that others repeat from a journal that has become long, if they are an
        eighth of it."""
        _, size, lines = _READ.get(self.repo.join_own(NAME), (0, 0, []))
        if size <= LARGEST:
            return
        remaining = late.cutting.drop_repeated(lines)
        if len(remaining) * 8 <= len(lines) * 7:
            self._replace_lines(remaining)

    def take_back_edits(self, session_id: str, call_id: str, begun: int) -> None:
        """Take back what was given to a call before it really began, at begun in ns."""
        if entries.take_back_edits(self.lines, session_id, call_id, begun) is not self.lines:
            lines = _read_raw(self.repo)[0]
            self._replace_lines(entries.take_back_edits(lines, session_id, call_id, begun))

    def _replace_lines(self, lines: list[JournalLine]) -> None:
        replace(self.repo, self.repo.git_dir, lines)
        self.lines = expand_trees(self.repo, lines)


def leave_out(repo: Repo, git_dir: str, is_gone: Callable[[JournalLine], bool]) -> None:
    """Rewrite the journal of a worktree, by its git directory, without the lines that are gone."""
    with exclusive(repo, f"journal-{hash_home(repo, git_dir)}"):
        lines, is_complete = _read_raw(repo, git_dir)
        if _was_lost(repo, git_dir, lines, is_complete):
            lines = rebuild(repo, git_dir, lines)
        remaining = [line for line in lines if not is_gone(line)]
        if len(remaining) < len(lines):
            replace(repo, git_dir, remaining)


def replace(repo: Repo, git_dir: str, lines: list[JournalLine]) -> None:
    """Replace the journal of a worktree; the caller holds its lock."""
    path, data = os.path.join(git_dir, "gitcp", NAME), b"".join(map(entries.dump_line, lines))
    private.remove_private(repo, f"{path}-checked")  # after a kill it would tell of a loss
    private.write_private(repo, path, data)
    _note_checked(repo, path, data, lines)


class JournalCopy(Journal):
    """A copy in memory without the lock: nothing that is added to it is written."""

    __slots__ = ()

    def __init__(self, repo: Repo) -> None:
        super().__init__(repo)
        self.lines = read(repo)

    def append(self, lines: list[JournalLine], waiting: bool = False) -> None:
        """Add lines to the copy."""
        self.lines = [*self.lines, *lines]
