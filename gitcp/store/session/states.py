"""The state of a session: one JSON file, changed under its lock, never half written."""

from __future__ import annotations

import os
import time
from itertools import islice

from gitcp import VERSION, files, memory, trace
from gitcp.core import credit, ids, json, shapes
from gitcp.errors import Busy, Error
from gitcp.files import Damaged, read_file
from gitcp.lock import exclusive
from gitcp.record import format_now
from gitcp.store import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, TypedDict

    from gitcp.agents import Client
    from gitcp.core.record_types import Entry, JournalLine, Marker, Record, State
    from gitcp.repo import Repo

    Baseline = dict[str, Any]  # the keys above

    class Intent(TypedDict):
        """expected: HEAD's commit (zeros: unborn).  tree: its tree.  tip: the checkpoint that
        holds dirty, the entries that differed from it when the hooks began.  stash: the newest
        stash then.  Set before HEAD moves: commit; entries, its part of the person's index;
        mark, by which its index.lock is known; noted, whether the id goes into a note."""

        session_id: str
        checkpoint_id: str
        tool_use_id: str
        expected: str
        tree: str
        tip: str
        dirty: dict[str, Entry | None]
        stash: str
        commit: str
        mark: list[int]
        noted: bool
        entries: dict[str, Entry | None]


_MANY = 1000  # files and turns: indenting more costs more than the rest of a hook


def make_id() -> str:
    """A new id for a stream, a turn or a checkpoint: 12 hex digits."""
    return os.urandom(6).hex()


def get_folder(repo: Repo) -> str:
    """The directory of the states, one for all worktrees of a repository."""
    return os.path.join(repo.common, "entire-sessions")


def list_state_ids(repo: Repo) -> list[str]:
    """The ids of all sessions that have a state file, sorted."""
    listed = files.list_names(get_folder(repo))
    return sorted(name.removesuffix(".json") for name in listed if name.endswith(".json"))


def load_state(repo: Repo, session_id: str) -> State | None:
    """The state of a session, with legacy fields and phases updated; None without one.

    A damaged file is moved to <common>/gitcp/corrupt and reported on standard error; the caller
    rebuilds the state from the stream.
    """
    trace.append_note("state", f"load '{session_id}'")
    try:
        return read_state(repo, session_id)
    except Damaged as e:
        private.set_aside(repo, e)
        return None


def read_state(repo: Repo, session_id: str) -> State | None:
    """Read a state as load_state() does, but change nothing: raises Damaged."""
    file = get_state_path(repo, session_id)
    state: State | None = private.load_json(file, shapes.STATE)
    if state is not None and state["session_id"] != session_id:
        raise Damaged(file, f"it is the state of '{state['session_id'][:60]}'")
    return update_fields(state) if state is not None else None


def peek_state(repo: Repo, session_id: str) -> State | None:
    """Read a state without its lock; None without one, an empty state for a damaged file."""
    try:
        return read_state(repo, session_id)
    except Damaged:
        return update_fields({"session_id": session_id})


def update_fields(state: State) -> State:
    """Rename legacy fields and drop nulls; unknown keys stay (doc/formats.md "Session state")."""
    fields: dict[str, Any] = state  # type: ignore[assignment]  # legacy keys, too
    for key in [key for key, value in fields.items() if value is None]:
        del fields[key]
    for old in ("condensed_transcript_lines", "transcript_lines_at_start"):
        lines = fields.pop(old, 0)
        if lines and not state.get("checkpoint_transcript_start"):
            state["checkpoint_transcript_start"] = lines
    phase = state.get("phase", "")
    if phase not in ("active", "idle", "ended"):
        state["phase"] = "active" if phase == "active_committed" else "idle"
    for stream in state.setdefault("streams", []):
        stream.setdefault("files", {})
    state.setdefault("checkpoint_count", 0)
    state.setdefault("base_commit", "")
    return state


def make_state(repo: Repo, session_id: str, agent_type: str, head: str) -> State:
    """A new state of a session in this worktree, on the base commit head."""
    state: State = {
        "session_id": session_id,
        "cli_version": VERSION,
        "base_commit": head,
        "attribution_base_commit": head,
        "worktree_path": repo.worktree,
        "started_at": format_now(),
        "phase": "idle",
        "checkpoint_count": 0,
        "agent_type": agent_type,
        "streams": [],
        "turns": {},
    }
    if repo.worktree_id:
        state["worktree_id"] = repo.worktree_id
    return state


