"""The open edits of a session in a worktree, which no commit has taken: the streams that hold them,
the commits that settle them, and those that others state."""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.errors import Error
from gitcp.git import files, refs
from gitcp.git.objects import Lookup, find_file, find_tree
from gitcp.record import looks, session
from gitcp.record.journal import (
    NAME,
    VISITED,
    Journal,
    credit,
    get_git_dir,
    read_clock,
    read_journal,
    read_last_seen,
)
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import (
        Commit,
        File,
        JournalLine,
        Marker,
        Recorded,
        Staged,
        State,
        Stream,
        Version,
    )

    Changes = Mapping[str, Staged]
    Lines = Sequence[JournalLine]
    EditsByPath = dict[str, list[JournalLine]]
    # path -> its open edits; the result of credit.map_recorded_files()
    _Part = tuple[EditsByPath, dict[str, dict[str, JournalLine] | None]]

_NEVER = 1 << 63  # ns


class Stretch:
    """Edits of a session at a path, each made upon the one before.

    before: the content that the first edit changed.  written: what the session made of it last.
    content: that with later changes by others.  live: whether the worktree has it; otherwise it
    was put away, or a commit left it out.  left: that commit is linked with the session.  undone:
    the session has taken it back.  base: the commit on which it was last seen, '' if unknown.
    undoing: the line that gave the path a content from before, if nothing keeps what it replaced.
    """

    __slots__ = tuple(
        "_lost _seen base before content edits left live undoing undone written".split()
    )

    def __init__(self, before: Version) -> None:
        self.before = self.written = self.content = before
        self.edits: list[JournalLine] = []
        self.live = True
        self.left = False
        self.undone = False
        self.base = ""
        self._seen = 0
        self._lost = False
        self.undoing: JournalLine | None = None

    def add(self, edit: JournalLine) -> None:
        """Add the session's next edit."""
        self.edits.append(edit)
        self.written = self.content = credit.parse_entry(edit["after"])
        self._note_seen(edit)

    def add_foreign(self, line: JournalLine, *, elsewhere: bool) -> None:
        """Add an edit by another author.  elsewhere: HEAD has left the base, so the edit may
        change other content."""
        self._lost = self._lost or (elsewhere and line.get("base", self.base) != self.base)
        if not self._lost:
            self.content = credit.parse_entry(line["after"])
            self._seen = int(line["at"])
            if self.content and not self.written:
                self.put_away()

    def put_away(self) -> None:
        """Note that another file is in the place of a moved or deleted one."""
        self.live = False
        self.content = self.written

    def note_look(self, looks: Sequence[tuple[int, str]], end: int) -> None:
        """Update the base from the newest look (time, base) before end, which found the content
        unchanged."""
        if self.live and not self._lost:
            at, base = _find_look(looks, end)
            self.base = base if at >= self._seen else self.base

    def _note_seen(self, line: JournalLine) -> None:
        self.base = line.get("base", "")
        self._seen = int(line["at"])
        self._lost = False

    def has_had(self, line: JournalLine) -> bool:
        """Whether a line restored the content now, or that after some edit of the session."""
        version = credit.parse_entry(line["after"])
        return version == self.content or self._has_written(version)

    def join(self, line: JournalLine) -> None:
        """Note that a step has merged former contents into the present one: what stands there has
        both the work that was live and that of these contents."""
        former = [self.written, self.content, *[credit.parse_entry(e["after"]) for e in self.edits]]
        if self.live or any(version and version[1] in line["joined"] for version in former):
            self.live = True
            self.left = False
            self.undone = False
            self.content = credit.parse_entry(line["after"])
            self._note_seen(line)

    def note_return(self, line: JournalLine) -> None:
        """Note that a line restored a content that the stretch has had."""
        version = credit.parse_entry(line["after"])
        self.live = True
        self.left = False
        self.undone = False
        self.content = version
        self._note_seen(line)
        if self._has_written(version):
            self.written = version

    def read_contents(
        self, blob: Callable[[str], bytes | None]
    ) -> tuple[bytes | None, bytes | None]:
        """The bytes before, and after the session's own last edit; b"" where nothing stood."""
        before, after = (
            blob(version[1]) if version else b"" for version in (self.before, self.written)
        )
        return before, after

    def build_record(self, path: str, later_name: str = "") -> Recorded:
        """The record that match() takes: what the session made last, since others' later changes
        may have left none of it.  later_name: where its file was moved or copied since: the record
        is evidence there."""
        live = self.live and not later_name
        mode, oid = self.written or ("000000", None)
        path = later_name or path
        before = self.before
        record: Recorded = {"path": path, "mode": mode, "oid": oid, "live": live, "before": before}
        if live:
            record["now"] = self.content
        elif self.undoing and not later_name:
            record["now"] = credit.parse_entry(self.undoing["after"])
        if live and len(self.edits) > 1:
            self._add_steps(record)
        return record

    def _add_steps(self, record: Recorded) -> None:
        """Add the session's own edits to a record if others edited the file between them."""
        steps: list[tuple[str | None, str | None]] = []
        is_between = False
        last: Version = self.before
        for edit in self.edits:
            before = credit.parse_entry(edit["before"])
            after = credit.parse_entry(edit["after"])
            is_between = is_between or before != last
            steps.append((before[1] if before else None, after[1] if after else None))
            last = after
        if is_between:
            record["steps"] = steps

    def _has_written(self, version: Version) -> bool:
        return any(version == credit.parse_entry(edit["after"]) for edit in self.edits)


