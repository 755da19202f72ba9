"""What a commit settles of the open edits of a worktree; they are looked at before it."""

from __future__ import annotations

import os

from gitcp.errors import Error
from gitcp.git import files, refs
from gitcp.git.objects import Lookup, find_file
from gitcp.record import looks, session
from gitcp.record.journal import (
    NAME,
    VISITED,
    Journal,
    LastSeen,
    credit,
    read_clock,
    read_journal,
)
from gitcp.record.journal.line_kinds import Settlement
from gitcp.record.journal.stretches import collect_work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.record.journal.line_kinds import Edit, JournalLine
    from gitcp.record.journal.stretches import Stretch
    from gitcp.text.record_types import Commit, Marker, Staged, Version

    Changes = Mapping[str, Staged]

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
    with Journal(repo, visitors=visitors, guests=guests, committers=committers) as held:
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
            answers[base] = _leads_on(repo, base, head)
        return answers[base]

    return has_stayed


def _leads_on(repo: Repo, base: str, head: str) -> bool:
    """Whether HEAD came from a commit to head, or from head over it to what HEAD is now."""
    if refs.leads_to(repo, base, head):
        return True
    head_now = refs.read_head(repo) or head
    if head == head_now:
        return False
    return refs.leads_to(repo, head, base) and refs.leads_to(repo, base, head_now)


def _look_at_open(held: Journal, paths: Iterable[str]) -> None:
    """Look at the paths, and at those of open edits that are not the person's."""
    open_paths = set()
    for edit in credit.list_open_edits(held.lines):
        if not edit.is_persons_alone:
            open_paths.add(edit.path)
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
    if not os.path.exists(repo.join_own(NAME)):
        return
    with Journal(repo) as held:
        recorded = _is_recorded(held.lines, commit["oid"])
        if not held.lines or (recorded and not credit.list_open_edits(held.lines)):
            return
        _look_at_open(held, ())  # a commit may have taken its time
        settling = _Settling(held, commit, changes)
        at = read_clock(repo)
        open_edits = credit.list_open_edits(held.lines)
        # In a commit that is linked, lines without an author are unknown anyway.
        are_doubts_noted = not recorded and not sessions
        _note_unknown(repo, commit, changes, open_edits, are_doubts_noted)
        for session_id, paths in _map_paths(open_edits).items():
            if sessions is None:
                is_decided = session_id not in excluded
            else:
                is_decided = session_id in sessions
            if is_decided or settling.settles_any(paths):  # else all its edits stay open
                settling.add_session(
                    session_id, is_decided, is_linked=sessions is not None and is_decided
                )
        line = settling.build_line(at, with_transcripts=not recorded)
        if not recorded or credit.list_open_edits([*held.lines, line]) != open_edits:
            held.append([line])
            _forget_strangers(repo, open_edits, held)
            held.cut_back()


def _map_paths(edits: Iterable[Edit]) -> dict[str, set[str]]:
    """session -> the paths of its edits."""
    paths: dict[str, set[str]] = {}
    for edit in edits:
        if edit.by_session:
            paths.setdefault(edit.by_session, set()).add(edit.path)
    return paths


def _is_recorded(lines: Iterable[JournalLine], oid: str) -> bool:
    """Whether a line says what a commit has settled."""
    return any(isinstance(line, Settlement) and line.commit == oid for line in lines)


