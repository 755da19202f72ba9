"""Markers of open sessions: what a commit could match, told without loading a state.

<common>/gitcp/open/<sid> exists while a session is active or has work that is not settled.
The sh guard of the hooks tests for it, commit hooks read it; it is renamed into place under
the session's lock, before what it announces.  Of sessions that left work behind it
may be put aside: of_late() are those at work and a few more, concerned() and read() see them all.
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core import json
from gitcp.core.upkeep import shapes
from gitcp.errors import Error
from gitcp.process.regular_file import Damaged
from gitcp.store.aside import index
from gitcp.store.git import private
from gitcp.store.journal.work import forget_settled, open_streams
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gitcp.core.record_types import Marker, State
    from gitcp.repo import Repo


# path -> the file it was, what that says
_PARSED: dict[str, tuple[tuple[int, int, int], Marker]] = {}


def marker(state: State) -> Marker:
    """What a commit hook needs of a state: its home, phase, process and unsettled paths."""
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
        "streams": [
            {
                "id": s["id"],
                "ref": s["ref"],
                "files": {p: [f["mode"], f["oid"]] for p, f in s["files"].items()},
            }
            for s in state["streams"]
            if s["files"]
        ],
    }


def unsettled(state: State) -> bool:
    """Whether anything about the session can still matter to a commit."""
    if state.get("phase") == "active" or state.get("late_calls") or state.get("visits"):
        return True
    return any(s["files"] for s in state["streams"])


def encode(state: State) -> bytes | None:
    """The bytes of the marker that announces state; None when nothing is unsettled."""
    if not unsettled(state):
        return None
    return json.dumps(marker(state), separators=(",", ":")).encode()


def put(repo: Repo, session_id: str, state: bytes, marker: bytes | None) -> None:
    """Write an encoded state and its marker: that one first where it appears, last where it
    goes, so that no commit misses what the state holds."""
    if marker is not None:
        _announce(repo, session_id, marker)
    states.put(repo, session_id, state)
    if marker is None:
        forget(repo, session_id)


def encoded(repo: Repo, state: State) -> tuple[bytes, bytes | None]:
    """What put() writes of a state, as the journal tells what is open."""
    forget_settled(repo, state)
    return states.encode(state), encode(state)


def save(repo: Repo, state: State) -> None:
    """Save a state, one revision on, with its marker."""
    state["revision"] = state.get("revision", 0) + 1
    put(repo, state["session_id"], *encoded(repo, state))


def write(repo: Repo, state: State) -> None:
    """Make the marker tell what state says; without anything unsettled it goes."""
    data = encode(state)
    if data is None:
        forget(repo, state["session_id"])
    else:
        _announce(repo, state["session_id"], data)


def forget(repo: Repo, session_id: str) -> None:
    """Take a marker away, if there is one."""
    private.remove(repo, repo.shared("open", session_id))
    index.take_away(repo, session_id)


def _announce(repo: Repo, session_id: str, data: bytes) -> None:
    path = repo.shared("open", session_id)
    if private.cached_bytes(path) == data:
        return
    new = not os.path.lexists(path)
    private.write(repo, path, data)
    if new:
        index.take_away(repo, session_id)


def names(repo: Repo) -> list[str]:
    """The sessions that have a marker, sorted."""
    return index.every(repo)


def read(repo: Repo) -> list[Marker]:
    """Every marker of the repository, by session id; see of()."""
    return [marker for name in names(repo) if (marker := of(repo, name))]


def concerned(repo: Repo, sessions: Iterable[str] = ()) -> list[Marker]:
    """The markers that are not put aside, and of the rest those of these sessions; by session
    id."""
    near = sorted({*index.recent(repo), *sessions})
    return [marker for name in near if (marker := of(repo, name))]


def of(repo: Repo, session_id: str) -> Marker | None:
    """The marker of one session, with what is open of its work here; None when there is none.

    Of a damaged one the state tells what it should say: no commit misses what that holds.
    """
    try:
        answer = stored(repo, session_id)
        if answer and is_home(repo, answer):
            answer = {**answer, "streams": open_streams(repo, answer)}
        return answer
    except Damaged as e:
        trace.note("marker", str(e))
    try:
        state = states.read(repo, session_id)
    except Error:
        return None
    return marker(state) if state and unsettled(state) else None


def stored(repo: Repo, session_id: str) -> Marker | None:
    """The marker of one session as its file has it; raise Damaged where that says nothing.

    A process parses a file once: a marker that changes is another file (private.write).
    """
    for path in index.places(repo, session_id):
        try:
            st = os.stat(path)
            break
        except OSError:
            st = None
    sign = (st.st_ino, st.st_size, st.st_ctime_ns) if st else None
    if sign and _PARSED.get(path, (None, None))[0] == sign:
        return _PARSED[path][1]
    answer: Marker | None = private.load(path, shapes.MARKER)
    if answer and answer["session_id"] != session_id:
        raise Damaged(path, f"it is the marker of '{answer['session_id'][:60]}'")
    if sign and answer:
        _PARSED[path] = sign, answer
    return answer


def named_paths(repo: Repo, stream_id: str, sessions: Iterable[str]) -> dict[str, set[str]]:
    """session -> its unsettled paths on a stream, of the sessions of this worktree that name it;
    sessions: those that may, though they are put aside."""
    return {
        marker["session_id"]: set(stream["files"])
        for marker in concerned(repo, sessions)
        if is_home(repo, marker)
        for stream in marker["streams"]
        if stream["id"] == stream_id
    }


def is_home(repo: Repo, session: Mapping[str, Any]) -> bool:
    """Whether a session, by its state or marker, has its home in this worktree.

    git's name of the worktree tells, not its path: that changes when it is moved.
    """
    return (session.get("worktree_id") or "") == repo.worktree_id


def here(repo: Repo) -> list[Marker]:
    """The markers of sessions whose home is this worktree."""
    return [m for m in read(repo) if is_home(repo, m)]


def of_late(repo: Repo) -> list[Marker]:
    """Those of here() that are not put aside: of every session that may be in a turn."""
    return [m for name in index.recent(repo) if (m := of(repo, name)) and is_home(repo, m)]


def abandoned(repo: Repo, session_id: str) -> list[str]:
    """The other sessions here that are in a turn although their agent's process is gone."""
    from gitcp.store.session import process

    return [
        marker["session_id"]
        for marker in of_late(repo)
        if marker["session_id"] != session_id
        and marker["phase"] == "active"
        and process.gone(marker["agent_process"])
    ]