def lacks_transcript(state: State) -> bool:
    """Whether committed checkpoints of the last turn may lack parts of its transcript, or tasks
    that ended since."""
    pending = state.get("pending_finalize")
    if not pending or state.get("turn_checkpoint_ids") or state.get("ended_tasks"):
        return bool(pending or state.get("turn_checkpoint_ids"))
    live = files.read_stamp(state.get("transcript_path") or "")
    return not live or pending.get("live") != live


def encode_state(state: State) -> bytes:
    """The bytes of a state's file, with the files of its streams united in files_touched."""
    touched = {name for stream in state["streams"] for name in stream["files"]}
    state["files_touched"] = sorted(touched)
    if not touched:
        del state["files_touched"]
    bare = [{k: v for k, v in stream.items() if k != "files"} for stream in state["streams"]]
    return dump_state({**state, "streams": bare})  # type: ignore[typeddict-item]


def dump_state(state: State) -> bytes:
    """The JSON of a state, indented unless it has very many files or turns."""
    many = len(state.get("files_touched", ())) + len(state.get("turns", ())) > _MANY
    return json.dumps(state, None if many else 2).encode() + b"\n"


def put_state(repo: Repo, session_id: str, data: bytes) -> None:
    """Write encoded data durably as the state of a session."""
    trace.append_note("state", f"save '{session_id}'")
    private.write_private(repo, get_state_path(repo, session_id), data, durable=True)


class held_state:
    """Hold the locks of several sessions, taken in the order of their ids
    (doc/git.md "Locks and refs")."""

    __slots__ = ("_all", "_taken")

    def __init__(self, repo: Repo, session_ids: Iterable[str]) -> None:
        self._all = [
            exclusive(repo, f"session-{session_id}") for session_id in sorted(set(session_ids))
        ]
        self._taken: list[exclusive] = []

    def __enter__(self) -> None:
        try:
            for lock in self._all:
                lock.__enter__()
                self._taken.append(lock)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        while self._taken:
            self._taken.pop().__exit__()


def forget_state(repo: Repo, session_id: str) -> None:
    """Remove a state file; the caller holds its lock, and the session is settled."""
    os.unlink(get_state_path(repo, session_id))


def get_state_path(repo: Repo, session_id: str) -> str:
    """The path of a session's state; raises InputError for an id that cannot name a file."""
    return os.path.join(get_folder(repo), ids.check_session_id(session_id) + ".json")


# Markers of open sessions, by which a commit finds what it could match without loading states.
#
# <common>/gitcp/open/<session id> exists while a session is active or has unsettled work.  The sh
# hooks test for it and commit hooks read it.  It is renamed into place under the session's lock,
# before the state that it announces.
#
# If there are many, the markers of sessions with unsettled work that are not at work rest in the
# directory <common>/gitcp/open/~aside, which is no session id and which the sh hooks see.
# read_recent() leaves these out; read_concerned() and read() see them.
RESTING = "~aside"
MOST = 32  # markers that do not rest
_GONE = 3600.0  # seconds after which a session whose agent is gone is not at work
# path -> (inode, size, ctime) of the file, its marker
_PARSED: dict[str, tuple[tuple[int, int, int], Marker]] = memory.get_table("markers")


def build_marker(state: State) -> Marker:
    """The marker of a state: the parts that a commit hook needs."""
    return {
        "session_id": state["session_id"],
        "agent_type": state.get("agent_type", ""),
        "worktree_path": state.get("worktree_path", ""),
        "worktree_id": state.get("worktree_id", ""),
        "phase": state.get("phase", "idle"),
        "base_commit": state.get("base_commit", ""),
        "agent_process": state.get("agent_process"),
        "prompt": state.get("first_prompt", ""),
        "count": state.get("checkpoint_count", 0),
        "tool_events": bool(state.get("tool_events")),
        "visits": list(state.get("visits", ())),
        "streams": [{"id": s["id"], "ref": s["ref"]} for s in state["streams"] if s["files"]],
    }


def is_unsettled(state: State) -> bool:
    """Whether a session can still matter to a commit."""
    if state.get("phase") == "active" or state.get("late_calls") or state.get("visits"):
        return True
    if state.get("unstored"):
        return True
    return any(s["files"] for s in state["streams"])


