"""Which objects are in the packs of ours: one file tells it of all small packs.

<common>/gitcp/indexes has index behind index, each after a line with the pack's name and its size.
A pack never changes, so an entry is right as long as the pack is there; entries of packs that are
gone count for nothing until the file goes, when packs are joined.
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

_SMALL = 1 << 16  # bytes of an index that is in the file
_MOST = 1 << 22  # bytes of the file


class Index:
    """The index of one pack.  Raises OSError where there is none.

    path: the pack's, without its end; data: the index, where it is at hand.
    """

    _fd = _pack = -1

    def __init__(self, path: str, data: bytes = b"") -> None:
        self._path, self._data = path, data
        if not data:
            self._fd = os.open(f"{path}.idx", os.O_RDONLY | os.O_CLOEXEC)
        self._head = self._read(packfile.HEAD, 0)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # At the end of the process modules may be gone before what memory.py has.
        for fd in (self._fd, self._pack):
            if fd >= 0:
                close(fd)

    def read_small(self) -> bytes:
        """All of the index, b"" where it is large."""
        data = self._data or self._read(_SMALL + 1, 0)
        return data if len(data) <= _SMALL else b""

    def has(self, oid: str) -> bool:
        """Whether the pack has an object."""
        return self._find_number(oid) >= 0

    def read_object(self, oid: str) -> bytes:
        """The pack from where an object begins, packfile.SMALL bytes; b"" where it has none, or
        cannot be read."""
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
        """Which object of the pack one is by its oid, -1 where the pack has none."""
        start, end = packfile.find_bucket(self._head, oid)
        number = packfile.find_position(self._read(end - start, start), oid)
        before = (start - packfile.HEAD) // (len(oid) // 2)
        return number if number < 0 else before + number

    def _read(self, size: int, at: int) -> bytes:
        return self._data[at : at + size] if self._data else os.pread(self._fd, size, at)


def read_all(repo: Repo) -> dict[str, Index]:
    """The index of each pack of ours, by its name; small ones are in the file from now on."""
    there, known = kept.locate_folder(repo), _read_file(repo)
    indexes: dict[str, Index] = {}
    for name in kept.list_packs(repo, known):
        try:
            indexes[name] = Index(os.path.join(there, name), known.get(name, b""))
        except OSError:
            continue  # joined with others, or not there yet
        if name not in known:
            add_index(repo, name, indexes[name].read_small())
    return indexes


def add_index(repo: Repo, name: str, data: bytes) -> None:
    """Append the index of a pack to the file, where it is small and the file can be written."""
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
        pass  # each hook opens what is not in it


def forget_file(repo: Repo) -> None:
    """Begin the file anew: packs are gone."""
    files.remove_file(_locate_file(repo))


def _read_file(repo: Repo) -> dict[str, bytes]:
    """pack -> its index, of those in the file; one that is damaged goes."""
    width, hasher = len(repo.empty_tree) // 2, kept.find_hasher(repo.algo)
    try:
        data = files.read_file(_locate_file(repo)) or b""
    except Error:
        return {}  # something else is in its place
    whole, at = dict[str, bytes](), 0
    while (end := data.find(b"\n", at)) >= 0:
        name, _, size = data[at:end].partition(b" ")
        at = end + 1 + int(size) if size.isdigit() else 0
        index = data[end + 1 : at]
        trailer = index[-2 * width : -width].hex()
        if name != b"pack-" + trailer.encode() or hasher(index[:-width]).digest() != index[-width:]:
            break  # killed, or without room, while it was appended
        whole[name.decode()] = index
    else:
        if at == len(data):
            return whole
    forget_file(repo)
    return whole


def _locate_file(repo: Repo) -> str:
    return repo.join_shared("indexes")
