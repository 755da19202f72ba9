"""Markers of open sessions: what a commit could match, told without loading a state.

<common>/gitcp/open/<sid> exists while a session is active or has work that is not settled.
The sh guard of the hooks tests for it, commit hooks read it; it is renamed into place under
the session's lock, before what it announces.

There may be thousands, and a hook is about few of them.  Where they are many, those of sessions
that left work behind and are not at work rest in the directory <common>/gitcp/open/~aside: its name
is no session's, and it lets the sh hooks see that there are some.  read_recent() has the others,
read_concerned() and read() see them all.
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
MOST = 32  # markers among which every hook looks
_GONE = 3600.0  # seconds after which a session whose agent is gone is not at work
# path -> the file it was, what that says
_PARSED: dict[str, tuple[tuple[int, int, int], Marker]] = memory.get_table("markers")


def build_marker(state: State) -> Marker:
    """What a commit hook needs of a state: its home, phase, process and unsettled streams."""
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
    """Whether anything about the session can still matter to a commit."""
    if state.get("phase") == "active" or state.get("late_calls") or state.get("visits"):
        return True
    return any(s["files"] for s in state["streams"])


def encode(state: State) -> bytes | None:
    """The bytes of the marker that announces state; None when nothing is unsettled."""
    if not is_unsettled(state):
        return None
    return json.dumps(build_marker(state), separators=(",", ":")).encode()


def put(repo: Repo, session_id: str, state: bytes, marker: bytes | None) -> None:
    """Write an encoded state and its marker: that one first where it appears, last where it
    goes, so that no commit misses what the state holds."""
    if marker is not None:
        _announce(repo, session_id, marker)
    states.put(repo, session_id, state)
    if marker is None:
        forget(repo, session_id)


def write(repo: Repo, state: State) -> None:
    """Make the marker tell what state says; without anything unsettled it goes."""
    data = encode(state)
    if data is None:
        forget(repo, state["session_id"])
    else:
        _announce(repo, state["session_id"], data)


def forget(repo: Repo, session_id: str) -> None:
    """Take a marker away, if there is one."""
    private.remove_private(repo, repo.join_shared("open", session_id))
    _take_rested(repo, session_id)


def _announce(repo: Repo, session_id: str, data: bytes) -> None:
    place = repo.join_shared("open", session_id)
    if private.read_cache(place) == data:
        return
    new = not os.path.lexists(place)
    private.write_private(repo, place, data)
    if new:
        _take_rested(repo, session_id)


def list_ids(repo: Repo) -> list[str]:
    """The sessions that have a marker, sorted; one that comes to rest, or comes back, between two
    looks is seen in the first or the last."""
    return sorted(
        {
            *list_recent_ids(repo),
            *files.list_names(get_resting_folder(repo)),
            *list_recent_ids(repo),
        }
    )


def get_resting_folder(repo: Repo) -> str:
    """The directory of the markers that rest."""
    return repo.join_shared("open", RESTING)


def list_recent_ids(repo: Repo) -> list[str]:
    """The sessions whose markers do not rest, sorted."""
    return [name for name in files.list_names(repo.join_shared("open")) if name != RESTING]


def find_path(repo: Repo, session_id: str) -> str:
    """Where the marker of a session is, or would be."""
    places = _list_places(repo, session_id)
    return next((place for place in places if os.path.lexists(place)), places[0])


def _list_places(repo: Repo, session_id: str) -> tuple[str, ...]:
    """Where the marker of a session may be, in the order in which to look: it may come back."""
    place = repo.join_shared("open", session_id)
    return place, os.path.join(get_resting_folder(repo), session_id), place


def _take_rested(repo: Repo, session_id: str) -> None:
    """Remove a marker that rests, if there is one, and the directory with the last."""
    try:
        os.unlink(os.path.join(get_resting_folder(repo), session_id))
        os.rmdir(get_resting_folder(repo))
    except OSError:
        pass  # not there; not the last


def read(repo: Repo) -> list[Marker]:
    """Every marker of the repository, by session id; see find()."""
    return [marker for name in list_ids(repo) if (marker := find(repo, name))]


def read_concerned(repo: Repo, sessions: Iterable[str] = ()) -> list[Marker]:
    """The markers that do not rest, and those of these sessions; by session id."""
    near = sorted({*list_recent_ids(repo), *sessions})
    return [marker for name in near if (marker := find(repo, name))]


def find(repo: Repo, session_id: str) -> Marker | None:
    """The marker of one session; None when there is none.

    Of a damaged one the state tells what it should say: no commit misses what that holds.
    """
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
    """The marker of one session as its file has it; raise Damaged where that says nothing.  A
    process parses a file once: a marker that changes is another file (private.write)."""
    for place in _list_places(repo, session_id):
        try:
            st = os.stat(place)
            break
        except OSError:
            st = None
    sign = (st.st_ino, st.st_size, st.st_ctime_ns) if st else None
    if sign and _PARSED.get(place, (None, None))[0] == sign:
        return _PARSED[place][1]
    answer: Marker | None = private.load_json(place, shapes.MARKER)
    if answer and answer["session_id"] != session_id:
        raise Damaged(place, f"it is the marker of '{answer['session_id'][:60]}'")
    if sign and answer:
        _PARSED[place] = sign, answer
    return answer


def is_home(repo: Repo, session: Mapping[str, Any]) -> bool:
    """Whether a session, by its state or marker, has its home in this worktree.

    git's name of the worktree tells, not its path: that changes when it is moved.
    """
    return (session.get("worktree_id") or "") == repo.worktree_id


def read_here(repo: Repo) -> list[Marker]:
    """The markers of sessions whose home is this worktree."""
    return [m for m in read(repo) if is_home(repo, m)]


def read_recent(repo: Repo) -> list[Marker]:
    """Those of read_here() that do not rest: of every session that may be in a turn."""
    return [m for name in list_recent_ids(repo) if (m := find(repo, name)) and is_home(repo, m)]


def is_at_work(repo: Repo, marker: Marker) -> bool:
    """Whether a session is in a turn and its agent runs, as far as that can be seen."""
    active = marker["phase"] == "active"
    return active and process.is_at_work(marker["agent_process"], read_last_heard(repo, marker))


def read_last_heard(repo: Repo, marker: Marker) -> float:
    """When a marker was written last, in seconds since 1970; 0 where it is gone or rests."""
    try:
        return os.stat(repo.join_shared("open", marker["session_id"])).st_mtime
    except OSError:
        return 0.0


def list_abandoned(repo: Repo, session_id: str) -> list[str]:
    """The other sessions here that are in a turn although their agent's process is gone."""
    return [
        marker["session_id"]
        for marker in read_recent(repo)
        if marker["session_id"] != session_id
        and marker["phase"] == "active"
        and process.is_gone(marker["agent_process"])
    ]


def put_away(repo: Repo) -> None:
    """Let markers rest.  The caller holds no session's lock; the marker of a session that is locked
    stays."""
    repo.make_folder(get_resting_folder(repo))
    for name in list_recent_ids(repo):
        try:
            with exclusive(repo, f"session-{name}", timeout=0):
                if _may_rest(repo, name):
                    os.rename(
                        repo.join_shared("open", name), os.path.join(get_resting_folder(repo), name)
                    )
        except (Error, FileNotFoundError) as e:
            trace.append_note("marker", f"'{name}' stays: {e}")


def _may_rest(repo: Repo, session_id: str) -> bool:
    marker = read_stored(repo, session_id)
    if marker is None or marker["phase"] != "active":
        return marker is not None
    age = time.time() - os.stat(repo.join_shared("open", session_id)).st_mtime
    return age > _GONE and not process.is_alive(marker["agent_process"])
