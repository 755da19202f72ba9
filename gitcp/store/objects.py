"""Read small objects without git, from loose files and packs; git reads all others, and many."""

from __future__ import annotations

import os
from itertools import islice

from gitcp import files, git, memory, trace
from gitcp.errors import Error
from gitcp.record import decode_name, encode_name
from gitcp.store import refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, BinaryIO, Self

    from gitcp.core.record_types import Tree
    from gitcp.repo import Repo
    from gitcp.store.cat_file import Batch, Object
    from gitcp.store.packs import Packs
    from gitcp.store.reading import Ahead

_TREE = "^{tree}"


class Unsure(Exception):
    """The object has to be read by git."""


def read_object(repo: Repo, spec: str, near: dict[str, Object]) -> Object | None:
    """The object that a full oid, a full ref or HEAD names, or its `^{tree}`; None if there is no
    such ref.

    near: the objects in memory, by oid; the commit of a tree is added.  Raises Unsure if git has to
    read the object.
    """
    name = spec.removesuffix(_TREE)
    if (oid := _resolve(repo, name)) is None:
        return None
    obj = near.get(oid) or _read_file(repo, oid)
    if name == spec or obj[1] == "tree":
        return obj
    if obj[1] != "commit":
        raise Unsure
    near[oid] = obj
    tree = decode_name(obj[2].partition(b"\n")[0].removeprefix(b"tree "))
    if not refs.is_oid(repo, encode_name(tree)):
        raise Unsure
    return near.get(tree) or _read_file(repo, tree)


def _resolve(repo: Repo, name: str) -> str | None:
    if name == "HEAD":
        return refs.read_head(repo)
    if name.startswith("refs/") and not any(sign in name for sign in "^~:@"):
        return refs.read_ref(repo, name)
    if refs.is_oid(repo, encode_name(name)):
        return name
    raise Unsure


def _read_file(repo: Repo, oid: str) -> Object:
    from gitcp.store import packs

    own_packs = packs.get_packs(repo)
    if packed := own_packs.read_object(oid):
        return oid, *packed
    loose = os.path.join(os.path.dirname(own_packs.folder), oid[:2], oid[2:])
    from gitcp.core import git_formats

    data = git_formats.unpack_deflated(files.peek(loose, most=git_formats.SMALL)) or b""
    head, _, content = data.partition(b"\0")
    kind, _, size = head.decode("ascii", "replace").partition(" ")
    if size == str(len(content)):
        return oid, kind, content
    if packed := own_packs.read_foreign(oid):
        return oid, *packed
    raise Unsure


# The objects of a repository: read by one long-lived cat-file, written into gitcp's packs.
_AT_ONCE = 400  # names that fit into a pipe, so that neither side waits for the other
_FEW = 100  # objects that may be read without git in less time than it starts
_SMALL = 1 << 12  # bytes; to write a smaller object again takes less time than to search for it
_WHOLE = 1 << 20  # files up to this many bytes are read at once, larger ones streamed
_NEAR_EACH, _NEAR_ALL = 1 << 20, 16 << 20  # bytes of one object, and of all, that stay in memory


