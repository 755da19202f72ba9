"""The indexes of gitcp's packs; those of small packs are together in one file.

<common>/gitcp/indexes has them one after the other, each after a line with the pack's name, the
index's size, and the CRC-32 of name and index.  A pack never changes, so its index stays valid.
Indexes of deleted packs are not used, and go with the file when packs are joined.
"""

from __future__ import annotations

import errno
import os
from zlib import crc32

from gitcp.core.git import packfile
from gitcp.errors import Error
from gitcp.process import files
from gitcp.store.pack import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from gitcp.repo import Repo

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
        self._head = self._read(packfile.HEAD, 0)
        if not data and not packfile.is_index(self._head, os.fstat(self._fd).st_size):
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
        names = self._data[packfile.HEAD :].hex()
        ends = range(size, (packfile.count_objects(self._head) + 1) * size, size)
        return {names[end - size : end] for end in ends}.intersection(oids)

    def read_object(self, oid: str) -> tuple[str, bytes] | None:
        """(kind, content) of a small object; None if the pack does not have it or cannot be
        read."""
        offset, deltas = self._find_offset(oid), list[bytes]()
        try:
            if offset >= 0 and self._pack < 0:
                self._pack = os.open(f"{self._path}.pack", os.O_RDONLY | os.O_CLOEXEC)
            while offset >= 0 and len(deltas) < _DEEPEST:
                data = os.pread(self._pack, packfile.SMALL, offset)
                if (packed := packfile.parse_object(data, len(oid) // 2)) is None:
                    break
                kind, base, content = packed
                if kind:
                    for delta in reversed(deltas):
                        content = packfile.apply_delta(content, delta)
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
        place = packfile.locate_offset(self._head, len(oid) // 2, number)
        return int.from_bytes(self._read(4, place), "big")

    def _find_number(self, oid: str) -> int:
        """The number of an object in the order of oids; -1 if the pack does not have it."""
        start, end = packfile.find_bucket(self._head, oid)
        if start == end:
            return -1
        number = packfile.find_position(self._read(end - start, start), oid)
        before = (start - packfile.HEAD) // (len(oid) // 2)
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
    folder, stored = kept.locate_folder(repo), _read_file(repo)
    indexes: dict[str, Index] = {}
    for name in kept.list_packs(repo, stored):
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