def note_unstored(state: State, lines: Iterable[JournalLine]) -> None:
    """Note which files over a limit, by its session, no commit has yet, by the journal of its
    home: no stream has them."""
    lines, session_id = [*lines], state["session_id"]
    paths = {*credit.list_large_paths(lines, session_id)}
    if over := state.get("over_limit"):
        edits = [line for line in credit.list_open_edits(lines) if line["path"] in over]
        paths |= {line["path"] for line in edits if credit.get_author(line)[0] == session_id}
    state["unstored"] = sorted(paths)
    if not paths:
        del state["unstored"]


def encode_marker(state: State) -> bytes | None:
    """The bytes of a state's marker; None if nothing is unsettled."""
    if not is_unsettled(state):
        return None
    return json.dumps(build_marker(state), separators=(",", ":")).encode()


def put_marker(repo: Repo, session_id: str, state: bytes, marker: bytes | None) -> None:
    """Write an encoded state and its marker.  A marker is written before the state and removed
    after it, so that no commit misses the state's work."""
    if marker is not None:
        _announce(repo, session_id, marker)
    put_state(repo, session_id, state)
    if marker is None:
        forget_marker(repo, session_id)


def write_marker(repo: Repo, state: State) -> None:
    """Update the marker of a state; remove it if nothing is unsettled."""
    data = encode_marker(state)
    if data is None:
        forget_marker(repo, state["session_id"])
    else:
        _announce(repo, state["session_id"], data)


def forget_marker(repo: Repo, session_id: str) -> None:
    """Remove a session's marker, if there is one."""
    private.remove_private(repo, repo.join_shared("open", session_id))
    _take_rested(repo, session_id)


def _announce(repo: Repo, session_id: str, data: bytes) -> None:
    path = repo.join_shared("open", session_id)
    if private.read_cache(path) == data:
        return
    new = not os.path.lexists(path)
    private.write_private(repo, path, data)
    if new:
        _take_rested(repo, session_id)


def list_marked_ids(repo: Repo) -> list[str]:
    """The sessions that have a marker, sorted."""
    before, resting = list_recent_ids(repo), files.list_names(get_resting_folder(repo))
    # A marker that moves meanwhile is in the first list or in the last.
    return sorted({*before, *resting, *list_recent_ids(repo)})


def get_resting_folder(repo: Repo) -> str:
    """The directory of the markers that rest."""
    return repo.join_shared("open", RESTING)


def list_recent_ids(repo: Repo) -> list[str]:
    """The sessions whose markers do not rest, sorted."""
    return [
        session_id
        for session_id in files.list_names(repo.join_shared("open"))
        if session_id != RESTING
    ]


def find_path(repo: Repo, session_id: str) -> str:
    """The path of a session's marker, whether it exists or not."""
    paths = _list_places(repo, session_id)
    return next((path for path in paths if os.path.lexists(path)), paths[0])


def _list_places(repo: Repo, session_id: str) -> tuple[str, ...]:
    """The paths to look for a session's marker, in order: it may move back meanwhile."""
    path = repo.join_shared("open", session_id)
    return path, os.path.join(get_resting_folder(repo), session_id), path


def _take_rested(repo: Repo, session_id: str) -> None:
    """Remove a session's resting marker, if there is one, and the directory if it is empty."""
    try:
        os.unlink(os.path.join(get_resting_folder(repo), session_id))
        os.rmdir(get_resting_folder(repo))
    except OSError:
        pass  # there is none, or it is not the last


def read_markers(repo: Repo) -> list[Marker]:
    """Every marker of the repository, by session id, as find_marker() reads it."""
    return [
        marker for session_id in list_marked_ids(repo) if (marker := find_marker(repo, session_id))
    ]


def read_concerned(repo: Repo, sessions: Iterable[str] = ()) -> list[Marker]:
    """The markers that do not rest, and those of the sessions given, by session id."""
    ids = sorted({*list_recent_ids(repo), *sessions})
    return [marker for session_id in ids if (marker := find_marker(repo, session_id))]


def find_marker(repo: Repo, session_id: str) -> Marker | None:
    """The marker of a session; None without one.  A damaged marker is built from the state, so
    that no commit misses its work."""
    try:
        return read_stored(repo, session_id)
    except Damaged as e:
        trace.append_note("marker", str(e))
    try:
        state = read_state(repo, session_id)
    except Error:
        return None
    if not state or not (is_unsettled(state) or state.get("files_touched")):
        return None
    streams = [{"id": stream["id"], "ref": stream["ref"]} for stream in state["streams"]]
    return {**build_marker(state), "streams": streams}


