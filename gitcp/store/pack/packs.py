"""gitcp's packs: a process writes its objects into one pack, which git does not prune.

An object is written before the ref that needs it, and `git gc --prune=now` deletes every object
that no ref needs.  Loose objects make gc run, and run again as long as they are too young to be
deleted.  A pack with a `.keep` file is not pruned, counted or repacked; a repository that borrows
objects has no such file (kept.py).  upkeep joins small packs and releases old ones to git.

A pack is written to a temporary directory (kept.make_folder()) and moved into place, its index
last.  git ignores a pack without an index, so a kill at any instant leaves no partial pack.
"""

from __future__ import annotations

import os
import zlib

from gitcp import git, memory, trace
from gitcp.core.git import packfile
from gitcp.process import files
from gitcp.record import encode_lines
from gitcp.start import late
from gitcp.store.pack import indexes, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from gitcp.repo import Repo

MOST = 16  # packs, before some of them are joined
_HELD = 1 << 20  # bytes that wait in memory
_LARGEST = 1 << 30  # bytes of a pack to which an object is still added
_PIECE = 1 << 20
_FEW = 64  # objects
_PACK_OBJECTS = (
    "-c core.bigFileThreshold=1m -c pack.threads=1 -c pack.compression=1 -c pack.indexVersion=2"
    " -c pack.packSizeLimit=0 pack-objects -q --window=0"
)


