"""gitcp's packs: a process writes its objects into one pack, which git keeps.

An object is written before the ref that needs it.  `git gc --prune=now` deletes young objects
without a ref too, and many loose objects make gc run again and again.  git neither prunes nor
counts nor repacks a pack with a `.keep` file (with one exception, below).  Upkeep joins small
packs and leaves old ones to git.

A pack is made in make_workshop() and moved into place, its index last.  git sees no pack
without an index, so a kill leaves no half pack.
"""

from __future__ import annotations

import errno
import os
import time
import zlib
from zlib import crc32

from gitcp import git
from gitcp.errors import Error, GitError
from gitcp.git import files
from gitcp.git.files import exclusive, locate_scratch
from gitcp.git.gitdir import Unsure, pack_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
    from typing import BinaryIO, TypeAlias

    from gitcp.git import Location
    from gitcp.git.gitdir import plain

    AnyIndex: TypeAlias = "Index | plain.Index"

MOST = 16  # packs of gitcp, before some of them are joined
_HELD = 1 << 20  # bytes in memory that are not written yet
_LARGEST = 1 << 30  # bytes of a pack that still grows
_PIECE = 1 << 20
_FEW = 64  # objects
# packs, and objects in them, that are read without git
_FEW_PACKS = 8
_FEW_READ = 16


def locate_mark(repo: Location, *name: str) -> str:
    """The mark of a pack of gitcp, or the directory of all."""
    return repo.join_shared("packs", *name)


