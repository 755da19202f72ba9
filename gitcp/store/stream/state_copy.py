"""The copy of a state in every checkpoint, from which a lost state is rebuilt.

`state.json` has everything except the finished turns.  Each of those is a file below `turns/`,
written once, so that a checkpoint stores only what is new.
"""

from __future__ import annotations

from gitcp.core import json
from gitcp.core.upkeep import shapes
from gitcp.process.files import Damaged
from gitcp.store.git import private
from gitcp.store.git.tree import Lookup, list_files
from gitcp.store.session import state as states
from gitcp.store.stream import shadow_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Entry, State, Tip
    from gitcp.store.git.objects import Objects

NAME, TURNS = "state.json", "turns"
_TURNS_PER_FOLDER = 50


def write_files(
    objects: Objects, state: State, previous: Lookup | None, folder: str
) -> dict[str, Entry]:
    """path below folder -> entry of the files that copy a state, without those that the previous
    tree has.  folder: the session's metadata directory."""
    turn_id, turns = state.get("turn_id", ""), state.get("turns", {})
    last_turn = {turn_id: turns[turn_id]} if turn_id in turns else {}
    brief: Any = {**state, "turns": last_turn}
    finished: dict[str, bytes] = {}
    for turn, facts in reversed(turns.items()):
        path = _get_path(facts)
        if turn == turn_id:
            continue
        if previous and previous(f"{folder}/{path}"):
            break  # the turns before it are there, too
        finished[path] = json.dumps({turn: facts}).encode()
    oids = objects.write_blobs([*finished.values()]) if finished else []
    entries = {path: ("100644", oid) for path, oid in zip(finished, oids, strict=True)}
    return {NAME: ("100644", objects.write("blob", states.dump_state(brief))), **entries}


def _get_path(facts: Any) -> str:
    number = int(facts.get("number", 0))
    return f"{TURNS}/{number // _TURNS_PER_FOLDER}/{number}.json"


def read_copy(objects: Objects, tip: Tip, session_id: str) -> State | None:
    """The copy of a session's state on a stream's tip, with its last turn; None without one."""
    entry = Lookup(objects, tip["tree"])(f"{shadow_refs.METADATA}{session_id}/{NAME}")
    if entry is None:
        return None
    try:
        copy: State = private.parse_checked(
            tip["ref"], objects.need(entry[1], "blob"), shapes.STATE
        )
    except Damaged:
        return None
    return copy if copy["session_id"] == session_id else None


def read_with_turns(objects: Objects, tip: Tip, session_id: str) -> State | None:
    """The copy of a state as read_copy() reads it, with all turns."""
    copy = read_copy(objects, tip, session_id)
    folder = Lookup(objects, tip["tree"])(f"{shadow_refs.METADATA}{session_id}/{TURNS}")
    if copy is None or folder is None:
        return copy
    turns: dict[str, Any] = {}
    for _, (_, oid) in list_files(objects, folder[1]):
        try:
            turns |= private.parse_checked(
                tip["ref"], objects.need(oid, "blob"), shapes.STATE_TURNS
            )
        except Damaged:
            continue
    turns |= copy.get("turns", {})
    copy["turns"] = dict(sorted(turns.items(), key=lambda turn: int(turn[1].get("number", 0))))
    return copy
