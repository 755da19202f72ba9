"""The journal of a worktree: one append-only file, <git-dir>/gitcp/journal, under its lock.

It records all sessions and the person in one order; gitcp-formats(5) describes its lines.
Objects are written before the line that names them, and each line is written at once.

journal-checked says how many bytes from its beginning were checked, and their CRC.
The lines in these bytes are not checked again: to check a line takes longer than to parse it.  A
journal that does not begin with these bytes any more has lost lines.
"""

from __future__ import annotations

import os
from zlib import crc32

from gitcp import VERSION, git, memory
from gitcp.errors import Error
from gitcp.git import encode_name, files, refs
from gitcp.git.files import Damaged, exclusive, open_file
from gitcp.git.objects import (
    TREE,
    Lookup,
    edit_tree,
    find_entry,
    find_file,
    find_tree,
    read_commit,
    write_commit,
)
from gitcp.git.repo import Repo
from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import (
    Edit,
    HeldLine,
    JournalLine,
    LookLine,
    ManyEdits,
    Opening,
    Settlement,
    dump_lines,
    list_keys,
    parse_entry,
    parse_lines,
)
from gitcp.text import ids, json, shapes
from gitcp.text.ids import BRANCHES, HIDDEN, hash_worktree, parse_shadow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any, Self

    from gitcp.git.objects import Objects
    from gitcp.text.record_types import Marker, Version

NAME = "journal"
INTENT = "rewind", "intent"  # the file of a step that is under way, or was killed
VISITED = "visited"  # the marker of a worktree with open edits of which credit.is_strange() holds
_CHECKED = "journal-checked"
_NEIGHBOURS = _CHECKED, "look", "turn"
_STREAMS = BRANCHES, HIDDEN
MANY = 2000  # edits of one look that are still written as a line each
_BASED = list_keys("based")
LARGEST = 64 << 10  # bytes: a larger journal is cut back, or loses lines that others repeat
_UNCHECKED = 4096  # bytes at the end that each process checks


class _ReadFile:
    """A journal's file as far as this process has read or written it.

    inode: of the file.  size: how many of its bytes.  crc: their CRC.  is_sound: whether all their
    lines could be read.  lines: those, and others that are to be written.  is_complete: whether it
    has all that was checked of it.
    """

    __slots__ = ("crc", "inode", "is_complete", "is_sound", "lines", "size")

    def __init__(
        self,
        inode: int,
        size: int,
        crc: int,
        is_sound: bool,
        lines: list[JournalLine],
        is_complete: bool = True,
    ) -> None:
        self.inode = inode
        self.size = size
        self.crc = crc
        self.is_sound = is_sound
        self.lines = lines
        self.is_complete = is_complete

    def read_on(self, data: bytes) -> _ReadFile:
        """The file, after these bytes more were read."""
        added = parse_lines(data)
        return _ReadFile(
            self.inode,
            self.size + len(data),
            crc32(data, self.crc),
            self.is_sound and len(added) == data.count(b"\n"),
            self.lines + added,
        )

    def write_on(self, data: bytes) -> _ReadFile:
        """The file, after these bytes of its lines were written at its end."""
        size = self.size + len(data)
        return _ReadFile(self.inode, size, crc32(data, self.crc), self.is_sound, self.lines)

    def await_lines(self, lines: list[JournalLine]) -> _ReadFile:
        """The file, of which these lines are to be written."""
        return _ReadFile(self.inode, self.size, self.crc, self.is_sound, self.lines + lines)


_READ: dict[str, _ReadFile] = memory.get_table("journals")  # by path


class _ReadLines:
    """What was read of a journal.  is_complete: whether the file has all that was checked of it."""

    __slots__ = ("is_complete", "lines")

    def __init__(self, lines: list[JournalLine], is_complete: bool) -> None:
        self.lines = lines
        self.is_complete = is_complete


