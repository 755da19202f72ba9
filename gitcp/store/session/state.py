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

_MANY = 1000  # files; indenting them costs more than all else of a hook


def get_folder(repo: Repo) -> str:
    """Where the states of this repository are, for all of its worktrees."""
    return os.path.join(repo.common, "entire-sessions")


def list_ids(repo: Repo) -> list[str]:
    """The ids of all sessions that have a state file, sorted."""
    listed = files.list_names(get_folder(repo))
    return sorted(name.removesuffix(".json") for name in listed if name.endswith(".json"))


def load(repo: Repo, session_id: str) -> State | None:
    """The state of a session, legacy fields and phases brought up to date; None without one.

    A file that cannot be read as a state is set aside under <common>/gitcp/corrupt and
    reported on standard error; the caller rebuilds what the stream still knows.
    """
    trace.append_note("state", f"load '{session_id}'")
    try:
        return read(repo, session_id)
    except Damaged as e:
        private.set_aside(repo, e)
        return None


def read(repo: Repo, session_id: str) -> State | None:
    """load() that changes nothing: raise Damaged for a file that cannot be read as a state."""
    file = get_path(repo, session_id)
    state: State | None = private.load_json(file, shapes.STATE)
    if state is not None and state["session_id"] != session_id:
        raise Damaged(file, f"it is the state of '{state['session_id'][:60]}'")
    return update_fields(state) if state is not None else None


def peek(repo: Repo, session_id: str) -> State | None:
    """What the state file says, for who does not hold its lock: nothing is set aside.

    None when there is none; one that cannot be read is a state that says nothing.
    """
    try:
        return read(repo, session_id)
    except Damaged:
        return update_fields({"session_id": session_id})


def update_fields(state: State) -> State:
    """Legacy fields under their present names; unknown keys stay, null says nothing
    (doc/formats.md "Session state")."""
    fields: dict[str, Any] = state  # type: ignore[assignment]  # keys of former times, too
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
    """The state of a session that begins here and now, on base commit head."""
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
    """Whether committed checkpoints of the last turn may lack something of its transcript, or of
    tasks that ended since."""
    late = state.get("pending_finalize")
    if not late or state.get("turn_checkpoint_ids") or state.get("ended_tasks"):
        return bool(late or state.get("turn_checkpoint_ids"))
    live = files.read_stamp(state.get("transcript_path") or "")
    return not live or late.get("live") != live


def encode(state: State) -> bytes:
    """The bytes of a state's file; of what its streams have, files_touched alone."""
    touched = {name for stream in state["streams"] for name in stream["files"]}
    state["files_touched"] = sorted(touched)
    if not touched:
        del state["files_touched"]
    bare = [{k: v for k, v in stream.items() if k != "files"} for stream in state["streams"]]
    return dump_state({**state, "streams": bare})  # type: ignore[typeddict-item]


def dump_state(state: State) -> bytes:
    """The JSON of a state, indented for eyes unless it has very many files."""
    many = len(state.get("files_touched", ())) > _MANY
    return json.dumps(state, None if many else 2).encode() + b"\n"


def put(repo: Repo, session_id: str, data: bytes) -> None:
    """Write encoded data as the state of a session: unique temporary name, fsync, rename."""
    trace.append_note("state", f"save '{session_id}'")
    private.write_private(repo, get_path(repo, session_id), data, durable=True)


class held:
    """Hold the locks of several sessions, taken in the order of their ids
    (doc/git.md "Locks and refs")."""

    __slots__ = ("_all", "_taken")

    def __init__(self, repo: Repo, session_ids: Iterable[str]) -> None:
        self._all = [exclusive(repo, f"session-{one}") for one in sorted(set(session_ids))]
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
    """Remove a state file; the caller holds its lock and knows it is settled."""
    os.unlink(get_path(repo, session_id))


def get_path(repo: Repo, session_id: str) -> str:
    """The state file of a session; InputError for an id that cannot name a file."""
    return os.path.join(get_folder(repo), ids.check_session_id(session_id) + ".json")