def read_stored(repo: Repo, session_id: str) -> Marker | None:
    """The marker of a session as its file has it; None without one.  Raises Damaged."""
    for path in _list_places(repo, session_id):
        try:
            st = os.stat(path)
            break
        except OSError:
            st = None
    stamp = (st.st_ino, st.st_size, st.st_ctime_ns) if st else None
    if stamp and _PARSED.get(path, (None, None))[0] == stamp:
        return _PARSED[path][1]
    marker: Marker | None = private.load_json(path, shapes.MARKER)
    if marker and marker["session_id"] != session_id:
        raise Damaged(path, f"it is the marker of '{marker['session_id'][:60]}'")
    if stamp and marker:
        _PARSED[path] = stamp, marker
    return marker


def is_home(repo: Repo, session: Mapping[str, Any]) -> bool:
    """Whether this worktree is the home of a session, by its state or marker.

    Git's name of the worktree decides, because the path changes when the worktree is moved.
    """
    return (session.get("worktree_id") or "") == repo.worktree_id


def read_here(repo: Repo) -> list[Marker]:
    """The markers of sessions whose home is this worktree."""
    return [m for m in read_markers(repo) if is_home(repo, m)]


def read_recent(repo: Repo) -> list[Marker]:
    """The markers of read_here() that do not rest: those of all sessions that may be in a turn."""
    return [
        marker
        for session_id in list_recent_ids(repo)
        if (marker := find_marker(repo, session_id)) and is_home(repo, marker)
    ]


def is_at_work(repo: Repo, marker: Marker) -> bool:
    """Whether a session is in a turn and its agent runs, or may run."""
    active = marker["phase"] == "active"
    from gitcp.store.session import process

    return active and process.is_at_work(marker["agent_process"], read_last_heard(repo, marker))


def read_last_heard(repo: Repo, marker: Marker) -> float:
    """When a marker was last written, in seconds since 1970; 0 if it is gone or rests."""
    try:
        return os.stat(repo.join_shared("open", marker["session_id"])).st_mtime
    except OSError:
        return 0.0


def list_abandoned(repo: Repo, session_id: str) -> list[str]:
    """The other sessions of this worktree that are in a turn though their agent is gone."""
    from gitcp.store.session import process

    return [
        marker["session_id"]
        for marker in read_recent(repo)
        if marker["session_id"] != session_id
        and marker["phase"] == "active"
        and process.is_gone(marker["agent_process"])
    ]


def put_away(repo: Repo) -> None:
    """Let markers rest, except those of locked sessions.  The caller holds no session's lock."""
    repo.make_folder(get_resting_folder(repo))
    for session_id in list_recent_ids(repo):
        try:
            with exclusive(repo, f"session-{session_id}", timeout=0):
                if _may_rest(repo, session_id):
                    os.rename(
                        repo.join_shared("open", session_id),
                        os.path.join(get_resting_folder(repo), session_id),
                    )
        except (Error, FileNotFoundError) as e:
            trace.append_note("marker", f"'{session_id}' stays: {e}")


def _may_rest(repo: Repo, session_id: str) -> bool:
    marker = read_stored(repo, session_id)
    if marker is None or marker["phase"] != "active":
        return marker is not None
    age = time.time() - os.stat(repo.join_shared("open", session_id)).st_mtime
    from gitcp.store.session import process

    return age > _GONE and not process.is_alive(marker["agent_process"])


# The phase of a session (doc/behaviour.md "Phases").
#
# core/decide/phases decides.  Its actions upon the state are done here, the others by the caller.


def take_event(state: State, event: str, *, files_touched: bool = True) -> tuple[str, ...]:
    """Change the phase of a state by an event; return all its actions."""
    before = state.get("phase")
    from gitcp.core import stream_rules

    state["phase"], actions = stream_rules.find_transition(
        before, event, files_touched=files_touched
    )
    if stream_rules.CLEAR_ENDED_AT in actions:
        state.pop("ended_at", None)
    if stream_rules.UPDATE_LAST_INTERACTION in actions:
        state["last_interaction_time"] = format_now()
    if state["phase"] == stream_rules.ENDED and before != stream_rules.ENDED:
        state["ended_at"] = format_now()
    if stream_rules.WARN_STALE_SESSION in actions:
        trace.append_note("session", f"'{state['session_id']}' starts in the middle of a turn")
    return actions


