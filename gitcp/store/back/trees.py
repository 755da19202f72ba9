"""The files that a name stands for, as a tree that git can compare."""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.store.back.present import Present
from gitcp.store.git.commit import need_commit
from gitcp.store.git.tree import edit_tree
from gitcp.store.link import find_commits
from gitcp.store.show import lookup
from gitcp.store.stream import shadow_refs, stream_history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

WORKTREE = "worktree"


def find_tree(repo: Repo, objects: Objects, name: str) -> str:
    """The tree of a commit, a checkpoint, a session (its newest one) or of the worktree now.

    Without what checkpoints keep under `.entire/metadata`.  Raises Error for a name of nothing,
    and for a committed checkpoint that no commit here carries.
    """
    if name == WORKTREE:
        return Present(repo, objects, aside=True).tree
    kind, key = lookup.resolve(repo, objects, name)
    if kind == "checkpoint":
        commits = find_commits.commits(repo, objects, [key])[key]
        if not commits:
            raise Error(f"no commit here carries checkpoint '{key}'")
        key = commits[0]
    elif kind == "session":
        newest = stream_history.newest(repo, objects, key)
        if newest is None:
            raise Error(f"session '{key}' has no temporary checkpoint")
        key = newest["oid"]
    tree = need_commit(objects, key)["tree"]
    return edit_tree(objects, tree, {shadow_refs.METADATA.rstrip("/"): None})
