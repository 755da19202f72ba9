"""The open edits of a session in a worktree, which no commit has taken, the streams that hold them,
and the looks at the worktree by which they become known.
"""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.core import credit, formats
from gitcp.git import encode_name
from gitcp.store import refs, session
from gitcp.store.journal import (
    NAME,
    LastSeen,
    get_git_dir,
    get_home,
    read_clock,
    read_journal,
    read_lines,
    read_look,
    save_look,
)
from gitcp.store.objects import Lookup, compare_trees, find_file, find_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence, Set
    from typing import Any

    from gitcp.core.credit import Change, Verdict, Window
    from gitcp.core.record_types import (
        File,
        JournalLine,
        Marker,
        Recorded,
        Staged,
        State,
        Stream,
        Version,
        Writer,
    )
    from gitcp.repo import Repo
    from gitcp.store.journal import Journal
    from gitcp.store.journal.sources import Sources
    from gitcp.store.objects import Objects

    # path -> its open edits; the paths with is_left(), and with is_taken_back(); the result of
    # edit_states.map_recorded_files()
    _Part = tuple[
        dict[str, list[JournalLine]],
        set[str],
        set[str],
        dict[str, dict[str, JournalLine] | None],
    ]
    _Open = tuple[tuple[int, int], list[JournalLine], list[JournalLine], dict[str, _Part]]
    Changed = dict[str, tuple[Version, Version]]

_NEVER = 1 << 63  # ns


class Stretch:
    """Edits of a session at a path, each made upon the one before.

    before: the content that the first edit changed.  own: the content that the session made last.
    content: own with later changes by others.  live: whether the worktree has it; otherwise it
    was put away, or a commit left it out.  left: that commit is linked with the session.  undone:
    the session has taken it back.  base: the commit on which it was last seen, '' if unknown.
    """

    __slots__ = tuple("_lost _seen base before content edits left live own undone".split())

    def __init__(self, before: Version) -> None:
        self.before = self.own = self.content = before
        self.edits: list[JournalLine] = []
        self.live, self.left, self.undone = True, False, False
        self.base, self._seen, self._lost = "", 0, False

    def add(self, edit: JournalLine) -> None:
        """Add the session's next edit."""
        self.edits.append(edit)
        self.own = self.content = credit.parse_entry(edit["after"])
        self._note_seen(edit)

    def add_foreign(self, line: JournalLine, *, elsewhere: bool) -> None:
        """Add an edit by another author.  elsewhere: HEAD has left the base, so the edit may
        change other content."""
        self._lost = self._lost or (elsewhere and line.get("base", self.base) != self.base)
        if not self._lost:
            self.content, self._seen = credit.parse_entry(line["after"]), int(line["at"])
            if self.content and not self.own:
                self.put_away()

    def put_away(self) -> None:
        """Note that another file is in the place of a moved or deleted one."""
        self.live, self.content = False, self.own

    def note_look(self, looks: Sequence[tuple[int, str]], end: int) -> None:
        """Update the base from the newest look (time, base) before end, which found the content
        unchanged."""
        if self.live and not self._lost:
            at, base = _find_look(looks, end)
            self.base = base if at >= self._seen else self.base

    def _note_seen(self, line: JournalLine) -> None:
        self.base, self._seen, self._lost = line.get("base", ""), int(line["at"]), False

    def has_had(self, line: JournalLine) -> bool:
        """Whether a line restored the content now, or that after some edit of the session."""
        version = credit.parse_entry(line["after"])
        return version == self.content or self._has_written(version)

    def note_return(self, line: JournalLine) -> None:
        """Note that a line restored a content that the stretch has had."""
        version = credit.parse_entry(line["after"])
        self.live, self.left, self.undone, self.content = True, False, False, version
        self._note_seen(line)
        if self._has_written(version):
            self.own = version

    def read_contents(
        self, blob: Callable[[str], bytes | None]
    ) -> tuple[bytes | None, bytes | None]:
        """The bytes before, and after the session's own last edit; b"" where nothing stood."""
        before, after = (
            blob(version[1]) if version else b"" for version in (self.before, self.own)
        )
        return before, after

    def build_record(self, path: str, later_name: str = "") -> Recorded:
        """The record that match() takes.  later_name: where its file was moved or copied since:
        the record is evidence there."""
        live = self.live and not later_name
        mode, oid = (self.own if self.live or later_name else self.content) or ("000000", None)
        path, before = later_name or path, self.before
        return {"path": path, "mode": mode, "oid": oid, "live": live, "before": before}

    def _has_written(self, version: Version) -> bool:
        return any(version == credit.parse_entry(edit["after"]) for edit in self.edits)