def _find_look(looks: Sequence[tuple[int, str]], end: int) -> tuple[int, str]:
    """The newest of the looks, which are in the order of their times, before end; (0, "") if there
    is none."""
    low = 0
    high = len(looks)
    while low < high:
        middle = (low + high) // 2
        if looks[middle][0] < end:
            low = middle + 1
        else:
            high = middle
    return looks[low - 1] if low else (0, "")


class OpenEdits:
    """The open edits of a journal, grouped once for all sessions.

    by_path: path -> the open edits there, whoever made them.  later_names: path -> where its
    content was moved or copied.  looks: (time, base) of each look, oldest first.
    stream_lines: as credit.map_stream_lines().
    """

    __slots__ = ("_paths_by_session", "by_path", "later_names", "looks", "stream_lines")

    def __init__(self, lines: Lines) -> None:
        self.stream_lines = credit.map_stream_lines(lines)
        self.by_path: EditsByPath = {}
        self.later_names: dict[str, dict[str, None]] = {}
        origins: dict[str, dict[str, None]] = {}  # path -> the names that its content had before
        for line in credit.list_open_edits(lines):
            self.by_path.setdefault(line["path"], []).append(line)
            if "follows" in line:
                path = line["path"]
                source = line["follows"]
                origins[path] = {source: None, **origins.get(source, {})}
                for name in origins[path].keys() - {path}:
                    self.later_names.setdefault(name, {})[path] = None
        self.looks = sorted((x["look"], x["base"]) for x in lines if "look" in x and "base" in x)
        self._paths_by_session: dict[str, dict[str, None]] = {}
        for path, edits in self.by_path.items():
            for session_id in {credit.get_author(edit)[0] for edit in edits}:
                self._paths_by_session.setdefault(session_id, {})[path] = None

    def get_paths_of(self, session_id: str) -> dict[str, None]:
        """The paths at which a session made open edits, in the order of by_path."""
        return self._paths_by_session.get(session_id, {})

    def list_edits_of(self, session_id: str) -> list[JournalLine]:
        """The open edits of a session, also those that it took back."""
        there = [edit for path in self.get_paths_of(session_id) for edit in self.by_path[path]]
        return [edit for edit in there if credit.get_author(edit)[0] == session_id]


