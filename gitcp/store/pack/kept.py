"""gitcp's packs in an object database: list them, add one, leave one to git.

A `.keep` file keeps a pack from git's pruning and repacking.  A repository that borrows objects
gets no such file: as soon as one of its packs is kept, git-repack(1) leaves out the objects of the
lender's kept packs, and they are lost when the repository is made independent.  There gitcp's packs
are listed in <common>/gitcp/packs, and git prunes their objects by age.
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


KEEP = b"gitcp\n"  # the content of the .keep file of a pack of gitcp
_ENDS = (".idx", ".pack", ".keep")  # without its index git does not see a pack


def locate_folder(repo: Repo) -> str:
    """The directory of a repository's packs."""
    objects = repo.git.env.get("GIT_OBJECT_DIRECTORY") or os.path.join(repo.common, "objects")
    return os.path.join(objects, "pack")


def make_workshop(repo: Repo) -> str:
    """The directory where packs are made, created if it does not exist.  Raises OSError."""
    folder = repo.git.env.get("GIT_OBJECT_DIRECTORY") or repo.join_shared("tmp")
    repo.make_folder(folder)
    return folder


def place_pack(repo: Repo, name: str, path: str) -> None:
    """Move path.pack and path.idx into the directory of packs, and keep the pack; both or none."""
    repo.make_folder(locate_folder(repo))
    to = os.path.join(locate_folder(repo), f"pack-{name}")
    ends, moved = [".pack", ".idx"], list[str]()
    if _has_alternates(repo):
        _list_pack(repo, f"pack-{name}")
    else:
        write_file(f"{path}.keep", KEEP)
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


def _has_alternates(repo: Repo) -> bool:
    """Whether the repository borrows objects."""
    alternates = os.path.join(os.path.dirname(locate_folder(repo)), "info", "alternates")
    return bool(files.peek(alternates).strip())


def _list_pack(repo: Repo, name: str) -> None:
    listed = repo.join_shared("packs", name)
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
                stdlib.shutil.copyfileobj(f, g)
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


def list_packs(repo: Repo, ours: Container[str] = ()) -> list[str]:
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
    return list(dict.fromkeys([*own, *files.list_names(repo.join_shared("packs"))]))


def list_kept(repo: Repo) -> list[str]:
    """The names of all packs with a .keep file, gitcp's and others."""
    names = files.list_names(locate_folder(repo))
    return [name.removesuffix(".keep") for name in names if name.endswith(".keep")]


def release_pack(repo: Repo, name: str) -> None:
    """Leave a pack to git, which prunes and repacks it."""
    files.remove_file(os.path.join(locate_folder(repo), f"{name}.keep"))
    files.remove_file(repo.join_shared("packs", name))


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as f:
            return f.read(len(KEEP)) == KEEP
    except OSError:
        return False


def find_hasher(algo: str, much: bool = False) -> Any:
    """The hash function of the repository's object names; much: for megabytes."""
    if algo == "sha256":
        return stdlib.hashlib.sha256
    try:
        import _sha1  # hashlib costs 2.7 ms, and a hook hashes little
    except ImportError:
        much = True
    return (lambda data: stdlib.hashlib.sha1(data, usedforsecurity=False)) if much else _sha1.sha1
