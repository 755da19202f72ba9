"""What the authors of lines are found from: what the sessions of checkpoints recorded, read for
many checkpoints at once; when persons recorded; a commit, and a path in it."""

from __future__ import annotations

import os
import re
from functools import cached_property

from gitcp.checkpoints import format, heads, links, listing, notes, recorded_edits
from gitcp.checkpoints.format import exports, line_authors
from gitcp.checkpoints.format.line_authors import BEGUN, ENDED, Recording
from gitcp.checkpoints.stored import Places, list_sources
from gitcp.errors import Error
from gitcp.git import decode_name, encode_name, files, jj
from gitcp.git.objects import (
    TREE,
    Lookup,
    find_tree,
    parse_ident,
    read_changes,
    read_commit,
    read_ident,
)
from gitcp.git.records import load_entry
from gitcp.lines import locate_shared, proven
from gitcp.lines.committed.earlier import About
from gitcp.lines.committed.memo import Memo
from gitcp.record import locate_recording
from gitcp.record.unheard import unrecorded
from gitcp.text import value_class
from gitcp.text.ids import CHECKPOINTS, COMMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence, Set
    from typing import Any

    from gitcp.checkpoints.format.exports import Log
    from gitcp.checkpoints.format.line_authors import Author, LineRecord, Periods
    from gitcp.checkpoints.stored import SessionEntry, StoredCheckpoint
    from gitcp.git.objects import Objects
    from gitcp.git.objects.patches import Change, Hunk
    from gitcp.git.repo import Repo
    from gitcp.lines.uncommitted import OpenLines
    from gitcp.record.unheard.unrecorded import Unheard

    LineAuthors = dict[int, Author]  # by 1-based line
    Spot = tuple[str, str, int]  # commit, path, line from 1
    Proof = tuple[Any, Any]  # lines and turns of a record

_LARGEST = 4 << 20  # bytes of a transcript that is searched for proofs