class Packs:
    """gitcp's packs in one object database, and the pack that this process is making.

    git and other processes find the added objects after flush().
    """

    def __init__(self, repo: Location) -> None:
        self.folder = locate_folder(repo)
        self._repo = repo
        self._hasher = files.find_hasher(repo.algo)
        self._entries: dict[str, pack_format.PackEntry] = {}
        self._parts: list[bytes] = []
        self._size = pack_format.START
        self._written = pack_format.START
        self._path = ""
        self._fd = -1
        self._indexes: dict[str, AnyIndex] | None = None
        self._foreign: list[Index] | None = None
        self._left = _FEW_READ
        self._writer: plain.Writer | None = None

    @property
    def writer(self) -> plain.Writer:
        """What writes objects by git alone."""
        if self._writer is None:
            from gitcp.git.gitdir import plain

            self._writer = plain.Writer(self._repo)
        return self._writer

    def note_written(self, oid: str) -> str:
        """Add an object that the writer has made; return its oid."""
        self._entries[oid] = 0, 0
        return oid

    def add_object(self, kind: str, oid: str, data: bytes) -> None:
        """Add an object, unless it was added before."""
        if oid in self._entries:
            return
        if self._repo.uses_git_alone:
            self.note_written(self.writer.hash_object(kind, data, write=True))
            return
        self._flush_full()
        head = pack_format.build_object_head(kind, len(data))
        packed = pack_format.pack_content(data)
        self._parts += (head, packed)
        end = self._size + len(head) + len(packed)
        self._note_object(oid, zlib.crc32(packed, zlib.crc32(head)), end)
        if self._size - self._written > _HELD:
            self._write_parts()

    def add_stream(self, f: BinaryIO, size: int) -> str | None:
        """Add the next size bytes of f as a blob; return its oid, None if f has fewer."""
        if self._repo.uses_git_alone:
            return self._write_stream(f, size)
        self._flush_full()
        fd = self._write_parts()
        digest = self._hasher(b"blob %d\0" % size)
        packer = zlib.compressobj(1)
        packed = pack_format.build_object_head("blob", size)
        end = self._size
        crc = 0
        left = size
        try:
            while left:
                data = f.read(min(left, _PIECE))
                if not data:
                    break
                digest.update(data)
                packed += packer.compress(data)
                end = write_at(fd, packed, end)
                crc = zlib.crc32(packed, crc)
                packed = b""
                left -= len(data)
            packed += packer.flush()
            oid = str(digest.hexdigest())
            if not left and not self.has(oid):
                end = write_at(fd, packed, end)
                self._note_object(oid, zlib.crc32(packed, crc), end)
                self._written = end
        finally:
            os.ftruncate(fd, self._written)
        return None if left else oid

    def _write_stream(self, f: BinaryIO, size: int) -> str | None:
        def fill(target: BinaryIO) -> None:
            left = size
            while left:
                data = f.read(min(left, _PIECE))
                if not data:
                    break
                left -= target.write(data)
            sizes.append(size - left)

        sizes = list[int]()
        oid = self.writer.hash_file("blob", fill, write=True)
        if sizes == [size]:
            return self.note_written(oid)
        return None

    def adopt_loose(self, folder: str) -> None:
        """Make a pack of the loose objects that git wrote below folder."""
        fans = [fan for fan in os.listdir(folder) if len(fan) == 2]
        oids = [fan + end for fan in fans for end in os.listdir(os.path.join(folder, fan))]
        if not oids:
            return
        base = os.path.join(folder, "pack")
        env = {"GIT_OBJECT_DIRECTORY": folder}
        from gitcp.git.gitdir import plain

        name = plain.pack_objects(self._repo, oids, base, env)
        self._place_pack(name, f"{base}-{name}", files.peek(f"{base}-{name}.idx"))

    def prepare_large_writes(self) -> None:
        """Prepare for megabytes of objects."""
        self._hasher = files.find_hasher(self._repo.algo, much=True)

    def flush(self) -> bool:
        """Move the pack with the added objects into place; return whether there are any."""
        if not self._entries:
            self.abandon()
            return False
        if self._writer:
            self.adopt_loose(self._writer.folder)
        else:
            self._place_own()
        git.append_trace("pack", f"{len(self._entries)} objects")
        self.abandon()
        if self._are_many():
            join_packs(self._repo)
            self._indexes = None
        return True

    def _place_own(self) -> None:
        fd = self._write_parts()
        path = self._path
        trailer = self._finish_file(fd)
        index = pack_format.build_index(self._entries, trailer, self._hasher)
        write_file(f"{path}.idx", index, durable=True)
        self._place_pack(trailer.hex(), path, index)

    def flush_named(self, data: bytes) -> None:
        """flush() if data, the next content of a file of gitcp, names an added object."""
        if any(oid.encode() in data for oid in self._entries):
            self.flush()

    def _are_many(self) -> bool:
        listed = self._indexes or [
            *list_kept(self._repo),
            *files.list_names(locate_mark(self._repo)),
        ]
        return len(listed) > MOST and len(self._read_indexes()) > MOST

    def abandon(self) -> None:
        """Remove the pack that is being made, and begin another."""
        fd = self._fd
        self._fd = -1
        self._entries = {}
        self._parts.clear()
        self._size = self._written = pack_format.START
        if self._writer:
            self._writer.end_git()
        if fd >= 0:
            os.close(fd)
            try:
                remove_pack(self._path)
            except OSError as e:
                git.append_trace("pack", f"not removed: {e}")  # a later process removes it

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
        """The objects among oids that are stored here."""
        wanted = set(oids)
        held = wanted.intersection(self._entries)
        wanted -= held
        for name, index in self._read_indexes().items():
            if not wanted:
                break
            more = index.list_held(wanted)
            if more and self._restart_age(name):
                held |= more
                wanted -= more
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

    def read_small(self, oid: str) -> tuple[str, bytes]:
        """(kind, content) of a small object in a pack of gitcp, of its own file, or in one of few
        packs; raises Unsure if git has to read it."""
        packed = _read_object(self._read_indexes().values(), oid)
        if packed:
            return packed
        loose = os.path.join(os.path.dirname(self.folder), oid[:2], oid[2:])
        data = pack_format.unpack_deflated(files.peek(loose, most=pack_format.SMALL)) or b""
        head, _, content = data.partition(b"\0")
        kind, _, size = head.decode("ascii", "replace").partition(" ")
        if size == str(len(content)):
            return kind, content
        packed = self._read_foreign(oid)
        if packed:
            return packed
        raise Unsure

    def _read_foreign(self, oid: str) -> tuple[str, bytes] | None:
        """An object in packs that are not gitcp's, if they are few; None once a few were read:
        for many objects git is faster."""
        if self._foreign is None:
            paths = [os.path.join(self.folder, name[:-4]) for name in self._list_foreign()]
            few = paths if len(paths) <= _FEW_PACKS else []
            self._foreign = [*open_indexes(self._repo, few)]
        self._left -= 1
        if self._left >= 0:
            return _read_object(self._foreign, oid)
        return None

    def find_stamp(self, oid: str) -> int | None:
        """The stamp of the pack of gitcp that has an object, 0 for the pack that this process is
        making; None without one."""
        name = self.find_pack(oid)
        if name:
            return _parse_stamp(name)
        return 0 if oid in self._entries else None

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

    def _read_indexes(self) -> dict[str, AnyIndex]:
        """pack -> index, of gitcp's packs at the first call, and of those made here since."""
        if self._indexes is None:
            self._indexes = read_all(self._repo)
        return self._indexes

    def _place_pack(self, name: str, path: str, index: bytes) -> None:
        place_pack(self._repo, name, path)
        add_index(self._repo, f"pack-{name}", index)
        if self._indexes is not None:
            to = os.path.join(self.folder, f"pack-{name}")
            self._indexes[f"pack-{name}"] = open_index(self._repo, to, index)

    def _note_object(self, oid: str, crc: int, end: int) -> None:
        """Add an object to the entries of the pack; end: the offset after it."""
        self._entries[oid] = self._size, crc
        self._size = end

    def _flush_full(self) -> None:
        if self._size > _LARGEST:
            self.flush()

    def _write_parts(self) -> int:
        """Write the parts in memory to the pack's file; return its descriptor."""
        if self._fd < 0:
            folder = make_workshop(self._repo)
            path = os.path.join(folder, f"pack-{os.getpid()}-{os.urandom(4).hex()}")
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._fd = os.open(f"{path}.pack", flags, 0o444)
            self._path = path
        try:
            self._written = write_at(self._fd, b"".join(self._parts), self._written)
        except OSError:
            os.ftruncate(self._fd, self._written)
            raise
        self._parts.clear()
        return self._fd

    def _finish_file(self, fd: int) -> bytes:
        """Write the head of the pack, and its trailer, the hash of its content, and sync the file;
        return the trailer."""
        head = pack_format.build_head(len(self._entries))
        files.write_at(fd, head, 0)
        os.ftruncate(fd, self._size)  # without the rest of a file that shrank while it was read
        digest = self._hasher(head)
        offset = pack_format.START
        while True:
            data = os.pread(fd, _PIECE, offset)
            if not data:
                break
            digest.update(data)
            offset += len(data)
        trailer = bytes(digest.digest())
        files.write_at(fd, trailer, offset)
        files.sync_file(fd)
        return trailer