class Work:
    """The open edits of one session in a worktree.

    is_here: whether HEAD is a commit, or was made on it in this worktree.  Edits that were last
    seen on any other commit are away; by default none is.
    """

    def __init__(
        self,
        session_id: str,
        open_edits: OpenEdits,
        is_here: Callable[[str], bool],
    ) -> None:
        self._session = session_id
        self._paths = open_edits.by_path
        self._own_paths = open_edits.get_paths_of(session_id)
        self._later_names = open_edits.later_names
        self._looks = open_edits.looks
        self._is_here = is_here
        self._stretches: dict[str, list[Stretch]] = {}

    def list_stretches(self, path: str) -> list[Stretch]:
        """The session's stretches at a path, the newest last, less those that changed nothing or
        are undone.

        An edit by the session continues the current stretch if a commit left out both or neither,
        else it begins one; it also begins one if the file was moved away.  A restored content
        continues the last stretch that has had it, and puts away the others; a merge continues
        those that it brings in, too.  An edit by another author changes the content of a live
        stretch, or puts away a deletion.
        """
        if path not in self._stretches:
            self._stretches[path] = self._find_stretches(path)
        return self._stretches[path]

    def _find_stretches(self, path: str) -> list[Stretch]:
        if path not in self._own_paths:
            return []
        stretches: list[Stretch] = []
        current: Stretch | None = None
        for line in self._paths[path]:
            is_left = "left" in line
            if current:
                current.note_look(self._looks, line["at"])
            if self._is_own(line):
                moved = path in self._later_names
                if current and not current.content and current.written and moved:
                    current.put_away()
                if current is None or current.live is is_left:
                    current = Stretch(credit.parse_entry(line["before"]))
                    stretches.append(current)
                current.add(line)
                current.live = not is_left
                current.left = bool(line.get("left"))
            elif "joined" in line and not is_left:
                for stretch in stretches:
                    stretch.join(line)
            elif line["how"] == "restored" and not is_left:
                if current and self._is_undoing(line) and not current.has_had(line):
                    current.undone = True
                is_kept = line.get("away") or "stashed" in line
                for stretch in stretches:
                    stretch.live = False
                    stretch.undoing = None if is_kept else line
                current = next((s for s in reversed(stretches) if s.has_had(line)), None)
                if current:
                    current.note_return(line)
            elif current and current.live:
                current.add_foreign(line, elsewhere=not self._is_here(current.base))
        for stretch in stretches:
            stretch.note_look(self._looks, _NEVER)
            if not self._is_here(stretch.base):
                stretch.live = False
                stretch.undoing = None
        return [s for s in stretches if s.written != s.before and not s.undone]

    def list_paths(self) -> list[str]:
        """The paths at which the session has open edits."""
        return [path for path in self._own_paths if self.list_stretches(path)]

    def list_edits(self, path: str) -> list[JournalLine]:
        """The session's open edits at a path."""
        found: list[JournalLine] = []
        for stretch in self.list_stretches(path):
            found += stretch.edits
        return found

    def build_records(self, with_left: bool = True) -> list[Recorded]:
        """The records of the session's open edits that match() takes, of a file that was moved or
        copied under each name.  with_left: also of those that a commit of the session left out."""
        found: list[Recorded] = []
        for path in self._own_paths:
            for stretch in reversed(self.list_stretches(path)):
                if with_left or not stretch.left:
                    for name in ("", *(self._later_names.get(path, ()) if stretch.written else ())):
                        found.append(stretch.build_record(path, name))
        return found

    def is_present(self, path: str) -> bool:
        """Whether the worktree has some of the session's work at a path."""
        return any(stretch.live for stretch in self.list_stretches(path))

    def list_written(self, since: int) -> set[str]:
        """The paths that the session has written since a time in ns."""
        return {
            path
            for path in self._own_paths
            if any(self._is_own(line) and line["at"] >= since for line in self._paths[path])
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
        away = (path for path in self._own_paths if path not in dirty and not self.is_undone(path))
        return {
            path: stretches[-1].content for path in away if (stretches := self.list_stretches(path))
        }

    def _is_own(self, line: JournalLine) -> bool:
        return credit.get_author(line)[0] == self._session

    def _is_undoing(self, line: JournalLine) -> bool:
        return (line.get("by") or [""])[0] == self._session and not line.get("away")


def collect_work(
    lines: Lines,
    session_id: str,
    is_here: Callable[[str], bool] = lambda _: True,
) -> Work:
    """The open edits of a session, by the lines of a journal.  is_here: as Work has it."""
    return Work(session_id, _group_open_edits(lines), is_here)


# "last": the lines of the journal whose open edits were grouped last, and these.
_GROUPED: dict[str, tuple[Lines, OpenEdits]] = memory.get_table("grouped")


def _group_open_edits(lines: Lines) -> OpenEdits:
    """The open edits of a journal; grouped again only if its lines are others than last time."""
    known, open_edits = _GROUPED.get("last", ([], None))
    if open_edits is None or known != lines:
        open_edits = OpenEdits(lines)
        _GROUPED["last"] = [*lines], open_edits
    return open_edits


class _ReadJournal:
    """A worktree's journal as far as it was read.

    stamp: inode and size of the file.  parts: what was read of each session.
    """

    __slots__ = ("lines", "open_edits", "parts", "stamp")

    def __init__(self, stamp: tuple[int, int], lines: Lines) -> None:
        self.stamp = stamp
        self.lines = lines
        self.open_edits = _group_open_edits(lines)
        self.parts: dict[str, _Part] = {}


_OPEN: dict[str, _ReadJournal] = memory.get_table("open")  # by git directory


def list_open_paths_in(repo: Repo, worktree_id: str, session_id: str) -> set[str]:
    """The paths at which a session has open edits in a worktree."""
    return {*_read_open(repo, worktree_id, session_id)[0]}


def _read_parts(repo: Repo, session: Mapping[str, Any]) -> list[_Part]:
    names = dict.fromkeys((session.get("worktree_id") or "", *session.get("visits", ())))
    return [_read_open(repo, name, session["session_id"]) for name in names]


def _read_open(repo: Repo, worktree_id: str, session_id: str) -> _Part:
    """The part of a session in a worktree's open edits.  Without the worktree or its journal, the
    open edits in the sessions' refs at paths that the session's state still names."""
    from gitcp.record.journal import credit

    git_dir = get_git_dir(repo, worktree_id)
    try:
        st = os.stat(os.path.join(git_dir, "gitcp", NAME))
        stamp = st.st_ino, st.st_size
    except OSError:
        stamp = 0, 0
    known = _OPEN.get(git_dir)
    if known is None or known.stamp != stamp:
        if stamp[0]:
            lines = read_journal(repo, git_dir)
        else:
            from gitcp.record.journal import held_lines

            lines = held_lines.read_lines(repo, ids.hash_worktree(worktree_id))
        if known and _opens_nothing(known, stamp, lines):
            known.stamp = stamp
            known.lines = lines
        else:
            known = _OPEN[git_dir] = _ReadJournal(stamp, lines)
    if session_id not in known.parts:
        work = Work(session_id, known.open_edits, lambda _: True)
        edits = {path: work.list_edits(path) for path in work.list_paths()}
        if edits and not stamp[0]:
            from gitcp.record.session import others

            touched = (others.peek_state(repo, session_id) or {}).get("files_touched", ())
            edits = {path: edits[path] for path in edits if path in touched}
        stream_lines = known.open_edits.stream_lines.get(session_id, [])
        files_by_stream = credit.map_recorded_files(stream_lines, session_id)
        known.parts[session_id] = edits, files_by_stream
    return known.parts[session_id]


def _opens_nothing(known: _ReadJournal, stamp: tuple[int, int], lines: Lines) -> bool:
    """Whether lines that a journal has gained change no open edit, as most that a hook appends do,
    such as what a session's ref holds now."""
    length = len(known.lines)
    if known.stamp[0] != stamp[0] or lines[:length] != known.lines:
        return False
    return not any(map(credit.is_lasting, lines[length:]))


def list_open_streams(repo: Repo, session: State | Marker) -> list[Stream]:
    """The streams of a state or marker, each with the open files that the session's checkpoints
    put there.  A stream of which no journal has a checkpoint has the files that no stream has.  A
    stream whose files were all committed is left out."""
    if not session["streams"]:
        return []
    parts = _read_parts(repo, session)
    streams: list[Stream] = []
    for stream in session["streams"]:
        recorded = [files[stream["id"]] for _, files in parts if stream["id"] in files]
        lines = {path: line for files in recorded for path, line in (files or {}).items()}
        files = {} if recorded else _list_unrecorded(parts)
        for path, line in lines.items():
            if any(e["at"] <= line["at"] for edits, _ in parts for e in edits.get(path, ())):
                files[path] = _build_file(line["files"][path], line["turn"])
        if files or not recorded or {} in recorded:
            streams.append({**stream, "files": files})  # type: ignore[typeddict-item]
    return streams


def _list_unrecorded(parts: list[_Part]) -> dict[str, File]:
    """The files of a session's open edits that no checkpoint in a journal has."""
    found: dict[str, File] = {}
    for edits, recorded in parts:
        for path, there in edits.items():
            if not any(path in (files or ()) for files in recorded.values()):
                found[path] = _build_file(
                    credit.parse_entry(there[-1]["after"]), credit.get_author(there[-1])[1]
                )
    return found


def _build_file(version: Version, turn: str) -> File:
    mode, oid = version or ("000000", "")
    return {"oid": oid, "mode": mode, "turn_id": turn}


def list_withdrawn(
    repo: Repo, lines: Lines, session_id: str, stream: str, since: int = 0
) -> set[str]:
    """credit.list_withdrawn() for a session's stream, by the lines of this worktree's
    journal."""
    open_edits = _group_open_edits(lines)
    own_edits = open_edits.list_edits_of(session_id)

    def list_present() -> EditsByPath:
        return _read_open(repo, repo.worktree_id, session_id)[0]

    asked = (session_id, stream, since)
    stream_lines = open_edits.stream_lines.get(session_id, [])
    return credit.list_withdrawn(stream_lines, own_edits, *asked, list_present)


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
    if left:
        line |= {"out": left}
    held.append([{**line, "at": read_clock(held.repo)}], waiting)


# The open edits of a worktree: read for a commit, settled by a commit, and stated ones added.
_WAITED = "its call waited for a permission, and had written nothing"


def look_for_commit(
    repo: Repo,
    changes: Changes | None,
    visitors: Sequence[Marker] = (),
    guests: Sequence[Marker] = (),
    committers: Collection[str] | None = None,
) -> list[JournalLine]:
    """The journal's lines; with changes, after a look at a commit's paths and the open edits'.

    A commit does not scan the worktree.  visitors, guests, committers: as Journal has them.
    """
    if changes is None:
        return read_journal(repo)
    with Journal(repo) as held:
        held.visitors = visitors
        held.guests = guests
        held.committers = committers
        _look_at_open(held, changes)
        if credit.map_large(held.lines).keys() & changes:
            looks.name_large_files(held, changes, read_clock(repo))
        return held.lines


def build_stay_check(repo: Repo, head: str) -> Callable[[str], bool]:
    """Return a test whether an edit made on a commit was in the worktree when HEAD was at head:
    HEAD was that commit, or came from it without leaving the edit behind."""
    answers = {"": True, head: True}

    def has_stayed(base: str) -> bool:
        if base not in answers:
            head_now = refs.read_head(repo) or head
            answers[base] = refs.leads_to(repo, base, head) or (
                # The commit lies between head and HEAD of now.
                head != head_now
                and refs.leads_to(repo, head, base)
                and refs.leads_to(repo, base, head_now)
            )
        return answers[base]

    return has_stayed


def _look_at_open(held: Journal, paths: Iterable[str]) -> None:
    """Look at the paths, and at those of open edits."""
    from gitcp.record.journal import credit

    open_paths = {line["path"] for line in credit.list_open_edits(held.lines)}
    looks.record_paths(held, sorted({*paths, *open_paths}), read_clock(held.repo))


def settle_commit(
    repo: Repo,
    commit: Commit,
    changes: Changes,
    sessions: Collection[str] | None = None,
    excluded: Collection[str] = (),
) -> None:
    """Record what a commit with these changes settles.

    sessions: those whose part in the commit is decided, by default all but the excluded ones.  The
    edits of other sessions stay open.
    """
    from gitcp.record.journal import credit

    if not os.path.exists(repo.join_own(NAME)):
        return
    with Journal(repo) as held:
        recorded = any(line.get("commit") == commit["oid"] for line in held.lines)
        if not held.lines or (recorded and not credit.list_open_edits(held.lines)):
            return
        _look_at_open(held, ())  # a commit may have taken its time
        find_present = read_last_seen(repo, held.lines).get_entry
        find_committed = _build_file_lookup(repo.objects, commit["tree"])
        line = _build_commit_line(held.lines, commit, changes, find_present, find_committed)
        line["at"] = read_clock(repo)
        is_settled = _build_settled_check(repo.objects, changes, find_present, find_committed)
        open_edits = credit.list_open_edits(held.lines)
        # In a commit that is linked, lines without an author are unknown anyway.
        are_doubts_noted = not recorded and not sessions
        _note_unknown(repo, commit, changes, open_edits, are_doubts_noted)
        for session_id in {credit.get_author(edit)[0] for edit in open_edits} - {""}:
            if sessions is None:
                decided = session_id not in excluded
            else:
                decided = session_id in sessions
            work = collect_work(held.lines, session_id)
            is_left = _divide_edits(line, work, is_settled if decided else lambda *_: False)
            if is_left and session_id in (sessions or ()):
                line.setdefault("linked", []).append(session_id)
        if not recorded:
            ends = _read_transcript_ends(repo)
            if ends:
                line["transcripts"] = ends
        if not recorded or credit.list_open_edits([*held.lines, line]) != open_edits:
            held.append([line])
            _forget_strangers(repo, open_edits, held)
            held.cut_back()


def _list_strange(edits: Iterable[JournalLine]) -> set[str]:
    """The paths of edits by sessions of other repositories, and of those that are in doubt."""
    return {edit["path"] for edit in edits if credit.is_strange(edit)}


def _note_unknown(
    repo: Repo,
    commit: Commit,
    changes: Changes,
    open_edits: Iterable[JournalLine],
    are_doubts_noted: bool,
) -> None:
    """Note on a commit with these changes that a session of another repository wrote there, or
    may have."""
    strange = [edit for edit in open_edits if credit.is_strange(edit) and edit["path"] in changes]
    doubts = [edit for edit in strange if credit.is_in_doubt(edit)]
    if len(doubts) == len(strange) and not (doubts and are_doubts_noted):
        return

    from gitcp.checkpoints import links, notes

    if len(doubts) == len(strange):
        line = links.IN_DOUBT
    else:
        line = links.UNKNOWN
    notes.edit_note(repo, commit["oid"], lambda note: links.add_unknown(note or b"", line))


def unlink_unfounded(
    repo: Repo,
    session_id: str,
    before: list[JournalLine],
    after: list[JournalLine],
) -> dict[str, set[str]]:
    """Note on commits that they are not linked to this session if their links rest on edits that
    were taken back from it: by the journal's lines before that and after.  Return the commits that
    have others of its edits, each with its paths that have none.

    A link by hand stays, and one to a checkpoint with more than this session's part of the commit.
    """

    from gitcp.record.journal import cuts

    wholly, partly = cuts.list_unfounded(before, after, session_id)
    for oid, paths in wholly.items():
        from gitcp.checkpoints import listing

        texts = listing.read_texts(repo.objects, oid)

        from gitcp.checkpoints import links

        for checkpoint_id in links.list_carried(*texts).keys() - links.list_by_hand(texts[1]):
            try:
                from gitcp.checkpoints.stored import read_checkpoint

                stored = read_checkpoint(repo, checkpoint_id)
            except Error:
                continue  # it is not in this clone, or damaged
            files = set(stored["summary"].get("files_touched", ()))
            if [s["session_id"] for s in stored["sessions"]] == [session_id] and files <= paths:
                from gitcp.checkpoints import notes

                notes.deny_link(repo, oid, checkpoint_id, _WAITED)
    return partly


def _forget_strangers(repo: Repo, before: list[JournalLine], held: Journal) -> None:
    """Remove the marker of such edits if all that were open before are settled."""
    from gitcp.record.journal import credit

    if _list_strange(before) and not _list_strange(credit.list_open_edits(held.lines)):
        files.remove_private(repo, repo.join_own(VISITED))


def _build_file_lookup(objects: Objects, tree: str) -> Callable[[str], Version]:
    """Return a function that finds a file in a tree."""
    lookup = Lookup(objects, tree)
    return lambda path: find_file(lookup, path)


def _build_commit_line(
    lines: Iterable[JournalLine],
    commit: Commit,
    changes: Changes,
    find_present: Callable[[str], Version],
    find_committed: Callable[[str], Version],
) -> JournalLine:
    """The commit's line with the paths that are in the worktree as the commit has them."""
    settled = [path for path in changes if find_present(path) == find_committed(path)]
    sources = {line["follows"] for line in lines if "follows" in line and line["path"] in settled}
    settled += [
        path for path in sorted(sources) if not (find_present(path) or find_committed(path))
    ]
    return {"commit": commit["oid"], "settled": settled}


def _build_settled_check(
    objects: Objects,
    changes: Changes,
    find_present: Callable[[str], Version],
    find_committed: Callable[[str], Version],
) -> Callable[[str, Stretch], bool]:
    """Return a test whether the commit has all of a stretch at a path."""

    from gitcp.record.match import linking

    def is_settled(path: str, stretch: Stretch) -> bool:
        committed = find_committed(path)
        record = stretch.build_record(path)
        present = [find_present(path)]
        if stretch.live and path in changes:  # a commit of all its lines settles a stretch
            present.append(committed)
        return any(
            linking.explain_settled(record, changes, entry, committed, objects.read_blob)
            for entry in present
        )

    return is_settled


def _divide_edits(
    line: JournalLine, work: Work, is_settled: Callable[[str, Stretch], bool]
) -> bool:
    """Add to a commit's line the session's edits that it left at the paths it settles, and those
    that it took at others; whether it left some."""
    from gitcp.record.journal import credit

    is_left = False
    for path in work.list_paths():
        for stretch in work.list_stretches(path):
            settled = is_settled(path, stretch)
            if settled != (path in line["settled"]):
                edits = line.setdefault("taken" if settled else "left", {}).setdefault(path, [])
                edits += map(credit.get_edit_name, stretch.edits)
                is_left = is_left or not settled
    return is_left


def let_edits_go(repo: Repo, session_id: str, paths: Iterable[str]) -> None:
    """Settle a session's open edits at these paths: no commit takes them any more."""
    from gitcp.record.journal import credit

    with Journal(repo) as held:
        work = collect_work(held.lines, session_id)
        edits = {path: work.list_edits(path) for path in paths}
        settled = {path: [*map(credit.get_edit_name, edits[path])] for path in edits if edits[path]}
        held.append([{"taken": settled, "at": read_clock(repo)}] if settled else [])


def record_edits(
    repo: Repo,
    session_id: str,
    base: str,
    files: Mapping[str, tuple[Version, str]],
) -> None:
    """Record edits that a script or another program states, made on the commit base.

    files: path -> (the entry that the session made, the turn).  They count as the session's work
    and say nothing of the worktree.  Entries that its open edits have already are left out.
    """
    base_tree = Lookup(repo.objects, find_tree(repo.objects, base))
    with Journal(repo) as held:
        work = collect_work(held.lines, session_id)
        at = read_clock(repo)
        held.base = base
        held.append(
            [
                credit.build_edit(
                    path, base_tree(path), entry, (session_id, turn, ""), credit.STATED, at
                )
                for path, (entry, turn) in sorted(files.items())
                if not any(stretch.written == entry for stretch in work.list_stretches(path))
            ]
        )


def _read_transcript_ends(repo: Repo) -> JournalLine:
    """The sizes of transcripts of active sessions whose client does not report its tools."""
    ends: JournalLine = {}
    for marker in session.read_recent(repo):
        if marker["phase"] == "active" and not marker["tool_events"]:
            base = session.read_baseline(repo, marker["session_id"])
            if base and (size := session.read_size(base.get("transcript"))):
                ends[marker["session_id"]] = {"turn": str(base.get("turn", "")), "size": size}
    return ends
