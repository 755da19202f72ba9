"""The worktrees that were removed: what the sessions' refs and streams still hold of them."""

from __future__ import annotations

import os

from gitcp.git import files
from gitcp.git.objects import edit_tree, find_tree
from gitcp.record.journal import credit, held_lines
from gitcp.record.session import others
from gitcp.steps.whose import lineage
from gitcp.text import value_class
from gitcp.text.ids import hash_worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit, JournalLine
    from gitcp.text.record_types import Version


@value_class
class RemovedWorktree:
    """A worktree that is gone.  name: where it was, or the hash of git's name of it if no session's
    state tells.  lines: the edits that were made in it, and what settled them, by time."""

    name: str
    lines: list[JournalLine]

    @property
    def edits(self) -> list[Edit]:
        """The edits that were made in it, by time."""
        return credit.list_edits(self.lines)


def list_hashes(repo: Repo) -> set[str]:
    """The hashes of the worktrees that are there."""
    names = files.list_names(os.path.join(repo.common, "worktrees"))
    return {hash_worktree(""), *map(hash_worktree, names), repo.worktree_hash}


def map_names(repo: Repo) -> dict[str, str]:
    """The hash of a worktree -> where it is or was, as the states of sessions tell."""
    names: dict[str, str] = {}
    for session_id in others.list_state_ids(repo):
        state = others.peek_state(repo, session_id) or {}
        for worktree_id in state.get("visits", ()):
            names.setdefault(hash_worktree(worktree_id), worktree_id)
        path = state.get("worktree_path")
        if path:
            names[hash_worktree(state.get("worktree_id", ""))] = path
    return names


def list_removed(repo: Repo) -> list[RemovedWorktree]:
    """The worktrees that are gone, of which the sessions' refs have edits."""
    by_hash = held_lines.read_all_lines(repo, list_hashes(repo))
    if not by_hash:
        return []
    names = map_names(repo)
    return [RemovedWorktree(names.get(key, key), lines) for key, lines in by_hash.items()]


def find_removed(repo: Repo, name: str) -> RemovedWorktree | None:
    """The worktree of this name that is gone; None without one."""
    for removed in list_removed(repo):
        if removed.name == name:
            return removed
    return None


def build_tree(repo: Repo, removed: RemovedWorktree, moment_id: str, after: bool) -> str:
    """The tree of a worktree that is gone before a turn or tool use, or with after the moment after
    it: that of the commit on which it stood, with the edits until then.  '' for an unknown
    moment."""
    moment = lineage.find_moment(removed.edits, moment_id, after)
    if moment is None:
        return ""
    versions: dict[str, Version] = {}
    for line in credit.list_open_edits(removed.lines):
        versions[line.path] = line.after
    for line in reversed(moment.since):
        versions[line.path] = line.before
    return edit_tree(repo.objects, find_tree(repo.objects, find_base(removed)), versions)


def find_base(removed: RemovedWorktree) -> str:
    """The commit on which a worktree that is gone stood, by its last edit; '' if none says."""
    base = ""
    for line in removed.edits:
        base = line.base or base
    return base
