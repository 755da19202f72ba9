"""What is committed where a worktree is: HEAD's tree; in a jj workspace all parents of `@`, merged,
which jj itself compares with."""

from __future__ import annotations

from functools import partial

from gitcp.git import jj
from gitcp.git.objects import Lookup, compare_trees, find_file, find_tree, merging

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Version


class Committed:
    """The entries of paths that are committed.

    tree: HEAD's, None if it is unborn.  merged: path -> its entry, where other parents of `@` have
    another one than HEAD."""

    def __init__(self, repo: Repo, head: str | None) -> None:
        self._repo = repo
        self.tree = find_tree(repo.objects, head)
        self._lookup = Lookup(repo.objects, self.tree)
        self.merged: dict[str, Version] = {}
        if head and repo.jj:
            for other in jj.list_other_parents(repo.worktree, head):
                self._merge(head, other)

    def find(self, path: str) -> Version:
        """The entry of a path; None if there is no such file."""
        if path in self.merged:
            return self.merged[path]
        return self.find_in_head(path)

    def find_in_head(self, path: str) -> Version:
        """The entry that HEAD has."""
        return find_file(self._lookup, path)

    def _merge(self, head: str, other: str) -> None:
        """Add what another parent changed since it and HEAD were one."""
        objects = self._repo.objects
        base = _find_merge_base(self._repo, head, other)
        before = find_tree(objects, base)
        after = find_tree(objects, other)
        merge = partial(merging.merge_blobs, self._repo, store=False)
        for path, old, new in compare_trees(objects, before, after):
            ours = self.find(path)
            merged, _ = merging.merge_versions(old, ours, new, merge)
            if merged != ours:
                self.merged[path] = merged


def _find_merge_base(repo: Repo, one: str, other: str) -> str | None:
    status, out = repo.git.run("merge-base", one, other, ok=(0, 1))
    if status:
        return None
    return out.decode().split()[0]