class _Settling:
    """What a commit settles: the paths that are in the worktree as it has them, and the edits of
    each session there and at other paths."""

    def __init__(self, held: Journal, commit: Commit, changes: Changes) -> None:
        self._repo = held.repo
        self._lines = held.lines
        self._oid = commit["oid"]
        self._changes = changes
        self._tree = Lookup(held.repo.objects, commit["tree"])
        self._seen: LastSeen = held.read_last_seen()
        self._settled = self._list_settled()
        self._left: dict[str, list[Any]] = {}
        self._taken: dict[str, list[Any]] = {}
        self._linked: list[str] = []

    def _find_committed(self, path: str) -> Version:
        return find_file(self._tree, path)

    def _list_settled(self) -> list[str]:
        """The paths that the worktree has as the commit has them, with those that files were
        moved from."""
        settled = []
        for path in self._changes:
            if self._seen.get_entry(path) == self._find_committed(path):
                settled.append(path)
        sources = set()
        for edit in credit.list_edits(self._lines):
            if edit.follows and edit.path in settled:
                sources.add(edit.follows)
        for path in sorted(sources):
            if not (self._seen.get_entry(path) or self._find_committed(path)):
                settled.append(path)
        return settled

    def settles_any(self, paths: set[str]) -> bool:
        """Whether the commit settles one of these paths."""
        return not paths.isdisjoint(self._settled)

    def add_session(self, session_id: str, is_decided: bool, is_linked: bool) -> None:
        """Divide a session's open edits into those that the commit takes and those that it leaves.

        is_decided: whether the session's part in the commit is; otherwise it takes none.
        is_linked: whether the commit is linked with the session."""
        work = collect_work(self._lines, session_id)
        has_left = False
        for path in work.list_paths():
            for stretch in work.list_stretches(path):
                names = [edit.name for edit in stretch.edits]
                if is_decided and self._has_all(path, stretch):
                    if path not in self._settled:
                        self._taken.setdefault(path, []).extend(names)
                elif path in self._settled:
                    self._left.setdefault(path, []).extend(names)
                    has_left = True
        if has_left and is_linked:
            self._linked.append(session_id)

    def _has_all(self, path: str, stretch: Stretch) -> bool:
        """Whether the commit has all of a stretch at a path."""
        from gitcp.record.match import remains

        committed = self._find_committed(path)
        record = stretch.build_record(path)
        entries = [self._seen.get_entry(path)]
        if stretch.live and path in self._changes:  # a commit of all its lines settles a stretch
            entries.append(committed)
        read = self._repo.objects.read_blob
        for entry in entries:
            if remains.explain_settled(record, self._changes, entry, committed, read):
                return True
        return False

    def build_line(self, at: int, with_transcripts: bool) -> Settlement:
        """The commit's line.  with_transcripts: with the ends of those of running turns."""
        keys: dict[str, Any] = {"commit": self._oid, "settled": self._settled, "at": at}
        parts = {"left": self._left, "taken": self._taken, "linked": self._linked}
        keys |= {key: part for key, part in parts.items() if part}
        if with_transcripts:
            ends = _read_transcript_ends(self._repo)
            if ends:
                keys["transcripts"] = ends
        return Settlement(keys)


def _note_unknown(
    repo: Repo,
    commit: Commit,
    changes: Changes,
    open_edits: Iterable[Edit],
    are_doubts_noted: bool,
) -> None:
    """Note on a commit with these changes that a session of another repository wrote there, or
    may have."""
    strange = [edit for edit in open_edits if edit.path in changes and credit.is_strange(edit)]
    is_doubt_alone = all(map(credit.is_in_doubt, strange))
    if not strange or (is_doubt_alone and not are_doubts_noted):
        return

    from gitcp.checkpoints import links, notes

    line = links.IN_DOUBT if is_doubt_alone else links.UNKNOWN
    notes.edit_note(repo, commit["oid"], lambda note: links.add_unknown(note or b"", line))


def unlink_unfounded(
    repo: Repo, session_id: str, before: list[JournalLine], after: list[JournalLine]
) -> dict[str, set[str]]:
    """Note on commits that they are not linked to this session if their links rest on edits that
    were taken back from it: by the journal's lines before that and after.  Return the commits that
    have others of its edits, each with its paths that have none.

    A link by hand stays, and one to a checkpoint with more than this session's part of the commit.
    """
    from gitcp.record.journal import cuts

    unfounded = cuts.list_unfounded(before, after, session_id)
    for oid, paths in unfounded.wholly.items():
        _deny_links(repo, session_id, oid, paths)
    return unfounded.partly


def _deny_links(repo: Repo, session_id: str, oid: str, paths: set[str]) -> None:
    """Note on a commit that the checkpoints which have nothing but these paths of a session are
    not its."""
    from gitcp.checkpoints import links, listing, notes
    from gitcp.checkpoints.stored import read_checkpoint

    texts = listing.read_texts(repo.objects, oid)
    carried = links.list_carried(texts.message, texts.note)
    for checkpoint_id in carried.keys() - links.list_by_hand(texts.note):
        try:
            stored = read_checkpoint(repo, checkpoint_id)
        except Error:
            continue  # it is not in this clone, or damaged
        session_ids = [each["session_id"] for each in stored["sessions"]]
        if session_ids == [session_id] and paths.issuperset(
            stored["summary"].get("files_touched", ())
        ):
            notes.deny_link(repo, oid, checkpoint_id, _WAITED)


def _forget_strangers(repo: Repo, before: list[Edit], held: Journal) -> None:
    """Remove the marker of such edits if all that were open before are settled."""
    if not any(map(credit.is_strange, before)):
        return
    if not any(map(credit.is_strange, credit.list_open_edits(held.lines))):
        files.remove_private(repo, repo.join_own(VISITED))


def _read_transcript_ends(repo: Repo) -> dict[str, dict[str, Any]]:
    """The turn, and size of its transcript, of active sessions whose client does not report its
    tools."""
    ends: dict[str, dict[str, Any]] = {}
    for marker in session.read_recent(repo):
        if marker["phase"] != "active" or marker["tool_events"]:
            continue
        base = session.read_baseline(repo, marker["session_id"])
        size = session.read_size(base.get("transcript")) if base else 0
        if base and size:
            ends[marker["session_id"]] = {"turn": str(base.get("turn", "")), "size": size}
    return ends
