"""Files that a hook took away and did not bring back: put back as a checkpoint has them.

pre-commit and lint-staged hide unstaged work while they run.  One that is killed, or cannot
apply it again, leaves the worktree as HEAD is.
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.record import raw
from gitcp.store.auto.index_files import Git
from gitcp.store.git import refs
from gitcp.store.git.tree import Lookup
from gitcp.store.snapshot import blobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.auto.intent import Intent
    from gitcp.store.git.objects import Objects

STASH = "refs/stash"


def stash(repo: Repo) -> str:
    """What tells whether the person stashed something: the newest entry, '' for none."""
    return refs.read(repo, STASH) or ""


def still(
    repo: Repo, objects: Objects, files: Mapping[str, Entry | None]
) -> dict[str, Entry | None]:
    """Those of the files that stand in the worktree as given."""
    now = blobs.at(repo, objects, sorted(files), write=False)
    return {path: entry for path, entry in files.items() if path in now and now[path] == entry}


def put_back(repo: Repo, objects: Objects, about: Intent) -> None:
    """Put back what stood in the worktree before the hooks and is as in HEAD's tree now.

    Where the stash has changed somebody put the work away on purpose.
    """
    head = Lookup(objects, about["tree"])
    lost = {path: entry for path, entry in about["dirty"].items() if head(path) != entry}
    for _ in range(2):  # what is away for a moment is back when the stash has been asked
        lost = {path: lost[path] for path in still(repo, objects, {p: head(p) for p in lost})}
        if not lost or stash(repo) != about["stash"]:
            return
    trace.note("auto", f"put back: {sorted(lost)}")
    _write(repo, lost)


def _write(repo: Repo, files: Mapping[str, Entry | None]) -> None:
    index = Git(repo, "lost")
    index.remove()
    there = {path: entry for path, entry in files.items() if entry}
    try:
        for path in files.keys() - there.keys():
            os.unlink(os.path.join(os.fsencode(repo.worktree), raw(path)))
        if there:
            index.put(there)
            names = b"".join(raw(path) + b"\0" for path in sorted(there))
            index.run("checkout-index", "-f", "-z", "--stdin", stdin=names)
    finally:
        index.remove()
