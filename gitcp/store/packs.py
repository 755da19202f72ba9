"""gitcp's packs: a process writes its objects into one pack, which git keeps.

An object is written before the ref that needs it.  `git gc --prune=now` deletes young objects
without a ref too, and many loose objects make gc run again and again.  git neither prunes nor
counts nor repacks a pack with a `.keep` file (kept.py has the exception).  upkeep.py joins small
packs and leaves old ones to git.

A pack is made in make_workshop() and moved into place, its index last.  git sees no pack
without an index, so a kill leaves no half pack.
"""

from __future__ import annotations

import os
import zlib

from gitcp import files, git, memory, trace
from gitcp.core import git_formats
from gitcp.record import encode_lines
from gitcp.store import pack_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import BinaryIO

    from gitcp.repo import Repo

MOST = 16  # packs of gitcp, before some of them are joined
_HELD = 1 << 20  # bytes in memory that are not written yet
_LARGEST = 1 << 30  # bytes of a pack that still grows
_PIECE = 1 << 20
_FEW = 64  # objects
_FEW_PACKS, _FEW_READ = 8, 16  # packs, and objects in them, that are read without git
_AS_GIVEN = (
    "-c core.bigFileThreshold=1m -c pack.threads=1 -c pack.compression=1 -c pack.indexVersion=2"
    " -c pack.packSizeLimit=0 pack-objects -q --window=0"
)


