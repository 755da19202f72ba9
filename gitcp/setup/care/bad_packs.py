"""Packs of gitcp that git cannot open."""

from __future__ import annotations

import os

from gitcp.git import files
from gitcp.git.gitdir import packs
from gitcp.setup.care.findings import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.git.repo import Repo
    from gitcp.setup.care.case import Case


_MUCH = 1 << 20  # bytes of an index, from which on the faster hash is worth its import


def look_at_packs(case: Case) -> Iterator[Finding]:
    """Check that git can open gitcp's packs.  It ignores one without an index, as a kill leaves."""
    folder = packs.locate_folder(case.repo)
    for path in (os.path.join(folder, name) for name in packs.list_packs(case.repo)):
        fault = find_fault(case.repo, path)
        if fault:
            kind = "unindexed-pack"
            if os.path.exists(f"{path}.idx"):
                kind = "bad-pack"
            yield Finding(kind, path, fault)


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
    hasher = files.find_hasher(repo.algo, much=len(index) > _MUCH)
    sums = trailer + hasher(index[:-width]).digest()
    if index.endswith(sums):
        return ""
    return "its index is damaged"
