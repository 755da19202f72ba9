"""Contents that came back: the journal, HEAD or what git keeps beside it had them before."""

from __future__ import annotations

import os

from gitcp.store.git import reflog
from gitcp.store.git.tree import Lookup, tree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_NAMED = ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


class Elsewhere:
    """The trees that git keeps besides the worktree, each read when it is first asked."""

    def __init__(
        self, repo: Repo, objects: Objects, head: str, commits: Sequence[str] = ()
    ) -> None:
        """head: where HEAD was at the last look; what was committed since is no restoring, but
        for the commits at which the journal had a look at their paths."""
        self._repo, self._objects, self._before = repo, objects, head
        self._seen = commits
        self._commits: list[Lookup] | None = None
        self._looks: list[Lookup] | None = None
        self._stash = reflog.Stash(repo, objects)

    def has(self, path: str, after: Version) -> bool:
        """Whether one of them has this very entry at the path; for None: HEAD has nothing, and
        had nothing at the last look where commits alone have moved it since."""
        if after is None:
            return all(look(path) is None for look in self._heads())
        if self._looks is None:
            self._looks = self._lookups(self._list_commits())
        return any(look(path) == after for look in self._looks) or self._stash.holds(path, after)

    def _heads(self) -> list[Lookup]:
        if self._commits is None:
            made_here = reflog.committed_since(self._repo, self._before) is not None
            self._commits = self._lookups(["HEAD", *([self._before] if made_here else [])])
        return self._commits

    def stashed(self, path: str, before: Version) -> bool:
        """Whether an entry of `git stash` holds what stood at the path; never for None."""
        return before is not None and self._stash.holds(path, before)

    def stash_keeps(self, path: str) -> bool:
        """Whether an entry of `git stash` has work on the path: lines that go may come back."""
        return self._stash.changes(path)

    def _lookups(self, names: list[str]) -> list[Lookup]:
        trees = dict.fromkeys(tree_of(self._objects, name) for name in names)
        return [Lookup(self._objects, tree) for tree in trees if tree]

    def _list_commits(self) -> list[str]:
        git_dir = self._repo.git_dir
        names = [self._before, *self._seen]
        names += [n for n in _NAMED if os.path.exists(os.path.join(git_dir, n))]
        if reflog.committed_since(self._repo, self._before) is None:
            names.append("HEAD")
        return names
