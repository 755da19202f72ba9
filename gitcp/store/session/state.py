"""The state of a session: one JSON file, changed under its lock, never half written."""

from __future__ import annotations

import os

from gitcp import VERSION, trace
from gitcp.core import json
from gitcp.core.git import ids
from gitcp.core.upkeep import shapes
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.process.files import Damaged
from gitcp.record import format_now
from gitcp.store.git import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.record_types import State
    from gitcp.repo import Repo

_MANY = 1000  # files and turns: indenting more costs more than the rest of a hook


def make_id() -> str:
    """A new id for a stream, a turn or a checkpoint: 12 hex digits."""
    return os.urandom(6).hex()


def get_folder(repo: Repo) -> str:
    """The directory of the states, one for all worktrees of a repository."""
    return os.path.join(repo.common, "entire-sessions")


def list_ids(repo: Repo) -> list[str]:
    """The ids of all sessions that have a state file, sorted."""
    listed = files.list_names(get_folder(repo))
    return sorted(name.removesuffix(".json") for name in listed if name.endswith(".json"))


def load(repo: Repo, session_id: str) -> State | None:
    """The state of a session, with legacy fields and phases updated; None without one.

    A damaged file is moved to <common>/gitcp/corrupt and reported on standard error; the caller
    rebuilds the state from the stream.
    """
    trace.append_note("state", f"load '{session_id}'")
    try:
        return read(repo, session_id)
    except Damaged as e:
        private.set_aside(repo, e)
        return None


def read(repo: Repo, session_id: str) -> State | None:
    """Read a state as load() does, but change nothing: raises Damaged."""
    file = get_path(repo, session_id)
    state: State | None = private.load_json(file, shapes.STATE)
    if state is not None and state["session_id"] != session_id:
        raise Damaged(file, f"it is the state of '{state['session_id'][:60]}'")
    return update_fields(state) if state is not None else None


def peek(repo: Repo, session_id: str) -> State | None:
    """Read a state without its lock; None without one, an empty state for a damaged file."""
    try:
        return read(repo, session_id)
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


def encode(state: State) -> bytes:
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


def put(repo: Repo, session_id: str, data: bytes) -> None:
    """Write encoded data durably as the state of a session."""
    trace.append_note("state", f"save '{session_id}'")
    private.write_private(repo, get_path(repo, session_id), data, durable=True)


class held:
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


def forget(repo: Repo, session_id: str) -> None:
    """Remove a state file; the caller holds its lock, and the session is settled."""
    os.unlink(get_path(repo, session_id))


def get_path(repo: Repo, session_id: str) -> str:
    """The path of a session's state; raises InputError for an id that cannot name a file."""
    return os.path.join(get_folder(repo), ids.check_session_id(session_id) + ".json")
