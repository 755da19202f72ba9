"""gitcp's packs in an object database: list them, add one, leave one to git.

A `.keep` file keeps a pack from git's pruning and repacking.  A repository that borrows objects
gets no such file: as soon as one of its packs is kept, git-repack(1) leaves out the objects of the
lender's kept packs, and they are lost when the repository is made independent.  There gitcp's packs
are listed in <common>/gitcp/packs, and git prunes their objects by age.
"""

from __future__ import annotations

import errno
import os
import time
from zlib import crc32

from gitcp import files
from gitcp.core import git_formats
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator
    from typing import Any

    from gitcp.repo import Repo

KEEP = b"gitcp\n"  # the content of the .keep file of a pack of gitcp
# The nanoseconds of its time.  The file is not synced, so a power cut may leave it empty, as
# git-index-pack(1) makes it for others; but a file has its time as soon as its name.
_MARK = 616_263_700
_ENDS = (".idx", ".pack", ".keep")  # without its index git does not see a pack


def locate_folder(repo: Repo) -> str:
    """The directory of a repository's packs."""
    objects = repo.git.env.get("GIT_OBJECT_DIRECTORY") or os.path.join(repo.common, "objects")
    return os.path.join(objects, "pack")


def make_workshop(repo: Repo) -> str:
    """The directory where packs are made, created if it does not exist.  Raises OSError."""
    folder = repo.git.env.get("GIT_OBJECT_DIRECTORY") or repo.join_shared("tmp")
    repo.make_folder(folder)
    return folder


def place_pack(repo: Repo, name: str, path: str) -> None:
    """Move path.pack and path.idx into the directory of packs, and keep the pack; both or none."""
    repo.make_folder(locate_folder(repo))
    to = os.path.join(locate_folder(repo), f"pack-{name}")
    ends, moved = [".pack", ".idx"], list[str]()
    if _has_alternates(repo):
        _list_pack(repo, f"pack-{name}")
    else:
        write_file(f"{path}.keep", KEEP)
        at = time.time_ns()
        at += _MARK - at % 1_000_000_000
        os.utime(f"{path}.keep", ns=(at, at))
        ends.insert(0, ".keep")
    try:
        for end in ends:
            repo.share_file(path + end)
            _move_file(path + end, to + end)
            moved.append(end)
    except OSError:
        for end in reversed(moved):
            _move_file(to + end, path + end)
        raise


def _has_alternates(repo: Repo) -> bool:
    """Whether the repository borrows objects."""
    alternates = os.path.join(os.path.dirname(locate_folder(repo)), "info", "alternates")
    return bool(files.peek(alternates).strip())


def _list_pack(repo: Repo, name: str) -> None:
    listed = repo.join_shared("packs", name)
    repo.make_folder(os.path.dirname(listed))
    write_file(listed, b"")
    repo.share_file(listed)


def _move_file(path: str, to: str) -> None:
    try:
        os.rename(path, to)
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        # The objects are on another disk.  git prunes files of this name that are left behind.
        beside = os.path.join(os.path.dirname(to), f"tmp_pack_{os.getpid()}")
        try:
            with open(path, "rb") as f, open(beside, "wb") as g:
                _leave_room(g.fileno(), os.fstat(f.fileno()).st_size)
                import shutil

                shutil.copyfileobj(f, g)
                g.flush()
                files.sync_file(g.fileno())
            os.rename(beside, to)
        except OSError:
            files.remove_file(beside)
            raise
        os.unlink(path)


