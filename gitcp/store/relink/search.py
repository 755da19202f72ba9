"""Candidates for a link: commits with checkpoints, each held against a commit that may have their
work, by evidence and in bounded time."""

from __future__ import annotations

import time

from gitcp.core.decide import relink_rules
from gitcp.store.git.commit import read_commit
from gitcp.store.git.tree import Lookup, tree_of
from gitcp.store.link import find_commits
from gitcp.store.relink import checkpoint_edits, dismissed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.core.decide.difference import Recorded
    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link.commit_changes import Changes

MOST = 50  # commits that are candidates
SECONDS = 0.3  # what one hook spends; the rest is for the next one


def linked(objects: Objects, oids: Iterable[str]) -> list[Commit]:
    """Those of some commits that are there and are linked to a checkpoint."""
    commits = (commit for oid in oids if (commit := read_commit(objects, oid)))
    return [commit for commit in commits if find_commits.linked(objects, commit["oid"])]


class Search:
    """Some commits and what their checkpoints recorded; each is read once."""

    def __init__(
        self, repo: Repo, objects: Objects, commits: Iterable[Commit], seconds: float = SECONDS
    ) -> None:
        self._repo, self._objects = repo, objects
        self._until = time.monotonic() + seconds
        self.commits = list({commit["oid"]: commit for commit in commits}.values())
        self._edits: dict[str, dict[str, list[Recorded]]] = {}

    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._until

    def ids(self, changes: Changes, parent: str) -> list[str]:
        """The ids whose work a commit with these changes on parent has, in the commits' order;
        none that a person refused."""
        if not changes:
            return []
        there = Lookup(self._objects, tree_of(self._objects, parent))

        def gone(path: str) -> bool:
            return there(path) is None

        shared = (self._shared(one, changes, gone) for one in self.commits if not self.late())
        ids = relink_rules.choose([one for one in shared if one])
        refused = dismissed.read(self._repo) if ids else ()
        return [one for one in ids if one not in refused]

    def _shared(
        self, commit: Commit, changes: Changes, gone: Callable[[str], bool]
    ) -> dict[str, relink_rules.Evidence]:
        shared = {}
        for one, record in self.edits(commit).items():
            common = checkpoint_edits.match(self._objects, record, changes, gone)
            if common:
                shared[one] = {(p, line) for p, lines in common.items() for line in lines}
        return shared

    def edits(self, commit: Commit) -> dict[str, list[Recorded]]:
        """What each checkpoint of a commit recorded of it."""
        oid = commit["oid"]
        if oid not in self._edits:
            self._edits[oid] = {
                one: checkpoint_edits.edits(self._repo, self._objects, one, commit)
                for one in find_commits.linked(self._objects, oid)
            }
        return self._edits[oid]
