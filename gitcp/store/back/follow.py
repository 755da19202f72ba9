"""Bringing sessions, streams and the journal up to date after a step changed the worktree.

A step is nobody's work: files that it put back do not become edits of the turn under way, and
content that it took back is not compared with later commits (doc/behaviour.md "Going back").
"""

from __future__ import annotations

from gitcp.core.back import lineage
from gitcp.core.credit import entries
from gitcp.core.credit.evidence import RESTORED
from gitcp.core.git.porcelain import GONE
from gitcp.errors import Busy, Moved
from gitcp.lock import exclusive
from gitcp.store.git import refs
from gitcp.store.git.commit import write_commit
from gitcp.store.git.tree import Lookup, edit_tree, find_tree
from gitcp.store.journal import work as open_work
from gitcp.store.journal.journal import Journal, pack_edits, read, read_clock
from gitcp.store.journal.last_seen import LastSeen
from gitcp.store.session import agent_messages, markers, turn_log
from gitcp.store.session import state as states
from gitcp.store.snapshot import blobs
from gitcp.store.stream import recall, shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.core.back.plan import Action
    from gitcp.core.record_types import Entry, File, JournalLine, State, Stream, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Now = Mapping[str, Entry | None]  # path -> its entry after the step

    Files = dict[str, File]


_LISTED = 100
_NOBODY = entries.UNKNOWN, RESTORED  # the author of a step's edits, and the evidence


def tell_agents(repo: Repo, what: str, paths: Collection[str]) -> list[str]:
    """Leave a message with the changed files for the next prompt of every session that is open
    here or that wrote one of them; return a sentence for each session."""
    names, writers = sorted(paths), entries.list_writers(read(repo), paths)
    listed = "\n".join(f"- {path}" for path in names[:_LISTED])
    more = f"\n- and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    begin = f"The user ran 'gitcp {what}'. These files changed since you last saw them; read them"
    text = f"{begin} again before you rely on them:\n{listed}{more}"
    notes = []
    for session_id in states.list_ids(repo):
        state = states.peek(repo, session_id)
        if state is None or (state.get("phase") == "ended" and session_id not in writers):
            continue
        if markers.is_home(repo, state):
            agent_messages.leave(repo, session_id, text)
            notes.append(f"session {session_id[:8]} is told with its next prompt")
    return notes


def follow_step(
    repo: Repo, objects: Objects, step_id: str, actions: Sequence[Action], merged: Collection[str]
) -> list[str]:
    """Bring the journal, the turns under way and the streams up to date after a step; return
    sentences about the sessions at work."""
    _note_step(repo, objects, step_id, actions, merged)
    return _follow_files(repo, objects, [action["path"] for action in actions])


def _note_step(
    repo: Repo, objects: Objects, step_id: str, actions: Iterable[Action], merged: Collection[str]
) -> None:
    """Record the edits of a step that the journal lacks, as nobody's work.

    Merged paths are left out: their content is new, and the next look records it."""
    with Journal(repo) as journal:
        time, known = read_clock(repo), LastSeen(repo, objects, journal.lines)
        edits = [
            {**entries.build_edit(a["path"], a["was"], a["now"], *_NOBODY, time), "step": step_id}
            for a in actions
            if a["path"] not in merged and known.get_entry(a["path"]) != a["now"]
        ]
        journal.append(pack_edits(objects, edits))


def _follow_files(repo: Repo, objects: Objects, paths: Collection[str]) -> list[str]:
    """Set these paths in the baseline of every turn under way here to their current entries;
    return sentences about the sessions at work."""
    if not paths:
        return []
    current = blobs.read_paths(repo, objects, paths, write=True)
    head = Lookup(objects, find_tree(objects, refs.read_head(repo)))
    notes = []
    for session_id in states.list_ids(repo):
        baseline = turn_log.read_baseline(repo, session_id)
        if baseline is None:
            continue
        state = states.peek(repo, session_id)
        dirty = {**baseline["dirty"], **current}
        dirty = {path: entry for path, entry in dirty.items() if entry != head(path)}
        turn_log.set_dirty(repo, session_id, baseline, dirty)
        if state and state.get("phase") == "active":
            notes.append(f"session {session_id[:8]} is at work here: its files changed under it")
    try:
        _follow_streams(repo, objects, current, head)
    except (Busy, Moved) as e:
        notes.append(f"the streams are brought up to date by the next turn: {e}")
    return notes


