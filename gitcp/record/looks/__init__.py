"""Looks at a worktree: each difference from what was last seen becomes an edit of the journal, with
its author by the evidence of that time.  A turn begins and ends with a look.

record_scan() records a look at the whole worktree, record_paths() reads only the named paths.
"""

from __future__ import annotations

import os
import time

from gitcp.git import encode_name, refs
from gitcp.git.objects import Lookup, compare_trees, find_file, find_tree
from gitcp.record import session
from gitcp.record.journal import (
    INTENT,
    Journal,
    LastSeen,
    credit,
    hold_edits,
    read_clock,
    read_end,
)
from gitcp.record.journal.line_kinds import Closing, Large, build_edit
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.record.journal.credit import OpenedCall
    from gitcp.record.journal.line_kinds import Edit, JournalLine
    from gitcp.record.looks.credit_cases import Attribution, SeenChange
    from gitcp.record.looks.sources import Sources
    from gitcp.record.snapshot.scan import Scan
    from gitcp.text.record_types import Marker, Staged, State, Version, Writer

    Changed = dict[str, tuple[Version, Version]]

# Refs of git whose contents may come back into the worktree.
_REFS = ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


class Look:
    """A look at the whole worktree.

    scan: what it saw.  began: the time before the scan, in ns.  at: the same by read_clock().  end:
    of the journal then, as read_end() returns it.  cost: in us.
    """

    def __init__(
        self, repo: Repo, scan: Scan, began: int, at: int, end: tuple[int, int], cost: int
    ) -> None:
        self._repo = repo
        self.scan = scan
        self.began = began
        self.at = at
        self._end = end
        self._cost = cost

    def take(
        self,
        head: str,
        dirty: Mapping[str, Version],
        acting: State | None = None,
        telling: str = "",
    ) -> list[JournalLine]:
        """Record what differed from the commit head; return the journal's lines.

        The worktree is read without the lock, so an edit that was recorded meanwhile wins.
        acting: the session whose turn it is, even if its marker says that it is over.
        telling: the session whose client reports the end of a call or turn.
        """
        marker: Marker | None = None
        if acting:
            marker = {**session.build_marker(acting), "phase": "active"}
        with Journal(self._repo, telling=telling, acting=marker) as journal:
            self._record(journal, head, dirty)
            return journal.lines

    def begin_turn(
        self, head: str, dirty: Mapping[str, Version], state: State, telling: str = ""
    ) -> None:
        """take() what differed, and close the calls of the last turn that no event closed."""
        with Journal(self._repo, telling=telling) as journal:
            self._record(journal, head, dirty)
            close_calls(journal, state, self.at)
            _note_late(journal, state)

    def _record(self, journal: Journal, head: str, dirty: Mapping[str, Version]) -> None:
        edits = journal.list_edits_since(self._end, self.at)
        newest = {edit.path: edit.after for edit in edits}
        record_scan(journal, head, {**dirty, **newest}, self.at, self._cost, self.scan.omitted)


def look_at_worktree(repo: Repo) -> Look:
    """Scan the whole worktree."""
    began = time.time_ns()
    end = read_end(repo)
    at = read_clock(repo)
    cost = -_measure_children()

    from gitcp.record.snapshot.scan import scan_worktree

    scan = scan_worktree(repo)
    return Look(repo, scan, began, at, end, cost + _measure_children())


def end_turn(
    repo: Repo,
    state: State,
    at: int,
    tasks: Collection[str],
    subject: str,
) -> None:
    """Close a turn's calls, except the tasks that its client reports as running, and let the
    session's ref hold the turn's contents."""
    with Journal(repo) as journal:
        close_calls(journal, state, at, set(tasks))
        _note_late(journal, state)
        session.note_unstored(state, journal.lines)
        hold_edits(repo, journal, state["session_id"], subject)
        journal.drop_repeated()


def close_calls(journal: Journal, state: State, at: int, tasks: set[str] | None = None) -> None:
    """Close the session's calls that no event closed, at its prompt (tasks: None) or its Stop.

    tasks: the tasks that its client reports as running.  A call that runs on stays open past the
    turn, for new paths and for those that it names.
    """
    running = _Running(journal, state, tasks)
    closings = []
    for call in credit.list_calls(journal.lines):
        if call.session != state["session_id"] or not call.is_running:
            continue
        if call.opening.kind == "write":
            continue
        continues = running.has(call)
        if call.is_late and continues:
            continue
        keys = {"close": call.opening.call, "session": call.session, "at": at}
        if continues:
            keys |= {"goes_on": "late", "task": call.task}
        closings.append(Closing(keys))
    journal.append(closings)