def _find_look(looks: Sequence[tuple[int, str]], end: int) -> tuple[int, str]:
    """The newest of the looks, which are in the order of their times, before end; (0, "") if there
    is none."""
    low, high = 0, len(looks)
    while low < high:
        middle = (low + high) // 2
        if looks[middle][0] < end:
            low = middle + 1
        else:
            high = middle
    return looks[low - 1] if low else (0, "")


class Work:
    """The open edits of one session in a worktree.

    is_here: whether HEAD is a commit, or was made on it in this worktree.  Edits that were last
    seen on any other commit are away; by default none is.
    """

    def __init__(
        self,
        lines: Sequence[JournalLine],
        session_id: str,
        is_here: Callable[[str], bool] = lambda _: True,
    ) -> None:
        from gitcp.core import edit_states

        self._session, self._is_here = session_id, is_here
        self._paths: dict[str, list[JournalLine]] = {}
        self._own: set[str] = set()
        self._stretches: dict[str, list[Stretch]] = {}
        self._later_names: dict[str, dict[str, None]] = {}
        origins: dict[str, dict[str, None]] = {}  # path -> the names that its content had before
        for line in edit_states.list_open_edits(lines):
            self._paths.setdefault(line["path"], []).append(line)
            if self._is_own(line):
                self._own.add(line["path"])
            if "follows" in line:
                path, source = line["path"], line["follows"]
                origins[path] = {source: None, **origins.get(source, {})}
                for name in origins[path].keys() - {path}:
                    self._later_names.setdefault(name, {})[path] = None
        self._looks = sorted((x["look"], x["base"]) for x in lines if "look" in x and "base" in x)

    def list_stretches(self, path: str) -> list[Stretch]:
        """The session's stretches at a path, the newest last, less those that changed nothing or
        are undone.

        An edit by the session continues the current stretch if a commit left out both or neither,
        else it begins one; it also begins one if the file was moved away.  A restored content
        continues the last stretch that has had it, and puts away the others.  An edit by another
        author changes the content of a live stretch, or puts away a deletion.
        """
        if path not in self._own:
            return []
        if path not in self._stretches:
            self._stretches[path] = self._find_stretches(path)
        return self._stretches[path]

    def _find_stretches(self, path: str) -> list[Stretch]:
        stretches: list[Stretch] = []
        current: Stretch | None = None
        for line in self._paths.get(path, ()):
            is_left = "left" in line
            if current:
                current.note_look(self._looks, line["at"])
            if self._is_own(line):
                if current and not current.content and current.own and path in self._later_names:
                    current.put_away()
                if current is None or current.live is is_left:
                    current = Stretch(credit.parse_entry(line["before"]))
                    stretches.append(current)
                current.add(line)
                current.live, current.left = not is_left, bool(line.get("left"))
            elif line["how"] == "restored" and not is_left:
                if current and self._is_undoing(line) and not current.has_had(line):
                    current.undone = True
                for stretch in stretches:
                    stretch.live = False
                current = next((s for s in reversed(stretches) if s.has_had(line)), None)
                if current:
                    current.note_return(line)
            elif current and current.live:
                current.add_foreign(line, elsewhere=not self._is_here(current.base))
        for stretch in stretches:
            stretch.note_look(self._looks, _NEVER)
            stretch.live = stretch.live and self._is_here(stretch.base)
        return [s for s in stretches if s.own != s.before and not s.undone]

    def list_paths(self) -> list[str]:
        """The paths at which the session has open edits."""
        return [path for path in self._paths if self.list_stretches(path)]

    def is_left(self, path: str) -> bool:
        """Whether commits that are linked with the session left out all that it has open at a
        path."""
        return all(stretch.left for stretch in self.list_stretches(path))

    def is_taken_back(self, path: str) -> bool:
        """Whether a step of the undo log, such as a rewind, was the last to change a path, and the
        worktree has none of the session's work there.  A redo brings it back."""
        lines = self._paths.get(path)
        return lines is not None and "step" in lines[-1] and not self.is_present(path)

    def list_edits(self, path: str) -> list[JournalLine]:
        """The session's open edits at a path."""
        return [edit for stretch in self.list_stretches(path) for edit in stretch.edits]

    def build_records(self, with_left: bool = True) -> list[Recorded]:
        """The records of the session's open edits that match() takes, of a file that was moved or
        copied under each name.  with_left: also of those that a commit of the session left out."""
        return [
            stretch.build_record(path, name)
            for path in self._paths
            for stretch in reversed(self.list_stretches(path))
            if with_left or not stretch.left
            for name in ("", *(self._later_names.get(path, ()) if stretch.own else ()))
        ]

    def is_present(self, path: str) -> bool:
        """Whether the worktree has some of the session's work at a path."""
        return any(stretch.live for stretch in self.list_stretches(path))

    def list_written(self, since: int) -> set[str]:
        """The paths that the session has written since a time in ns."""
        return {
            path
            for path, lines in self._paths.items()
            if any(self._is_own(line) and line["at"] >= since for line in lines)
        }

    def list_foreign(self, since: int) -> set[str]:
        """The paths that only other sessions have changed since a time in ns."""
        paths = set()
        for path, lines in self._paths.items():
            authors = [credit.get_author(line)[0] for line in lines if line["at"] >= since]
            if authors and all(authors) and self._session not in authors:
                paths.add(path)
        return paths

    def is_undone(self, path: str, since: int = 0) -> bool:
        """Whether the last change of a path since a time in ns is the session's: a later edit, or
        the undoing of its work."""
        lines = self._paths.get(path)
        if not lines or lines[-1]["at"] < since:
            return False
        return self._is_own(lines[-1]) or self._is_undoing(lines[-1])

    def map_away(self, dirty: Container[str]) -> dict[str, Version]:
        """path -> the session's content of each path that is not dirty any more, though the
        session did not undo its work there: it may have been stashed."""
        away = (path for path in self._paths if path not in dirty and not self.is_undone(path))
        return {
            path: stretches[-1].content for path in away if (stretches := self.list_stretches(path))
        }

    def _is_own(self, line: JournalLine) -> bool:
        return credit.get_author(line)[0] == self._session

    def _is_undoing(self, line: JournalLine) -> bool:
        return (line.get("by") or [""])[0] == self._session and not line.get("away")