class Recorded:
    """The records of checkpoints by id, each read once until forget()."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.places = Places(repo)
        self._records: dict[str, list[LineRecord]] = {}
        self._place_by_id: dict[str, tuple[str, str] | None] = {}  # id -> ref and tree
        self._stored: dict[str, StoredCheckpoint] = {}
        self._loader = listing.Loader(repo.objects, skip_summary=True)
        self._heads = heads.Heads(repo)

    def prefetch(self, ids: Iterable[str]) -> None:
        """Read these checkpoints in bulk."""
        unread = [i for i in dict.fromkeys(ids) if i not in self._records]
        self._repo.objects.ahead.fetch(self.places.list_unread_shards(unread))
        trees = [tree for tree in map(self.find_tree, unread) if tree]
        self._loader.prepare(trees, format.LINES)

    def read_records(self, checkpoint_id: str) -> list[LineRecord]:
        """The record of each session of a checkpoint; [] if it is missing or unreadable."""
        if checkpoint_id not in self._records:
            place = self._find_place(checkpoint_id)
            if place:
                records = self._load_records(checkpoint_id, *place)
            else:
                records = []
            self._records[checkpoint_id] = records
        return self._records[checkpoint_id]

    def read_all_records(self, ids: Iterable[str]) -> list[LineRecord]:
        """read_records() of several checkpoints, in their order."""
        found: list[LineRecord] = []
        for checkpoint_id in ids:
            found += self.read_records(checkpoint_id)
        return found

    def has_place(self, checkpoint_id: str) -> bool:
        """Whether a checkpoint is here."""
        return self._find_place(checkpoint_id) is not None

    def find_session(self, checkpoint_id: str, session_id: str) -> LineRecord | None:
        """The record of a session in a checkpoint; None if there is none."""
        records = self.read_records(checkpoint_id) if checkpoint_id else ()
        return next((r for r in records if r["session_id"] == session_id), None)

    def find_tree(self, checkpoint_id: str) -> str:
        """The tree of a checkpoint; "" if it is not here."""
        place = self._find_place(checkpoint_id)
        return place[1] if place else ""

    def read_transcripts(self, checkpoint_id: str) -> dict[str, bytes]:
        """session id -> transcript, of the sessions of a checkpoint that have one."""
        place = self._find_place(checkpoint_id)
        if not place:
            return {}
        sessions = self._load(checkpoint_id, *place)["sessions"]
        transcripts = {s["session_id"]: self._read_transcript(checkpoint_id, s) for s in sessions}
        return {session: data for session, data in transcripts.items() if data}

    def read_telling(self, record: LineRecord) -> bytes | None:
        """The transcript of a record's session; b"" if it is not here.  None for that of a task
        that edited nothing, which is read once."""
        session = self._find_entry(record)
        if session is None:
            return b""
        head = self._heads.find_whole(session)
        if head is not None and head.is_idle:
            return None
        transcript = self._read_transcript(record["checkpoint_id"], session)
        if head is None and self._heads.note(session, transcript).is_idle:
            return None
        return transcript

    def _find_entry(self, record: LineRecord) -> SessionEntry | None:
        """What a checkpoint has of a record's session."""
        place = self._find_place(record["checkpoint_id"])
        if not place:
            return None
        sessions = self._load(record["checkpoint_id"], *place)["sessions"]
        found = [s for s in sessions if s["session_id"] == record["session_id"]]
        if not found:
            return None
        return found[-1]

    def _read_transcript(self, checkpoint_id: str, session: SessionEntry) -> bytes:
        parts = self._loader.make_parts(checkpoint_id)
        return parts.read_transcript(session["files"], session["directory"])

    def _load(self, checkpoint_id: str, ref: str, tree: str) -> StoredCheckpoint:
        if checkpoint_id not in self._stored:
            self._stored[checkpoint_id] = self._loader.load(checkpoint_id, ref, tree)
        return self._stored[checkpoint_id]

    def forget(self) -> None:
        """Forget what was read, so that memory does not grow with the number of checkpoints."""
        self._heads.save()
        self._records.clear()
        self._place_by_id.clear()
        self._stored.clear()
        self._loader.trees.clear()
        self._repo.objects.ahead.forget()

    def _find_place(self, checkpoint_id: str) -> tuple[str, str] | None:
        if checkpoint_id not in self._place_by_id:
            try:
                self._place_by_id[checkpoint_id] = self.places.find_checkpoint(checkpoint_id)
            except Error:  # unreadable
                self._place_by_id[checkpoint_id] = None
        return self._place_by_id[checkpoint_id]

    def _load_records(self, checkpoint_id: str, ref: str, tree: str) -> list[LineRecord]:
        parts = self._loader.make_parts(checkpoint_id)
        return [
            {
                "checkpoint_id": checkpoint_id,
                "session_id": entry["session_id"],
                "metadata": entry["metadata"],
                "lines": parts.read_lines(entry),
                "time": str(entry["metadata"].get("created_at") or ""),
            }
            for entry in self._load(checkpoint_id, ref, tree)["sessions"]
            if entry["session_id"]  # else the metadata is damaged, and nobody can be named
        ]


def complete_records(
    records: Sequence[LineRecord], prove: Callable[[LineRecord], LineRecord]
) -> Sequence[LineRecord]:
    """The records of a commit; those without lines get the lines that their transcripts prove."""
    complete = [record for record in records if record["lines"] is not None]
    if len(complete) == len(records):
        return records
    lacking = (record for record in records if record["lines"] is None)
    tried = [prove(record) for record in lacking]
    unproven = [record for record in tried if record["lines"] is None]
    proved = proven.drop_contested_lines([r for r in tried if r["lines"] is not None])
    return [*complete, *unproven, *proved]


def list_touched_paths(record: LineRecord) -> set[str]:
    """The paths that a session touched, by its record."""
    touched = set(format.list_strings(record["metadata"].get("files_touched")))
    by_path = record["metadata"].get("files")
    if isinstance(by_path, dict):
        touched.update(by_path)
    return touched


def _find_proof(
    readers: Readers, commit: NamedCommit, record: LineRecord, paths: Set[str]
) -> tuple[Proof | None, bool]:
    """(the lines of paths that the transcript of a session proves in a commit, whether all that
    they depend on is here).  A path that the commit does not change has none."""
    try:
        oids = _find_contents(readers.repo, commit, paths)
    except Error:
        return None, False
    if oids is None:
        return None, True
    transcript = readers.recorded.read_telling(record)
    if transcript is None:
        return ({}, {}), True  # nobody counts the turns of a task
    if len(transcript) > _LARGEST:
        return None, True
    lacks: list[str] = []

    def read(oid: str) -> bytes | None:
        data = readers.read_blob(oid)
        if data is None:
            lacks.append(oid)
        return data

    found = proven.add_proven_lines(record, transcript, oids, read, load_entry)
    return (found["lines"], found["metadata"]["turns"]), bool(transcript) and not lacks


