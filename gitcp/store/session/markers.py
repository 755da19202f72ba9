"""Markers of open sessions, by which a commit finds what it could match without loading states.

<common>/gitcp/open/<session id> exists while a session is active or has unsettled work.  The sh
hooks test for it and commit hooks read it.  It is renamed into place under the session's lock,
before the state that it announces.

If there are many, the markers of sessions with unsettled work that are not at work rest in the
directory <common>/gitcp/open/~aside, which is no session id and which the sh hooks see.
read_recent() leaves these out; read_concerned() and read() see them.
"""

from __future__ import annotations

import os
import time

from gitcp import memory, trace
from gitcp.core import json
from gitcp.core.upkeep import shapes
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.process.files import Damaged
from gitcp.store.git import private
from gitcp.store.session import process
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gitcp.core.record_types import Marker, State
    from gitcp.repo import Repo

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
    return any(s["files"] for s in state["streams"])


def encode(state: State) -> bytes | None:
    """The bytes of a state's marker; None if nothing is unsettled."""
    if not is_unsettled(state):
        return None
    return json.dumps(build_marker(state), separators=(",", ":")).encode()


def put(repo: Repo, session_id: str, state: bytes, marker: bytes | None) -> None:
    """Write an encoded state and its marker.  A marker is written before the state and removed
    after it, so that no commit misses the state's work."""
    if marker is not None:
        _announce(repo, session_id, marker)
    states.put(repo, session_id, state)
    if marker is None:
        forget(repo, session_id)


def write(repo: Repo, state: State) -> None:
    """Update the marker of a state; remove it if nothing is unsettled."""
    data = encode(state)
    if data is None:
        forget(repo, state["session_id"])
    else:
        _announce(repo, state["session_id"], data)


def forget(repo: Repo, session_id: str) -> None:
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


def list_ids(repo: Repo) -> list[str]:
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


def read(repo: Repo) -> list[Marker]:
    """Every marker of the repository, by session id, as find() reads it."""
    return [marker for session_id in list_ids(repo) if (marker := find(repo, session_id))]


def read_concerned(repo: Repo, sessions: Iterable[str] = ()) -> list[Marker]:
    """The markers that do not rest, and those of the sessions given, by session id."""
    ids = sorted({*list_recent_ids(repo), *sessions})
    return [marker for session_id in ids if (marker := find(repo, session_id))]


def find(repo: Repo, session_id: str) -> Marker | None:
    """The marker of a session; None without one.  A damaged marker is built from the state, so
    that no commit misses its work."""
    try:
        return read_stored(repo, session_id)
    except Damaged as e:
        trace.append_note("marker", str(e))
    try:
        state = states.read(repo, session_id)
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
    return [m for m in read(repo) if is_home(repo, m)]


def read_recent(repo: Repo) -> list[Marker]:
    """The markers of read_here() that do not rest: those of all sessions that may be in a turn."""
    return [
        marker
        for session_id in list_recent_ids(repo)
        if (marker := find(repo, session_id)) and is_home(repo, marker)
    ]


def is_at_work(repo: Repo, marker: Marker) -> bool:
    """Whether a session is in a turn and its agent runs, or may run."""
    active = marker["phase"] == "active"
    return active and process.is_at_work(marker["agent_process"], read_last_heard(repo, marker))


def read_last_heard(repo: Repo, marker: Marker) -> float:
    """When a marker was last written, in seconds since 1970; 0 if it is gone or rests."""
    try:
        return os.stat(repo.join_shared("open", marker["session_id"])).st_mtime
    except OSError:
        return 0.0


def list_abandoned(repo: Repo, session_id: str) -> list[str]:
    """The other sessions of this worktree that are in a turn though their agent is gone."""
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
    return age > _GONE and not process.is_alive(marker["agent_process"])
