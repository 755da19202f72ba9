"""Reads the states of sessions without changing anything: a damaged file stays where it is."""

from __future__ import annotations

import os
from datetime import datetime
from functools import partial

from gitcp.core.git.ids import pick_match
from gitcp.errors import Error
from gitcp.process.files import Damaged
from gitcp.store.git import reflog
from gitcp.store.journal.work import list_left_paths, list_open_paths, list_taken_back, read_streams
from gitcp.store.session import markers
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import State
    from gitcp.repo import Repo


ANOTHERS = "it is another person's"  # why a state is unreadable in a shared repository


def list_states(repo: Repo) -> list[State]:
    """The states of all sessions, as read_state() reads them, without those of other persons."""
    return _read_own(repo, states.list_ids(repo))


def read_state(repo: Repo, session_id: str) -> State:
    """The state of a session, with legacy fields updated.

    A state that cannot be read has only its session_id, and the reason in `unreadable`.
    """
    bare: State = {"session_id": session_id, "phase": "", "streams": [], "checkpoint_count": 0}
    try:
        state = states.read(repo, session_id)
        if state is None:
            exists = os.path.exists(states.get_path(repo, session_id))
            return {**bare, "unreadable": ANOTHERS if exists else "it is gone"}
        read_streams(repo, state)
        _list_touched(repo, state)
        return state
    except Damaged as e:
        return {**bare, "unreadable": e.why}
    except Error as e:
        return {**bare, "unreadable": str(e)}


def _list_touched(repo: Repo, state: State) -> None:
    """Set files_touched to the uncommitted files.  What a rewind took back does not count; nor does
    what the session's own commits left out, unless a stash may have it."""
    if not state["streams"] and "turns" not in state:
        return  # the state of the original program has its own files_touched
    recorded = {path for stream in state["streams"] for path in stream["files"]}
    touched = (recorded | list_open_paths(repo, state)) - list_taken_back(repo, state)
    if not reflog.list_stashes(repo):
        touched -= list_left_paths(repo, state)
    state["files_touched"] = sorted(touched)
    if not state["files_touched"]:
        del state["files_touched"]


def get_last_prompt(state: State) -> str:
    """The last prompt of a session that its state has; '' without one."""
    turns = state.get("turns")
    last = turns.get(state.get("turn_id", "")) if isinstance(turns, dict) else None
    turn_prompt = last.get("prompt") if isinstance(last, dict) else None
    return str(turn_prompt or state.get("first_prompt") or "")


def pick_id(prefix: str, ids: Iterable[str]) -> str:
    """The session id that equals prefix, or the only one that begins with it.

    Raises Error if there is none, or several, which it lists.
    """
    ids = sorted(set(ids))
    if prefix in ids:
        return prefix
    matches = [session_id for session_id in ids if prefix and session_id.startswith(prefix)]
    return pick_match("session", prefix, matches)


def parse_time(time: object) -> float:
    """An RFC 3339 time in seconds since 1970; 0 for anything else."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def list_recent(repo: Repo, count: int, limit: int | None = None) -> tuple[list[State], int]:
    """(the states of open sessions, at most the newest `limit`, and of the `count` newest others;
    the number of sessions left out)."""
    ids, marked_ids = states.list_ids(repo), set(markers.list_ids(repo))
    open_ids = [session_id for session_id in ids if session_id in marked_ids]
    closed_ids = [session_id for session_id in ids if session_id not in marked_ids]
    rank = partial(_compute_rank, states.get_folder(repo))
    if len(closed_ids) > count:
        closed_ids.sort(key=rank)
    if limit is not None and len(open_ids) > limit:
        open_ids = sorted(open_ids, key=rank)[:limit]
    chosen = open_ids + closed_ids[:count]
    return _read_own(repo, chosen), len(ids) - len(chosen)


def _read_own(repo: Repo, ids: Iterable[str]) -> list[State]:
    """The states of these sessions, without those of other persons."""
    states = (read_state(repo, session_id) for session_id in ids)
    return [state for state in states if state.get("unreadable") != ANOTHERS]


def _compute_rank(folder: str, session_id: str) -> float:
    """A number that sorts the states that were changed last first."""
    try:
        return -os.stat(os.path.join(folder, f"{session_id}.json")).st_mtime
    except OSError:
        return 0
