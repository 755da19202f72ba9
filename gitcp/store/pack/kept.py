"""The files of gitcp's packs in an object database.

git keeps a pack that has a `.keep` file.  A repository that borrows objects gets no such file:
with one kept pack of its own, git-repack(1) leaves out the objects in kept packs of the lender, and
the repository would lack them once it no longer borrows.  There the pack is listed in
<common>/gitcp/packs instead, and git prunes it by age like its own.
"""

from __future__ import annotations

import errno
import os

from gitcp.process import files
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

    from gitcp.repo import Repo


KEEP = b"gitcp\n"  # the content of the .keep files
_SUFFIXES = (".idx", ".pack", ".keep")  # in the order of removal


def locate_folder(repo: Repo) -> str:
    """The directory of a repository's packs."""
    objects = repo.git.env.get("GIT_OBJECT_DIRECTORY")
    return os.path.join(objects or os.path.join(repo.common, "objects"), "pack")


def make_folder(repo: Repo) -> str:
    """Make the directory for packs that are not in place yet; return its path.  Raises OSError."""
    folder = repo.git.env.get("GIT_OBJECT_DIRECTORY") or repo.join_shared("tmp")
    repo.make_folder(folder)
    return folder


def place_pack(repo: Repo, name: str, path: str) -> None:
    """Move path.pack and path.idx to the repository's packs, and keep the pack; both or neither."""
    repo.make_folder(locate_folder(repo))
    target = os.path.join(locate_folder(repo), f"pack-{name}")
    suffixes, moved = [".pack", ".idx"], list[str]()
    if _has_alternates(repo):
        _list_pack(repo, f"pack-{name}")
    else:
        write_file(f"{path}.keep", KEEP)
        suffixes.insert(0, ".keep")
    try:
        for suffix in suffixes:
            repo.share_file(path + suffix)
            _move_file(path + suffix, target + suffix)
            moved.append(suffix)
    except OSError:
        for suffix in reversed(moved):
            _move_file(target + suffix, path + suffix)
        raise


def _has_alternates(repo: Repo) -> bool:
    """Whether the repository borrows objects of another."""
    alternates = os.path.join(os.path.dirname(locate_folder(repo)), "info", "alternates")
    return bool(files.peek(alternates).strip())


def _list_pack(repo: Repo, name: str) -> None:
    listed = repo.join_shared("packs", name)
    repo.make_folder(os.path.dirname(listed))
    write_file(listed, b"")
    repo.share_file(listed)


def _move_file(path: str, target: str) -> None:
    try:
        os.rename(path, target)
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        # The objects are on another disk.  git prunes files of this name that a kill leaves.
        copy = os.path.join(os.path.dirname(target), f"tmp_pack_{os.getpid()}")
        try:
            with open(path, "rb") as f, open(copy, "wb") as g:
                _leave_room(g.fileno(), os.fstat(f.fileno()).st_size)
                stdlib.shutil.copyfileobj(f, g)
                g.flush()
                files.sync_file(g.fileno())
            os.rename(copy, target)
        except OSError:
            files.remove_file(copy)
            raise
        os.unlink(path)


def write_file(path: str, data: bytes, durable: bool = False) -> None:
    """Create or replace a file.  durable: it must survive a power cut."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    files.fill_file(fd, data, durable)


def write_at(fd: int, data: bytes, position: int) -> int:
    """files.write_at() for a pack.

    Raises OSError, with nothing written, if the pack would become larger than the rest of the disk:
    git's commits need room as well.
    """
    _leave_room(fd, len(data), position)
    return files.write_at(fd, data, position)


def _leave_room(fd: int, added: int, size: int = 0) -> None:
    """Raise OSError if a file of this size cannot grow by so many bytes and leave as much free."""
    disk = os.fstatvfs(fd)
    if disk.f_blocks and size + 2 * added > disk.f_bavail * disk.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def remove_pack(path: str) -> None:
    """Remove the files of a pack."""
    for suffix in _SUFFIXES:
        files.remove_file(path + suffix)


def list_packs(repo: Repo, indexed: Container[str] = ()) -> list[str]:
    """The names, `pack-<hash>`, of gitcp's packs that were not released to git.

    indexed: kept packs known to be gitcp's, whose .keep files need not be read.
    """
    folder, names = locate_folder(repo), list_kept(repo)
    kept = [n for n in names if n in indexed or _is_gitcps(os.path.join(folder, f"{n}.keep"))]
    if kept and _has_alternates(repo):
        for name in kept:
            _list_pack(repo, name)
            files.remove_file(os.path.join(folder, f"{name}.keep"))
    return list(dict.fromkeys([*kept, *list_unkept(repo)]))


def list_kept(repo: Repo) -> list[str]:
    """The packs with a .keep file, whoever made it."""
    names = files.list_names(locate_folder(repo))
    return [name.removesuffix(".keep") for name in names if name.endswith(".keep")]


def list_unkept(repo: Repo) -> list[str]:
    """gitcp's packs in a repository that borrows objects."""
    return files.list_names(repo.join_shared("packs"))


def release_pack(repo: Repo, name: str) -> None:
    """Release a pack to git, which may then prune and repack it."""
    files.remove_file(os.path.join(locate_folder(repo), f"{name}.keep"))
    files.remove_file(repo.join_shared("packs", name))


def _is_gitcps(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as f:
            return f.read(len(KEEP)) == KEEP
    except OSError:
        return False


def find_hasher(algo: str) -> Any:
    """The constructor of the hash that names the repository's objects."""
    if algo == "sha256":
        return stdlib.hashlib.sha256
    try:
        import _sha1  # hashlib costs 2.7 ms, and a hook hashes little
    except ImportError:
        return lambda data: stdlib.hashlib.sha1(data, usedforsecurity=False)
    return _sha1.sha1