# git directory -> (inode, size) of the journal, its lines, its open edits, session -> its part
_OPEN: dict[str, _Open] = memory.get_table("open")


def list_open_paths(repo: Repo, session: Mapping[str, Any]) -> set[str]:
    """The paths at which a session, by its state or marker, has open edits in its home and in the
    worktrees that it visited."""
    return {path for edits, *_ in _read_parts(repo, session) for path in edits}


def list_left_paths(repo: Repo, session: Mapping[str, Any]) -> set[str]:
    """Those of list_open_paths() at which the session's commits left out all that is open: no
    worktree has it."""
    return _list_everywhere((edits.keys(), left) for edits, left, *_ in _read_parts(repo, session))


def list_taken_back(repo: Repo, session: Mapping[str, Any]) -> set[str]:
    """Those of list_open_paths() at which a rewind or an undo took back what is open.  It counts as
    open all the same: whoever restores the content may commit it."""
    parts = _read_parts(repo, session)
    return _list_everywhere((edits.keys(), taken) for edits, _, taken, _ in parts)


def _list_everywhere(places: Iterable[tuple[Set[str], Set[str]]]) -> set[str]:
    """The paths that are chosen in each worktree that has them; places: (paths, those chosen)."""
    worktrees = [*places]
    return {path for _, chosen in worktrees for path in chosen}.difference(
        path for paths, chosen in worktrees for path in paths - chosen
    )


def list_open_paths_in(repo: Repo, worktree_id: str, session_id: str) -> set[str]:
    """The paths at which a session has open edits in a worktree."""
    return {*_read_open(repo, worktree_id, session_id)[0]}


def _read_parts(repo: Repo, session: Mapping[str, Any]) -> list[_Part]:
    names = dict.fromkeys((session.get("worktree_id") or "", *session.get("visits", ())))
    return [_read_open(repo, name, session["session_id"]) for name in names]


