"""Objects of a repository: read by one long-lived cat-file, written by ourselves, loose.

A loose object is made under <common>/gitcp/tmp and renamed into place: killed at any
instant, no tmp_obj_* is left in the object database and no object is half written.
"""

from __future__ import annotations

import os
import zlib
from itertools import islice

from gitcp import trace
from gitcp.errors import Error
from gitcp.record import text
from gitcp.store.git import keep
from gitcp.store.git.cat_file import Batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Self

    from gitcp.repo import Repo
    from gitcp.store.git.cat_file import Object

_AT_ONCE = 400  # names: they fit into a pipe, so git is never waited for while it waits
_WHOLE = 1 << 20  # files up to this many bytes are read at once, larger ones streamed
_NEAR_EACH, _NEAR_ALL = 1 << 20, 32 << 20  # bytes of an object, of all, that stay at hand


class Objects:
    """The object database of repo.  Use as a context manager, or close() it.

    What was read or written stays at hand by its oid, up to 32 MiB: git is asked for an object
    once.  Names that are not oids are asked for each time, for refs move.  Stages of one
    process share one database (shared()): its cat-file runs until the process ends.
    """

    _shared: dict[str, Objects] = {}  # noqa: RUF012

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        named = repo.git.env.get("GIT_OBJECT_DIRECTORY")
        self._dir = os.fsencode(named or os.path.join(repo.common, "objects"))
        self._keep = keep.of(repo)
        self._tmp = os.fsencode(repo.shared("tmp"))
        self._batch: Batch | None = None
        self._near: dict[str, Object] = {}
        self._bytes = self._numbered = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shared.get(self._repo.git_dir) is not self:
            self.close()

    @classmethod
    def shared(cls, repo: Repo) -> Objects:
        """The process's one database of repo: to leave it as a context keeps it open."""
        return cls._shared.setdefault(repo.git_dir, cls(repo))

    def close(self) -> None:
        if self._batch:
            self._batch.close()
            self._batch = None

    def read(self, spec: str) -> Object | None:
        """(oid, kind, data) of an object name or simple revision; None when it is missing."""
        if spec in self._near:
            return self._near[spec]
        if not spec or "\n" in spec:
            return None
        if len(spec) != len(self._repo.empty_tree) or spec.strip("0123456789abcdef"):
            named = self._git().look(spec)
            if named is None or named[0] in self._near:
                return self._near[named[0]] if named else None
            spec = named[0]
        obj = self._git().ask(spec)
        if obj is None and self._keep.restored(spec):
            obj = self._git().ask(spec)
        if obj:
            trace.note("object", f"{obj[0]} {obj[1]} {len(obj[2])}")
            self._remember(obj)
        return obj

    def _git(self) -> Batch:
        if self._batch is None:
            self._batch = Batch(self._repo)
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

    def each(self, oids: Iterable[str]) -> Iterator[Object | None]:
        """The objects in their order, many asked for at once, none of which stays at hand: so
        memory holds one.  Ask for nothing else between."""
        names = iter(oids)
        while window := list(islice(names, _AT_ONCE)):
            answers = self._git().ask_all(window)
            try:
                for answer in answers:  # noqa: UP028  to take all of them where nobody goes on
                    yield answer
            finally:
                for _ in answers:
                    pass

    def need(self, oid: str, kind: str) -> bytes:
        """The data of an object that must be there; raise Error naming it otherwise."""
        obj = self.read(oid)
        if obj is None or obj[1] != kind:
            raise Error(f"missing {kind} '{oid}'")
        return obj[2]

    def size(self, oid: str) -> int:
        """The bytes of an object, which is not read; raise Error when it is missing."""
        near = self._near.get(oid)
        if near:
            return len(near[2])
        head = self._git().look(oid)
        if head is None:
            raise Error(f"missing object '{oid}'")
        return head[1]

    def hash(self, kind: str, data: bytes) -> str:
        """The name data has as an object of that kind; nothing is written."""
        return str(self._hasher(b"%s %d\0%s" % (kind.encode(), len(data), data)).hexdigest())

    def write(self, kind: str, data: bytes) -> str:
        """Store an object; return its name.  Nothing is written where it is loose already."""
        body = b"%s %d\0%s" % (kind.encode(), len(data), data)
        oid = str(self._hasher(body).hexdigest())
        if not self.has_loose(oid):
            name, fd = self._scratch()
            with open(fd, "wb", buffering=0) as f:
                f.write(zlib.compress(body, 1))
            self._place(name, oid)
        if oid not in self._near:
            self._remember((oid, kind, data))
        return oid

    def write_file(self, path: bytes) -> str:
        """Store the bytes of a regular file, unfiltered, as a blob; large ones are streamed.

        Raises OSError when it cannot be read, Error when it shrinks each time it is read.
        """
        for _ in range(3):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb", buffering=0) as f:
                size = os.fstat(fd).st_size
                if size <= _WHOLE:
                    data = f.read(size + 1)[: size or None]
                    if len(data) >= size:
                        return self.write("blob", data)
                elif oid := self._stream(f, size):
                    return oid
        raise Error(f"'{text(path)}' changes while it is read")

    def has_loose(self, oid: str) -> bool:
        """Whether the object stands in a file of its own; its age is renewed against prune."""
        try:
            os.utime(self._path(oid))
        except OSError:
            return False
        return self._keep.hold(oid)

    def adopt(self, quarantine: str) -> None:
        """Move every loose object below quarantine into the object database."""
        for fan in os.listdir(quarantine):
            if len(fan) == 2:
                for rest in os.listdir(os.path.join(quarantine, fan)):
                    self._place(os.fsencode(os.path.join(quarantine, fan, rest)), fan + rest)

    def _stream(self, f: Any, size: int) -> str | None:
        digest, packer = self._hasher(b"blob %d\0" % size), zlib.compressobj(1)
        name, fd = self._scratch()
        with open(fd, "wb", buffering=0) as out:
            out.write(packer.compress(b"blob %d\0" % size))
            left = size
            while left and (data := f.read(min(left, _WHOLE))):
                digest.update(data)
                out.write(packer.compress(data))
                left -= len(data)
            out.write(packer.flush())
        oid = str(digest.hexdigest())
        if left or self.has_loose(oid):
            os.unlink(name)
            return None if left else oid
        self._place(name, oid)
        return oid

    def _hasher(self, data: bytes) -> Any:
        if self._repo.algo == "sha256":
            import hashlib

            return hashlib.sha256(data)
        try:
            import _sha1  # hashlib costs 2.7 ms, and a hook hashes little
        except ImportError:
            import hashlib

            return hashlib.sha1(data, usedforsecurity=False)
        return _sha1.sha1(data)

    def _path(self, oid: str) -> bytes:
        return os.path.join(self._dir, oid[:2].encode(), oid[2:].encode())

    def _scratch(self) -> tuple[bytes, int]:
        self._numbered += 1
        name = os.path.join(self._tmp, b"%d-%d-%d" % (os.getpid(), id(self), self._numbered))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            return name, os.open(name, flags, 0o444)
        except FileNotFoundError:
            os.makedirs(self._tmp, exist_ok=True)
            return name, os.open(name, flags, 0o444)

    def _place(self, name: bytes, oid: str) -> None:
        path = self._path(oid)
        self._keep.hold(oid, name)
        keep.with_folder(path, lambda: os.rename(name, path))