def _read_object(among: Iterable[AnyIndex], oid: str) -> tuple[str, bytes] | None:
    for index in among:
        packed = index.read_object(oid)
        if packed:
            return packed
    return None


def _parse_stamp(name: str) -> int:
    return int(name[-15:], 16)


# gitcp's packs in an object database: list them, add one, leave one to git.
#
# A `.keep` file keeps a pack from git's pruning and repacking.  A repository that borrows objects
# gets no such file: as soon as one of its packs is kept, git-repack(1) leaves out the objects of
# the lender's kept packs, and they are lost when the repository is made independent.  There
# gitcp's packs are listed in <common>/gitcp/packs, and git prunes their objects by age.
KEEP = b"gitcp\n"  # the content of the .keep file of a pack of gitcp
# The nanoseconds of its time.  The file is not synced, so a power cut may leave it empty, as
# git-index-pack(1) makes it for others; but a file has its time as soon as its name.
_MARK = 616_263_700
_ENDS = (".idx", ".pack", ".keep")  # without its index git does not see a pack


def locate_folder(repo: Location) -> str:
    """The directory of a repository's packs."""
    objects = repo.git.env.get("GIT_OBJECT_DIRECTORY") or os.path.join(repo.common, "objects")
    return os.path.join(objects, "pack")


def make_workshop(repo: Location) -> str:
    """The directory where packs are made, created if it does not exist.  Raises OSError."""
    folder = repo.git.env.get("GIT_OBJECT_DIRECTORY") or locate_scratch(repo)
    repo.make_folder(folder)
    return folder


def place_pack(repo: Location, name: str, path: str) -> None:
    """Move path.pack and path.idx into the directory of packs, and keep the pack; both or none."""
    repo.make_folder(locate_folder(repo))
    to = os.path.join(locate_folder(repo), f"pack-{name}")
    ends = [".pack", ".idx"]
    moved = list[str]()
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


def _has_alternates(repo: Location) -> bool:
    """Whether the repository borrows objects."""
    if repo.uses_git_alone:
        from gitcp.git.gitdir import plain

        return plain.has_alternates(repo)
    alternates = os.path.join(os.path.dirname(locate_folder(repo)), "info", "alternates")
    return bool(files.peek(alternates).strip())


