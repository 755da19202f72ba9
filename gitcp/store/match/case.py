"""The case that sources of links are asked about, and a commit that may lack some."""

from __future__ import annotations

from gitcp.start import late
from gitcp.store.git import commit_changes
from gitcp.store.git.commit import list_commits, need_commit, read_commit
from gitcp.store.match import commit_memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects
    from gitcp.store.match.candidates import Search
    from gitcp.store.match.rewritten import Rewrite

MOST = 50  # commits that are looked at
SECONDS = 0.3  # what one hook spends; the rest is for the next one
LONG = 3600  # seconds: what git or a person names is asked to its end


class Target:
    """A commit that may lack links.  oid: '' of one that is being made on a parent, with changes
    that are asked for when they are needed."""

    __slots__ = ("_changes", "_objects", "oid", "parent")

    def __init__(
        self,
        objects: Objects,
        oid: str = "",
        parent: str = "",
        changes: Callable[[], Changes] | None = None,
    ) -> None:
        self._objects, self.oid, self.parent = objects, oid, parent
        self._changes: Callable[[], Changes] = changes or self._read

    def _read(self) -> Changes:
        self.parent, changes = commit_changes.read_changes(
            self._objects, need_commit(self._objects, self.oid)
        )
        return changes

    def read(self) -> tuple[str, Changes]:
        """Its parent, and what it changes."""
        changes = self._changes()
        self._changes = lambda: changes
        return self.parent, changes

    def list_ids(self) -> Collection[str]:
        """The ids that it has."""
        return late.find_commits.list_linked(self._objects, self.oid) if self.oid else ()


class Case:
    """What the sources are asked about.  since: where HEAD was when all before was well; rewrite:
    what post-rewrite tells; onto: a commit that was merged and the head of its branch; among: the
    range to look in for links that are lost, default all branches; lately: a glance will do.

    Of a commit that is being made, target: it; amended: what it replaces; copied: the name of a
    commit whose message it takes; is_seen: whether the person sees what a squash says."""

    def __init__(
        self,
        repo: Repo,
        objects: Objects,
        head: str = "",
        since: str = "",
        rewrite: Rewrite | None = None,
        onto: tuple[str, str] = ("", ""),
        among: str = "",
        lately: bool = False,
        dry_run: bool = False,
        target: Target | None = None,
        amended: Commit | None = None,
        copied: str = "",
        is_seen: bool = False,
    ) -> None:
        self.repo, self.objects, self.head, self.since = repo, objects, head, since
        self.rewrite, self.onto, self.dry_run = rewrite, onto, dry_run
        self.among, self.lately = among, lately
        self.target = target or Target(objects)
        self.amended, self.copied, self.is_seen = amended, copied, is_seen
        self.done = head  # the last commit there was time for, '' for none
        self._fresh: list[str] | None = None

    def list_fresh(self) -> list[str]:
        """The commits since then that nobody has judged, oldest first."""
        if self._fresh is None:
            args = ("--first-parent", "--reverse", "--no-merges", f"--max-count={MOST}")
            there = self.since and read_commit(self.objects, self.since)
            oids = list_commits(self.repo, *args, self.head, f"^{self.since}") if there else []
            judged = set(commit_memory.read_judged(self.repo)) if oids else ()
            self._fresh = [oid for oid in oids if oid not in judged]
        return self._fresh

    def make_targets(self, oids: Iterable[str]) -> list[Target]:
        """Those of some commits that are there."""
        return [Target(self.objects, oid) for oid in oids if read_commit(self.objects, oid)]

    def search(
        self,
        commits: Iterable[Commit],
        seconds: float = SECONDS,
        refused: Collection[str] | None = None,
    ) -> Search:
        """Commits whose checkpoints are held against others."""
        return late.candidates.Search(self.repo, self.objects, commits, seconds, refused)

    def select_linked(self, oids: Iterable[str]) -> list[Commit]:
        """Those of some commits that are there and are linked to a checkpoint."""
        return late.candidates.select_linked(self.objects, oids)