class Packs:
    """gitcp's packs in one object database, and the pack that this process is making.

    git has the added objects after flush().  It is called before each start of git, and before a
    file of gitcp is written that may name an object.
    """

    def __init__(self, repo: Repo) -> None:
        self.folder, self._repo = pack_files.locate_folder(repo), repo
        self._hasher = pack_files.find_hasher(repo.algo)
        self._entries: dict[str, git_formats.PackEntry] = {}
        self._parts: list[bytes] = []
        self._size, self._written = git_formats.START, git_formats.START
        self._path, self._fd = "", -1
        self._indexes: dict[str, pack_files.Index] | None = None
        self._foreign: list[pack_files.Index] | None = None
        self._left = _FEW_READ

    def add_object(self, kind: str, oid: str, data: bytes) -> None:
        """Add an object, unless it was added before."""
        if oid in self._entries:
            return
        self._flush_full()
        head, packed = (
            git_formats.build_object_head(kind, len(data)),
            git_formats.pack_content(data),
        )
        self._parts += (head, packed)
        end = self._size + len(head) + len(packed)
        self._note_object(oid, zlib.crc32(packed, zlib.crc32(head)), end)
        if self._size - self._written > _HELD:
            self._write_parts()

    def add_stream(self, f: BinaryIO, size: int) -> str | None:
        """Add the next size bytes of f as a blob; return its oid, None if f has fewer."""
        self._flush_full()
        fd = self._write_parts()
        digest, packer = self._hasher(b"blob %d\0" % size), zlib.compressobj(1)
        packed = git_formats.build_object_head("blob", size)
        end, crc, left = self._size, 0, size
        try:
            while left and (data := f.read(min(left, _PIECE))):
                digest.update(data)
                packed += packer.compress(data)
                end, crc, packed = (
                    pack_files.write_at(fd, packed, end),
                    zlib.crc32(packed, crc),
                    b"",
                )
                left -= len(data)
            packed += packer.flush()
            oid = str(digest.hexdigest())
            if not left and not self.has(oid):
                end = pack_files.write_at(fd, packed, end)
                self._note_object(oid, zlib.crc32(packed, crc), end)
                self._written = end
        finally:
            os.ftruncate(fd, self._written)
        return None if left else oid

    def adopt_loose(self, folder: str) -> None:
        """Make a pack of the loose objects that git wrote below folder."""
        fans = [fan for fan in os.listdir(folder) if len(fan) == 2]
        oids = [fan + end for fan in fans for end in os.listdir(os.path.join(folder, fan))]
        if not oids:
            return
        base, env = os.path.join(folder, "pack"), {"GIT_OBJECT_DIRECTORY": folder}
        _, out = self._repo.git.run(*_AS_GIVEN.split(), base, stdin=encode_lines(oids), env=env)
        for name in out.decode().split():
            self._place_pack(name, f"{base}-{name}", files.peek(f"{base}-{name}.idx"))

    def prepare_large_writes(self) -> None:
        """Prepare for megabytes of objects."""
        self._hasher = pack_files.find_hasher(self._repo.algo, much=True)

    def flush(self) -> bool:
        """Move the pack with the added objects into place; return whether there are any."""
        if not self._entries:
            self.abandon()
            return False
        fd, path = self._write_parts(), self._path
        trailer = self._finish_file(fd)
        index = git_formats.build_index(self._entries, trailer, self._hasher)
        pack_files.write_file(f"{path}.idx", index, durable=True)
        self._place_pack(trailer.hex(), path, index)
        trace.append_note("pack", f"{trailer.hex()}: {len(self._entries)} objects")
        self.abandon()
        if self._are_many():
            from gitcp.store import pack_upkeep

            pack_upkeep.join_packs(self._repo)
            self._indexes = None
        return True

    def flush_named(self, data: bytes) -> None:
        """flush() if data, the next content of a file of gitcp, names an added object."""
        if any(oid.encode() in data for oid in self._entries):
            self.flush()

    def _are_many(self) -> bool:
        listed = self._indexes or [
            *pack_files.list_kept(self._repo),
            *files.list_names(self._repo.join_shared("packs")),
        ]
        return len(listed) > MOST and len(self._read_indexes()) > MOST

    def abandon(self) -> None:
        """Remove the pack that is being made, and begin another."""
        fd, self._fd, self._entries = self._fd, -1, {}
        self._parts.clear()
        self._size = self._written = git_formats.START
        if fd >= 0:
            os.close(fd)
            try:
                pack_files.remove_pack(self._path)
            except OSError as e:
                trace.append_note("pack", f"not removed: {e}")  # sweep_packs() removes it

    def has_few(self) -> bool:
        """Whether this process has added few objects, so that to open all packs takes longer than
        to write an object again."""
        return len(self._entries) < _FEW

    def has(self, oid: str) -> bool:
        """Whether an object was added, or is in a pack of gitcp, which no prune deletes."""
        return oid in self._entries or bool(self.find_pack(oid))

    def find_pack(self, oid: str) -> str:
        """The name of the pack of gitcp that has an object, '' for none; its age starts again."""
        for name, index in self._read_indexes().items():
            if index.has(oid) and self._restart_age(name):
                return name
        return ""

    def list_held(self, oids: Collection[str]) -> set[str]:
        """Those of some objects, at least one, that has() is true of."""
        held = self._entries.keys() & oids
        for name, index in self._read_indexes().items():
            more = index.list_held(oids) - held
            if more and self._restart_age(name):
                held |= more
        return held

    def _restart_age(self, name: str) -> bool:
        """Set the age of a pack to zero; False if that fails: it was joined with others meanwhile,
        or it is another user's, which stays old."""
        try:
            for end in (".pack", ".idx"):  # git goes by the age of the pack
                os.utime(os.path.join(self.folder, name + end))
        except OSError:
            return False
        return True

    def read_object(self, oid: str) -> tuple[str, bytes] | None:
        """(kind, content) of a small object in a pack of gitcp; None for any other object."""
        return _read_object(self._read_indexes().values(), oid)

    def read_foreign(self, oid: str) -> tuple[str, bytes] | None:
        """read_object() of packs that are not gitcp's, if they are few; None after a few objects:
        git reads more of them sooner."""
        if self._foreign is None:
            paths = [os.path.join(self.folder, name[:-4]) for name in self._list_foreign()]
            self._foreign = [*pack_files.open_indexes(paths)] if len(paths) <= _FEW_PACKS else []
        self._left -= 1
        return _read_object(self._foreign, oid) if self._left >= 0 else None

    def find_stamp(self, oid: str) -> int | None:
        """The stamp of the pack of gitcp that has an object, 0 for the pack that this process is
        making; None without one."""
        name = self.find_pack(oid)
        return _parse_stamp(name) if name else 0 if oid in self._entries else None

    def list_stamps(self) -> set[int]:
        """The stamps of gitcp's packs, and that of all other packs together."""
        return {self.stamp_others(), *map(_parse_stamp, self._read_indexes())}

    def stamp_others(self) -> int:
        """The stamp of the packs that are not gitcp's; it changes with their names, and is never
        0."""
        return zlib.crc32("".join(self._list_foreign()).encode()) or 1

    def _list_foreign(self) -> list[str]:
        """The names of the indexes of packs that are not gitcp's."""
        ours = self._read_indexes()
        names = [name for name in files.list_names(self.folder) if name.endswith(".idx")]
        return [name for name in names if name.removesuffix(".idx") not in ours]

    def _read_indexes(self) -> dict[str, pack_files.Index]:
        """pack -> index, of gitcp's packs at the first call, and of those made here since."""
        if self._indexes is None:
            self._indexes = pack_files.read_all(self._repo)
        return self._indexes

    def _place_pack(self, name: str, path: str, index: bytes) -> None:
        pack_files.place_pack(self._repo, name, path)
        pack_files.add_index(self._repo, f"pack-{name}", index)
        if self._indexes is not None:
            to = os.path.join(self.folder, f"pack-{name}")
            self._indexes[f"pack-{name}"] = pack_files.Index(to, index)

    def _note_object(self, oid: str, crc: int, end: int) -> None:
        """Add an object to the entries of the pack; end: the offset after it."""
        git.add_pending(self.flush, self.abandon)
        self._entries[oid] = self._size, crc
        self._size = end

    def _flush_full(self) -> None:
        if self._size > _LARGEST:
            self.flush()

    def _write_parts(self) -> int:
        """Write the parts in memory to the pack's file; return its descriptor."""
        if self._fd < 0:
            folder = pack_files.make_workshop(self._repo)
            path = os.path.join(folder, f"pack-{os.getpid()}-{os.urandom(4).hex()}")
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._fd, self._path = os.open(f"{path}.pack", flags, 0o444), path
            git.add_pending(self.flush, self.abandon)
        try:
            self._written = pack_files.write_at(self._fd, b"".join(self._parts), self._written)
        except OSError:
            os.ftruncate(self._fd, self._written)
            raise
        self._parts.clear()
        return self._fd

    def _finish_file(self, fd: int) -> bytes:
        """Write the head of the pack, and its trailer, the hash of its content, and sync the file;
        return the trailer."""
        head = git_formats.build_head(len(self._entries))
        files.write_at(fd, head, 0)
        os.ftruncate(fd, self._size)  # without the rest of a file that shrank while it was read
        digest, offset = self._hasher(head), git_formats.START
        while data := os.pread(fd, _PIECE, offset):
            digest.update(data)
            offset += len(data)
        trailer = bytes(digest.digest())
        files.write_at(fd, trailer, offset)
        files.sync_file(fd)
        return trailer


def _read_object(among: Iterable[pack_files.Index], oid: str) -> tuple[str, bytes] | None:
    for index in among:
        if packed := index.read_object(oid):
            return packed
    return None


def _parse_stamp(name: str) -> int:
    return int(name[-15:], 16)


_BY_REPOSITORY: dict[str, Packs] = memory.get_table("packs")


def get_packs(repo: Repo) -> Packs:
    """The one Packs of this process for a repository."""
    if repo.common not in _BY_REPOSITORY:
        _BY_REPOSITORY[repo.common] = Packs(repo)
    return _BY_REPOSITORY[repo.common]
