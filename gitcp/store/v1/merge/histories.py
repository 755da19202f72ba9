"""Merging two histories of checkpoints, or of notes, into one commit."""

from __future__ import annotations

from gitcp.core.v1 import merge_rules
from gitcp.errors import Error
from gitcp.store.git.commit import is_ancestor, list_commits, need_commit, write_commit
from gitcp.store.v1 import forgetting, signing
from gitcp.store.v1.merge import notes as note_trees
from gitcp.store.v1.merge.trees import Union

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.merge.notes import Join

_SUBJECT = "Merge remote session logs"  # the original program's
_UNSAFE = "too much differs between two stores, one of which has forgotten content: not merged"
_CLEANED = "Leave out what is no checkpoint"


def merge_histories(
    repo: Repo,
    objects: Objects,
    ours: str | None,
    theirs: str,
    joined: Join | None = None,
    checkpoint_id: str = "",
) -> str:
    """The commit that has both histories: one of the two, or a new merge with their united trees.

    The histories may be unrelated.  joined: they are of notes, and this function joins two notes on
    one commit.  checkpoint_id: they are of that checkpoint only.  Files of theirs that belong to no
    checkpoint are left out of the tree.
    """
    if ours and is_ancestor(repo, theirs, ours):
        return ours
    their_tree = need_commit(objects, theirs)["tree"]
    our_tree = need_commit(objects, ours)["tree"] if ours else None
    if not (ours and our_tree) or is_ancestor(repo, ours, theirs):
        if joined or checkpoint_id:
            return theirs
        clean = Union(objects).drop_strays(their_tree, our_tree)
        if clean == their_tree:
            return theirs
        return write_commit(objects, repo, clean, [theirs], _CLEANED)
    if joined:
        united = note_trees.unite_notes(objects, our_tree, their_tree, joined=joined)
        return write_commit(objects, repo, united, [ours, theirs], "notes: Merged by gitcp")
    union = Union(objects)
    if checkpoint_id:
        united = union.unite_checkpoints(our_tree, their_tree, checkpoint_id)
    else:
        united = union.unite_stores(our_tree, their_tree)
    return _merge_stores(repo, objects, united, (ours, theirs), union)


def _merge_stores(
    repo: Repo, objects: Objects, tree: str, tips: tuple[str, str], union: Union
) -> str:
    """Write the merge of two stores.  A history that the other side has forgotten is no parent,
    nor is one that has what the other has forgotten.

    Raises Error if one has forgotten what the other has not, and too much differs: one of their
    trees would bring that back, or lack what is in no parent."""
    parents, forgotten = [], set[str]()
    replaced = [forgetting.list_forgotten_roots(repo, objects, tip) for tip in tips]
    if union.is_cut and replaced[0] != replaced[1]:
        raise Error(_UNSAFE)
    for side, tip in enumerate(tips):
        own_roots = list_commits(repo, "--max-parents=0", tip)
        if side in union.lost or not replaced[1 - side].isdisjoint(own_roots):
            forgotten |= forgetting.list_roots(repo, objects, tip)
        else:
            parents.append(tip)
    if len(parents) == 2:
        return signing.write_signed(objects, repo, tree, parents, _SUBJECT)
    if parents and need_commit(objects, parents[0])["tree"] == tree:
        return parents[0]
    lines = [_SUBJECT, "", *(f"{merge_rules.TRAILER}: {root}" for root in sorted(forgotten))]
    return signing.write_signed(objects, repo, tree, parents, "\n".join(lines))