def _read_open(repo: Repo, worktree_id: str, session_id: str) -> _Part:
    """The part of a session in a worktree's open edits.  Without the worktree or its journal, the
    open edits in the sessions' refs at paths that the session's state still names."""
    from gitcp.core import edit_states

    git_dir = get_git_dir(repo, worktree_id)
    try:
        st = os.stat(os.path.join(git_dir, "gitcp", NAME))
        stamp = st.st_ino, st.st_size
    except OSError:
        stamp = 0, 0
    if git_dir not in _OPEN or _OPEN[git_dir][0] != stamp:
        if stamp[0]:
            lines = read_journal(repo, git_dir)
        else:
            lines = read_lines(repo, formats.hash_worktree(worktree_id))
        (file, _), known, unsettled, sessions = _OPEN.get(git_dir, (stamp, [], [], {}))
        # Most that a hook appends, such as what a session's ref holds now, changes no open edit.
        is_same = file == stamp[0] and lines[: len(known)] == known
        if not is_same or any(map(credit.is_lasting, lines[len(known) :])):
            unsettled, sessions = edit_states.list_open_edits(lines), {}
        _OPEN[git_dir] = stamp, lines, unsettled, sessions
    _, lines, unsettled, sessions = _OPEN[git_dir]
    if session_id not in sessions:
        work = Work(unsettled, session_id)
        edits = {path: work.list_edits(path) for path in work.list_paths()}
        if edits and not stamp[0]:
            from gitcp.store.session import others

            touched = (others.peek_state(repo, session_id) or {}).get("files_touched", ())
            edits = {path: own for path, own in edits.items() if path in touched}
        left = {path for path in edits if work.is_left(path)}
        taken = {path for path in edits if work.is_taken_back(path)}
        sessions[session_id] = edits, left, taken, edit_states.map_recorded_files(lines, session_id)
    return sessions[session_id]


def list_open_streams(repo: Repo, session: State | Marker) -> list[Stream]:
    """The streams of a state or marker, each with the open files that the session's checkpoints
    put there.  A stream of which no journal has a checkpoint has the files that no stream has.  A
    stream whose files were all committed is left out."""
    if not session["streams"]:
        return []
    parts = _read_parts(repo, session)
    streams: list[Stream] = []
    for stream in session["streams"]:
        recorded = [files[stream["id"]] for *_, files in parts if stream["id"] in files]
        lines = {path: line for files in recorded for path, line in (files or {}).items()}
        files = {} if recorded else _list_unrecorded(parts)
        for path, line in lines.items():
            if any(e["at"] <= line["at"] for edits, *_ in parts for e in edits.get(path, ())):
                files[path] = _build_file(line["files"][path], line["turn"])
        if files or not recorded or {} in recorded:
            streams.append({**stream, "files": files})  # type: ignore[typeddict-item]
    return streams


def _list_unrecorded(parts: list[_Part]) -> dict[str, File]:
    """The files of a session's open edits that no checkpoint in a journal has."""
    return {
        path: _build_file(credit.parse_entry(own[-1]["after"]), credit.get_author(own[-1])[1])
        for edits, *_, recorded in parts
        for path, own in edits.items()
        if not any(path in (files or ()) for files in recorded.values())
    }


def _build_file(version: Version, turn: str) -> File:
    mode, oid = version or ("000000", "")
    return {"oid": oid, "mode": mode, "turn_id": turn}


def list_withdrawn(
    repo: Repo, lines: Sequence[JournalLine], session_id: str, stream: str, since: int = 0
) -> set[str]:
    """edit_states.list_withdrawn() for a session's stream, by the lines of this worktree's
    journal."""
    from gitcp.core import edit_states

    asked = (session_id, stream, since)
    return edit_states.list_withdrawn(
        lines, *asked, lambda: _read_open(repo, repo.worktree_id, session_id)[0]
    )


def read_streams(repo: Repo, state: State) -> None:
    """Set the streams of a state, with their open files, and its large files, by the journal."""
    state["streams"] = list_open_streams(repo, state)
    if state.get("unstored"):
        session.note_unstored(state, read_journal(repo, get_home(repo, state)))


def save_work(repo: Repo, state: State) -> None:
    """Save a state as its next revision, and its marker."""
    state["revision"] = state.get("revision", 0) + 1
    read_streams(repo, state)
    session.put_marker(
        repo, state["session_id"], session.encode_state(state), session.encode_marker(state)
    )