class _Running:
    """Which calls of a session run on.  tasks: as close_calls() has them."""

    def __init__(self, journal: Journal, state: State, tasks: set[str] | None) -> None:
        self._worktree = journal.repo.worktree
        self._session_id = state["session_id"]
        self._agent = state.get("agent_process")
        self._tasks = tasks or ()
        self._has_process: bool | None = None  # asked once, where a call is open

    def has(self, call: OpenedCall) -> bool:
        """Whether an open call runs on."""
        from gitcp.record.session import process

        if self._has_process is None:
            self._has_process = process.has_working_process(self._worktree, self._session_id)
        if self._has_process or call.task in self._tasks:
            return True
        if not call.goes_on:
            return False
        # Not every client names the session to its children.
        since = call.opening.at
        return process.has_working_process(self._worktree, self._session_id, self._agent, since)


def _note_late(journal: Journal, state: State) -> None:
    """Note in the state whether a call runs on past its turn: commits look for its edits."""
    state.pop("late_calls", None)
    for call in credit.list_calls(journal.lines):
        if call.is_late and call.session == state["session_id"]:
            state["late_calls"] = True


def record_scan(
    journal: Journal,
    head: str,
    dirty: Mapping[str, Version],
    at: int,
    cost: int = 0,
    omitted: Collection[Mapping[str, str]] = (),
) -> None:
    """Record a look at the whole worktree, and store it as the newest.

    dirty: the entries that differ from the commit head.  at: when the look began, by
    read_clock().  cost: in us.  omitted: what the scan left out, as Scan.omitted.
    """
    if omitted or any(isinstance(line, Large) for line in journal.lines):
        dirty = {**dirty, **look_at_omitted(journal, omitted, at)}
    record_differences(journal, head, dirty, at)
    journal.save_look(head, at, dirty, cost)


def record_differences(
    journal: Journal, head: str, dirty: Mapping[str, Version], at: int, write: bool = True
) -> None:
    """Record a look at the whole worktree in the journal only; arguments as for record_scan().
    write: whether to store its blobs."""
    repo = journal.repo
    seen = journal.read_last_seen()
    journal.stand_on(head)
    tree = Lookup(repo.objects, find_tree(repo.objects, head))
    changed: Changed = {}
    committed = _list_committed_paths(repo, seen.head, head)
    for path in seen.list_differing(dirty) | committed:
        before = seen.get_entry(path)
        if path in dirty:
            after = dirty[path]
        else:
            after = find_file(tree, path)
        if before != after:
            changed[path] = (before, after)
    if write:
        changed = _store_contents(repo, changed)
    _record_changes(journal, seen, changed, at)


def _list_committed_paths(repo: Repo, old: str, head: str) -> set[str]:
    """The paths that were changed by commits made in this worktree since the last look."""
    new = None
    if old != head:
        new = refs.find_committed_head(repo, old)
    if new:
        trees = [find_tree(repo.objects, commit) for commit in (old, new)]
    else:
        trees = [None, None]
    return {path for path, _, _ in compare_trees(repo.objects, trees[0], trees[1])}


def record_paths(journal: Journal, paths: Iterable[str], at: int, write: bool = True) -> None:
    """Record what stands at these paths now.  write: whether to store its blobs."""
    seen = journal.read_last_seen()
    changed = [path for path in dict.fromkeys(paths) if _may_differ(journal.repo, seen, path)]
    if not changed:
        return

    from gitcp.record.snapshot.scan import read_paths_and_omitted

    read = read_paths_and_omitted
    present, omitted = read(journal.repo, changed, write=write, caches=write)
    record_entries(journal, seen, present, at, alone=not write)
    if omitted and write:
        look_at_omitted(journal, omitted, at)


def record_entries(
    journal: Journal,
    seen: LastSeen,
    present: Mapping[str, Version],
    at: int,
    ignored: Collection[str] = (),
    alone: bool = False,
) -> None:
    """Record the entries present at some paths, without the content of ignored ones.

    If a file with open edits has gone, or a file has come, it may have been moved: unless alone,
    the other path is looked for and recorded in the same look.
    """
    changed = _compare_entries(seen, present)
    if changed and not alone:
        gone = _list_gone(journal, present)
        if any(before is None for before, _ in changed.values()):
            changed |= _compare_entries(seen, dict.fromkeys(gone))
        gone &= changed.keys()
        # Files that went and stand at none of these paths: the whole worktree may have them.
        if gone:
            strays = gone.difference(_find_moves(journal.repo.objects, changed).values())
        else:
            strays = gone
        if strays and scan_if_cheap(journal, at):
            seen = journal.read_last_seen()
            changed = _compare_entries(seen, present)
    _record_changes(journal, seen, changed, at, ignored)


