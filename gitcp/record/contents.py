"""Contents that git does not have and that going back needs: files of <common>/gitcp/kept, each
named by its SHA-256.  They are as they were found, nothing is taken out of them, so that they are
for their owner alone, and never objects of git.
"""

from __future__ import annotations

import os
import sys

from gitcp.errors import Error
from gitcp.git import files
from gitcp.git.files import Damaged, hash_bytes, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo


def locate_kept(repo: Repo, *name: str) -> str:
    """A kept file by its name, or the directory of all."""
    return repo.join_shared("kept", *name)


def hold_kept(repo: Repo) -> files.exclusive:
    """The lock under which contents are kept, and let go of."""
    return files.exclusive(repo, "kept")


def make_folder(repo: Repo) -> None:
    """Make the directory, for its owner alone unless several persons share the repository."""
    folder = locate_kept(repo)
    repo.make_folder(folder)
    if not repo.config.get("core.sharedrepository"):
        os.chmod(folder, 0o700)


def keep_bytes(
    repo: Repo, data: bytes | None, dry: bool = False, durable: bool = True
) -> str | None:
    """Keep bytes and return their name; None for None.  dry: only return the name."""
    if data is None:
        return None
    name = hash_bytes(data)
    if dry:
        return name
    path = locate_kept(repo, name)
    if _read_file(path) == data:
        os.utime(path)  # so that clean does not remove it
    else:
        make_folder(repo)
        files.write_private(repo, path, data, durable)
    return name


def read_kept(repo: Repo, name: str | None) -> bytes | None:
    """The bytes kept under a name; raises Error if they are gone."""
    if name is None:
        return None
    data = _read_file(locate_kept(repo, name))
    if data is None or hash_bytes(data) != name:
        raise Error(f"content '{name[:12]}' is not kept any more")
    return data


def read_now(path: str) -> bytes | None:
    """The bytes of a file that may be replaced; None if it cannot be read."""
    return _read_file(path)


def _read_file(path: str) -> bytes | None:
    """The bytes of a kept file of any size; None if it cannot be read."""
    try:
        return read_file(path, most=sys.maxsize)
    except Damaged:
        return None
