"""The oids of what a scan found: from the cache, by ourselves, or through git."""

from __future__ import annotations

import errno
import os
import stat
import time

from gitcp.core.git.porcelain import GONE
from gitcp.errors import Error, Late
from gitcp.start import late, stdlib
from gitcp.store.git import private
from gitcp.store.snapshot import filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gitcp.core.record_types import Entry
    from gitcp.store.git.objects import Objects
    from gitcp.store.snapshot.changes import Change, Scan

    Head = Callable[[str], Entry | None]
    from gitcp.repo import Repo

    Known = tuple[int, int, int, int, int, str, str]  # stat data, way, oid


_PIECE = 1 << 20
# Not of the file, but of the place where things are written, or of this process.
_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
_TROUBLE |= {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class Hasher:
    """Hashes the changes of one scan; head and known give an entry for a path."""

    def __init__(
        self, objects: Objects, scan: Scan, head: Head, write: bool, base: Head | None
    ) -> None:
        self._objects, self._scan, self._work = objects, scan, scan.worktree
        self._head, self._write, self._known = head, write, base
        self._filters = filters.Filters(scan.worktree, objects, head)
        self._cache = StatCache(scan.worktree.repo)
        self._left: dict[str, str] = {}  # path -> way: what git has to convert
        self._entries: dict[str, Entry | None] = {}

    def hash_changes(self, complete: bool) -> dict[str, Entry | None]:
        """path -> entry of every change, None where nothing is there (any more).

        Left out: what is not tracked and went away or cannot be read.  complete: the scan saw
        all there is, and the cache may forget the rest.
        """
        for path, change in self._scan.changes.items():
            if change.mode == GONE:
                self._entries[path] = None
            elif change.oid:
                self._entries[path] = (change.mode, change.oid)
            else:
                self._hash_file(path, change)
        if self._left:
            self._convert_files()
        self._cache.save(complete)
        return self._entries

    def _hash_file(self, path: str, change: Change) -> None:
        if change.st is None or not stat.S_ISREG(change.st.st_mode):
            self._keep_oid(path, change, self._hash_plain(path, change))
            return
        way = self._filters.name_conversion(path)
        oid = self._recall_oid(path, change.st, way)
        if oid is None and way:
            self._left[path] = way
        else:
            self._keep_oid(path, change, oid or self._hash_plain(path, change), way)

    def _recall_oid(self, path: str, st: os.stat_result, way: str) -> str | None:
        oid = self._cache.find_oid(path, st, way)
        if oid is None or not self._write:
            return oid
        held = self._known(path) if self._known else None
        # Neither in a tree that a ref holds nor in a pack of ours: it may have been pruned.
        return oid if (held and held[1] == oid) or self._objects.packs.has(oid) else None

    def _keep_oid(self, path: str, change: Change, oid: str | None, way: str = "") -> None:
        if oid:
            self._entries[path] = (change.mode, oid)
            if change.st and stat.S_ISREG(change.st.st_mode):
                self._cache.put_oid(path, change.st, way, oid)
        elif change.was:
            self._entries[path] = None

    def _hash_plain(self, path: str, change: Change) -> str | None:
        """The oid of a link or of a file as it is; None when it went away or is omitted."""
        full = self._work.join_full(path)
        for _ in range(3):
            try:
                if change.st is None or stat.S_ISREG(change.st.st_mode):
                    return self._hash_bytes(full)
                data = os.readlink(full)
                write = self._objects.write if self._write else self._objects.hash_object
                return write("blob", data)
            except OSError as e:
                elsewhere = isinstance(e.filename, str | bytes) and e.filename != full
                if elsewhere or e.errno in _TROUBLE:
                    raise  # not of the file, but of where its bytes go
                if isinstance(e, PermissionError):
                    self._omit_closed(path, change)
                    return None
                # It is gone, or another kind of thing by now.
                st = self._scan.look_at(path)
                mode = self._work.choose_mode(st, change.was) if st else None
                if st is None or mode is None or stat.S_ISDIR(st.st_mode):
                    return None
                change.mode, change.st = mode, st
        raise Error(f"'{path}' changes while it is read")

    def _omit_closed(self, path: str, change: Change) -> None:
        if change.was:
            raise Error(f"cannot read '{path}': Permission denied")
        self._scan.omit_path(path, "unreadable")

    def _hash_bytes(self, full: bytes) -> str:
        if self._write:
            return self._objects.write_file(full)
        fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb", buffering=0) as f:
            size = os.fstat(fd).st_size
            return (
                self._objects.hash_object("blob", f.read(size))
                if size <= _PIECE
                else _hash_long(f, size, self._work.repo.algo)
            )

    def _convert_files(self) -> None:
        changes, work = self._scan.changes, self._work
        for path in list(self._left):
            if os.path.lexists(work.join_full(path)) and not os.access(
                work.join_full(path), os.R_OK
            ):
                self._omit_closed(path, changes[path])
                del self._left[path]
        try:
            oids = self._ask_git(list(self._left))
        except Late:
            if not filters.note_hang(work.repo):
                raise
            oids = self._ask_git(list(self._left))
        for path, way in self._left.items():
            if oids.get(path, "") is None:
                self._scan.omit_path(path, "unconverted")
            else:
                self._keep_oid(path, changes[path], oids.get(path), way)

    def _ask_git(self, paths: list[str]) -> dict[str, str | None]:
        """path -> oid of files that git converts; None for one that it cannot."""
        work, oids = self._work, dict[str, str | None]()
        if filters.has_hung(work.repo):
            oids.update(dict.fromkeys(late.through_git.list_filtered(work, paths)))
        left = [path for path in paths if path not in oids]
        by_index = {path for path in left if self._needs_index(path)}
        easy = [path for path in left if path not in by_index]
        oids |= late.through_git.hash_files(work, self._objects, easy, self._write)
        if by_index:
            changes = self._scan.changes
            index = {path: entry for path in by_index if (entry := changes[path].was)}
            for name in {name for path in by_index for name in self._filters.list_from_head(path)}:
                index[name] = self._head(name) or index[name]
            oids |= late.through_git.add_files(
                work, self._objects, sorted(by_index), self._write, index
            )
        return oids

    def _needs_index(self, path: str) -> bool:
        if self._filters.list_from_head(path):
            return True
        was = self._scan.changes[path].was
        return was is not None and late.through_git.has_crlf(
            self._work, self._objects, path, was[1]
        )


def _hash_long(f: Any, size: int, algo: str) -> str:
    digest, left = stdlib.hashlib.new(algo, b"blob %d\0" % size), size
    while left and (data := f.read(min(left, _PIECE))):
        digest.update(data)
        left -= len(data)
    if left:
        raise OSError("shrank")
    return digest.hexdigest()


_SETTLED = 2 * 10**9  # ns: a file this young may change and keep its times
_VERSION = 2


class StatCache:
    """path -> oid for files that look untouched; save() keeps what was asked or told."""

    def __init__(self, repo: Repo) -> None:
        self._repo, self._file = repo, repo.join_own("stat-cache")
        self._new: dict[str, Known] = {}
        self._old: dict[str, Known] = private.load_sealed(self._file, _VERSION) or {}
        self._settled = time.time_ns() - _SETTLED

    def find_oid(self, path: str, st: os.stat_result, way: str) -> str | None:
        """The oid of a file that was hashed the same way and shows the same stat data."""
        known = self._old.get(path)
        if known is None or known[:6] != (*_build_key(st), way):
            return None
        self._new[path] = known
        return known[6]

    def put_oid(self, path: str, st: os.stat_result, way: str, oid: str) -> None:
        """Remember an oid; st was taken before the file was read."""
        if max(st.st_ctime_ns, st.st_mtime_ns) < self._settled:
            self._new[path] = (*_build_key(st), way, oid)

    def save(self, complete: bool) -> None:
        """Write what is new; complete: and forget what was neither asked for nor told."""
        kept = self._new if complete else {**self._old, **self._new}
        if kept == self._old:
            return
        try:
            private.write_private(self._repo, self._file, private.seal_value(_VERSION, kept))
        except OSError:
            pass


def _build_key(st: os.stat_result) -> tuple[int, int, int, int, int]:
    return st.st_mode, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino
