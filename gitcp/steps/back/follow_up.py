"""Bringing sessions, streams and the journal up to date after a step changed the worktree.

A step is nobody's work: files that it put back do not become edits of the turn under way, and
content that it took back is not compared with later commits (doc/behaviour.md "Going back").
"""

from __future__ import annotations

from gitcp.errors import Busy, Moved
from gitcp.git import refs
from gitcp.git.files import exclusive
from gitcp.git.objects import Lookup, edit_tree, find_tree, write_commit
from gitcp.record import session
from gitcp.record.journal import Journal, credit, read_clock, read_journal, read_last_seen
from gitcp.record.journal.edits import record_checkpoint
from gitcp.record.journal.stretches import collect_work
from gitcp.record.looks import step_edits
from gitcp.record.session import others
from gitcp.record.snapshot.scan import read_paths
from gitcp.record.stream import ARCHIVE, FOLLOWED, METADATA, peek_tip, save_work, set_streams
from gitcp.record.stream.stream_list import recall_state
from gitcp.record.stream.writing import build_message
from gitcp.steps.whose import lineage
from gitcp.text.ids import GONE
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.steps.back.plan import Action
    from gitcp.text.record_types import Entry, File, State, Stream, Tip, Version

    Now = Mapping[str, Entry | None]  # path -> its entry after the step
    Files = dict[str, File]

_LISTED = 100


def tell_agents(repo: Repo, what: str, paths: Collection[str]) -> list[str]:
    """Leave a message with the changed files for the next prompt of every session that is open
    here or that wrote one of them; return a sentence for each session."""
    names = sorted(paths)
    writers = credit.list_writers(read_journal(repo), paths)
    listed = "\n".join(f"- {path}" for path in names[:_LISTED])
    more = ""
    if len(names) > _LISTED:
        more = f"\n- and {len(names) - _LISTED} more"
    begin = f"The user ran 'gitcp {what}'. These files changed since you last saw them; read them"
    text = f"{begin} again before you rely on them:\n{listed}{more}"
    notes = []
    for session_id in others.list_state_ids(repo):
        state = others.peek_state(repo, session_id)
        if state is None or (state.get("phase") == "ended" and session_id not in writers):
            continue
        if session.is_home(repo, state):
            others.leave_message(repo, session_id, text)
            notes.append(f"session {shorten_id(session_id)} is told with its next prompt")
    return notes


def follow_step(
    repo: Repo, step_id: str, actions: Sequence[Action], merged: Mapping[str, Sequence[str]]
) -> list[str]:
    """Bring the journal, the turns under way and the streams up to date after a step; return
    sentences about the sessions at work.  merged: as Wish has it."""
    note_step(repo, step_id, actions, merged)
    return _follow_files(repo, [action.path for action in actions])


def note_step(
    repo: Repo, step_id: str, actions: Iterable[Action], merged: Mapping[str, Sequence[str]]
) -> None:
    """Record the edits of a step that the journal lacks, as nobody's work.  merged: as Wish has
    it."""
    with Journal(repo) as held:
        time = read_clock(repo)
        known = read_last_seen(repo, held.lines)
        changed: dict[str, tuple[Version, Version]] = {}
        for action in actions:
            if known.get_entry(action.path) != action.now:
                changed[action.path] = action.was, action.now
        held.append_edits(step_edits.build_edits(step_id, changed, merged, time))


def _follow_files(repo: Repo, paths: Collection[str]) -> list[str]:
    """Set these paths in the baseline of every turn under way here to their current entries;
    return sentences about the sessions at work."""
    if not paths:
        return []
    current = read_paths(repo, paths, write=True)
    head = Lookup(repo.objects, find_tree(repo.objects, refs.read_head(repo)))
    notes = []
    for session_id in others.list_state_ids(repo):
        baseline = session.read_baseline(repo, session_id)
        if baseline is None:
            continue
        state = others.peek_state(repo, session_id)
        dirty = {**baseline["dirty"], **current}
        dirty = {path: entry for path, entry in dirty.items() if entry != head(path)}
        others.set_dirty(repo, session_id, baseline, dirty)
        if state and state.get("phase") == "active":
            name = shorten_id(session_id)
            notes.append(f"session {name} is at work here: its files changed under it")
    try:
        _follow_streams(repo, current, head)
        _note_brought_back(repo, {path for path, entry in current.items() if entry != head(path)})
    except (Busy, Moved) as e:
        notes.append(f"what the sessions saved is brought up to date by the next prompt: {e}")
    return notes


def _note_brought_back(repo: Repo, changed: Collection[str]) -> None:
    """Note in the states of sessions that the worktree has work of theirs again which no stream
    has: a commit asks for it.  changed: the paths that a step touched and that differ from HEAD."""
    lines = read_journal(repo)
    for session_id in sorted(credit.list_writers(lines, changed)):
        work = collect_work(lines, session_id)
        present = {path for path in changed if work.is_present(path)}
        if present:
            _note_unstored(repo, session_id, present)