def read_journal(repo: Repo, git_dir: str | None = None) -> list[JournalLine]:
    """Return the lines of this worktree's journal, or of git_dir's; [] without a journal."""
    git_dir = git_dir or repo.git_dir
    try:
        return expand_trees(repo, _read_or_rebuild(repo, git_dir).lines)
    except Error:  # the refs cannot be read: what is left counts
        return expand_trees(repo, _read_raw(repo, git_dir).lines)


def _read_or_rebuild(repo: Repo, git_dir: str, opened: _OpenFile | None = None) -> _ReadLines:
    """The lines of a worktree's journal as they stand in the file; if it has lost some, these are
    put back, and `trees` lines expanded.  opened: that of its lock.  Raises Error."""
    read = _read_raw(repo, git_dir, opened)
    if not _was_lost(repo, git_dir, read):
        return _ReadLines(read.lines, is_complete=True)

    from gitcp.record.journal import held_lines

    remaining = expand_trees(repo, read.lines)
    rebuilt = held_lines.rebuild_journal(repo, hash_home(repo, git_dir), remaining)
    return _ReadLines(rebuilt, read.is_complete and rebuilt == remaining)


def _was_lost(repo: Repo, git_dir: str, read: _ReadLines) -> bool:
    """Whether the journal of a worktree has lost lines: what was checked of it is gone; or the file
    is gone, although one of its neighbours is there; or it has no edit, although a stream of the
    worktree is there."""
    if read.is_complete and any(line.is_lasting for line in read.lines):
        return False
    if not os.path.isdir(git_dir):
        return False
    if not read.is_complete:
        for name in _NEIGHBOURS:
            if os.path.exists(os.path.join(git_dir, "gitcp", name)):
                return True
    worktree_hash = hash_home(repo, git_dir)
    for ref in refs.list_refs(repo, *_STREAMS):
        parsed = parse_shadow(ref)
        if parsed and parsed["worktree"] == worktree_hash:
            return True
    return False


def hash_home(repo: Repo, git_dir: str) -> str:
    """The hash of the id of a worktree, by its git directory."""
    if git_dir == repo.git_dir:
        return repo.worktree_hash
    return hash_worktree("" if git_dir == repo.common else os.path.basename(git_dir))


def _read_raw(
    repo: Repo, git_dir: str | None = None, opened: _OpenFile | None = None
) -> _ReadLines:
    """The lines of a journal as they stand in the file.  opened: that of its lock.

    A journal only grows or is replaced, so this process reads only what was added since.
    """
    path = os.path.join(git_dir or repo.git_dir, "gitcp", NAME)
    known = _READ.get(path)
    if known and files.read_stamp(path)[:2] == [known.inode, known.size]:
        return _ReadLines([*known.lines], is_complete=True)
    opened = opened or _OpenFile(repo, path)
    try:
        st = opened.stat()
        if known and (known.inode != st.st_ino or known.size > st.st_size):
            known = None
        start = known.size if known else 0
        data = opened.read(start, st.st_size)
        if not data.isascii():
            raise Damaged(path, "it is not text")
    except (FileNotFoundError, PermissionError):
        return _ReadLines([], is_complete=False)
    except Damaged as e:
        files.set_aside(repo, e)
        opened.close()
        return _ReadLines([], is_complete=False)
    finally:
        opened.leave()
    end = data.rfind(b"\n") + 1  # a line that is still being written is read again
    if known:
        read = known.read_on(data[:end])
    else:
        read = _parse_whole(repo, path, data[:end], st.st_ino)
    if read.is_complete and read.size:
        _READ[path] = read
    return _ReadLines([*read.lines, *parse_lines(data[end:])], read.is_complete)