def _list_pack(repo: Location, name: str) -> None:
    listed = locate_mark(repo, name)
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


def list_packs(repo: Location, ours: Container[str] = ()) -> list[str]:
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
    return list(dict.fromkeys([*own, *files.list_names(locate_mark(repo))]))


def list_kept(repo: Location) -> list[str]:
    """The names of all packs with a .keep file, gitcp's and others."""
    names = files.list_names(locate_folder(repo))
    return [name.removesuffix(".keep") for name in names if name.endswith(".keep")]


def release_pack(repo: Location, name: str) -> None:
    """Leave a pack to git, which prunes and repacks it."""
    files.remove_file(os.path.join(locate_folder(repo), f"{name}.keep"))
    files.remove_file(locate_mark(repo, name))


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as f:
            data = f.read(len(KEEP))
            is_marked = os.fstat(f.fileno()).st_mtime_ns % 1_000_000_000 == _MARK
        if data == KEEP or (is_marked and KEEP.startswith(data)):
            return True
        if data:
            return False
        # Emptied with its pack, which then has nothing of anybody's.
        pack = path.removesuffix(".keep") + ".pack"
        return os.path.getsize(pack) == 0
    except OSError:
        return False


def count_objects(repo: Location) -> int | None:
    """The number of objects in all packs, as git counts them for the length of short names; None if
    git has to be asked."""
    folder = locate_folder(repo)
    names = files.list_names(folder)
    if repo.uses_git_alone or "multi-pack-index" in names or _has_alternates(repo):
        return None
    count = 0
    for name in names:
        if name.endswith(".idx"):
            head = files.peek(os.path.join(folder, name), most=pack_format.HEAD)
            count += pack_format.count_objects(head)
    return count


# The indexes of gitcp's packs; those of small packs are together in one file.
#
# <common>/gitcp/cache/indexes has them one after the other, each after a line with the pack's name,
# the index's size, and the CRC-32 of name and index.  A pack never changes, so its index stays
# valid.  Indexes of deleted packs are not used, and go with the file when packs are joined.
_SMALL = 1 << 16  # bytes of an index in the file
_MOST = 1 << 22  # bytes of the file
_DEEPEST = 50  # deltas between an object and one that is whole; git makes no more
_AT_ONCE = 32  # names that are read together in the time in which one is looked for
_HEAD = 512  # bytes of a pack that are read to tell which objects are alike: zlib has tables first