def write_file(path: str, data: bytes, durable: bool = False) -> None:
    """Create or replace a file.  durable: it survives a power cut."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    files.fill_file(fd, data, durable)


def write_at(fd: int, data: bytes, offset: int) -> int:
    """files.write_at() of a pack.  Raises OSError, with nothing written, if the pack would be
    larger than the free space: a commit that git makes meanwhile needs room too."""
    _leave_room(fd, len(data), offset)
    return files.write_at(fd, data, offset)


def _leave_room(fd: int, more: int, size: int = 0) -> None:
    """Raise OSError if the disk is too full for a file of size bytes to grow by more."""
    disk = os.fstatvfs(fd)
    if disk.f_blocks and size + 2 * more > disk.f_bavail * disk.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def remove_pack(path: str) -> None:
    """Remove what there is of a pack."""
    for end in _ENDS:
        files.remove_file(path + end)


def list_packs(repo: Repo, ours: Container[str] = ()) -> list[str]:
    """The names of gitcp's packs, without `.pack`.

    ours: packs whose .keep file is gitcp's and need not be read.
    """
    folder = locate_folder(repo)
    names = list_kept(repo)
    own = [n for n in names if n in ours or _is_ours(os.path.join(folder, f"{n}.keep"))]
    if own and _has_alternates(repo):
        for name in own:
            _list_pack(repo, name)
            files.remove_file(os.path.join(folder, f"{name}.keep"))
    return list(dict.fromkeys([*own, *files.list_names(repo.join_shared("packs"))]))


def list_kept(repo: Repo) -> list[str]:
    """The names of all packs with a .keep file, gitcp's and others."""
    names = files.list_names(locate_folder(repo))
    return [name.removesuffix(".keep") for name in names if name.endswith(".keep")]


def release_pack(repo: Repo, name: str) -> None:
    """Leave a pack to git, which prunes and repacks it."""
    files.remove_file(os.path.join(locate_folder(repo), f"{name}.keep"))
    files.remove_file(repo.join_shared("packs", name))


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as f:
            data = f.read(len(KEEP))
            is_marked = os.fstat(f.fileno()).st_mtime_ns % 1_000_000_000 == _MARK
            return data == KEEP or (is_marked and KEEP.startswith(data))
    except OSError:
        return False


def find_hasher(algo: str, much: bool = False) -> Any:
    """The hash function of the repository's object names; much: for megabytes."""
    if algo == "sha256":
        import hashlib

        return hashlib.sha256
    if not much:
        try:
            import _sha1  # hashlib costs 2.7 ms, and a hook hashes little
        except ImportError:
            pass
        else:
            return _sha1.sha1
    import hashlib

    return lambda data: hashlib.sha1(data, usedforsecurity=False)


# The indexes of gitcp's packs; those of small packs are together in one file.
#
# <common>/gitcp/indexes has them one after the other, each after a line with the pack's name, the
# index's size, and the CRC-32 of name and index.  A pack never changes, so its index stays valid.
# Indexes of deleted packs are not used, and go with the file when packs are joined.
_SMALL = 1 << 16  # bytes of an index in the file
_MOST = 1 << 22  # bytes of the file
_DEEPEST = 50  # deltas between an object and one that is whole; git makes no more