def _find_contents(repo: Repo, commit: NamedCommit, paths: Set[str]) -> dict[str, str] | None:
    """path -> its blob, for those of paths that a commit changes; None if the commit has none of
    the paths.  Raises Error if a tree is missing."""
    known = {path: commit.contents.get(path, "") for path in paths & commit.contents.keys()}
    if known and all(known.values()):
        return known
    look = Lookup(repo.objects, find_tree(repo.objects, commit.oid))
    blobs: dict[str, str] = {}
    for path in paths:
        entry = look(path)
        if entry and entry[0] not in (TREE, COMMIT):
            blobs[path] = entry[1]
    if not blobs:
        return None
    return {path: blobs[path] for path in blobs.keys() & commit.changed}


class Attested:
    """The lines that notes of Git AI attest to sessions."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._reader = notes.Reader(objects, notes.AI)
        self._logs: dict[str, Log | None] = {}

    def prefetch(self, commits: Iterable[str]) -> None:
        """Read the notes on these commits in bulk."""
        oids = map(self._reader.find_oid, commits)
        self._objects.ahead.fetch(oid for oid in oids if oid)

    def find_oid(self, commit: str) -> str | None:
        """The blob of such a note; None without one."""
        return self._reader.find_oid(commit)

    def has_note(self, commit: str) -> bool:
        """Whether there is such a note on a commit; others may write notes of their own there."""
        return self._load_log(commit) is not None

    def find_authors(self, commit: str, path: str) -> dict[int, Author]:
        """The authors of the lines (1-based) of path in commit that a note attests."""
        log = self._load_log(commit)
        if log is None:
            return {}
        return exports.find_authors(log, commit, path)

    def forget(self) -> None:
        """Forget what was read."""
        self._logs.clear()

    def _load_log(self, commit: str) -> Log | None:
        if commit not in self._logs:
            data = self._reader.read_note(commit)
            if data:
                self._logs[commit] = exports.parse_log(decode_name(data))
            else:
                self._logs[commit] = None
        return self._logs[commit]


# The periods in which persons recorded their work.  <common>/gitcp/recording has those of this
# clone; a note on the empty tree, which is pushed with the checkpoints, has those of all clones.
_DATE = r"@?(\d+)(?: [-+]\d{4})?"


def begin_recording(repo: Repo) -> None:
    """Note that work is recorded from now on, unless it is recorded already.

    If this clone has noted nothing yet, the recording began with the first checkpoint that its
    person has written, or when gitcp was enabled for every repository of the person.
    """
    mail, seconds = _read_author(repo)
    newest = _read_newest(repo)
    is_recording = newest is not None and newest.word == BEGUN
    if newest and is_recording and newest.mail == mail:
        files.touch_private(repo, locate_recording(repo))
        return
    if newest is None:
        for start, _ in _list_writers(repo).get(mail, ()):
            seconds = min(seconds, start)
        enabled = unrecorded.read_enabled(repo)
        if enabled:
            seconds = min(seconds, enabled)
    else:
        seconds = max(seconds, newest.seconds)
    clone = newest.clone if newest else os.urandom(6).hex()
    if newest and is_recording:
        ended = [Recording(clone, ENDED, seconds, newest.mail)]
    else:
        ended = []
    _append(repo, [*ended, Recording(clone, BEGUN, seconds, mail)])


def has_ended(repo: Repo) -> bool:
    """Whether this clone has recorded, and does not any more."""
    newest = _read_newest(repo)
    return newest is not None and newest.word == ENDED


def end_recording(repo: Repo, noticed: bool = False) -> None:
    """Note that recording has ended now.  noticed: it was only noticed now, and ended at the last
    begin_recording()."""
    newest = _read_newest(repo)
    if newest and newest.word == BEGUN:
        seconds = _read_author(repo)[1]
        if noticed:
            seconds = min(seconds, int(os.stat(locate_recording(repo)).st_mtime))
        # Of one second, an end is read before a begin.
        seconds = max(seconds, newest.seconds + 1)
        _append(repo, [Recording(newest.clone, ENDED, seconds, newest.mail)])


def share_recording(repo: Repo) -> None:
    """Add this clone's lines to the note, if there are checkpoints with which it is pushed."""
    if not list_sources(repo):
        return
    recorded = set(_read(repo).splitlines())

    def edit(note: bytes | None) -> bytes:
        lines = sorted(recorded.union(decode_name(note or b"").splitlines()))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")

    if recorded:
        notes.edit_note(repo, repo.empty_tree, edit)
    files.touch_private(repo, locate_shared(repo))
    if set(_read(repo).splitlines()) != recorded:  # another process has added a line meanwhile
        files.remove_private(repo, locate_shared(repo))