def look_at_omitted(
    journal: Journal,
    omitted: Collection[Mapping[str, str]],
    at: int,
    writer: tuple[Writer, str] | None = None,
) -> dict[str, Version]:
    """Record which files over a limit have changed, without their contents; return path -> the
    entry that was last seen, of those that had one.

    writer: who wrote them, and how that is known; by default the evidence decides.
    """
    seen = journal.read_last_seen()

    def find_writer(path: str) -> tuple[Writer, str]:
        if writer:
            return writer

        entries = seen.get_entry(path), ("100644", "")
        change = describe_change(journal.repo, seen, path, *entries, is_restored=False)

        from gitcp.record.looks import credit_cases, windows

        verdict = credit_cases.attribute_change(change, windows.list_windows(journal))
        return _choose_author(journal, verdict)

    from gitcp.record.looks import large_files

    return large_files.record_sizes(journal, seen, omitted, at, find_writer)


def name_large_files(journal: Journal, changes: Mapping[str, Staged], at: int) -> None:
    """Record the large files among a commit's changes with the blobs that it has of them."""
    seen = journal.read_last_seen()
    paths = credit.map_large(journal.lines).keys() & changes
    entries: dict[str, Version] = {}
    for path in paths:
        _, _, mode, oid = changes[path]
        if oid:
            entries[path] = (mode, oid)
    record_entries(journal, seen, entries, at, alone=True)


def _compare_entries(seen: LastSeen, present: Mapping[str, Version]) -> Changed:
    changed: Changed = {}
    for path, after in present.items():
        before = seen.get_entry(path)
        if before != after:
            changed[path] = (before, after)
    return changed


def _list_gone(journal: Journal, present: Mapping[str, Version]) -> set[str]:
    """The paths of open edits that have no file now.  present: what is known to be at some of
    them."""
    gone = set()
    root = os.fsencode(journal.repo.worktree)
    for path in {edit.path for edit in credit.list_open_edits(journal.lines)}:
        if path in present:
            is_gone = present[path] is None
        else:
            is_gone = _read_ctime(os.path.join(root, encode_name(path))) is None
        if is_gone:
            gone.add(path)
    return gone


