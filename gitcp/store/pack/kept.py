"""Packs of ours in an object database: which they are, what is in one, one more put there."""

from __future__ import annotations

import errno
import os

from gitcp.core.git import packfile
from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.repo import Repo

KEEP = b"gitcp\n"  # what stands in the .keep of a pack of ours


def folder(repo: Repo) -> str:
    """Where the packs of a repository are."""
    named = repo.git.env.get("GIT_OBJECT_DIRECTORY")
    return os.path.join(named or os.path.join(repo.common, "objects"), "pack")


def workshop(repo: Repo) -> str:
    """Where a pack is made before it is put there: beside the objects where those are aside."""
    return repo.git.env.get("GIT_OBJECT_DIRECTORY") or repo.shared("tmp")


class Index:
    """The index of one pack, to ask which objects it has.  Raises OSError where there is none."""

    _fd = -1

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._head = os.pread(self._fd, packfile.HEAD, 0)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def has(self, oid: str) -> bool:
        """Whether the pack has an object."""
        start, end = packfile.bucket(self._head, oid)
        return start < end and packfile.among(os.pread(self._fd, end - start, start), oid)


def place(folder: str, name: str, path: str) -> None:
    """Move path.pack and path.idx to where git finds them, to be kept."""
    os.makedirs(folder, exist_ok=True)
    to = os.path.join(folder, f"pack-{name}")
    write(f"{path}.keep", KEEP)
    for end in (".keep", ".pack", ".idx"):
        _move(path + end, to + end)


def _move(path: str, to: str) -> None:
    try:
        os.rename(path, to)
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        import shutil

        # The objects are on another disk.  What is called so and left behind git itself prunes.
        beside = os.path.join(os.path.dirname(to), f"tmp_pack_{os.getpid()}")
        with open(path, "rb") as f, open(beside, "wb") as g:
            shutil.copyfileobj(f, g)
            g.flush()
            os.fsync(g.fileno())
        os.rename(beside, to)
        os.unlink(path)


def write(path: str, data: bytes, durable: bool = False) -> None:
    """Make the file, or make it again; durable: it has to outlive a power cut."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    files.fill(fd, data, durable)


def names(folder: str) -> Iterator[str]:
    """The names of the packs of ours, without what they end in, that git is to keep."""
    for name in files.listed(folder):
        if name.endswith(".keep") and _is_ours(os.path.join(folder, name)):
            yield name.removesuffix(".keep")


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as f:
            return f.read(len(KEEP)) == KEEP
    except OSError:
        return False


def hasher(algo: str) -> Any:
    """What makes a digest of bytes, as the repository's object names are made."""
    if algo == "sha256":
        import hashlib

        return hashlib.sha256
    try:
        import _sha1  # hashlib costs 2.7 ms, and a hook hashes little
    except ImportError:
        import hashlib

        return lambda data: hashlib.sha1(data, usedforsecurity=False)
    return _sha1.sha1