def read_periods(repo: Repo, reader: notes.Reader) -> Periods:
    """The periods of recording by mail address, as far as this clone knows; without any note,
    everybody who wrote a checkpoint records since his first one."""
    try:
        shared = reader.read_note(repo.empty_tree) or b""
    except Error:
        shared = b""
    periods = line_authors.build_periods(
        line_authors.parse_lines(_read(repo) + decode_name(shared))
    )
    return periods or _list_writers(repo)


def _list_writers(repo: Repo) -> dict[str, list[tuple[int, int | None]]]:
    """mail -> [(time of the first checkpoint, None)] of those who wrote checkpoints."""
    starts: dict[str, int] = {}
    for ref in list_sources(repo):
        start = f"--glob={ref}/*" if ref == CHECKPOINTS else ref
        for row in repo.git.read_records("log", "--format=%at %ae", start, sep=b"\n"):
            seconds, _, mail = decode_name(row).partition(" ")
            starts[mail] = min(int(seconds), starts.get(mail, int(seconds)))
    return {mail: [(seconds, None)] for mail, seconds in starts.items()}


def _read_author(repo: Repo) -> tuple[str, int]:
    """The mail address and the time that git, or jj, would give a commit made now."""
    name, seconds = parse_ident(read_ident(repo, "AUTHOR"))
    date = re.fullmatch(_DATE, repo.git.env.get("GIT_AUTHOR_DATE", ""))
    mail = name.rpartition("<")[2].rstrip(">")
    if repo.jj:
        try:
            mail = jj.read_user_mail(repo.worktree) or mail
        except Error:
            pass  # jj is missing
    return mail, int(date[1]) if date else seconds


def _read(repo: Repo) -> str:
    return decode_name(files.read_cache(locate_recording(repo)))


def _read_newest(repo: Repo) -> Recording | None:
    lines = line_authors.parse_lines(_read(repo))
    if lines:
        return lines[-1]
    return None


def _append(repo: Repo, lines: list[Recording]) -> None:
    path = locate_recording(repo)
    data = _read(repo) + "".join(map(line_authors.format_line, lines))
    # Before it is written, for a kill; after it, for a process that shares what was there before.
    files.remove_private(repo, locate_shared(repo))
    files.write_private(repo, path, data.encode("utf-8", "surrogateescape"))
    files.remove_private(repo, locate_shared(repo))