def record_checkpoint(
    held: Journal,
    state: State,
    stream: str,
    files: Mapping[str, Version],
    turn: str,
    left_streams: Mapping[str, Collection[str]],
    waiting: bool = False,
) -> None:
    """Record a checkpoint on a stream of the session: the files that it took in a turn, and the
    paths that left other streams (left_streams: stream -> paths).  waiting: as append() has it."""
    line = {"stream": stream, "session": state["session_id"], "turn": turn, "files": {**files}}
    left = {other: sorted(paths) for other, paths in left_streams.items() if paths}
    line |= {"out": left} if left else {}
    held.append([{**line, "at": read_clock(held.repo)}], waiting)


# A look at the worktree: each difference from what was last seen becomes an edit of the journal.
#
# record_scan() records a scan, scan_if_cheap() makes one, record_paths() reads only the named
# paths. Each edit gets its author here, by the evidence of that time.

# Refs of git whose contents may come back into the worktree.
_REFS = ("ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")


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
    if omitted or any("large" in line for line in journal.lines):
        dirty = {**dirty, **look_at_omitted(journal, omitted, at)}
    record_differences(journal, head, dirty, at)
    save_look(journal.repo, head, at, dirty, cost)
    journal.append([{"look": at}])


def record_differences(journal: Journal, head: str, dirty: Mapping[str, Version], at: int) -> None:
    """Record a look at the whole worktree in the journal only; arguments as for record_scan()."""
    repo, seen = journal.repo, LastSeen(journal.repo, journal.lines)
    journal.base, tree = head, Lookup(journal.repo.objects, find_tree(journal.repo.objects, head))
    changed: Changed = {}
    for path in {*seen.paths, *dirty, *_list_committed_paths(repo, seen.head, head)}:
        before = seen.get_entry(path)
        after = dirty[path] if path in dirty else find_file(tree, path)
        if before != after:
            changed[path] = (before, after)
    changed = _store_contents(repo, changed)
    _record_changes(journal, seen, changed, at)


def _list_committed_paths(repo: Repo, old: str, head: str) -> set[str]:
    """The paths that were changed by commits made in this worktree since the last look."""
    if old == head:
        return set()
    new = refs.find_committed_head(repo, old) if old != "HEAD" else None
    trees = [find_tree(repo.objects, commit) for commit in (old, new)] if new else [None, None]
    return {path for path, _, _ in compare_trees(repo.objects, trees[0], trees[1])}


def record_paths(journal: Journal, paths: Iterable[str], at: int, write: bool = True) -> None:
    """Record what stands at these paths now.  write: whether to store its blobs."""
    seen = LastSeen(journal.repo, journal.lines)
    changed = [path for path in dict.fromkeys(paths) if _may_differ(journal.repo, seen, path)]
    if not changed:
        return

    from gitcp.store.snapshot import scan as snapshot_scan

    read = snapshot_scan.read_paths_and_omitted
    present, omitted = read(journal.repo, changed, write=write)
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
        strays = (
            gone.difference(_find_moves(journal.repo.objects, changed).values()) if gone else gone
        )
        if strays and scan_if_cheap(journal, at):
            seen = LastSeen(journal.repo, journal.lines)
            changed = _compare_entries(seen, present)
    _record_changes(journal, seen, changed, at, ignored)


def look_at_omitted(
    journal: Journal,
    omitted: Collection[Mapping[str, str]],
    at: int,
    writer: tuple[Writer, str] | None = None,
) -> dict[str, Version]:
    """Record which files over a limit have changed, without their contents; return what
    record_sizes() returns.  writer: who wrote them, and how that is known; by default the evidence
    decides."""
    seen = LastSeen(journal.repo, journal.lines)

    def find_writer(path: str) -> tuple[Writer, str]:
        if writer:
            return writer

        entries = seen.get_entry(path), ("100644", "")
        change = describe_change(journal.repo, seen, path, *entries, restored=False)

        from gitcp.core import credit_cases
        from gitcp.store.journal import windows

        verdict = credit_cases.attribute_change(change, windows.list_windows(journal))
        return _choose_author(journal, verdict)

    from gitcp.store.journal import large_files

    return large_files.record_sizes(journal, seen, omitted, at, find_writer)


def name_large_files(journal: Journal, changes: Mapping[str, Staged], at: int) -> None:
    """Record the large files among a commit's changes with the blobs that it has of them."""
    seen = LastSeen(journal.repo, journal.lines)
    paths = credit.map_large(journal.lines).keys() & changes
    entries = {
        path: (changes[path][2], changes[path][3] or "") for path in paths if changes[path][3]
    }
    record_entries(journal, seen, entries, at, alone=True)


