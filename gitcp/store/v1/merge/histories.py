"""Merging two histories of checkpoints, or of notes, into one commit."""

from __future__ import annotations

from gitcp.core.v1 import merge_rules
from gitcp.store.git.commit import list_commits, need_commit, write_commit
from gitcp.store.v1 import forgetting, signing
from gitcp.store.v1.merge import notes as note_trees
from gitcp.store.v1.merge.trees import Union

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.merge.notes import Join

_SUBJECT = "Merge remote session logs"  # the original program's
_CLEANED = "Leave out what is no checkpoint"


def merge_histories(
    repo: Repo,
    objects: Objects,
    ours: str | None,
    theirs: str,
    joined: Join | None = None,
    checkpoint_id: str = "",
) -> str:
    """The commit that has both: one of the two, or a new merge with their united trees.

    Neither needs to know the other: unrelated roots are joined.  joined: they are of notes, and
    this makes one note of two on the same commit.  checkpoint_id: they are of that checkpoint
    alone.  What lies beside the checkpoints of theirs is not brought in, though its history is.
    """
    if ours and _contains(repo, ours, theirs):
        return ours
    follows = ours is None or _contains(repo, theirs, ours)
    if follows and (joined or checkpoint_id):
        return theirs
    mine, tree = (need_commit(objects, oid)["tree"] if oid else None for oid in (ours, theirs))
    assert tree
    if follows:
        kept = Union(objects).drop_strays(tree, mine)
        if kept == tree:
            return theirs
        return write_commit(objects, repo, kept, [theirs], _CLEANED)
    assert ours and mine
    if joined:
        united = note_trees.unite_notes(objects, mine, tree, joined=joined)
        return write_commit(objects, repo, united, [ours, theirs], "notes: Merged by gitcp")
    if checkpoint_id:
        united = Union(objects).unite_checkpoints(mine, tree, checkpoint_id)
    else:
        united = Union(objects).unite_stores(mine, tree)
    return _merge_stores(repo, objects, united, ours, theirs)


def _merge_stores(repo: Repo, objects: Objects, tree: str, ours: str, theirs: str) -> str:
    """The merge of two stores: a history that the other side has forgotten is not its parent."""
    parents, forgets = [], set[str]()
    for one, other in ((ours, theirs), (theirs, ours)):
        gone = forgetting.list_forgotten_roots(repo, objects, other)
        if gone.isdisjoint(list_commits(repo, "--max-parents=0", one)):
            parents.append(one)
        else:
            forgets |= gone
    if len(parents) == 2:
        return signing.write_signed(objects, repo, tree, parents, _SUBJECT)
    if parents and need_commit(objects, parents[0])["tree"] == tree:
        return parents[0]
    words = "\n".join(
        [_SUBJECT, "", *(f"{merge_rules.TRAILER}: {root}" for root in sorted(forgets))]
    )
    return signing.write_signed(objects, repo, tree, parents, words)


def _contains(repo: Repo, commit: str, other: str) -> bool:
    return commit == other or repo.git.says_yes("merge-base", "--is-ancestor", other, commit)
