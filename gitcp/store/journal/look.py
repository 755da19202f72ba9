"""A look at the worktree: what differs from what was last known becomes edits of the journal.

take_scan() takes a scan that was made, scan_if_cheap() makes one; look_at_paths() reads the named
paths only.  Each edit gets its author here, by the evidence there is now; what that needs is
imported where there is any.
"""

from __future__ import annotations

import os

from gitcp.core.credit import entries
from gitcp.record import encode_name
from gitcp.start import late
from gitcp.store.git.tree import Lookup, compare_trees, find_file, find_tree
from gitcp.store.journal import known as knowns
from gitcp.store.journal.journal import pack_edits
from gitcp.store.journal.known import Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.core.credit.evidence import Change, Verdict, Window
    from gitcp.core.record_types import JournalLine, Version
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.journal import Journal
    from gitcp.store.journal.sources import Sources

    Changed = dict[str, tuple[Version, Version]]

# What git keeps besides the worktree, of whose contents some may come back.
_NAMED = ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


def take_scan(
    objects: Objects,
    journal: Journal,
    head: str,
    dirty: Mapping[str, Version],
    at: int,
    cost: int = 0,
) -> None:
    """Take in a look at everything, and keep what it saw: dirty is what differs from the commit
    head, at when the look began, by the journal's clock."""
    take_all(objects, journal, head, dirty, at)
    knowns.save_look(journal.repo, head, at, dirty, cost)
    journal.append([{"look": at}])


def take_all(
    objects: Objects, journal: Journal, head: str, dirty: Mapping[str, Version], at: int
) -> None:
    """Take in a look at everything, as whole() does, and keep nothing of it beside the journal."""
    repo, before = journal.repo, Known(journal.repo, objects, journal.lines)
    journal.base, now = head, Lookup(objects, find_tree(objects, head))
    changed: Changed = {}
    for path in {*before.paths, *dirty, *_list_committed_paths(repo, objects, before.head, head)}:
        was, entry = before.get_entry(path), dirty[path] if path in dirty else find_file(now, path)
        if was != entry:
            changed[path] = (was, entry)
    changed = _store_contents(repo, objects, changed)
    _record_changes(objects, journal, before, changed, at)


def _list_committed_paths(repo: Repo, objects: Objects, old: str, head: str) -> set[str]:
    """The paths that commits made here since the last look have changed."""
    if old == head:
        return set()
    new = late.reflog.find_committed_head(repo, old) if old != "HEAD" else None
    trees = [find_tree(objects, commit) for commit in (old, new)] if new else [None, None]
    return {path for path, _, _ in compare_trees(objects, trees[0], trees[1])}


def look_at_paths(
    objects: Objects, journal: Journal, wanted: Iterable[str], at: int, write: bool = True
) -> None:
    """Take in what stands at these paths now.  write: its blobs are stored."""
    before = Known(journal.repo, objects, journal.lines)
    fresh = [path for path in dict.fromkeys(wanted) if _may_differ(journal.repo, before, path)]
    if not fresh:
        return
    there = late.blobs.read_paths(journal.repo, objects, fresh, write=write)
    take_entries(objects, journal, before, there, at)


def take_entries(
    objects: Objects,
    journal: Journal,
    before: Known,
    there: Mapping[str, Version],
    at: int,
    ignored: Collection[str] = (),
) -> None:
    """Take in what stands at some paths; of the ignored ones no content is kept."""
    changed = {p: (was, now) for p, now in there.items() if (was := before.get_entry(p)) != now}
    _record_changes(objects, journal, before, changed, at, ignored)


