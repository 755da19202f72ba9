"""Contents that came back: the journal, HEAD or what git keeps beside it had them before."""

from __future__ import annotations

import os

from gitcp.store.git import files, reflog
from gitcp.store.git.tree import Lookup
from gitcp.store.journal.known import tree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.record_types import Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_TAIL = 1 << 14  # bytes of a reflog that are read
_NAMED = ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


class Elsewhere:
    """The trees that git keeps besides the worktree, each read when it is first asked."""

    def __init__(self, repo: Repo, objects: Objects, head: str) -> None:
        """head: where HEAD was at the last look; what was committed since is no restoring."""
        self._repo, self._objects, self._before = repo, objects, head
        self._commits: list[Lookup] | None = None
        self._looks: list[Lookup] | None = None
        self._stashes: list[Lookup] | None = None

    def has(self, path: str, after: Version) -> bool:
        """Whether one of them has this very entry at the path; for None: HEAD has nothing, and
        had nothing at the last look where commits alone have moved it since."""
        if after is None:
            return all(look(path) is None for look in self._heads())
        if self._looks is None:
            self._looks = self._lookups([*self._names(), *self._stashed()])
        return any(look(path) == after for look in self._looks)

    def _heads(self) -> list[Lookup]:
        if self._commits is None:
            made_here = committed_since(self._repo, self._before) is not None
            self._commits = self._lookups(["HEAD", *([self._before] if made_here else [])])
        return self._commits

    def stashed(self, path: str, before: Version) -> bool:
        """Whether an entry of `git stash` holds what stood at the path; never for None."""
        if self._stashes is None:
            self._stashes = self._lookups(self._stashed())
        return before is not None and any(look(path) == before for look in self._stashes)

    def _lookups(self, names: list[str]) -> list[Lookup]:
        trees = dict.fromkeys(tree_of(self._objects, name) for name in names)
        return [Lookup(self._objects, tree) for tree in trees if tree]

    def _names(self) -> list[str]:
        git_dir = self._repo.git_dir
        names = [self._before]
        names += [n for n in _NAMED if os.path.exists(os.path.join(git_dir, n))]
        if committed_since(self._repo, self._before) is None:
            names.append("HEAD")
        return names

    def _stashed(self) -> list[str]:
        """A stash has the index and the untracked files beside it."""
        stashes = reflog.stashes(self._repo)
        return [name for oid in stashes for name in (oid, f"{oid}^2", f"{oid}^3")]


def committed_since(repo: Repo, old: str) -> str | None:
    """HEAD, where commits made in this worktree, and they alone, lead to it from old."""
    newest: str | None = None
    for line in reversed(_reflog(repo)):
        head, _, reason = line.partition(b"\t")
        before, after = (oid.decode("ascii", "replace") for oid in head.split(b" ")[:2])
        newest = newest or after
        if not reason.startswith(b"commit"):
            return None
        if before == old:
            return newest
    return None


def _reflog(repo: Repo) -> list[bytes]:
    """The last lines of HEAD's reflog, whole ones: git may be at work on another."""
    data = files.peek(os.path.join(repo.git_dir, "logs", "HEAD"), _TAIL + 1)
    lines = data[: data.rfind(b"\n") + 1].splitlines()
    return lines[1:] if len(data) > _TAIL else lines