class Readers:
    """What reads checkpoints, notes and blobs for all commits."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.recorded = Recorded(repo)
        self.notes = notes.Reader(repo.objects)
        self.memo = Memo(repo, self.recorded.has_place, lambda: self.periods)
        self.attested = Attested(repo.objects)

    @cached_property
    def periods(self) -> Periods:
        """The periods in which each person recorded, by mail address."""
        return read_periods(self.repo, self.notes)

    @cached_property
    def unheard(self) -> unrecorded.Record:
        """The conversations of which no hook has heard."""
        try:
            return unrecorded.read_current(self.repo)
        except (Error, OSError):  # another process looks, or nothing can be written here
            return unrecorded.Record(self.repo)

    def prefetch_notes(self, commits: Sequence[str]) -> None:
        """Read the notes on these commits in bulk."""
        oids = [self.notes.find_oid(commit) for commit in commits]
        self.repo.objects.ahead.fetch(oid for oid in oids if oid)
        self.attested.prefetch(commits)

    def read_blob(self, oid: str | None) -> bytes | None:
        """The bytes of a blob by its full oid; None if it is not here."""
        if oid and oid.isalnum():
            return self.repo.objects.read_blob(oid)
        return None

    def credit_blob(self, records: Sequence[LineRecord], path: str, oid: str) -> LineAuthors:
        """line_authors.credit_blob() with the blobs and checkpoints of this repository."""
        return line_authors.credit_blob(
            records, path, oid, self.read_blob, self.recorded.find_session
        )


@value_class
class NamedIds:
    """The ids that a commit names.  linked: it is linked to them.  others: in its message, where
    they may be mentions."""

    linked: list[str]
    others: list[str]

    def list_all(self) -> list[str]:
        return [*self.linked, *self.others]


def tell_about(change: Change) -> About:
    """What the object of a commit says whose patches were read."""
    return About(change["author"], change["committer"], change["message"])


class NamedCommit:
    """A commit by its full oid, or by another name."""

    def __init__(self, readers: Readers, oid: str) -> None:
        self.oid = oid
        self._readers = readers
        # path -> blob ("" if it is not known) of the paths that the commit changes and still has;
        # empty unless all of its patches were read
        self.contents: Mapping[str, str] = {}
        self.asked: set[str] | None = set()  # paths whose lines are asked for; None: all
        self._proven: dict[tuple[str, str], LineRecord] = {}

    @cached_property
    def about(self) -> About:
        """What the commit object says; empty if it is missing."""
        parsed = read_commit(self._readers.repo.objects, self.oid)
        if not parsed:
            return About("", "", b"")
        return About(parsed["author"], parsed["committer"], encode_name(parsed["message"]))

    @cached_property
    def note(self) -> bytes:
        """The note with its links; empty without one."""
        return self._readers.notes.read_note(self.oid) or b""

    @cached_property
    def ids(self) -> list[str]:
        """The ids of its checkpoints."""
        if not self.named.others:
            return self.named.linked
        meant = recorded_edits.select_meant(
            self._readers.repo.objects,
            self._readers.recorded.places,
            self.oid,
            self.about.message,
            self.named.others,
        )
        return [*self.named.linked, *meant]

    @cached_property
    def named(self) -> NamedIds:
        """The ids in its message and its note."""
        return NamedIds(*links.find_ids(self.about.message, self.note))

    @cached_property
    def stored(self) -> Sequence[LineRecord]:
        """The records of its sessions, as they are stored."""
        return self._readers.recorded.read_all_records(self.ids)

    @cached_property
    def records(self) -> Sequence[LineRecord]:
        """The records of its sessions; those without lines get the lines that their transcripts
        prove."""
        return complete_records(self.stored, self._prove)

    def is_read(self) -> bool:
        """Whether it is known what the commit object says."""
        return "about" in vars(self)

    def note_about(self, about: About) -> None:
        """Note what the commit object says."""
        self.about = about

    def note_change(self, change: Change, is_whole: bool) -> None:
        """Note what was read of the commit, and that the lines of all its paths will be asked for.
        is_whole: whether none of its patches is missing."""
        self.about = tell_about(change)
        self.asked = None
        if len(change["parents"]) < 2 and is_whole:
            self.contents = {p["path"]: p["oid"] for p in change["patches"] if p["path"]}

    def note_asked(self, path: str) -> None:
        """Note that the lines of a path will be asked for."""
        if self.asked is not None:
            self.asked.add(path)

    def list_records(self, path: str) -> Sequence[LineRecord]:
        """Like records, but only the lines of asked paths are proved, and only by the sessions that
        touched this one."""
        if "records" in vars(self):
            return self.records

        def prove(record: LineRecord) -> LineRecord:
            if path in list_touched_paths(record):
                return self._prove(record, self.asked)
            return record

        return complete_records(self.stored, prove)

    def _prove(self, record: LineRecord, paths: Set[str] | None = None) -> LineRecord:
        """A record with the lines of paths (None: all) that its transcript proves, if it is
        here."""
        touched = list_touched_paths(record)
        chosen = touched
        if paths is not None:
            chosen = touched & paths
        tree = self._readers.recorded.find_tree(record["checkpoint_id"])
        name = f"{self.oid} {tree} {record['session_id']}"
        if chosen != touched and not self._readers.memo.has(name, depends=False):
            name += "".join(f"\0{path}" for path in sorted(chosen))
        key = record["checkpoint_id"], name
        if key not in self._proven:
            self._proven[key] = self._find_proven(record, name, chosen)
        return self._proven[key]

    def _find_proven(self, record: LineRecord, name: str, paths: Set[str]) -> LineRecord:
        readers = self._readers
        proof: Proof | None = readers.memo.find(
            name, False, lambda: _find_proof(readers, self, record, paths)
        )
        if proof is None:
            return record
        lines, turns = proof
        return {**record, "metadata": {**record["metadata"], "turns": turns}, "lines": lines}

    @cached_property
    def changed(self) -> Set[str]:
        """The paths that it changes, of a merge those that differ from all parents."""
        if self.contents:
            return self.contents.keys()
        commit = read_commit(self._readers.repo.objects, self.oid)
        if commit:
            return set(read_changes(self._readers.repo.objects, commit)[1])
        return set()

    def find_unheard(self, path: str) -> Unheard | None:
        """The session of which no hook has heard, and which may have written its change of a
        path."""
        if self._made is None:
            return None
        return self._readers.unheard.find_author(path, self._made)

    @cached_property
    def _made(self) -> unrecorded.ChangeTimes | None:
        """When its change was made; None if it is missing, or not this person's."""
        commit = read_commit(self._readers.repo.objects, self.oid)
        if commit and self._readers.unheard.is_own(commit):
            return unrecorded.date_commit(self._readers.repo.objects, commit)
        return None

    def is_merge(self) -> bool:
        """Whether it has more than one parent."""
        parsed = read_commit(self._readers.repo.objects, self.oid)
        return parsed is not None and len(parsed["parents"]) > 1