def _may_differ(repo: Repo, before: Known, path: str) -> bool:
    own = _read_ctime(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
    return own is None or not before.is_unchanged(path, own)


def _store_contents(repo: Repo, objects: Objects, changed: Changed) -> Changed:
    """The changes with what stands there now in the object database."""
    wanted = [p for p, (_, now) in changed.items() if now and not objects.packs.has(now[1])]
    if not wanted:
        return changed
    there = late.blobs.read_paths(repo, objects, wanted, write=True)
    changes = {**changed, **{p: (changed[p][0], now) for p, now in there.items()}}
    return {path: pair for path, pair in changes.items() if pair[0] != pair[1]}


def _record_changes(
    objects: Objects,
    journal: Journal,
    before: Known,
    changed: Changed,
    at: int,
    ignored: Collection[str] = (),
) -> None:
    """Write down each change, with whose it is."""
    if not changed:
        return
    repo, able = journal.repo, late.windows.list_windows(journal)
    elsewhere = Elsewhere(repo, objects, before.head, before.commits)
    moved, judged = _find_moves(objects, changed), late.windows.read_judged_files(repo)
    lines, origin = [], None
    for path, (was, now) in sorted(changed.items()):
        back = entries.had_content(journal.lines, path, now) or elsewhere.has(path, now)
        change = describe_change(repo, before, path, was, now, back)
        verdict = late.evidence.attribute_change(change, able)
        who, how = verdict["who"], verdict["how"]
        if who == late.replay.PERSON and late.windows.is_made_by_hook(
            judged, journal.lines, path, was
        ):
            who, how = late.replay.UNKNOWN, late.evidence.HOOK
        line = entries.build_edit(path, was, now, who, how, at)
        line |= _build_details(verdict, moved.get(path), change, at)
        if verdict["by"] and late.evidence.can_bring_in(verdict["by"]):
            origin = origin or _make_sources(objects, journal, before)
            line |= origin.describe_sources(verdict["by"], path, was, now)
        line |= {"away": True} if "by" in line and elsewhere.is_stashed(path, was) else {}
        line |= {"stashed": True} if was and elsewhere.stash_keeps(path) else {}
        line |= {"kept": False} if path in ignored else {}
        lines.append(line)
    journal.append(pack_edits(objects, lines))


def _make_sources(objects: Objects, journal: Journal, before: Known) -> Sources:
    return late.sources.Sources(journal.repo, objects, journal.lines, before.head)


def _build_details(verdict: Verdict, follows: str | None, change: Change, at: int) -> JournalLine:
    more: JournalLine = {"shared": True} if verdict["shared"] else {}
    if change["at"] and change["at"] < at:
        more["made"] = change["at"]
    if follows:
        more["follows"] = follows
    by: Window | None = verdict["by"]
    if by and verdict["how"] == late.evidence.RESTORED:
        more["by"] = list(by["who"])
        if late.evidence.can_put_away(by):
            more["away"] = True
    return more


def describe_change(
    repo: Repo, before: Known, path: str, was: Version, now: Version, back: bool
) -> Change:
    """A change of a path for evidence.attribute_change().  back: the content only came back."""
    seen, commit = (
        before.get_seen_time(path),
        "160000" in {(was or now or "")[0], (now or was or "")[0]},
    )
    return {
        "path": path,
        "at": None if commit else _find_change_time(repo, path, seen),
        "seen": seen,
        "new": was is None,
        "gone": now is None or commit,  # a submodule that moves leaves no time here either
        "restored": back,
    }


def _find_change_time(repo: Repo, path: str, seen: int) -> int | None:
    """When a path changed: its own stamp, or that of a directory above it which was moved."""
    root = os.fsencode(repo.worktree)
    own = _read_ctime(os.path.join(root, encode_name(path)))
    if own is not None and entries.get_latest_time(own) > seen:
        return own
    newest, folder = own, os.path.dirname(encode_name(path))
    while True:
        stamp = _read_ctime(os.path.join(root, folder))
        if stamp is not None and (newest is None or stamp > newest):
            newest = stamp
            if own is None:
                return newest  # gone: the nearest directory that is still there
        if not folder:
            return newest
        folder = os.path.dirname(folder)


def _read_ctime(path: bytes) -> int | None:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return None


def _find_moves(objects: Objects, changed: Changed) -> dict[str, str]:
    oids = {p: (was[1] if was else "", now[1] if now else "") for p, (was, now) in changed.items()}
    before, after = {was for was, _ in oids.values()}, {now for _, now in oids.values()}
    # Something went and something came, or stands where another thing stood: else none has moved.
    if not ("" in before and "" in after) and before.isdisjoint(after - {""}):
        return {}
    return late.moves.find_origins(oids, lambda oid: read_blob_lines(objects, oid))


def read_blob_lines(objects: Objects, oid: str) -> list[bytes]:
    """The lines of a blob; [] for one that is not there."""
    named = objects.read(oid) if oid else None
    return late.replay.split(oid, named[2] if named and named[1] == "blob" else None)


def scan_if_cheap(objects: Objects, journal: Journal, at: int) -> bool:
    """Look at everything if the last time was cheap enough; whether it was done."""
    repo = journal.repo
    last = knowns.read_look(repo)
    if not last or int(last.get("cost", 0)) > read_budget(repo) * 1000:
        return False
    before = measure_children()
    scan = late.snapshot.scan_worktree(repo)
    cost = measure_children() - before
    dirty = late.blobs.resolve_changes(objects, scan, write=False)
    take_scan(objects, journal, scan.head or "0" * len(repo.empty_tree), dirty, at, cost)
    return True


def read_budget(repo: Repo) -> int:
    """gitcp.look-budget in ms."""
    return int(repo.config.get_option("gitcp.look-budget"))


def measure_children() -> int:
    """The processor time of the processes we have waited for, in us."""
    try:
        import resource
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1_000_000)


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
        self._stash = late.reflog.Stash(repo, objects)

    def has(self, path: str, after: Version) -> bool:
        """Whether one of them has this very entry at the path; for None: HEAD has nothing, and
        had nothing at the last look where commits alone have moved it since."""
        if after is None:
            return all(look(path) is None for look in self._read_heads())
        if self._looks is None:
            self._looks = self._make_lookups(self._list_commits())
        return any(look(path) == after for look in self._looks) or self._stash.holds(path, after)

    def _read_heads(self) -> list[Lookup]:
        if self._commits is None:
            made_here = late.reflog.find_committed_head(self._repo, self._before) is not None
            self._commits = self._make_lookups(["HEAD", *([self._before] if made_here else [])])
        return self._commits

    def is_stashed(self, path: str, before: Version) -> bool:
        """Whether an entry of `git stash` holds what stood at the path; never for None."""
        return before is not None and self._stash.holds(path, before)

    def stash_keeps(self, path: str) -> bool:
        """Whether an entry of `git stash` has work on the path: lines that go may come back."""
        return self._stash.changes(path)

    def _make_lookups(self, wanted: list[str]) -> list[Lookup]:
        trees = dict.fromkeys(find_tree(self._objects, name) for name in wanted)
        return [Lookup(self._objects, tree) for tree in trees if tree]

    def _list_commits(self) -> list[str]:
        git_dir = self._repo.git_dir
        names = [self._before, *self._seen]
        names += [n for n in _NAMED if os.path.exists(os.path.join(git_dir, n))]
        if late.reflog.find_committed_head(self._repo, self._before) is None:
            names.append("HEAD")
        return names