def _compare_entries(seen: LastSeen, present: Mapping[str, Version]) -> Changed:
    return {
        p: (before, after) for p, after in present.items() if (before := seen.get_entry(p)) != after
    }


def _list_gone(journal: Journal, present: Mapping[str, Version]) -> set[str]:
    """The paths of open edits that have no file now.  present: what is known to be at some of
    them."""
    from gitcp.core import edit_states

    root = os.fsencode(journal.repo.worktree)
    paths = {line["path"] for line in edit_states.list_open_edits(journal.lines)}
    return {
        path
        for path in paths
        if (
            present[path] is None
            if path in present
            else _read_ctime(os.path.join(root, encode_name(path))) is None
        )
    }


def _may_differ(repo: Repo, seen: LastSeen, path: str) -> bool:
    ctime = _read_ctime(os.path.join(os.fsencode(repo.worktree), encode_name(path)))
    return ctime is None or not (seen.is_unwritten(path, ctime) and seen.is_unmoved(path))


def _store_contents(repo: Repo, changed: Changed) -> Changed:
    """Store the blobs of changed paths; the changes by what was stored."""
    missing = [
        p for p, (_, after) in changed.items() if after and not repo.objects.packs.has(after[1])
    ]
    if not missing:
        return changed

    from gitcp.store.snapshot import scan as snapshot_scan

    present = snapshot_scan.read_paths(repo, missing, write=True)
    changes = {**changed, **{p: (changed[p][0], after) for p, after in present.items()}}
    return {path: pair for path, pair in changes.items() if pair[0] != pair[1]}


def _record_changes(
    journal: Journal,
    seen: LastSeen,
    changed: Changed,
    at: int,
    ignored: Collection[str] = (),
) -> None:
    """Add an edit with its author for each change."""
    changed = _record_large_files(journal, changed, at) if changed else {}
    if not changed:
        return

    from gitcp.core import credit_cases
    from gitcp.store.journal.windows import is_made_by_hook, list_windows, read_judged_files

    repo, windows = journal.repo, list_windows(journal)
    git_trees = GitTrees(repo, seen.head, seen.commits)
    origins = _find_moves(repo.objects, changed)
    judged, lines = read_judged_files(repo), []
    sources: Sources | None = None
    for path, (before, after) in sorted(changed.items()):
        restored = credit.had_content(journal.lines, path, after) or git_trees.has(path, after)
        change = describe_change(repo, seen, path, before, after, restored)
        verdict = credit_cases.attribute_change(change, windows)
        if verdict["shared"]:
            added = _read_added(repo.objects, before, after)
            verdict = credit_cases.attribute_change(change, windows, added)
        who, how = _choose_author(journal, verdict)
        if who == credit.PERSON and is_made_by_hook(judged, journal.lines, path, before):
            who, how = credit.UNKNOWN, credit.HOOK
        line = credit.build_edit(path, before, after, who, how, at)
        line |= _build_details(verdict, origins.get(path), change, at)
        if verdict["by"] and credit_cases.can_bring_in(verdict["by"]):
            sources = sources or _open_sources(repo, journal, seen)
            line |= sources.describe_sources(verdict["by"], path, before, after)
        line |= {"away": True} if "by" in line and git_trees.is_stashed(path, before) else {}
        line |= {"stashed": True} if before and git_trees.stash_keeps(path) else {}
        line |= {"kept": False} if path in ignored else {}
        lines.append(line)
    journal.append_edits(lines)


def _record_large_files(journal: Journal, changed: Changed, at: int) -> Changed:
    """Add the edits of large files whose contents are known now; the other changes."""
    large = credit.map_large(journal.lines)
    named = sorted(path for path in large.keys() & changed if changed[path][1])
    for path in named:
        from gitcp.store.journal import large_files

        journal.append(
            large_files.build_edits(journal.repo.objects, large[path], *changed[path], at)
        )
    return {path: pair for path, pair in changed.items() if path not in named}


def _choose_author(journal: Journal, verdict: Verdict) -> tuple[Writer, str]:
    """(the author of a change, how that is known), by a verdict and who has written here."""
    if journal.stranger and verdict["how"] != credit.RESTORED:
        return credit.UNKNOWN, credit.STRANGER
    return verdict["who"], verdict["how"]


def _open_sources(repo: Repo, journal: Journal, seen: LastSeen) -> Sources:
    """Where lines that a command brings in may come from."""
    from gitcp.store.journal import sources

    return sources.Sources(repo, journal.lines, seen.head)