class Packs:
    """gitcp's packs in one object database, and the one that this process writes.

    git finds an added object after flush(), which is called before git starts, and before a file
    that may name an object is written.
    """

    def __init__(self, repo: Repo) -> None:
        self.folder, self._repo = kept.locate_folder(repo), repo
        self._hasher = kept.find_hasher(repo.algo)
        self._entries: dict[str, packfile.Entry] = {}
        self._parts: list[bytes] = []
        self._size, self._written = packfile.START, packfile.START
        self._path, self._fd = "", -1
        self._indexes: dict[str, indexes.Index] | None = None

    def add_object(self, kind: str, oid: str, data: bytes) -> None:
        """Add an object, unless it is in the pack already."""
        if oid in self._entries:
            return
        self._flush_full()
        head, packed = packfile.build_object_head(kind, len(data)), zlib.compress(data, 1)
        self._parts += (head, packed)
        self._note_object(
            oid, zlib.crc32(packed, zlib.crc32(head)), self._size + len(head) + len(packed)
        )
        if self._size - self._written > _HELD:
            self._write_parts()

    def add_stream(self, f: BinaryIO, size: int) -> str | None:
        """Add the next size bytes of f as a blob; return its oid, None if f has fewer."""
        self._flush_full()
        fd = self._write_parts()
        digest, packer = self._hasher(b"blob %d\0" % size), zlib.compressobj(1)
        packed = packfile.build_object_head("blob", size)
        position, crc, left = self._size, 0, size
        try:
            while left and (data := f.read(min(left, _PIECE))):
                digest.update(data)
                packed += packer.compress(data)
                position = kept.write_at(fd, packed, position)
                crc, packed = zlib.crc32(packed, crc), b""
                left -= len(data)
            packed += packer.flush()
            oid = str(digest.hexdigest())
            if not left and not self.has(oid):
                position = kept.write_at(fd, packed, position)
                self._note_object(oid, zlib.crc32(packed, crc), position)
                self._written = position
        finally:
            os.ftruncate(fd, self._written)
        return None if left else oid

    def adopt_loose(self, folder: str) -> None:
        """Pack the loose objects that git wrote below folder, and put the pack in place."""
        fans = [fan for fan in os.listdir(folder) if len(fan) == 2]
        oids = [fan + name for fan in fans for name in os.listdir(os.path.join(folder, fan))]
        if not oids:
            return
        base, env = os.path.join(folder, "pack"), {"GIT_OBJECT_DIRECTORY": folder}
        _, out = self._repo.git.run(*_PACK_OBJECTS.split(), base, stdin=encode_lines(oids), env=env)
        for name in out.decode().split():
            self._place_pack(name, f"{base}-{name}", files.peek(f"{base}-{name}.idx"))

    def flush(self) -> bool:
        """Put the pack in place; return whether it has objects."""
        if not self._entries:
            self.abandon()
            return False
        fd, path = self._write_parts(), self._path
        trailer = self._finish_file(fd)
        index = packfile.build_index(self._entries, trailer, self._hasher)
        kept.write_file(f"{path}.idx", index)
        self._place_pack(trailer.hex(), path, index)
        trace.append_note("pack", f"{trailer.hex()}: {len(self._entries)} objects")
        self.abandon()
        if self._has_many_packs():
            late.upkeep.join_packs(self._repo)
            self._indexes = None
        return True

    def flush_named(self, data: bytes) -> None:
        """flush() if data, which will be written to a file, names an added object."""
        if any(oid.encode() in data for oid in self._entries):
            self.flush()

    def _has_many_packs(self) -> bool:
        repo = self._repo
        candidates = self._indexes or [*kept.list_kept(repo), *kept.list_unkept(repo)]
        return len(candidates) > MOST and len(self._read_indexes()) > MOST

    def abandon(self) -> None:
        """Drop the added objects and remove the pack's temporary files."""
        fd, self._fd, self._entries = self._fd, -1, {}
        self._parts.clear()
        self._size = self._written = packfile.START
        if fd >= 0:
            os.close(fd)
            try:
                kept.remove_pack(self._path)
            except OSError as e:
                trace.append_note("pack", f"not removed: {e}")  # upkeep removes it later

    def has_few(self) -> bool:
        """Whether this process adds so few objects that the existing packs need not be opened."""
        return len(self._entries) < _FEW

    def has(self, oid: str) -> bool:
        """Whether an object is safe from a prune: it was added, or is in one of the packs."""
        return oid in self._entries or bool(self.find_pack(oid))

    def find_pack(self, oid: str) -> str:
        """The pack that has an object, '' for none.  Its time stamps are renewed."""
        for name, index in self._read_indexes().items():
            if index.has(oid):
                try:
                    for suffix in (".pack", ".idx"):  # git prunes by the age of the pack
                        os.utime(os.path.join(self.folder, name + suffix))
                except OSError:
                    continue  # joined with others meanwhile, or another user's
                return name
        return ""

    def read_object(self, oid: str) -> tuple[str, bytes] | None:
        """(kind, content) of an object in one of the packs; None if it is in none, or large."""
        data = next(
            filter(None, (index.read_object(oid) for index in self._read_indexes().values())), b""
        )
        return packfile.parse_object(data) if data else None

    def find_stamp(self, oid: str) -> int | None:
        """The number of the pack that has an object, 0 for the one being written; None for none."""
        name = self.find_pack(oid)
        return _parse_stamp(name) if name else 0 if oid in self._entries else None

    def list_stamps(self) -> set[int]:
        """The numbers of all packs, and stamp_others()."""
        return {self.stamp_others(), *map(_parse_stamp, self._read_indexes())}

    def stamp_others(self) -> int:
        """A number, not 0, for the present set of git's own packs."""
        indexes = self._read_indexes()
        names = [name for name in files.list_names(self.folder) if name.endswith(".idx")]
        foreign = [name for name in names if name.removesuffix(".idx") not in indexes]
        return zlib.crc32("".join(foreign).encode()) or 1

    def _read_indexes(self) -> dict[str, indexes.Index]:
        """The index of each pack, as of the first call, and of those that this process wrote."""
        if self._indexes is None:
            self._indexes = indexes.read_all(self._repo)
        return self._indexes

    def _place_pack(self, name: str, path: str, index: bytes) -> None:
        kept.place_pack(self._repo, name, path)
        indexes.add_index(self._repo, f"pack-{name}", index)
        if self._indexes is not None:
            target = os.path.join(self.folder, f"pack-{name}")
            self._indexes[f"pack-{name}"] = indexes.Index(target, index)

    def _note_object(self, oid: str, crc: int, end: int) -> None:
        """Note an object that begins at the end of the pack.  end: the position after it."""
        git.add_pending(self.flush, self.abandon)
        self._entries[oid] = self._size, crc
        self._size = end

    def _flush_full(self) -> None:
        if self._size > _LARGEST:
            self.flush()

    def _write_parts(self) -> int:
        """Write the objects in memory to the pack's file; return its descriptor."""
        if self._fd < 0:
            folder = kept.make_folder(self._repo)
            path = os.path.join(folder, f"pack-{os.getpid()}-{os.urandom(4).hex()}")
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._fd, self._path = os.open(f"{path}.pack", flags, 0o444), path
            git.add_pending(self.flush, self.abandon)
        try:
            self._written = kept.write_at(self._fd, b"".join(self._parts), self._written)
        except OSError:
            os.ftruncate(self._fd, self._written)
            raise
        self._parts.clear()
        return self._fd

    def _finish_file(self, fd: int) -> bytes:
        """Write the pack's header and its trailer, a hash of the pack, which is returned."""
        head = packfile.build_head(len(self._entries))
        files.write_at(fd, head, 0)
        os.ftruncate(fd, self._size)  # a file that shrank while it was read
        digest, position = self._hasher(head), packfile.START
        while data := os.pread(fd, _PIECE, position):
            digest.update(data)
            position += len(data)
        files.write_at(fd, digest.digest(), position)
        return bytes(digest.digest())


def _parse_stamp(name: str) -> int:
    return int(name[-15:], 16)


_BY_REPOSITORY: dict[str, Packs] = memory.get_table("packs")


def get_packs(repo: Repo) -> Packs:
    """This process's Packs of a repository."""
    if repo.common not in _BY_REPOSITORY:
        _BY_REPOSITORY[repo.common] = Packs(repo)
    return _BY_REPOSITORY[repo.common]