def _may_differ(repo: Repo, seen: LastSeen, path: str) -> bool:
    ctime = _read_ctime(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
    return ctime is None or not (seen.is_unwritten(path, ctime) and seen.is_unmoved(path))


def _store_contents(repo: Repo, changed: Changed) -> Changed:
    """Store the blobs of changed paths; return the changes, to the contents that were stored."""
    missing = []
    for path, (_, after) in changed.items():
        if after and not repo.objects.packs.has(after[1]):
            missing.append(path)
    if not missing:
        return changed

    from gitcp.record.snapshot.scan import read_paths

    changes = dict(changed)
    for path, after in read_paths(repo, missing, write=True).items():
        changes[path] = (changed[path][0], after)
    return {path: pair for path, pair in changes.items() if pair[0] != pair[1]}


def _record_changes(
    journal: Journal,
    seen: LastSeen,
    changed: Changed,
    at: int,
    ignored: Collection[str] = (),
) -> None:
    """Add an edit with its author for each change."""
    if not changed:
        return
    changed = _record_known(journal, changed, at)
    if not changed:
        return
    attribution = _Attribution(journal, seen, at)
    origins = _find_moves(journal.repo.objects, changed)
    edits = []
    for path, (before, after) in sorted(changed.items()):
        edit = attribution.build_edit(path, before, after)
        if path in origins:
            edit = edit.having(follows=origins[path])
        if path in ignored:
            edit = edit.having(kept=False)
        edits.append(edit)
    journal.append_edits(edits)


class _Attribution:
    """Finds whose the changes are that one look found."""

    def __init__(self, journal: Journal, seen: LastSeen, at: int) -> None:
        from gitcp.record.looks import windows

        self._journal = journal
        self._repo = journal.repo
        self._seen = seen
        self._at = at
        self._windows = windows.list_windows(journal)
        self._git_trees = GitTrees(self._repo, seen.head, seen.commits)
        self._judged = windows.read_judged_files(self._repo)
        self._sources: Sources | None = None

    def build_edit(self, path: str, before: Version, after: Version) -> Edit:
        """The edit of a path, with its author."""
        from gitcp.record.looks.windows import is_made_by_hook

        lines = self._journal.lines
        change = describe_change(
            self._repo, self._seen, path, before, after, self._was_there(path, after)
        )
        verdict = self._attribute(change, before, after)
        who, how = _choose_author(self._journal, verdict)
        if who == ids.PERSON and is_made_by_hook(self._judged, lines, path, before):
            who = ids.UNKNOWN
            how = credit.HOOK
        edit = build_edit(path, before, after, who, how, self._at)
        return edit.having(**self._list_details(verdict, change, before, after))

    def _was_there(self, path: str, after: Version) -> bool:
        """Whether the repository had this content for the path already."""
        return credit.had_content(self._journal.lines, path, after) or self._git_trees.has(
            path, after
        )

    def _attribute(self, change: SeenChange, before: Version, after: Version) -> Attribution:
        from gitcp.record.looks import credit_cases

        verdict = credit_cases.attribute_change(change, self._windows)
        if verdict.is_shared:
            added = _read_added(self._repo.objects, before, after)
            verdict = credit_cases.attribute_change(change, self._windows, added)
        return verdict

    def _list_details(
        self, verdict: Attribution, change: SeenChange, before: Version, after: Version
    ) -> dict[str, Any]:
        """What else is said of an edit, as in its line."""
        from gitcp.record.looks import credit_cases

        details: dict[str, Any] = {}
        if verdict.is_shared:
            details["shared"] = True
        if change.at and change.at < self._at:
            details["made"] = change.at
        window = verdict.by
        if window and verdict.how == credit.RESTORED:
            details["by"] = list(window.who)
            is_stashed = self._git_trees.is_stashed(change.path, before)
            if is_stashed or credit_cases.can_put_away(window):
                details["away"] = True
        if window and credit_cases.can_bring_in(window):
            sources = self._open_sources().find_sources(window, change.path, before, after)
            if sources:
                details["from"] = sources
        if before and self._git_trees.stash_keeps(change.path):
            details["stashed"] = True
        return details

    def _open_sources(self) -> Sources:
        """Where lines that a command brings in may come from."""
        if self._sources is None:
            from gitcp.record.looks.sources import Sources

            self._sources = Sources(self._repo, self._journal.lines, self._seen.head)
        return self._sources


def _record_known(journal: Journal, changed: Changed, at: int) -> Changed:
    """Add the edits of a step under way, and of large files whose contents are known now; return
    the other changes."""
    if os.path.exists(journal.repo.join_own(*INTENT)):
        from gitcp.record.looks import step_edits

        changed = step_edits.record_made(journal, changed, at)
    large = credit.map_large(journal.lines)
    named = sorted(path for path in large.keys() & changed if changed[path][1])
    for path in named:
        from gitcp.record.looks import large_files

        journal.append(
            large_files.build_edits(journal.repo.objects, large[path], *changed[path], at)
        )
    return {path: pair for path, pair in changed.items() if path not in named}


def _choose_author(journal: Journal, verdict: Attribution) -> tuple[Writer, str]:
    """(the author of a change, how that is known), by a verdict and who has written here."""
    if journal.stranger and verdict.how != credit.RESTORED:
        return ids.UNKNOWN, credit.STRANGER
    return verdict.who, verdict.how


def _read_added(objects: Objects, before: Version, after: Version) -> str:
    """The lines that a change adds."""
    from gitcp.text import line_evidence

    old = objects.read(before[1]) if before else None
    new = objects.read(after[1]) if after else None
    added = line_evidence.find_added_lines(old and old[2], new and new[2])
    return b"\n".join(added).decode(errors="replace")


def describe_change(
    repo: Repo, seen: LastSeen, path: str, before: Version, after: Version, is_restored: bool
) -> SeenChange:
    """A change of a path for attribute_change().  is_restored: whether it was there before."""
    from gitcp.record.looks.credit_cases import SeenChange

    seen_at = seen.get_seen_time(path)
    # A submodule's HEAD moves without a time here.
    is_submodule = _is_submodule(before or after) or _is_submodule(after or before)
    at = None
    if not is_submodule:
        at = _find_change_time(repo, path, seen_at)
    return SeenChange(
        path,
        oid=after[1] if after else "",
        at=at,
        seen=seen_at,
        is_new=before is None,
        is_gone=after is None or is_submodule,
        is_restored=is_restored,
    )


def _is_submodule(entry: Version) -> bool:
    return entry is not None and entry[0] == "160000"


def _find_change_time(repo: Repo, path: str, seen_at: int) -> int | None:
    """When a path changed, in ns: its own ctime, or that of a moved directory above it."""
    root = os.fsencode(repo.worktree)
    ctime = _read_ctime(os.path.join(root, encode_name(path)))
    from gitcp.record.looks import credit_cases

    if ctime is not None and credit_cases.get_latest_time(ctime) > seen_at:
        return ctime
    newest = ctime
    folder = os.path.dirname(encode_name(path))
    while True:
        stamp = _read_ctime(os.path.join(root, folder))
        if stamp is not None and (newest is None or stamp > newest):
            newest = stamp
            if ctime is None:
                return newest  # the path is gone: the nearest directory that is still there
        if not folder:
            return newest
        folder = os.path.dirname(folder)


def _read_ctime(path: bytes) -> int | None:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return None


def _find_moves(objects: Objects, changed: Changed) -> dict[str, str]:
    oids = {
        p: (before[1] if before else "", after[1] if after else "")
        for p, (before, after) in changed.items()
    }
    removed = {before for before, _ in oids.values()}
    added = {after for _, after in oids.values()}
    # A move needs a path that went and one that came, or a content that stood elsewhere.
    if not ("" in removed and "" in added) and removed.isdisjoint(added - {""}):
        return {}

    from gitcp.text import file_moves, line_evidence

    return file_moves.find_origins(
        oids, lambda oid: line_evidence.split_text_lines(oid, objects.read_blob(oid))
    )


def scan_if_cheap(journal: Journal, at: int, first: bool = False) -> bool:
    """Look at the whole worktree if the last look was cheap enough; return whether it did.  first:
    whether to look if it is the first one."""
    repo = journal.repo
    last = journal.read_last_seen()
    budget = int(repo.config.get_option("gitcp.look-budget"))  # ms
    if (last.first and not first) or last.cost > budget * 1000:
        return False
    scan_now(journal, at)
    return True


def scan_now(journal: Journal, at: int) -> None:
    """Look at the whole worktree, whatever it costs."""
    repo = journal.repo
    started = _measure_children()

    from gitcp.record.snapshot.scan import resolve_changes, scan_worktree

    scan = scan_worktree(repo)
    cost = _measure_children() - started

    dirty = resolve_changes(journal.repo.objects, scan, write=False)
    head = scan.head or "0" * len(repo.empty_tree)
    record_scan(journal, head, dirty, at, cost, scan.omitted)


def _measure_children() -> int:
    """The processor time of finished child processes, in us; 0 where it is unknown."""
    try:
        import resource  # os.times() is only exact to a hundredth of a second
    except ImportError:
        return 0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1_000_000)