class CommittedPath:
    """A path in a commit.

    hunks: of git's diff of the commit; None if they were not read.  before: line -> its earlier
    spot, None for a new line; only of the lines that were traced.  sources: the commits that they
    came from, once authors are known.  authors: the result of
    Evidence.find_line_authors(); None until it is called.  times: line -> when it was written, in
    ns, of uncommitted lines; 0 if unknown.
    """

    def __init__(self, readers: Readers, commit: NamedCommit, path: str) -> None:
        self._readers = readers
        self.commit = commit
        self.path = path
        self.hunks: Sequence[Hunk] | None = None
        self.before: dict[int, Spot | None] = {}
        self.sources: set[str] = set()
        self.authors: LineAuthors | None = None
        self.times: Mapping[int, int] = {}

    @property
    def spec(self) -> str:
        """Its name for git."""
        return f"{self.commit.oid}:{self.path}"

    @cached_property
    def oid(self) -> str | None:
        """Its blob; None if it is missing."""
        return self._readers.repo.objects.ahead.resolve([self.spec])[self.spec]

    @cached_property
    def content(self) -> Sequence[bytes]:
        """Its lines; [] if the blob is not here."""
        data = self._readers.read_blob(self.oid)
        if data is None:
            return []
        return data.split(b"\n")

    @cached_property
    def recorded(self) -> LineAuthors:
        """The authors of its lines that are recorded, aligned with git's hunks if these were
        read."""
        records = self.commit.list_records(self.path)
        lines: LineAuthors = {}
        if records and self.oid:
            lines = self._readers.credit_blob(records, self.path, self.oid)
        if lines and self.hunks is not None:
            lines = line_authors.align_authors(lines, self.hunks, lambda: self.content)
        return lines

    @cached_property
    def beside(self) -> LineAuthors:
        """The authors of its lines that a transcript proves by the lines beside them."""
        records = self.commit.list_records(self.path)
        if self.oid:
            return line_authors.credit_beside(records, self.path, self.oid)
        return {}

    @cached_property
    def stated(self) -> LineAuthors:
        """The recorded authors, else those that a note of Git AI attests."""
        attested = self._readers.attested.find_authors(self.commit.oid, self.path)
        return line_authors.fill_unknown(self.recorded, attested)

    def has_unrecorded(self, lines: Iterable[int]) -> bool:
        """Whether some authors of the path are recorded, but not those of all these lines."""
        return bool(self.recorded) and any(line not in self.recorded for line in lines)

    def note_oid(self, oid: str | None) -> None:
        """Note its blob."""
        self.oid = oid

    def note_patch(self, oid: str | None, hunks: Sequence[Hunk]) -> None:
        """Note its blob, and git's diff of the commit."""
        self.oid = oid
        self.hunks = hunks

    def note_spots(self, spots: Mapping[int, Spot | None]) -> None:
        """Note where lines were traced to."""
        self.before.update(spots)
        self.authors = None

    def forget_authors(self) -> None:
        """Have the authors of the lines found again."""
        self.authors = None

    def credit(self, authors: LineAuthors, sources: set[str]) -> None:
        """Note the authors of the lines, and the commits that these were traced to."""
        self.authors = authors
        self.sources = sources

    def take_open(self, lines: OpenLines, authors: LineAuthors) -> None:
        """Note what is known of lines that are not committed."""
        self.authors = authors
        self.times = lines.times
        self.content = lines.content

    def align(self, hunks: Sequence[Hunk]) -> None:
        """Set the hunks, and forget what depends on them, so that it is computed again."""
        self.hunks = hunks
        for name in ("recorded", "stated"):
            vars(self).pop(name, None)
