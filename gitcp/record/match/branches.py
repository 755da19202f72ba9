"""Branches that a commit may be the squash of, where neither git nor a message names them."""

from __future__ import annotations

from gitcp.checkpoints import recorded_edits
from gitcp.git import refs
from gitcp.git.objects import compare_trees, find_tree, object_lists, read_commit
from gitcp.record.match import holding
from gitcp.text.ids import build_change

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo
    from gitcp.record.match import Target
    from gitcp.text.record_types import Recorded

_RECENT = 50  # entries of HEAD's reflog
_MOST = 20  # commits that follow one
_BRANCHES = ("--exclude=entire/*", "--branches", "--exclude=*/entire/*", "--remotes")


def is_squashed(repo: Repo, oid: str, target: Target) -> bool:
    """Whether target makes the whole change of a branch that has the commit oid and goes on after
    it: then it has what that commit has of the branch, be it a line, which is no evidence by
    itself.  Branches that are deleted count where HEAD left them."""
    moves = refs.list_head_moves(repo)[-_RECENT:]
    olds = dict.fromkeys(old for old, _, why in moves if refs.tell_move(why) == refs.LEFT)
    left = [old for old in olds if read_commit(repo.objects, old)]
    options = ("--ancestry-path", f"--max-count={_MOST}", *_BRANCHES, *left)
    after = object_lists.list_commits(repo, *options, f"^{oid}")
    if not after or target.oid in after:
        return False
    with_target = object_lists.list_commits(repo, *options, f"^{target.oid}")
    tips = [tip for tip in after if tip not in with_target]
    return any(_is_same(repo, tip, target) for tip in tips)


def _is_same(repo: Repo, tip: str, target: Target) -> bool:
    """Whether target changes what a branch with this tip has changed since it was begun."""
    if not read_commit(repo.objects, target.parent):
        return False  # it is the first commit, or that before it is not here
    status, out = repo.git.run("merge-base", tip, target.parent, ok=(0, 1))
    if status:
        return False
    base = out.decode().split()[0]
    before = find_tree(repo.objects, base)
    after = find_tree(repo.objects, tip)
    edits: list[Recorded] = []
    for path, old, new in compare_trees(repo.objects, before, after):
        change = build_change(old, new)
        edits.append(recorded_edits.build_edit(path, change))
    held = holding.hold(edits, target.build_change())
    return holding.is_same(held)
