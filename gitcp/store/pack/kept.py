"""Packs of ours in an object database: which they are, what is in one, one more put there.

A `.keep` says that git keeps a pack.  A repository that borrows objects has none of ours: as soon
as one of its own packs is kept, git-repack(1) leaves out what a kept pack of the lender's has, and
who makes the repository independent by it loses that.  There a pack of ours is listed in
<common>/gitcp/packs, and git prunes by its age what no ref needs, as it does with its own.
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


KEEP = b"gitcp\n"  # what stands in the .keep of a pack of ours
_ENDS = (".idx", ".pack", ".keep")  # the index goes first, as it comes last


def locate_folder(repo: Repo) -> str:
    """Where the packs of a repository are."""
    named = repo.git.env.get("GIT_OBJECT_DIRECTORY")
    return os.path.join(named or os.path.join(repo.common, "objects"), "pack")


def make_workshop(repo: Repo) -> str:
    """Where a pack is made before it is put there, a directory that is there: beside the objects
    where those are aside.  Raises OSError."""
    place = repo.git.env.get("GIT_OBJECT_DIRECTORY") or repo.join_shared("tmp")
    repo.make_folder(place)
    return place


def place_pack(repo: Repo, name: str, path: str) -> None:
    """Move path.pack and path.idx to where git finds them, to be kept; both or none."""
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
    """Whether the repository has objects of another's."""
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
        # The objects are on another disk.  What is called so and left behind git itself prunes.
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
    """Make the file, or make it again; durable: it has to outlive a power cut."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    files.fill_file(fd, data, durable)


def write_at(fd: int, data: bytes, at: int) -> int:
    """Write data at a place of a pack, as files.write_at() does.  Raises OSError, with nothing
    written, where the pack would then be larger than what the disk has left: a commit that git
    makes meanwhile needs room too."""
    _leave_room(fd, len(data), at)
    return files.write_at(fd, data, at)


def _leave_room(fd: int, more: int, size: int = 0) -> None:
    """Raise OSError where a file of that size is not to become so many bytes larger."""
    disk = os.fstatvfs(fd)
    if disk.f_blocks and size + 2 * more > disk.f_bavail * disk.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def remove_pack(path: str) -> None:
    """Remove what there is of a pack."""
    for end in _ENDS:
        files.remove_file(path + end)


def list_packs(repo: Repo, ours: Container[str] = ()) -> list[str]:
    """The names of the packs of ours, without what they end in, that git has not taken over.

    ours: packs that are ours if they are kept at all.
    """
    there = locate_folder(repo)
    names = list_kept(repo)
    kept = [n for n in names if n in ours or _is_ours(os.path.join(there, f"{n}.keep"))]
    if kept and _has_alternates(repo):
        for name in kept:
            _list_pack(repo, name)
            files.remove_file(os.path.join(there, f"{name}.keep"))
    return list(dict.fromkeys([*kept, *files.list_names(repo.join_shared("packs"))]))


def list_kept(repo: Repo) -> list[str]:
    """As list_packs(), with the packs that others have git keep, which are few."""
    names = files.list_names(locate_folder(repo))
    return [name.removesuffix(".keep") for name in names if name.endswith(".keep")]


def release_pack(repo: Repo, name: str) -> None:
    """From now on a pack is git's, to prune and to pack as it likes."""
    files.remove_file(os.path.join(locate_folder(repo), f"{name}.keep"))
    files.remove_file(repo.join_shared("packs", name))


def _is_ours(path: str) -> bool:
    try:
        with open(path, "rb", buffering=0) as f:
            return f.read(len(KEEP)) == KEEP
    except OSError:
        return False


def find_hasher(algo: str) -> Any:
    """What makes a digest of bytes, as the repository's object names are made."""
    if algo == "sha256":
        return stdlib.hashlib.sha256
    try:
        import _sha1  # hashlib costs 2.7 ms, and a hook hashes little
    except ImportError:
        return lambda data: stdlib.hashlib.sha1(data, usedforsecurity=False)
    return _sha1.sha1
