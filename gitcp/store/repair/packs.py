"""Mending gitcp's packs that git cannot open, in which the objects still are."""

from __future__ import annotations

import os

from gitcp.errors import GitError
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.process.files import choose_place_aside
from gitcp.store.git.objects import Objects
from gitcp.store.pack import indexes, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo


def find_fault(repo: Repo, path: str) -> str:
    """Why git cannot open a pack; '' if it can, or there is none.  path: without `.pack`."""
    width = len(repo.empty_tree) // 2
    try:
        with open(f"{path}.pack", "rb") as f:
            start = f.read(4)
            f.seek(max(0, os.fstat(f.fileno()).st_size - width))
            trailer = f.read()
    except FileNotFoundError:
        return ""
    if start != b"PACK" or os.path.basename(path) != f"pack-{trailer.hex()}":
        return "it is cut short or overwritten"
    index = files.peek(f"{path}.idx")
    if not index:
        return "its index is gone"
    sums = trailer + kept.find_hasher(repo.algo, much=True)(index[:-width]).digest()
    return "" if index.endswith(sums) else "its index is damaged"


def mend_pack(repo: Repo, _: Objects, path: str) -> str:
    """Write the index of a pack again.  If git cannot read the pack, move it aside, and write the
    objects that it still has one by one.  Returns what was done."""
    with exclusive(repo, "packs"):
        if not find_fault(repo, path):
            return ""
        indexes.forget_file(repo)
        new = repo.join_shared("tmp", f"{os.path.basename(path)}.idx")
        repo.make_folder(os.path.dirname(new))
        try:
            repo.git.run("index-pack", "-o", new, f"{path}.pack")
        except GitError:
            return _take_out(repo, path)
        repo.share_file(new)
        os.replace(new, f"{path}.idx")
    return "wrote its index again"


def _take_out(repo: Repo, path: str) -> str:
    files.remove_file(f"{path}.idx")  # git writes no object that an index lists
    with open(f"{path}.pack", "rb") as f:
        try:
            repo.git.run("unpack-objects", "-q", "-r", stdin=f.read())
        except GitError:
            pass  # it ends where the pack does
    aside = choose_place_aside(repo.common, os.path.basename(path))
    os.rename(f"{path}.pack", aside)
    kept.remove_pack(path)
    kept.release_pack(repo, os.path.basename(path))
    return f"wrote the objects that it has again, moved it to '{aside}'"