def _follow_streams(repo: Repo, objects: Objects, current: Now, head: Lookup) -> None:
    """Bring every live stream of this worktree, and the states on it, up to date.

    current: the paths that the step touched.  head: HEAD's tree.  Raises Moved when a stream moves
    meanwhile and Busy when a session stays locked; the stream is then as before, and the next
    turn brings it up to date.
    """
    for ref, sessions in _list_live(repo).items():
        if tip := shadow_refs.peek_tip(objects, ref):
            stream = exclusive(repo, f"stream-{repo.worktree_hash}")
            with states.held(repo, sessions), Journal(repo) as held, stream:
                _follow_stream(held, objects, tip, sessions, current, head)


def _list_live(repo: Repo) -> dict[str, list[str]]:
    """stream's ref -> the sessions of this worktree that have files on it."""
    streams: dict[str, list[str]] = {}
    for name in states.list_ids(repo):
        state = states.peek(repo, name)
        if not state or not markers.is_home(repo, state):
            continue
        for stream in state["streams"]:
            if not stream["ref"].startswith(shadow_refs.ARCHIVE):
                streams.setdefault(stream["ref"], []).append(state["session_id"])
    return streams


def _follow_stream(
    held: Journal, objects: Objects, tip: Tip, sessions: list[str], current: Now, head: Lookup
) -> None:
    repo, lines, changed = held.repo, held.lines, []
    for session_id in sorted(set(sessions)):
        state = recall.recall_state(repo, objects, session_id)
        streams = state["streams"] if state else ()
        stream = next((s for s in streams if s["id"] == tip["stream"]), None)
        if state and stream:
            files = _list_work(lines, state, stream["files"], current, head)
            if files != stream["files"]:
                _record_files(held, state, stream, files)
                changed.append(state)
    look = Lookup(objects, tip["tree"])
    edits = {path: entry for path, entry in current.items() if look(path) != entry}
    if not edits and not changed:
        return
    for state in changed:
        state["revision"] = state.get("revision", 0) + 1
    oid = _write_tip(repo, objects, tip, edits, changed)
    refs.update_refs(repo, [(tip["ref"], oid, tip["oid"])], "gitcp: rewind")
    for state in changed:
        open_work.save(repo, state)


def _record_files(held: Journal, state: State, stream: Stream, files: Files) -> None:
    """Record in the journal that a stream has exactly these files of a session."""
    out = stream["files"].keys() - files.keys()
    changed = {path: file for path, file in files.items() if file != stream["files"].get(path)}
    for turn in {file.get("turn_id", "") for file in changed.values()} or {""}:
        entries = {
            path: (file["mode"], file["oid"]) if file["oid"] else None
            for path, file in changed.items()
            if file.get("turn_id", "") == turn
        }
        open_work.record_checkpoint(held, state, stream["id"], entries, turn, {stream["id"]: out})
    open_work.read_streams(held.repo, state)


def _write_tip(
    repo: Repo,
    objects: Objects,
    tip: Tip,
    edits: Mapping[str, Entry | None],
    changed: list[State],
) -> str:
    tree = edit_tree(objects, tip["tree"], edits)
    for state in changed:
        blob = objects.write("blob", states.dump_state(state))
        path = f"{shadow_refs.METADATA}{state['session_id']}/state.json"
        tree = edit_tree(objects, tree, {path: ("100644", blob)})
    about = (tip["session_id"], tip["base"], tip["stream"])
    message = shadow_refs.build_message(shadow_refs.FOLLOWED, *about)
    return write_commit(objects, repo, tree, [tip["oid"]], message)


def _list_work(
    lines: list[JournalLine], state: State, files: Files, current: Now, head: Lookup
) -> Files:
    """The files of a session after the paths of current took their new entries.

    A path that equals HEAD's is not the session's work any more.  A path to whose content the
    session contributed, by the journal, is its work again.  Others stay as recorded.
    """
    recorded, work = dict(files), open_work.Work(lines, state["session_id"])
    for path, entry in current.items():
        if entry == head(path):
            recorded.pop(path, None)
        elif work.is_present(path):
            mode, oid = entry or (GONE, "")
            edits = [line for line in entries.list_edits(lines) if line["path"] == path]
            authors = map(entries.get_author, lineage.walk_back(edits))
            turn = next((turn for owner, turn, _ in authors if owner == state["session_id"]), "")
            recorded[path] = {"mode": mode, "oid": oid, "turn_id": turn}
    return recorded