class Index:
    """The index of one pack.  Raises OSError if there is none, or it is damaged.

    path: of the pack, without `.pack`.  data: the index, b"" to read it from its file.
    """

    _fd = _pack = -1

    def __init__(self, path: str, data: bytes = b"") -> None:
        self._path, self._data = path, data
        if not data:
            self._fd = os.open(f"{path}.idx", os.O_RDONLY | os.O_CLOEXEC)
        self._head = self._read(git_formats.HEAD, 0)
        if not data and not git_formats.is_index(self._head, os.fstat(self._fd).st_size):
            raise OSError(errno.EINVAL, "not an index", f"{path}.idx")

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # At the end of the process a module may be gone before the objects in memory.py.
        for fd in (self._fd, self._pack):
            if fd >= 0:
                close(fd)

    def read_small(self) -> bytes:
        """All bytes of the index; b"" for a large one."""
        data = self._data or self._read(_SMALL + 1, 0)
        return data if len(data) <= _SMALL else b""

    def has(self, oid: str) -> bool:
        """Whether the pack has an object."""
        return self._find_number(oid) >= 0

    def list_held(self, oids: Collection[str]) -> set[str]:
        """Those of some objects, at least one, that the pack has."""
        if not self._data:
            return {oid for oid in oids if self.has(oid)}
        size = len(next(iter(oids)))
        names = self._data[git_formats.HEAD :].hex()
        ends = range(size, (git_formats.count_objects(self._head) + 1) * size, size)
        return {names[end - size : end] for end in ends}.intersection(oids)

    def read_object(self, oid: str) -> tuple[str, bytes] | None:
        """(kind, content) of a small object; None if the pack does not have it or cannot be
        read."""
        offset, deltas = self._find_offset(oid), list[bytes]()
        try:
            if offset >= 0 and self._pack < 0:
                self._pack = os.open(f"{self._path}.pack", os.O_RDONLY | os.O_CLOEXEC)
            while offset >= 0 and len(deltas) < _DEEPEST:
                data = os.pread(self._pack, git_formats.SMALL, offset)
                if (packed := git_formats.parse_object(data, len(oid) // 2)) is None:
                    break
                kind, base, content = packed
                if kind:
                    for delta in reversed(deltas):
                        content = git_formats.apply_delta(content, delta)
                    return kind, content
                deltas.append(content)
                offset = self._find_offset(base) if isinstance(base, str) else offset - base
        except (OSError, ValueError):
            pass  # joined with others meanwhile, or damaged
        return None

    def _find_offset(self, oid: str) -> int:
        """The offset of an object in the pack; -1 if the pack does not have it."""
        number = self._find_number(oid)
        if number < 0:
            return -1
        place = git_formats.locate_offset(self._head, len(oid) // 2, number)
        return int.from_bytes(self._read(4, place), "big")

    def _find_number(self, oid: str) -> int:
        """The number of an object in the order of oids; -1 if the pack does not have it."""
        start, end = git_formats.find_bucket(self._head, oid)
        if start == end:
            return -1
        number = git_formats.find_position(self._read(end - start, start), oid)
        before = (start - git_formats.HEAD) // (len(oid) // 2)
        return number if number < 0 else before + number

    def _read(self, size: int, offset: int) -> bytes:
        if self._data:
            return self._data[offset : offset + size]
        return os.pread(self._fd, size, offset)


def open_indexes(paths: Iterable[str]) -> Iterator[Index]:
    """The indexes of packs, without `.pack`, that can be read."""
    for path in paths:
        try:
            yield Index(path)
        except OSError:
            continue  # of more than 2 GiB, removed meanwhile, or damaged


def read_all(repo: Repo) -> dict[str, Index]:
    """pack -> index of gitcp's packs; small ones are added to the file."""
    folder, stored = locate_folder(repo), _read_file(repo)
    indexes: dict[str, Index] = {}
    for name in list_packs(repo, stored):
        try:
            indexes[name] = Index(os.path.join(folder, name), stored.get(name, b""))
        except OSError:
            continue  # joined with others, not there yet, or damaged, which fsck reports
        if name not in stored:
            add_index(repo, name, indexes[name].read_small())
    return indexes


def add_index(repo: Repo, name: str, data: bytes) -> None:
    """Append the index of a pack to the file if it is small and the file can be written."""
    if not 0 < len(data) <= _SMALL:
        return
    path, flags = _locate_file(repo), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    try:
        fd = files.open_file(path, flags)
        try:
            size = os.fstat(fd).st_size
            if not size:
                repo.share_file(path)
            if size < _MOST:
                check = crc32(data, crc32(name.encode()))
                os.write(fd, b"%s %d %x\n%s" % (name.encode(), len(data), check, data))
        finally:
            os.close(fd)
    except (Error, OSError):
        pass  # hooks then read the pack's own index


def forget_file(repo: Repo) -> None:
    """Remove the file; the next read_all() makes it again."""
    files.remove_file(_locate_file(repo))


def _read_file(repo: Repo) -> dict[str, bytes]:
    """pack -> index, of the indexes in the file; a damaged file is removed."""
    try:
        data = files.read_file(_locate_file(repo)) or b""
    except Error:
        return {}  # something else is in its place
    indexes, start = dict[str, bytes](), 0
    while (end := data.find(b"\n", start)) >= 0:
        name, _, numbers = data[start:end].partition(b" ")
        size, _, check = numbers.partition(b" ")
        start = end + 1 + int(size) if size.isdigit() else 0
        index = data[end + 1 : start]
        if check != b"%x" % crc32(index, crc32(name)):
            break  # a process was killed, or had no room, while it appended
        indexes[name.decode()] = index
    else:
        if start == len(data):
            return indexes
    forget_file(repo)
    return indexes


def _locate_file(repo: Repo) -> str:
    return repo.join_shared("indexes")