class GitTrees:
    """The trees that git keeps besides the worktree, each read at its first use."""

    def __init__(self, repo: Repo, head: str, commits: Sequence[str] = ()) -> None:
        """head: HEAD at the last look.  commits: those made since whose paths the journal has
        seen; the content of other commits made since does not count as restored."""
        self._repo = repo
        self._last_head = head
        self._seen_commits = commits
        self._heads: list[Lookup] | None = None
        self._trees: list[Lookup] | None = None
        self._stash = refs.Stash(repo)

    def has(self, path: str, entry: Version) -> bool:
        """Whether some tree has this entry at the path.

        For None: whether HEAD has nothing there, and the HEAD of the last look had nothing either.
        That one counts only if nothing but commits has moved HEAD since.
        """
        if entry is None:
            return all(tree(path) is None for tree in self._read_heads())
        if self._trees is None:
            self._trees = self._make_lookups(self._list_commits())
        return any(tree(path) == entry for tree in self._trees) or self._stash.holds(path, entry)

    def _read_heads(self) -> list[Lookup]:
        if self._heads is None:
            names = ["HEAD"]
            if refs.find_committed_head(self._repo, self._last_head) is not None:
                names.append(self._last_head)
            self._heads = self._make_lookups(names)
        return self._heads

    def is_stashed(self, path: str, entry: Version) -> bool:
        """Whether a stash has this entry at the path; False for None."""
        return entry is not None and self._stash.holds(path, entry)

    def stash_keeps(self, path: str) -> bool:
        """Whether a stash changes the path: lines that go may come back."""
        return self._stash.changes(path)

    def _make_lookups(self, commits: list[str]) -> list[Lookup]:
        trees = dict.fromkeys(find_tree(self._repo.objects, name) for name in commits)
        return [Lookup(self._repo.objects, tree) for tree in trees if tree]

    def _list_commits(self) -> list[str]:
        git_dir = self._repo.git_dir
        names = [self._last_head, *self._seen_commits]
        for name in _REFS:
            if os.path.exists(os.path.join(git_dir, name)):
                names.append(name)
        if refs.find_committed_head(self._repo, self._last_head) is None:
            names.append("HEAD")
        return names