class Index:
    """The index of one pack.  Raises OSError if there is none, or it is damaged.

    path: of the pack, without `.pack`.  data: the index, b"" to read it from its file.
    """

    _fd = _pack = -1

    def __init__(self, repo: Location, path: str, data: bytes = b"") -> None:
        self._path = path
        self._data = data
        self._digits = len(repo.empty_tree)
        if not data:
            self._fd = os.open(f"{path}.idx", os.O_RDONLY | os.O_CLOEXEC)
        self._head = self._read(pack_format.HEAD, 0)
        if not data and not pack_format.is_index(self._head, os.fstat(self._fd).st_size):
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

    def list_held(self, oids: set[str]) -> set[str]:
        """Those of some objects that the pack has."""
        if self._data or len(oids) * _AT_ONCE > pack_format.count_objects(self._head):
            return oids.intersection(self.list_oids())
        return {oid for oid in oids if self.has(oid)}

    def list_oids(self) -> list[str]:
        """The objects that the pack has."""
        size = pack_format.count_objects(self._head) * self._digits
        names = self._read(size // 2, pack_format.HEAD).hex()
        return [names[n : n + self._digits] for n in range(0, size, self._digits)]

    def read_object(self, oid: str) -> tuple[str, bytes] | None:
        """(kind, content) of a small object; None if the pack does not have it or cannot be
        read."""
        offset = self._find_offset(oid)
        deltas = list[bytes]()
        try:
            while offset >= 0 and len(deltas) < _DEEPEST:
                data = os.pread(self._open_pack(), pack_format.SMALL, offset)
                packed = pack_format.parse_object(data, len(oid) // 2)
                if packed is None:
                    break
                kind, base, content = packed
                if kind:
                    for delta in reversed(deltas):
                        content = pack_format.apply_delta(content, delta)
                    return kind, content
                deltas.append(content)
                if isinstance(base, str):
                    offset = self._find_offset(base)
                else:
                    offset = offset - base
        except (OSError, ValueError):
            pass  # joined with others meanwhile, or damaged
        return None

    def read_head(self, oid: str) -> bytes:
        """Some first bytes of an object, after its kind; b"" for a delta, and if it cannot be
        read."""
        offset = self._find_offset(oid)
        try:
            if offset >= 0:
                return pack_format.parse_head(os.pread(self._open_pack(), _HEAD, offset))
        except OSError:
            pass  # joined with others meanwhile
        return b""

    def _open_pack(self) -> int:
        """A descriptor of the pack.  Raises OSError."""
        if self._pack < 0:
            self._pack = os.open(f"{self._path}.pack", os.O_RDONLY | os.O_CLOEXEC)
        return self._pack

    def _find_offset(self, oid: str) -> int:
        """The offset of an object in the pack; -1 if the pack does not have it."""
        number = self._find_number(oid)
        if number < 0:
            return -1
        place = pack_format.locate_offset(self._head, len(oid) // 2, number)
        return int.from_bytes(self._read(4, place), "big")

    def _find_number(self, oid: str) -> int:
        """The number of an object in the order of oids; -1 if the pack does not have it."""
        start, end = pack_format.find_bucket(self._head, oid)
        if start == end:
            return -1
        number = pack_format.find_position(self._read(end - start, start), oid)
        before = (start - pack_format.HEAD) // (len(oid) // 2)
        return number if number < 0 else before + number

    def _read(self, size: int, offset: int) -> bytes:
        if self._data:
            return self._data[offset : offset + size]
        return os.pread(self._fd, size, offset)


def open_indexes(repo: Location, paths: Iterable[str]) -> Iterator[Index]:
    """The indexes of packs, without `.pack`, that can be read."""
    for path in paths:
        try:
            yield Index(repo, path)
        except OSError:
            continue  # of more than 2 GiB, removed meanwhile, or damaged


def open_index(repo: Location, path: str, data: bytes = b"") -> AnyIndex:
    """The index of a pack, without `.pack`; data: as for Index.  Raises OSError."""
    if not repo.uses_git_alone:
        return Index(repo, path, data)
    from gitcp.git.gitdir import plain

    return plain.Index(repo, path)


def read_all(repo: Location) -> dict[str, AnyIndex]:
    """pack -> index of gitcp's packs; small ones are added to the file."""
    folder = locate_folder(repo)
    stored = {} if repo.uses_git_alone else _read_file(repo)
    indexes: dict[str, AnyIndex] = {}
    for name in list_packs(repo, stored):
        try:
            path = os.path.join(folder, name)
            indexes[name] = open_index(repo, path, stored.get(name, b""))
        except OSError:
            continue  # joined with others, not there yet, or damaged, which fsck reports
        if name not in stored:
            add_index(repo, name, indexes[name].read_small())
    return indexes


def add_index(repo: Location, name: str, data: bytes) -> None:
    """Append the index of a pack to the file if it is small and the file can be written."""
    if not 0 < len(data) <= _SMALL:
        return
    path = _locate_file(repo)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
    try:
        fd = _open_file(repo, path, flags)
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


def _open_file(repo: Location, path: str, flags: int) -> int:
    try:
        return files.open_file(path, flags)
    except FileNotFoundError:
        if not os.path.isdir(repo.join_shared()):
            raise  # gitcp is not enabled here
    repo.make_folder(os.path.dirname(path))
    return files.open_file(path, flags)


def forget_file(repo: Location) -> None:
    """Remove the file; the next read_all() makes it again."""
    files.remove_file(_locate_file(repo))


def _read_file(repo: Location) -> dict[str, bytes]:
    """pack -> index, of the indexes in the file; a damaged file is removed."""
    try:
        data = files.read_file(_locate_file(repo)) or b""
    except Error:
        return {}  # something else is in its place
    indexes = dict[str, bytes]()
    start = 0
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


def _locate_file(repo: Location) -> str:
    return repo.join_shared_cache("indexes")


# Upkeep of gitcp's packs: join small ones.  What begins alike, such as a file or the end of a
# conversation at the end of each turn, becomes deltas of one another.
_JOINED = 8 << 20  # bytes of the largest pack that is joined
_DELTAS = 2 << 20  # bytes of packs that are joined, up to which new deltas are worth their time
_WITHIN = 2  # a pack that is joined has at most this many times the size of all smaller ones
_MULTI = "multi-pack-index"
_LEFT = 43200.0  # seconds; an older lock of git was left behind


def join_packs(repo: Location) -> None:
    """Join the smallest packs, so that few of similar size are left.

    The joined pack is on the disk before its parts are removed.  Without room or permission for it
    the parts stay.
    """
    folder = locate_folder(repo)
    try:
        with exclusive(repo, "packs", timeout=0):
            parts = _choose_smallest(repo, folder)
            if len(parts) > 1 and not _is_in_use(folder):
                git.append_trace("pack", f"{len(parts)} joined")
                _write_joined(repo, folder, parts)
    except (Error, OSError) as e:
        # Another process is joining packs, or there is no room.
        git.append_trace("pack", f"none joined: {e}")


def _choose_smallest(repo: Location, folder: str) -> list[str]:
    """The packs to join: by size, the last that is at most _WITHIN times as large as all smaller
    ones together, and those smaller ones."""
    listed = _read_multi_index(folder)
    if listed and repo.uses_git_alone:
        return []  # no command of git says which packs it names
    sized = sorted(
        (size, name)
        for name in list_packs(repo)
        if 0 < (size := _read_size(folder, name)) <= _JOINED and name.encode() not in listed
    )
    count = below = 0
    for n, (size, _) in enumerate(sized, 1):
        count = n if size <= _WITHIN * below else count
        below += size
    return [name for _, name in sized[:count]]


def _read_multi_index(folder: str) -> bytes:
    """The content of git's multi-pack-index, which names packs that must stay."""
    return files.peek(os.path.join(folder, _MULTI))


def _is_in_use(folder: str) -> bool:
    """Whether `git maintenance` is at work, which may need the packs that it has listed.  A lock
    older than half a day was left behind, as git assumes for gc.pid."""
    locks = (os.path.join(os.path.dirname(folder), "maintenance"), _MULTI)
    return any(0 < _compute_age(os.path.join(folder, f"{lock}.lock")) < _LEFT for lock in locks)


def _read_size(folder: str, name: str) -> int:
    try:
        os.stat(os.path.join(folder, f"{name}.idx"))
        return os.stat(os.path.join(folder, f"{name}.pack")).st_size
    except OSError:
        return 0


def _write_joined(repo: Location, folder: str, packs: list[str]) -> None:
    try:
        joined = _copy_packs(repo, folder, packs)
    except (GitError, OSError):
        from gitcp.git.gitdir import plain

        # One may be damaged, which fsck reports.
        packs = [name for name in packs if plain.is_intact(repo, os.path.join(folder, name))]
        if len(packs) < 2:
            return
        joined = _copy_packs(repo, folder, packs)
    needed = _read_multi_index(folder)  # again: git may have written it since
    for name in packs:
        if name != joined and name.encode() not in needed:
            _remove_pack(repo, folder, name)
    forget_file(repo)
    add_index(repo, joined, files.peek(os.path.join(folder, f"{joined}.idx")))


def _copy_packs(repo: Location, folder: str, packs: list[str]) -> str:
    """Make a pack of all objects of some packs."""
    heads: dict[str, str] = {}  # oid -> the head of its object, if that is whole
    may_have_deltas = sum(_read_size(folder, name) for name in packs) <= _DELTAS
    for name in packs:
        index = open_index(repo, os.path.join(folder, name))
        for oid in index.list_oids():
            head = index.read_head(oid) if may_have_deltas else b""
            if head:
                heads[oid] = f"{crc32(head):08x}"
            else:
                heads[oid] = ""
    return copy_objects(repo, heads, heads if may_have_deltas else None)


def copy_objects(
    repo: Location, oids: Iterable[str], alike: Mapping[str, str] | None = None
) -> str:
    """Make a pack of objects of other packs, and move it into place; return its name.  alike: as
    for plain.pack_objects().  Raises GitError and OSError."""
    from gitcp.git.gitdir import plain

    folder = os.path.join(make_workshop(repo), f"joined-{os.getpid()}")
    base = os.path.join(folder, "pack")
    repo.make_folder(folder)
    try:  # git leaves what it could not finish
        quarantine = plain.build_quarantine(repo, folder)
        name = plain.pack_objects(repo, oids, base, quarantine, alike)
        place_pack(repo, name, f"{base}-{name}")
    finally:
        plain.remove_folder(folder)
    return f"pack-{name}"


def _remove_pack(repo: Location, folder: str, name: str) -> None:
    remove_pack(os.path.join(folder, name))
    release_pack(repo, name)


def _compute_age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0