class Objects:
    """The object database of repo.

    Code that has a Repo asks repo.objects.  `with Objects(repo):` opens a database for a command,
    and closes it at the end.  Up to 16 MiB of what was read or written stay in memory by oid.
    Other names are resolved each time, since refs move.
    """

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self._hasher: Callable[[bytes], Any] | None = None
        self._batch: Batch | None = None
        self._ahead: Ahead | None = None
        self._near: dict[str, Object] = {}
        self._bytes = 0
        self.trees: dict[str, Tree] = {}  # small ones, which tree.read_tree() has parsed

    def __enter__(self) -> Self:
        self.repo.opened.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.repo.opened.remove(self)
        self.close()

    @classmethod
    def get_shared(cls, repo: Repo) -> Objects:
        """The process's database of repo, whose cat-file runs until the process ends."""
        if repo.git_dir not in _SHARED:
            _SHARED[repo.git_dir] = cls(repo)
        return _SHARED[repo.git_dir]

    def reopen(self) -> Self:
        """A database of the same repository for another process, with its own git."""
        return type(self)(self.repo)

    @property
    def ahead(self) -> Ahead:
        """What is read in bulk, ahead of its use."""
        if self._ahead is None:
            from gitcp.store import reading

            self._ahead = reading.Ahead(self)
        return self._ahead

    @property
    def packs(self) -> Packs:
        """gitcp's packs, imported when they are first needed."""
        from gitcp.store import packs

        return packs.get_packs(self.repo)

    def close(self) -> None:
        """Flush what was written, and end git."""
        git.run_pending()
        if self._batch:
            self._batch.close()
            self._batch = self._ahead = None

    def end_batch(self) -> None:
        """End git; the next one has the environment of then."""
        if self._batch:
            self._batch.close()
            self._batch = None

    def read(self, spec: str) -> Object | None:
        """(oid, kind, data) of an object name or simple revision; None if it is missing."""
        if self._ahead and self._ahead.has(spec):
            return self._ahead.got[spec]
        if spec in self._near:
            return self._near[spec]
        if not spec or "\0" in spec:
            return None
        if self._batch is None or spec.removesuffix("^{tree}") in self._near:
            try:
                return self._keep_near(read_object(self.repo, spec, self._near))
            except Unsure:
                pass
        if len(spec) != len(self.repo.empty_tree) or spec.strip("0123456789abcdef"):
            named = self._find_head(spec)
            if named is None or named[0] in self._near:
                return self._near[named[0]] if named else None
            spec = named[0]
        obj = self._get_batch().read_object(spec)
        if obj is None and git.run_pending():
            obj = self._get_batch().read_object(spec)
        return self._keep_near(obj)

    def _keep_near(self, obj: Object | None) -> Object | None:
        """Keep an object in memory; return it."""
        if obj and obj[0] not in self._near:
            trace.append_note("object", f"{obj[0]} {obj[1]} {len(obj[2])}")
            self._remember(obj)
        return obj

    def read_ahead(self, oids: Iterable[str]) -> None:
        """Read these objects in bulk, and keep the small ones in memory."""
        unread = [oid for oid in dict.fromkeys(oids) if oid not in self._near]
        if len(unread) < _FEW:
            unread = [oid for oid in unread if not self._read_direct(oid)]
        if unread:
            git.run_pending()
        for start in range(0, len(unread), _AT_ONCE):
            for obj in self._get_batch().read_objects(unread[start : start + _AT_ONCE]):
                if obj:
                    self._remember(obj)

    def peek(self, spec: str) -> Object | None:
        """read() without git; None also if git has to read the object."""
        try:
            return self._keep_near(read_object(self.repo, spec, self._near))
        except Unsure:
            return None

    def _read_direct(self, oid: str) -> bool:
        """Read an object without git, unless git runs already; return whether it is in memory."""
        if self._batch is None:
            self.peek(oid)
        return oid in self._near

    def _find_head(self, spec: str) -> tuple[str, int] | None:
        """Batch.find_head(), also of objects that git has not got yet, which no ref names."""
        named = self._get_batch().find_head(spec)
        if named is None and not spec.startswith("refs/") and git.run_pending():
            named = self._get_batch().find_head(spec)
        return named

    def _get_batch(self) -> Batch:
        if self._ahead:
            self._ahead.take_begun()
        return self.open_batch()

    def open_batch(self) -> Batch:
        """git's process that reads, which may be in the middle of an answer to ahead."""
        if self._batch is None:
            from gitcp.store import cat_file

            self._batch = cat_file.Batch(self.repo)
        return self._batch

    def _remember(self, obj: Object) -> None:
        size = len(obj[2])
        if size > _NEAR_EACH:
            return
        if self._bytes + size > _NEAR_ALL:
            self._near.clear()
            self._bytes = 0
        self._near[obj[0]] = obj
        self._bytes += size

    def read_each(self, oids: Iterable[str]) -> Iterator[Object | None]:
        """Yield the objects in their order, read in bulk; none stays in memory.  The caller reads
        no other object meanwhile."""
        names = iter(oids)
        git.run_pending()
        while window := list(islice(names, _AT_ONCE)):
            answers = self._get_batch().read_objects(window)
            try:
                for answer in answers:  # noqa: UP028  the others are taken if the caller stops
                    yield answer
            finally:
                for _ in answers:
                    pass

    def list_absent(self, oids: Iterable[str]) -> set[str]:
        """The oids of missing objects, asked for in bulk."""
        unsure = sorted({oid for oid in oids if oid not in self._near and not self.packs.has(oid)})
        if not unsure:
            return set()
        git.run_pending()
        absent: set[str] = set()
        for start in range(0, len(unsure), _AT_ONCE):
            window = unsure[start : start + _AT_ONCE]
            heads = zip(window, self._get_batch().find_heads(window), strict=True)
            absent.update(oid for oid, head in heads if head is None)
        return absent

    def need(self, oid: str, kind: str) -> bytes:
        """The data of an object; raises Error if it is missing or of another kind."""
        obj = self.read(oid)
        if obj is None or obj[1] != kind:
            raise Error(f"missing {kind} '{oid}'")
        return obj[2]

    def read_blob(self, oid: str | None) -> bytes | None:
        """The bytes of a blob; None if there is no such blob, as for a submodule."""
        obj = self.read(oid) if oid else None
        return obj[2] if obj and obj[1] == "blob" else None

    def read_size(self, oid: str) -> int:
        """The size of an object in bytes; raises Error if it is missing."""
        near = self._near.get(oid)
        if near:
            return len(near[2])
        head = self._find_head(oid)
        if head is None:
            raise Error(f"missing object '{oid}'")
        return head[1]

    def hash_object(self, kind: str, data: bytes) -> str:
        """The oid of data as an object of that kind; nothing is written."""
        if self._hasher is None:
            from gitcp.store import pack_files

            self._hasher = pack_files.find_hasher(self.repo.algo)
        return str(self._hasher(b"%s %d\0%s" % (kind.encode(), len(data), data)).hexdigest())

    def prepare_large_writes(self) -> None:
        """Prepare for megabytes to be written: hash with hashlib, which takes 3 ms to import and is
        four times as fast."""
        from gitcp.store import pack_files

        self._hasher = pack_files.find_hasher(self.repo.algo, much=True)
        self.packs.prepare_large_writes()

    def write(self, kind: str, data: bytes) -> str:
        """Store an object; return its oid.  git has it when it is started next, or when the context
        is left."""
        oid = self.hash_object(kind, data)
        if (len(data) < _SMALL and self.packs.has_few()) or not self.packs.has(oid):
            self.packs.add_object(kind, oid, data)
        if oid not in self._near:
            self._remember((oid, kind, data))
        return oid

    def write_blobs(self, contents: Sequence[bytes]) -> list[str]:
        """Store small blobs, most of which gitcp's packs have, at least one; return their oids."""
        oids = [self.hash_object("blob", data) for data in contents]
        held = self.packs.list_held(oids)
        for oid, data in zip(oids, contents, strict=True):
            if oid not in held:
                self.packs.add_object("blob", oid, data)
        return oids

    def write_file(self, path: bytes) -> str:
        """Store the bytes of a regular file, unfiltered, as a blob; a large one is streamed.

        Raises OSError if it cannot be read, Error if it shrinks each time it is read.
        """
        for _ in range(3):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb", buffering=0) as f:
                size = os.fstat(fd).st_size
                if size <= _WHOLE:
                    data = f.read(size + 1)[: size or None]
                    if len(data) >= size:
                        return self.write("blob", data)
                elif oid := self._store_stream(f, size):
                    return oid
        raise Error(f"'{decode_name(path)}' changes while it is read")

    def _store_stream(self, f: BinaryIO, size: int) -> str | None:
        """Store a file of size bytes as a blob; return its oid, None if f has fewer.

        It is hashed first: to compress it takes several times as long, and a pack of gitcp may have
        it, since the call that wrote it ended."""
        oid = hash_stream(f, size, self.repo.algo)
        if oid is None or self.packs.has(oid):
            return oid
        f.seek(0)
        return self.packs.add_stream(f, size)


def hash_stream(f: BinaryIO, size: int, algo: str) -> str | None:
    """The oid of the next size bytes of f as a blob; None if f has fewer."""
    import hashlib

    digest, remaining = hashlib.new(algo, b"blob %d\0" % size), size
    while remaining and (data := f.read(min(remaining, _WHOLE))):
        digest.update(data)
        remaining -= len(data)
    return None if remaining else str(digest.hexdigest())


_SHARED: dict[str, Objects] = memory.get_table("objects")  # git directory -> database