def _note_unstored(repo: Repo, session_id: str, present: set[str]) -> None:
    """Note in a session's state those of some paths with its work that no stream has."""
    with others.held_state(repo, [session_id]):
        state = recall_state(repo, session_id)
        if state is None or not session.is_home(repo, state):
            return
        stored: set[str] = set()
        for stream in state["streams"]:
            stored.update(stream["files"])
        unstored = present - stored
        if unstored:
            state["unstored"] = sorted(unstored.union(state.get("unstored", ())))
            save_work(repo, state)


def _follow_streams(repo: Repo, current: Now, head: Lookup) -> None:
    """Bring every live stream of this worktree, and the states on it, up to date.

    current: the paths that the step touched.  head: HEAD's tree.  Raises Moved when a stream moves
    meanwhile and Busy when a session stays locked; the stream is then as before, and the next
    turn brings it up to date.
    """
    for ref, session_ids in _list_live(repo).items():
        tip = peek_tip(repo.objects, ref)
        if tip:
            lock = exclusive(repo, f"stream-{repo.worktree_hash}")
            with others.held_state(repo, session_ids), Journal(repo) as held, lock:
                _Following(held, tip, current, head).follow(session_ids)


def _list_live(repo: Repo) -> dict[str, list[str]]:
    """stream's ref -> the sessions of this worktree that have files on it."""
    streams: dict[str, list[str]] = {}
    for name in others.list_state_ids(repo):
        state = others.peek_state(repo, name)
        if not state or not session.is_home(repo, state):
            continue
        for stream in state["streams"]:
            if not stream["ref"].startswith(ARCHIVE):
                streams.setdefault(stream["ref"], []).append(state["session_id"])
    return streams


class _Following:
    """Brings one stream up to date.  current, head: as for _follow_streams()."""

    def __init__(self, held: Journal, tip: Tip, current: Now, head: Lookup) -> None:
        self._held = held
        self._repo = held.repo
        self._lines = held.lines
        self._tip = tip
        self._current = current
        self._head = head

    def follow(self, session_ids: Iterable[str]) -> None:
        """Bring the stream and the states of its sessions up to date."""
        repo = self._repo
        tip = self._tip
        changed: list[State] = []
        for session_id in sorted(set(session_ids)):
            state = self._update_state(session_id)
            if state:
                changed.append(state)
        look = Lookup(repo.objects, tip["tree"])
        edits = {path: entry for path, entry in self._current.items() if look(path) != entry}
        if not edits and not changed:
            return
        for state in changed:
            state["revision"] = state.get("revision", 0) + 1
        oid = self._write_tip(edits, changed)
        refs.update_refs(repo, [(tip["ref"], oid, tip["oid"])], "gitcp: rewind")
        for state in changed:
            save_work(repo, state)

    def _update_state(self, session_id: str) -> State | None:
        """Record what a session has on the stream now; return its state if that is not as
        before."""
        state = recall_state(self._repo, session_id)
        if state is None:
            return None
        for stream in state["streams"]:
            if stream["id"] == self._tip["stream"]:
                work = self._list_work(state, stream["files"])
                if work == stream["files"]:
                    return None
                self._record_files(state, stream, work)
                return state
        return None

    def _record_files(self, state: State, stream: Stream, work: Files) -> None:
        """Record in the journal that the stream has exactly these files of a session."""
        out = stream["files"].keys() - work.keys()
        by_turn: dict[str, dict[str, Version]] = {}
        for path, file in work.items():
            if file == stream["files"].get(path):
                continue
            entry = None
            if file["oid"]:
                entry = file["mode"], file["oid"]
            by_turn.setdefault(file.get("turn_id", ""), {})[path] = entry
        for turn, entries in (by_turn or {"": {}}).items():
            record_checkpoint(self._held, state, stream["id"], entries, turn, {stream["id"]: out})
        set_streams(self._repo, state)

    def _write_tip(self, edits: Now, changed: Iterable[State]) -> str:
        repo = self._repo
        tip = self._tip
        tree = edit_tree(repo.objects, tip["tree"], edits)
        for state in changed:
            blob = repo.objects.write("blob", session.dump_state(state))
            path = f"{METADATA}{state['session_id']}/state.json"
            tree = edit_tree(repo.objects, tree, {path: ("100644", blob)})
        message = build_message(FOLLOWED, tip["session_id"], tip["base"], tip["stream"])
        return write_commit(repo, tree, [tip["oid"]], message)

    def _list_work(self, state: State, recorded: Files) -> Files:
        """The files of a session after the paths of current took their new entries.

        A path that equals HEAD's is not the session's work any more.  A path to whose content the
        session contributed, by the journal, is its work again.  Others stay as recorded.
        """
        found = dict(recorded)
        work = collect_work(self._lines, state["session_id"])
        for path, entry in self._current.items():
            if entry == self._head(path):
                found.pop(path, None)
            elif work.is_present(path):
                mode, oid = entry or (GONE, "")
                turn = self._find_turn(path, state["session_id"])
                found[path] = {"mode": mode, "oid": oid, "turn_id": turn}
        return found

    def _find_turn(self, path: str, session_id: str) -> str:
        """The last turn of a session that has made the present content of a path; '' for none."""
        edits = [line for line in credit.list_edits(self._lines) if line.path == path]
        for line in lineage.walk_back(edits):
            owner, turn, _ = line.author
            if owner == session_id:
                return turn
        return ""