def take_commit(state: State, paths: object) -> bool:
    """Change the phase by a commit that is linked to the session by these paths; return whether
    to condense the session's work."""
    from gitcp.core import stream_rules

    actions = take_event(state, stream_rules.GIT_COMMIT, files_touched=bool(paths))
    return stream_rules.CONDENSE in actions or stream_rules.CONDENSE_IF_FILES_TOUCHED in actions


def clear_verdict(state: State) -> None:
    """Clear the verdict on the stream: it holds for one prompt."""
    state["should_reset_shadow_branch"] = False
    state.pop("verdict", None)


# The baseline of a session's turn: <git-dir>/gitcp/turn/<session id> of its worktree.
#
# head, time_ns and dirty {path: [mode, oid] | null} describe the worktree at the turn's start.  at
# is time_ns by the clock that stamps its files.  offset is where the transcript ended.


def begin_turn(
    repo: Repo, state: State, head: str, dirty: Mapping[str, Entry | None], time_ns: int, at: int
) -> None:
    """Write the baseline of a turn, or of its continuation after its Stop."""
    private.remove_private(repo, repo.join_own("turn", f"{state['session_id']}.middle"))
    offset = read_size(state.get("transcript_path"))
    _write(repo, state, {"head": head, "time_ns": time_ns, "at": at, "dirty": dirty}, offset)


def read_size(transcript: str | None) -> int:
    """The size of a transcript in bytes; 0 without one."""
    try:
        return os.stat(transcript or "").st_size
    except (OSError, ValueError):
        return 0


def take_over(repo: Repo, state: State) -> None:
    """Write a baseline for a turn that began under the original program: nothing was dirty, and
    its transcript begins behind the condensed part."""
    from gitcp.core import transcripts

    begun = transcripts.parse_time(str(state.get("last_interaction_time"))) or time.time_ns()
    start, offset = state.get("checkpoint_transcript_start", 0), 0
    try:
        with open(state.get("transcript_path") or "", "rb") as f:
            offset = sum(map(len, islice(f, start)))
    except (OSError, ValueError):
        pass
    baseline = {"head": state["base_commit"], "time_ns": begun, "at": begun, "dirty": {}}
    if is_home(repo, state):
        _write(repo, state, baseline, offset)


def _write(repo: Repo, state: State, baseline: Baseline, offset: int) -> None:
    transcript, turn = state.get("transcript_path"), state.get("turn_id", "")
    data = {**baseline, "turn": turn, "transcript": transcript, "offset": offset}
    private.write_private(
        repo, repo.join_own("turn", state["session_id"]), json.dumps(data).encode()
    )


def read_baseline(repo: Repo, session_id: str, git_dir: str | None = None) -> Baseline | None:
    """The baseline of a session's turn; None if it is absent or damaged.

    git_dir: that of the session's home; by default this worktree's.
    """
    path = os.path.join(git_dir or repo.git_dir, "gitcp", "turn", session_id)
    baseline: Baseline | None = private.load_cache(path, shapes.BASELINE)
    if baseline is not None:
        baseline["dirty"] = _make_tuples(baseline["dirty"])
    return baseline


def _make_tuples(entries: dict[str, Any]) -> dict[str, Entry | None]:
    return {path: tuple(entry) if entry else None for path, entry in entries.items()}


def set_dirty(
    repo: Repo, session_id: str, baseline: Baseline, dirty: dict[str, Entry | None]
) -> None:
    """Replace the dirty files of a turn's baseline."""
    data = json.dumps({**baseline, "dirty": dirty}).encode()
    private.write_private(repo, repo.join_own("turn", session_id), data)


def reach_middle(repo: Repo, session_id: str, dirty: dict[str, Entry | None]) -> None:
    """Store the dirty files of the last checkpoint within the turn."""
    path = repo.join_own("turn", f"{session_id}.middle")
    private.write_private(repo, path, json.dumps(dirty).encode())


def read_middle(repo: Repo, session_id: str) -> dict[str, Entry | None] | None:
    """The dirty files of the last checkpoint within this turn; None without one."""
    entries = private.load_cache(repo.join_own("turn", f"{session_id}.middle"), shapes.is_entries)
    return None if entries is None else _make_tuples(entries)


def resolve_paths(repo: Repo, paths: Iterable[str]) -> list[str]:
    """The paths, relative to the worktree's root, that a tool which names these may write."""
    targets = (
        target for path in paths for target in list_targets(os.path.join(repo.worktree, path))
    )
    return list(
        dict.fromkeys(path for target in targets if (path := find_relative_path(repo, target)))
    )


