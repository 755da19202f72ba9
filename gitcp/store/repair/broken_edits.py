"""Edits of sessions that lack objects: written again without what is gone, so that git can work.

Their lines stay; a content that is not there any more leaves its lines to nobody.
"""

from __future__ import annotations

from gitcp.store.git import refs
from gitcp.store.git.commit import read_commit, write_commit
from gitcp.store.git.tree import edit_tree, read_tree
from gitcp.store.journal.edits_ref import PREFIX
from gitcp.store.repair.broken_streams import chain, lacking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def broken(repo: Repo, names: list[str]) -> Iterator[tuple[str, int]]:
    """(ref, how many objects it lacks) of the sessions' edits among names that lack any."""
    for ref in names:
        if ref.startswith(PREFIX) and (gone := lacking(repo, ref)):
            yield ref, len(gone)


def mend(repo: Repo, objects: Objects, ref: str) -> str:
    """Write the history of a session's edits anew, as far as it can be read; what was done."""
    old = refs.read(repo, ref)
    if old is None:
        return ""
    gone, count = lacking(repo, ref), 0
    tip: str | None = None
    for commit in reversed(chain([old], lambda oid: read_commit(objects, oid))):
        tree = _without(objects, commit["tree"], gone)
        if tree:
            above = [tip] if tip else []
            tip, count = write_commit(objects, repo, tree, above, commit["message"]), count + 1
    refs.update(repo, [(ref, tip, old)], "gitcp: fsck")
    return f"wrote {count} turns again without {len(gone)} lost objects"


def _without(objects: Objects, tree: str, gone: set[str]) -> str | None:
    """A turn's tree without the objects that are gone; None where nothing is left."""
    if objects.read(tree) is None:
        return None
    entries = read_tree(objects, tree)
    left = {name: entry for name, entry in entries.items() if objects.read(entry[1])}
    if "contents" in left:
        blobs = read_tree(objects, left["contents"][1])
        lost = {name: None for name, entry in blobs.items() if entry[1] in gone}
        left["contents"] = (left["contents"][0], edit_tree(objects, left["contents"][1], lost))
    return edit_tree(objects, None, left) if left else None
