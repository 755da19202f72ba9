"""What the sources of links are asked about: a case, and the commits in it that may lack links."""

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

MOST = 50  # commits
SECONDS = 0.3  # that one hook spends; the next one goes on
LONG = 3600  # seconds, for what git or a person names


class Target:
    """A commit that may lack links.

    oid: '' while the commit is being made; then parent and changes describe it."""

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
        """Return the commit's parent, and what it changes."""
        changes = self._changes()
        self._changes = lambda: changes
        return self.parent, changes

    def list_ids(self) -> Collection[str]:
        """Return the ids of the checkpoints that it is linked to."""
        return late.find_commits.list_linked(self._objects, self.oid) if self.oid else ()


class Case:
    """What the sources are asked about.

    since: where HEAD was when no commit lacked a link; rewrite: what post-rewrite said; onto: a
    merged commit and the tip of the merged branch; among: the revision range to search for lost
    links, '' for all branches; lately: search only the recent past; seconds: the time that a search
    may take.

    While a commit is being made, target is that commit, amended the one that it replaces, copied
    the name of a commit whose message it takes, and is_seen whether the person sees the message
    of a squash."""

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
        seconds: float = SECONDS,
    ) -> None:
        self.repo, self.objects, self.head, self.since = repo, objects, head, since
        self.rewrite, self.onto, self.dry_run = rewrite, onto, dry_run
        self.among, self.lately = among, lately
        self.target = target or Target(objects)
        self.amended, self.copied, self.is_seen = amended, copied, is_seen
        self._seconds = seconds
        self.done = head  # the last commit that was searched in time, '' for none
        self._fresh: list[str] | None = None

    def list_fresh(self) -> list[str]:
        """Return the newest commits after since that have not been judged, parents first."""
        if self._fresh is None:
            # Not only first parents: a pull that merges brings its commits as second ones.
            args = ("--topo-order", "--reverse", "--no-merges", f"--max-count={MOST}")
            exists = self.since and read_commit(self.objects, self.since)
            oids = list_commits(self.repo, *args, self.head, f"^{self.since}") if exists else []
            judged = set(commit_memory.read_judged(self.repo)) if oids else ()
            self._fresh = [oid for oid in oids if oid not in judged]
        return self._fresh

    def make_targets(self, oids: Iterable[str]) -> list[Target]:
        """Return a target for each of the commits that exists."""
        return [Target(self.objects, oid) for oid in oids if read_commit(self.objects, oid)]

    def search(
        self,
        commits: Iterable[Commit],
        seconds: float = 0.0,
        refused: Collection[str] | None = None,
        beside: Collection[str] = (),
    ) -> Search:
        """Return a search for work of the checkpoints of commits.  seconds: the time that it may
        take, by default that of the case."""
        time = seconds or self._seconds
        return late.candidates.Search(self.repo, self.objects, commits, time, refused, beside)