def _read_added(objects: Objects, before: Version, after: Version) -> str:
    """The lines that a change adds."""
    old, new = (objects.read(version[1]) if version else None for version in (before, after))

    from gitcp.core import line_replay

    added = line_replay.find_added_lines(old and old[2], new and new[2])
    return b"\n".join(added).decode(errors="replace")


def _build_details(verdict: Verdict, follows: str | None, change: Change, at: int) -> JournalLine:
    details: JournalLine = {"shared": True} if verdict["shared"] else {}
    if change["at"] and change["at"] < at:
        details["made"] = change["at"]
    if follows:
        details["follows"] = follows
    window: Window | None = verdict["by"]
    if window and verdict["how"] == credit.RESTORED:
        details["by"] = list(window["who"])
        from gitcp.core import credit_cases

        if credit_cases.can_put_away(window):
            details["away"] = True
    return details


def describe_change(
    repo: Repo, seen: LastSeen, path: str, before: Version, after: Version, restored: bool
) -> Change:
    """A change of a path for attribute_change().  restored: whether it was there before."""
    seen_at = seen.get_seen_time(path)
    is_submodule = "160000" in {(before or after or "")[0], (after or before or "")[0]}
    return {
        "path": path,
        "oid": after[1] if after else "",
        "at": None if is_submodule else _find_change_time(repo, path, seen_at),
        "seen": seen_at,
        "new": before is None,
        "gone": after is None or is_submodule,  # a submodule's HEAD moves without a time here
        "restored": restored,
    }


def _find_change_time(repo: Repo, path: str, seen_at: int) -> int | None:
    """When a path changed, in ns: its own ctime, or that of a moved directory above it."""
    root = os.fsencode(repo.worktree)
    ctime = _read_ctime(os.path.join(root, encode_name(path)))
    from gitcp.core import credit_cases

    if ctime is not None and credit_cases.get_latest_time(ctime) > seen_at:
        return ctime
    newest, folder = ctime, os.path.dirname(encode_name(path))
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
    removed, added = {before for before, _ in oids.values()}, {after for _, after in oids.values()}
    # A move needs a path that went and one that came, or a content that stood elsewhere.
    if not ("" in removed and "" in added) and removed.isdisjoint(added - {""}):
        return {}

    from gitcp.core import line_authors, line_replay

    return line_authors.find_origins(
        oids, lambda oid: line_replay.split_text_lines(oid, objects.read_blob(oid))
    )


def scan_if_cheap(journal: Journal, at: int, first: bool = False) -> bool:
    """Look at the whole worktree if the last look was cheap enough; return whether it did.  first:
    whether to look if it is the first one."""
    repo = journal.repo
    last = read_look(repo)
    budget = int(repo.config.get_option("gitcp.look-budget"))  # ms
    if not (last or first) or int(last.get("cost", 0)) > budget * 1000:
        return False
    started = measure_children()

    from gitcp.store.snapshot import scan as snapshot_scan

    scan = snapshot_scan.scan_worktree(repo)
    cost = measure_children() - started

    dirty = snapshot_scan.resolve_changes(journal.repo.objects, scan, write=False)
    head = scan.head or "0" * len(repo.empty_tree)
    record_scan(journal, head, dirty, at, cost, scan.omitted)
    return True


def measure_children() -> int:
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
        self._repo, self._last_head = repo, head
        self._seen_commits = commits
        self._heads: list[Lookup] | None = None
        self._trees: list[Lookup] | None = None
        self._stash = refs.Stash(repo)

    def has(self, path: str, entry: Version) -> bool:
        """Whether some tree has this entry at the path.  For None: whether HEAD has nothing
        there, and had nothing at the last look if only commits have moved it since."""
        if entry is None:
            return all(tree(path) is None for tree in self._read_heads())
        if self._trees is None:
            self._trees = self._make_lookups(self._list_commits())
        return any(tree(path) == entry for tree in self._trees) or self._stash.holds(path, entry)

    def _read_heads(self) -> list[Lookup]:
        if self._heads is None:
            made_here = refs.find_committed_head(self._repo, self._last_head) is not None
            self._heads = self._make_lookups(["HEAD", *([self._last_head] if made_here else [])])
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
        names += [n for n in _REFS if os.path.exists(os.path.join(git_dir, n))]
        if refs.find_committed_head(self._repo, self._last_head) is None:
            names.append("HEAD")
        return names