def list_targets(path: str) -> list[str]:
    """The path, and the target if it is a symbolic link: most tools write through a link, but some
    replace it."""
    return [path, os.path.realpath(path)] if os.path.islink(path) else [path]


def find_relative_path(repo: Repo, path: str) -> str | None:
    """A path that a tool named, relative to the worktree's root; None if it is outside.

    Symbolic links are followed except the last component: git tracks the link.
    """
    if not os.path.isabs(path):
        path = os.path.join(repo.worktree, path)
    folder, name = os.path.split(os.path.normpath(path))
    full_path = os.path.join(os.path.realpath(folder), name)
    if has_many_names(repo):
        from gitcp.store import reading

        return reading.find_relative(repo, full_path)
    above = os.path.realpath(repo.worktree) + os.sep
    return full_path.removeprefix(above) if full_path.startswith(above) else None


def has_many_names(repo: Repo) -> bool:
    """Whether the file system finds a file by names that differ from git's."""
    flags = ("core.ignorecase", "core.precomposeunicode")
    return any(map(repo.config.get_flag, flags))


# The intent of an auto-commit: what it is about to do, so that a killed one can be finished.
#
# It is one file in the git directory of a worktree, changed under the lock of its commits.


def get_intent_path(repo: Repo) -> str:
    return repo.join_own("auto", "intent")


def write_intent(repo: Repo, intent: Intent) -> None:
    """Write the intent durably: from here on the next process can finish the commit."""
    private.write_private(repo, get_intent_path(repo), json.dumps(intent).encode(), durable=True)


def read_intent(repo: Repo) -> Intent | None:
    """The intent that is stored; None without one, or for any other file."""
    try:
        intent: Any = json.loads(private.read_cache(get_intent_path(repo)))
    except (ValueError, RecursionError):
        return None
    parts = ("dirty", "entries")
    if not isinstance(intent, dict) or any(not isinstance(intent.get(k), dict) for k in parts):
        return None
    for key in parts:
        intent[key] = {p: tuple(e) if e else None for p, e in intent[key].items()}
    return intent  # type: ignore[return-value]


def drop_intent(repo: Repo) -> None:
    """Remove the intent and the files of its commit."""
    folder = os.path.dirname(get_intent_path(repo))
    for name in ("intent", "message", "index", "index.lock", "next-index", "lock"):
        files.remove_file(os.path.join(folder, name))
    files.remove_if_empty(folder)


# Messages for the agent of a session, sent with its next prompt: files that changed meanwhile.


def leave_message(repo: Repo, session_id: str, text: str) -> None:
    """Add a text to those for the session's next prompt in this worktree."""
    path = _get_path(repo, session_id)
    fd = private.open_private(repo, path, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(fd, "a", encoding="utf-8", errors="backslashreplace") as f:
        f.write(text + "\n")


def take_message(repo: Repo, session_id: str) -> str:
    """Remove and return the texts that wait; '' for none."""
    path = _get_path(repo, session_id)
    data = private.read_or_set_aside(repo, lambda: read_file(path))
    private.remove_private(repo, path)
    return (data or b"").decode("utf-8", "replace").strip()


def _get_path(repo: Repo, session_id: str) -> str:
    return repo.join_own("tell", session_id)


# Copies of the conversations that clients keep in databases of their own.
_PATIENCE = 2.0  # seconds


def copy_conversation(repo: Repo, client: Client, event: Record) -> None:
    """Let a client's adapter export the session of an event, one hook at a time: two at once, as
    of parallel subagents, would add the same messages twice."""
    export = client.export
    try:
        with exclusive(repo, f"transcript-{event['session_id']}", _PATIENCE):
            if export:
                export(event, repo.join_shared("exports", client.NAME))
    except Busy:
        pass  # a later event exports it


def renew_copy(repo: Repo, session_id: str) -> None:
    """Update the copy at a commit, for a client without hooks in its turns."""
    state = peek_state(repo, session_id)
    from gitcp.agents import find_client

    client = find_client(state.get("agent_type") or "") if state else None
    if state and client and client.FORM == "run" and state.get("transcript_path"):
        cwd = state.get("worktree_path") or repo.worktree
        copy_conversation(repo, client, {"event": "commit", "session_id": session_id, "cwd": cwd})
