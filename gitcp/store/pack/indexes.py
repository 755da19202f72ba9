"""The indexes of gitcp's packs; one file has those of all small packs.

<common>/gitcp/indexes has for each pack a line with its name and the size of its index, then the
index.  A pack never changes, so its entry stays valid.  Entries of removed packs are ignored; the
file is removed when packs are joined.
"""

from __future__ import annotations

import os

from gitcp.core.git import packfile
from gitcp.errors import Error
from gitcp.process import files
from gitcp.store.pack import kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.repo import Repo

_SMALL = 1 << 16  # bytes of the largest index in the file
_MOST = 1 << 22  # bytes of the file


class Index:
    """The index of a pack.

    path: the pack's, without a suffix.  data: the index; by default path.idx is opened, which
    raises OSError if it does not exist.
    """

    _fd = _pack = -1

    def __init__(self, path: str, data: bytes = b"") -> None:
        self._path, self._data = path, data
        if not data:
            self._fd = os.open(f"{path}.idx", os.O_RDONLY | os.O_CLOEXEC)
        self._head = self._read(packfile.HEAD, 0)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # At the end of the process, modules may be cleared before the tables of memory.py.
        for fd in (self._fd, self._pack):
            if fd >= 0:
                close(fd)

    def read_small(self) -> bytes:
        """The whole index; b"" if it is large."""
        data = self._data or self._read(_SMALL + 1, 0)
        return data if len(data) <= _SMALL else b""

    def has(self, oid: str) -> bool:
        """Whether the pack has an object."""
        return self._find_number(oid) >= 0

    def read_object(self, oid: str) -> bytes:
        """The first packfile.SMALL bytes of the pack from an object on; b"" if the pack has no such
        object or cannot be read."""
        number = self._find_number(oid)
        if number < 0:
            return b""
        offset = self._read(4, packfile.locate_offset(self._head, len(oid) // 2, number))
        try:
            if self._pack < 0:
                self._pack = os.open(f"{self._path}.pack", os.O_RDONLY | os.O_CLOEXEC)
            return os.pread(self._pack, packfile.SMALL, int.from_bytes(offset, "big"))
        except OSError:
            return b""  # joined with others meanwhile

    def _find_number(self, oid: str) -> int:
        """The position of an object in the order of oids; -1 if the pack does not have it."""
        start, end = packfile.find_bucket(self._head, oid)
        number = packfile.find_position(self._read(end - start, start), oid)
        before = (start - packfile.HEAD) // (len(oid) // 2)
        return number if number < 0 else before + number

    def _read(self, size: int, at: int) -> bytes:
        return self._data[at : at + size] if self._data else os.pread(self._fd, size, at)


def read_all(repo: Repo) -> dict[str, Index]:
    """pack -> its index, of all packs; small indexes that the file lacks are added to it."""
    folder, stored = kept.locate_folder(repo), _read_file(repo)
    indexes: dict[str, Index] = {}
    for name in kept.list_packs(repo, stored):
        try:
            indexes[name] = Index(os.path.join(folder, name), stored.get(name, b""))
        except OSError:
            continue  # joined with others, or not in place yet
        if name not in stored:
            add_index(repo, name, indexes[name].read_small())
    return indexes


def add_index(repo: Repo, name: str, data: bytes) -> None:
    """Append the index of a pack to the file, if it is small and the file can be written."""
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
                os.write(fd, b"%s %d\n%s" % (name.encode(), len(data), data))
        finally:
            os.close(fd)
    except (Error, OSError):
        pass  # hooks then open the index itself


def forget_file(repo: Repo) -> None:
    """Remove the file after packs were removed."""
    files.remove_file(_locate_file(repo))


def _read_file(repo: Repo) -> dict[str, bytes]:
    """pack -> its index, of those in the file.  A damaged file is removed."""
    width, hasher = len(repo.empty_tree) // 2, kept.find_hasher(repo.algo)
    try:
        data = files.read_file(_locate_file(repo)) or b""
    except Error:
        return {}  # not a regular file
    indexes, position = dict[str, bytes](), 0
    while (end := data.find(b"\n", position)) >= 0:
        name, _, size = data[position:end].partition(b" ")
        position = end + 1 + int(size) if size.isdigit() else 0
        index = data[end + 1 : position]
        trailer = index[-2 * width : -width].hex()
        if name != b"pack-" + trailer.encode() or hasher(index[:-width]).digest() != index[-width:]:
            break  # a kill or a full disk cut the entry off
        indexes[name.decode()] = index
    else:
        if position == len(data):
            return indexes
    forget_file(repo)
    return indexes


def _locate_file(repo: Repo) -> str:
    return repo.join_shared("indexes")
