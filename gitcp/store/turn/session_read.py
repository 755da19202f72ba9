"""Sessions as they stand, from their states: read without a change to anything.

`state.load` sets a damaged file aside; a listing leaves it where it is and says what it is.
"""

from __future__ import annotations

import os
from datetime import datetime

from gitcp.errors import Error
from gitcp.process.files import Damaged
from gitcp.store.journal.work import list_open_paths, read_streams
from gitcp.store.session import markers
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import State
    from gitcp.repo import Repo

_EXAMPLES = 10


ANOTHERS = "it is another person's"  # why a state says nothing in a shared repository


def list_states(repo: Repo) -> list[State]:
    """The states of all sessions but those of other persons; see read_state()."""
    return _read_own(repo, states.list_ids(repo))


def read_state(repo: Repo, name: str) -> State:
    """The state in a file of that name, fields and phases of today.

    Of one that cannot be read only session_id, and unreadable, which says why.
    """
    bare: State = {"session_id": name, "phase": "", "streams": [], "checkpoint_count": 0}
    try:
        state = states.read(repo, name)
        if state is None:
            there = os.path.lexists(states.get_path(repo, name))
            return {**bare, "unreadable": ANOTHERS if there else "it is gone"}
        read_streams(repo, state)
        _list_touched(repo, state)
        return state
    except Damaged as e:
        return {**bare, "unreadable": e.why}
    except Error as e:
        return {**bare, "unreadable": str(e)}


def _list_touched(repo: Repo, state: State) -> None:
    """Let files_touched say what no commit has."""
    if not state["streams"] and "turns" not in state:
        return  # a state of the original program's tells by itself
    recorded = {path for stream in state["streams"] for path in stream["files"]}
    state["files_touched"] = sorted(recorded | list_open_paths(repo, state))
    if not state["files_touched"]:
        del state["files_touched"]


def get_last_prompt(state: State) -> str:
    """What the session was asked last, as far as its state knows it."""
    turns = state.get("turns")
    last = turns.get(state.get("turn_id", "")) if isinstance(turns, dict) else None
    turn_prompt = last.get("prompt") if isinstance(last, dict) else None
    return str(turn_prompt or state.get("first_prompt") or "")


def pick_id(prefix: str, ids: Iterable[str]) -> str:
    """The session id that is prefix, or the only one that begins so.

    Raises Error when there is none, or when there are several: it lists them.
    """
    known = sorted(set(ids))
    if prefix in known:
        return prefix
    matching = [name for name in known if prefix and name.startswith(prefix)]
    if not matching:
        raise Error(f"no such session: '{prefix}'")
    if len(matching) > 1:
        examples = " ".join(matching[:_EXAMPLES]) + (" ..." if len(matching) > _EXAMPLES else "")
        raise Error(f"ambiguous session id '{prefix}': {examples}")
    return matching[0]


def parse_time(time: object) -> float:
    """Seconds since 1970 of an RFC 3339 time, however many digits it has; 0 for none."""
    try:
        return datetime.fromisoformat(str(time)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def list_recent(repo: Repo, count: int, most: int | None = None) -> tuple[list[State], int]:
    """The states of open sessions, at most the newest of them, and the count newest others; how
    many are left out.

    What a person looks at costs the same however many sessions there ever were.
    """
    names, marked = states.list_ids(repo), set(markers.list_ids(repo))
    opened = [name for name in names if name in marked]
    closed = [name for name in names if name not in marked]
    if len(closed) > count:
        closed.sort(key=lambda name: _compute_age(states.get_folder(repo), name))
    if most is not None and len(opened) > most:
        opened = sorted(opened, key=lambda name: _compute_age(states.get_folder(repo), name))[:most]
    chosen = opened + closed[:count]
    return _read_own(repo, chosen), len(names) - len(chosen)


def _read_own(repo: Repo, ids: Iterable[str]) -> list[State]:
    """The states in files of these names, without those of other persons."""
    each = (read_state(repo, name) for name in ids)
    return [state for state in each if state.get("unreadable") != ANOTHERS]


def _compute_age(folder: str, name: str) -> float:
    try:
        return -os.stat(os.path.join(folder, f"{name}.json")).st_mtime
    except OSError:
        return 0