class _OpenFile:
    """A journal's file, opened at most once.

    is_kept: whether it stays open until close(), to be written; otherwise leave() closes it."""

    def __init__(self, repo: Repo, path: str, is_kept: bool = False) -> None:
        self._repo = repo
        self._path = path
        self._is_kept = is_kept
        self._fd: int | None = None

    def stat(self) -> os.stat_result:
        """fstat() of the file.  Raises FileNotFoundError, PermissionError, Damaged."""
        if self._fd is None and self._is_kept:
            try:
                self._fd = open_file(self._path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
            except PermissionError:
                self._is_kept = False  # of another person: it may be read
        if self._fd is None:
            self._fd = open_file(self._path)
        return os.fstat(self._fd)

    def read(self, start: int, end: int) -> bytes:
        """The bytes of the file, which was opened, between two places."""
        assert self._fd is not None
        data = b""
        while start + len(data) < end:
            part = os.pread(self._fd, end - start - len(data), start + len(data))
            if not part:
                break
            data += part
        return data

    def append(self, data: bytes) -> os.stat_result:
        """Write data at the end, apart from a line that a kill cut short; a missing file is made.
        Return fstat() before that.  Raises OSError."""
        if self._fd is None or not self._is_kept:
            self.close()
            self._fd = files.open_private(self._repo, self._path, os.O_RDWR | os.O_APPEND)
            self._is_kept = True
        st = os.fstat(self._fd)
        if st.st_size and os.pread(self._fd, 1, st.st_size - 1) != b"\n":
            data = b"\n" + data
        files.write_at(self._fd, data, st.st_size)
        return st

    def leave(self) -> None:
        """Close it, unless it is kept."""
        if not self._is_kept:
            self.close()

    def close(self) -> None:
        """Close it."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _parse_whole(repo: Repo, path: str, data: bytes, inode: int) -> _ReadFile:
    """What is read of a journal.  What this version of gitcp has checked is not checked again."""
    mark = files.read_cache(_locate_check(path), tail=64)
    words = mark.split()
    noted = 0
    if len(words) > 1 and words[1].isdigit():
        noted = int(words[1])
    start = data[:noted]
    rest = data[noted:]
    crc = crc32(start)
    new_mark = _build_mark(len(start), crc)
    is_complete = not noted or words[1:] == new_mark.split()[1:]  # whichever version checked it
    if mark == new_mark:
        lines = parse_lines(start, are_checked=True) + parse_lines(rest)
        unchecked = len(rest)
    else:
        lines = parse_lines(data)
        unchecked = len(data)
    is_sound = len(lines) == data.count(b"\n")
    read = _ReadFile(inode, len(data), crc32(rest, crc), is_sound, lines, is_complete)
    if is_complete and unchecked > _UNCHECKED:
        _note_checked(repo, path, read)
    return read


def _note_checked(repo: Repo, path: str, read: _ReadFile) -> None:
    """Note that a journal has what was read of it, unless some of its lines are damaged."""
    if read.is_sound:
        try:
            files.write_private(repo, _locate_check(path), _build_mark(read.size, read.crc))
        except OSError as e:
            git.append_trace("files", f"{_locate_check(path)}: {e.strerror}")


def _locate_check(path: str) -> str:
    """The file that says what was checked of the journal in a file."""
    return os.path.join(os.path.dirname(path), _CHECKED)


def _build_mark(size: int, crc: int) -> bytes:
    return b"%s %d %x\n" % (VERSION.encode(), size, crc)


def expand_trees(repo: Repo, lines: list[JournalLine]) -> list[JournalLine]:
    """Replace each `trees` line by a line for each of its edits."""
    if not any(isinstance(line, ManyEdits) for line in lines):
        return lines

    from gitcp.record.journal import many_edits

    return many_edits.expand_lines(repo.objects, lines)


def get_home(repo: Repo, session: Mapping[str, Any]) -> str:
    """The git directory of a session's home worktree.  session: its state or marker."""
    return get_git_dir(repo, session.get("worktree_id") or "")


def get_git_dir(repo: Repo, worktree_id: str) -> str:
    """The git directory of a worktree of this repository; worktree_id: git's name of it."""
    if worktree_id == repo.worktree_id:
        return repo.git_dir
    if worktree_id:
        return os.path.join(repo.common, "worktrees", worktree_id)
    return repo.common


def find_worktree(repo: Repo, worktree_id: str) -> Repo | None:
    """Another worktree of the repository by git's name of it; None if it is gone."""
    root = find_root(repo, worktree_id)
    if not root or not os.path.lexists(os.path.join(root, ".git")):
        return None
    git_dir = get_git_dir(repo, worktree_id)
    return repo.open_worktree(root, git_dir)


def find_root(repo: Repo, worktree_id: str) -> str:
    """The root that git has of a worktree, by git's name of it; '' for none."""
    git_dir = get_git_dir(repo, worktree_id)
    link = os.fsdecode(files.peek(os.path.join(git_dir, "gitdir"))).strip()
    # With worktree.useRelativePaths it is relative.
    if worktree_id:
        path = os.path.normpath(os.path.join(git_dir, link))
    else:
        path = repo.common
    root, file = os.path.split(path)
    return root if file == ".git" else ""


def read_end(repo: Repo) -> tuple[int, int]:
    """(inode, size) of this worktree's journal now, for Journal.list_edits_since()."""
    try:
        st = os.stat(repo.join_own(NAME))
    except OSError:
        return 0, 0
    return st.st_ino, st.st_size


def read_clock(repo: Repo) -> int:
    """The time in ns, by the clock that stamps the worktree's files."""
    path = repo.join_own_cache("clock")
    files.touch_private(repo, path)
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:  # the cache was removed meanwhile
        files.touch_private(repo, path)
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
    stranger: whether a session of another repository has written what is looked at.
    """

    __slots__ = (
        "_file",
        "_lock",
        "_look",
        "_waiting",
        "acting",
        "base",
        "closing",
        "committers",
        "guests",
        "lines",
        "naming",
        "repo",
        "stranger",
        "telling",
        "visitors",
    )

    def __init__(
        self,
        repo: Repo,
        base: str | None = None,
        *,
        telling: str = "",
        naming: Iterable[str] = (),
        acting: Marker | None = None,
        committers: Collection[str] | None = None,
        visitors: Sequence[Marker] = (),
        guests: Sequence[Marker] = (),
        stranger: bool = False,
    ) -> None:
        self.repo = repo
        self._lock = exclusive(repo, f"journal-{repo.worktree_hash}")
        self._file = _OpenFile(repo, repo.join_own(NAME), is_kept=True)
        self.lines: list[JournalLine] = []
        self._waiting = b""  # lines that are to be written with the next ones
        self._look: dict[str, Any] | None = None
        self.base = base
        self.telling = telling
        self.closing = ""
        self.naming = frozenset(naming)
        self.acting = acting
        self.committers = committers
        self.visitors = visitors
        self.guests = guests
        self.stranger = stranger

    def __enter__(self) -> Self:
        self._lock.__enter__()
        try:
            self._read()
        except BaseException:
            self._leave()  # otherwise this process would wait for itself
            raise
        return self

    def _read(self) -> None:
        read = _read_or_rebuild(self.repo, self.repo.git_dir, self._file)
        if read.is_complete:
            self.lines = expand_trees(self.repo, read.lines)
        else:
            self._replace_lines(read.lines)

    def __exit__(self, *_: object) -> None:
        if self._waiting:  # an error is on its way
            _READ.pop(self.repo.join_own(NAME), None)
        self._leave()

    def _leave(self) -> None:
        self._file.close()
        self._lock.__exit__()

    def read_last_seen(self) -> LastSeen:
        """What was last seen of the worktree."""
        if self._look is None:
            self._look = read_look(self.repo)
        return read_last_seen(self.repo, self.lines, self._look)

    def save_look(self, head: str, at: int, dirty: Mapping[str, Version], cost: int) -> None:
        """Store the newest look: HEAD, its time in ns, the paths that differ, its cost in us; add
        the line that tells of it."""
        look = {"head": head, "at": at, "dirty": dirty, "cost": cost}
        files.write_private(self.repo, self.repo.join_own("look"), json.dumps(look).encode())
        self._look = look
        self.append([LookLine({"look": at})])

    def append(self, lines: Sequence[JournalLine], waiting: bool = False) -> None:
        """Add lines at the end; a line that a kill cut short stays apart from them.  Edits and
        looks that name no `base` get it: the commit on which they are made.

        waiting: they are written when others are added, or by write_waiting(), so that objects
        which are made until then come into the same pack.  This process reads them at once.
        """
        if not lines:
            return
        based = self._name_base(lines)
        path = self.repo.join_own(NAME)
        self._waiting += dump_lines(based)
        if not waiting or path not in _READ:
            self.write_waiting()
        known = _READ.get(path)
        if known:
            _READ[path] = known.await_lines(based)
        self.lines += expand_trees(self.repo, based)

    def stand_on(self, commit: str) -> None:
        """Take a commit for that on which edits are made from now on."""
        self.base = commit

    def note_end(self, call_id: str) -> None:
        """Note that a call has just ended, before the worktree is looked at."""
        self.closing = call_id

    def append_edits(self, edits: list[Edit]) -> None:
        """Add edits of one look; more than MANY as a line for each author, with its paths in two
        trees."""
        packed: Sequence[JournalLine] = edits
        if len(edits) > MANY:
            from gitcp.record.journal import many_edits

            packed = many_edits.pack_many_edits(self.repo.objects, edits)
        self.append(packed)
        if any(map(credit.is_strange, edits)):
            self._mark_strange()

    def _mark_strange(self) -> None:
        """Have the next commit ask whose its lines are, also if no session is open."""
        files.touch_private(self.repo, self.repo.join_own(VISITED))

    def note_held(self, commit: str | None) -> None:
        """Add the line that a session's ref holds the journal up to here, and note what the file
        has: a later loss of these lines is seen, and made good from the ref."""
        self.append([HeldLine({"held": commit})])
        path = self.repo.join_own(NAME)
        known = _READ.get(path)
        if known:
            _note_checked(self.repo, path, known)

    def write_waiting(self) -> None:
        """Write the lines that wait, after the objects that they name."""
        data = self._waiting
        self._waiting = b""
        if not data:
            return
        self.repo.objects.flush_named(data)
        path = self.repo.join_own(NAME)
        known = _READ.pop(path, None)
        st = self._file.append(data)
        if known and (known.inode, known.size) == (st.st_ino, st.st_size):
            _READ[path] = known.write_on(data)
        elif st.st_size == 0:
            _READ[path] = _ReadFile(st.st_ino, 0, 0, True, []).write_on(data)

    def _name_base(self, lines: Sequence[JournalLine]) -> list[JournalLine]:
        """The lines, with `base` in those that are made on a commit and lack it."""
        based: list[JournalLine] = []
        for line in lines:
            if _BASED.isdisjoint(line.keys) or "base" in line.keys:
                based.append(line)
                continue
            if self.base is None:
                self.base = refs.read_base(self.repo)
            based.append(line.having(base=self.base))
        return based

    def list_edits_since(self, mark: tuple[int, int], since: int) -> list[Edit]:
        """The edits that were added since read_end() returned mark, at the time since in ns."""
        inode, size = read_end(self.repo)
        if (inode, size) == mark:
            return []
        if inode != mark[0]:  # it was cut back meanwhile
            return [edit for edit in credit.list_edits(self.lines) if edit.at >= since]
        with os.fdopen(open_file(self.repo.join_own(NAME)), "rb") as f:
            f.seek(mark[1])
            return credit.list_edits(expand_trees(self.repo, parse_lines(f.read())))

    def cut_back(self) -> None:
        """Cut a journal that has become long back to what is unsettled."""
        if read_end(self.repo)[1] <= LARGEST:
            return

        from gitcp.record.journal import cuts

        lines = cuts.drop_repeated(_read_raw(self.repo).lines)
        from gitcp.record.session import others

        active = {m["session_id"] for m in others.read_here(self.repo) if m["phase"] == "active"}
        self._replace_lines(cuts.cut_back(lines, self.lines, active))

    def drop_repeated(self) -> None:
        """Remove the lines that others repeat from a journal that has become long, if they are an
        eighth of it."""
        known = _READ.get(self.repo.join_own(NAME))
        if known is None or known.size <= LARGEST:
            return

        from gitcp.record.journal import cuts

        remaining = cuts.drop_repeated(known.lines)
        if len(remaining) * 8 <= len(known.lines) * 7:
            self._replace_lines(remaining)

    def take_back_edits(self, session_id: str, call_id: str, begun: int) -> None:
        """Take back what was given to a call before it really began, at begun in ns."""
        if credit.take_back_edits(self.lines, session_id, call_id, begun) is not self.lines:
            lines = _read_raw(self.repo).lines
            self._replace_lines(credit.take_back_edits(lines, session_id, call_id, begun))

    def _replace_lines(self, lines: list[JournalLine]) -> None:
        self._file.close()  # it is another one then
        replace_journal(self.repo, self.repo.git_dir, lines)
        self.lines = expand_trees(self.repo, lines)


def leave_out(repo: Repo, git_dir: str, is_gone: Callable[[JournalLine], bool]) -> None:
    """Rewrite the journal of a worktree, by its git directory, without the lines that is_gone()
    selects."""
    with exclusive(repo, f"journal-{hash_home(repo, git_dir)}"):
        lines = _read_or_rebuild(repo, git_dir).lines
        remaining = [line for line in lines if not is_gone(line)]
        if len(remaining) < len(lines):
            replace_journal(repo, git_dir, remaining)


def replace_journal(repo: Repo, git_dir: str, lines: list[JournalLine]) -> None:
    """Replace the journal of a worktree; the caller holds its lock."""
    path = os.path.join(git_dir, "gitcp", NAME)
    data = dump_lines(lines)
    files.remove_private(repo, _locate_check(path))  # after a kill it would tell of a loss
    files.write_private(repo, path, data)
    _note_checked(repo, path, _ReadFile(0, 0, 0, True, lines).write_on(data))


class JournalCopy(Journal):
    """A copy in memory without the lock: nothing that is added to it is written."""

    __slots__ = ()

    def append(self, lines: Sequence[JournalLine], waiting: bool = False) -> None:
        """Add lines to the copy."""
        self.lines = [*self.lines, *lines]

    def _mark_strange(self) -> None:
        """Nothing: the edits are in the copy alone."""


def copy_journal(repo: Repo) -> JournalCopy:
    """A copy of this worktree's journal."""
    copy = JournalCopy(repo)
    copy.append(read_journal(repo))
    return copy


# The last seen content of each path: the newest look at the whole worktree, and the edits since.
#
# The look is stored in <git-dir>/gitcp/look: head, at (ns), dirty {path: entry}, cost (us).
_SLACK = 20_000_000  # ns by which the stamps of files may lag behind the clock


def read_look(repo: Repo) -> dict[str, Any]:
    """The newest look at the whole worktree; {} before the first one."""
    path = repo.join_own("look")
    return files.read_once(path, lambda: _load_look(path), {})


def _load_look(path: str) -> Any:
    """The look in a file, with entries as tuples; {} for a damaged one."""
    look = files.load_cache(path, shapes.LOOK)
    if not look:
        return {}
    dirty = look["dirty"]
    for name, entry in dirty.items():
        if entry:
            dirty[name] = entry[0], entry[1]
    return look


class LastSeen:
    """The last seen entries of paths, from the look and the journal's lines.

    head: the commit at the look.  commits: those made since.  at: the time of the look in ns.
    cost: of the look in us.  first: whether there was none.
    """

    def __init__(
        self,
        repo: Repo,
        lines: list[JournalLine],
        look: dict[str, Any],
        edits: dict[str, Edit],
        looked: dict[str, Version],
        commits: list[str],
    ) -> None:
        """look: as read_look() returns it.  edits: path -> the last edit since.  looked: path ->
        what a call has seen since, after the last edit."""
        self._repo = repo
        self._lines = lines
        self._dirty: Mapping[str, Version] = look.get("dirty", {})
        self._since = edits
        self._looked = looked
        self._opened: dict[str, int] | None = None
        self._folders: dict[str, int] = {}  # directory -> its ctime in ns
        self._head: Lookup | None = None
        self.first = not look
        self.cost = int(look.get("cost", 0))
        self.commits = commits
        self.head: str = look.get("head") or "HEAD"
        self.at = int(look.get("at", 0))

    @property
    def paths(self) -> set[str]:
        """The paths that differed from HEAD at the look, or have an edit since."""
        return {*self._dirty, *self._since}

    def list_differing(self, dirty: Mapping[str, Version]) -> set[str]:
        """The paths whose last seen entry may be another one than now.  dirty: the entries of now
        that differ from HEAD's."""
        paths = {*self._since}
        paths.update(path for path in self._looked if path in self._dirty or path in dirty)
        paths.update(self._dirty.keys() - dirty.keys())
        for path, entry in dirty.items():
            if self._dirty.get(path, ()) != entry:
                paths.add(path)
        return paths

    def get_entry(self, path: str) -> Version:
        """The last seen entry of a path; None without one."""
        if path in self._since:
            return self._since[path].after
        if path in self._looked:
            return self._looked[path]
        if path in self._dirty:
            return self._dirty[path]
        return self.get_committed(path)

    def get_committed(self, path: str) -> Version:
        """The entry of a path in HEAD at the look."""
        if self._head is None:
            self._head = Lookup(self._repo.objects, find_tree(self._repo.objects, self.head))
        return find_file(self._head, path)

    def get_seen_time(self, path: str) -> int:
        """When a path was last looked at, in ns."""
        edit = 0
        if path in self._since:
            edit = self._since[path].at
        if self._opened is None:
            self._opened = credit.map_looked_times(self._lines)
        return max(self.at, edit, self._opened.get(path, 0))

    def is_unwritten(self, path: str, ctime: int) -> bool:
        """Whether a file at a path with this ctime, in ns, is as it was when the path was last
        seen.  Another one may have come with a directory that was moved: see is_unmoved()."""
        return not self.first and ctime < self.get_seen_time(path) - _SLACK

    def is_unmoved(self, path: str) -> bool:
        """Whether no directory above a path has come or changed since the path was last seen."""
        until = self.get_seen_time(path) - _SLACK
        folder = os.path.dirname(path)
        while folder and not self.first:
            if folder not in self._folders:
                file = os.path.join(os.fsencode(self._repo.worktree), encode_name(folder))
                if os.path.lexists(file):
                    self._folders[folder] = os.lstat(file).st_ctime_ns
                else:
                    self._folders[folder] = 0
            if self._folders[folder] >= until:
                return False
            folder = os.path.dirname(folder)
        return not self.first


def read_last_seen(
    repo: Repo, lines: list[JournalLine], look: dict[str, Any] | None = None
) -> LastSeen:
    """What was last seen of the worktree, by the newest look and the journal's lines.  look: as
    read_look() returns it, if it was read."""
    if look is None:
        look = read_look(repo)
    edits = {edit.path: edit for edit in credit.list_edits_since_look(lines)}
    looked: dict[str, Version] = {}
    commits: list[str] = []
    for line in lines[credit.find_last(lines, LookLine) + 1 :]:
        if isinstance(line, Settlement):
            if line.commit:
                commits.append(line.commit)
        elif isinstance(line, Opening):
            for path, entry in line.looked.items():
                looked[path] = parse_entry(entry)
        elif isinstance(line, Edit):
            looked.pop(line.path, None)
    return LastSeen(repo, lines, look, edits, looked, commits)


# refs/gitcp/edits/<session>: the contents that the journal's lines name, kept from pruning.
#
# It has one commit for each turn, and in a linked worktree for each call.  The commit's tree has
# `entries`, the recorded lines, and `contents/<oid>`, their blobs before and after, whoever wrote
# them.  Lines that a journal lost are put back from it.
_BLOBS = ("100644", "100755", "120000")


def hold_edits(
    repo: Repo,
    journal: Journal,
    session_id: str,
    subject: str,
    ref: str = "",
    change: str = "",
) -> None:
    """Commit the journal's new lines to the session's ref as write_edits() does.

    The caller holds the locks of the session and of the journal.
    """
    update = write_edits(repo, journal, session_id, subject, ref, change)
    if update:
        refs.update_refs(repo, [update], "gitcp: edits")
        journal.note_held(update[1])


def write_edits(
    repo: Repo,
    journal: Journal,
    session_id: str,
    subject: str,
    ref: str = "",
    change: str = "",
) -> refs.Update | None:
    """Write a commit of the lines that the journal has gained since a ref last held it.

    Returns the update of the session's ref; None if there is nothing to hold.
    ref: to write to instead of the session's: that of a part of its edits (store.guard.reports).
    change: the tree that the commit has as `change`; '' for that of the commit before.
    """
    lines = credit.list_lasting(credit.list_unheld(journal.lines))
    if not lines and not change:
        return None
    ref = ref or ids.EDITS + session_id
    tip = read_commit(repo.objects, ref)
    previous_change = None
    if tip and not change:
        previous_change = find_entry(repo.objects, tip["tree"], "change")
    held_files = _build_files(repo.objects, lines)
    if change or previous_change:
        held_files["change"] = previous_change or (TREE, change)
    tree = edit_tree(repo.objects, None, held_files)
    trailer = f"Gitcp-Worktree: {repo.worktree_hash}"
    message = f"{subject}\n\n{trailer}\nClaude-Session-Id: {session_id}"
    oid = write_commit(repo, tree, [tip["oid"]] if tip else [], message)
    return ref, oid, tip["oid"] if tip else None


def _build_files(objects: Objects, lines: list[JournalLine]) -> dict[str, Version]:
    """The files of the commit that holds these lines."""
    held_files: dict[str, Version] = {
        "entries": ("100644", objects.write("blob", dump_lines(lines)))
    }
    for edit in credit.list_edits(lines):
        for entry in (edit.before, edit.after):
            if entry and entry[0] in _BLOBS and edit.is_kept:
                held_files[f"contents/{entry[1]}"] = ("100644", entry[1])
    absent = objects.list_absent([entry[1] for entry in held_files.values() if entry])
    return {name: entry for name, entry in held_files.items() if entry and entry[1] not in absent}


def group_by_worktree(repo: Repo, paths: Iterable[str]) -> dict[str, list[str]]:
    """root of another worktree of the repository -> the absolute paths in it."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        root = find_root_above(path)

        from gitcp.record import registered

        if root:
            git_dir = registered.find_git_dir(root)
        else:
            git_dir = repo.git_dir
        if git_dir != repo.git_dir and registered.find_common_dir(git_dir) == repo.common:
            groups.setdefault(root, []).append(path)
    return groups


def find_root_above(path: str) -> str:
    """The nearest directory above an absolute path that has a `.git`; '' for none."""
    folder = ""
    if os.path.isabs(path):
        folder = os.path.realpath(os.path.dirname(path))
    while folder and not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        folder = above if above != folder else ""
    return folder
