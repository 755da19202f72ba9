"""All sessions as records (doc/scenarios.md "003 Sessions and strategies"), their states, and
adopting one of another worktree or clone."""

from __future__ import annotations

import os
from functools import partial

from gitcp.checkpoints import format, listing
from gitcp.checkpoints.format import schema
from gitcp.errors import Error
from gitcp.git import decode_name, refs
from gitcp.git.files import Damaged
from gitcp.git.objects import Objects, read_tree
from gitcp.record import looks
from gitcp.record import session as store_session
from gitcp.record.journal import elsewhere, find_worktree
from gitcp.record.session import (
    begin_turn,
    clear_verdict,
    get_folder,
    get_state_path,
    make_state,
    others,
    phases,
    take_event,
)
from gitcp.record.session.others import list_marked_ids
from gitcp.record.snapshot import scan
from gitcp.record.stream import list_tips, set_streams, stream_list
from gitcp.record.turn import move_home
from gitcp.text import prompt_text
from gitcp.text.ids import pick_match
from gitcp.text.short_ids import list_named
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.checkpoints.stored import SessionEntry
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.text.record_types import Record, State, Tree

STRATEGY = "manual-commit"
_WINDOW = 128  # session directories whose prompts are asked for at once


def list_sessions(repo: Repo, stored: bool = True) -> list[Record]:
    """A record of each session with a state, the newest start first.  stored: also of those that
    have only checkpoints in the permanent store."""
    sessions = build_records(list_states(repo), list_temporary(repo))
    if stored:
        sessions = add_stored(repo, sessions)
    return sorted(sessions, key=lambda record: -parse_time(record["started_at"]))


def list_temporary(repo: Repo) -> list[Record]:
    """A checkpoint record for each commit of every stream."""
    chains = stream_list.read_chains(repo, list_tips(repo))
    found: list[Record] = []
    for chain in chains.values():
        found += chain
    return found


def build_records(states: Iterable[State], temporaries: Iterable[Record]) -> list[Record]:
    """A session record for each state: its fields (gitcp-formats(5)), and description, strategy,
    started_at and checkpoints."""
    by_session: dict[str, list[Record]] = {}
    for checkpoint in temporaries:
        by_session.setdefault(checkpoint["session_id"], []).append(_build_temporary(checkpoint))
    return [_build_record(state, by_session.get(state["session_id"], [])) for state in states]


def _build_record(state: State, checkpoints: list[Record]) -> Record:
    return {
        "type": "session",
        "session_id": state["session_id"],
        "description": state.get("first_prompt") or f"{state.get('agent_type') or 'Agent'} session",
        "strategy": state.get("strategy") or STRATEGY,
        "started_at": state.get("started_at") or "",
        **{k: v for k, v in state.items() if k not in ("session_id", "started_at")},
        "checkpoints": sorted(checkpoints, key=lambda c: float(c["time"])),
    }


def _build_temporary(checkpoint: Record) -> Record:
    keys = "oid ref message time is_task_checkpoint tool_use_id".split()
    return {"checkpoint_id": "", **{key: checkpoint[key] for key in keys}}


def add_stored(repo: Repo, records: list[Record], session_id: str = "") -> list[Record]:
    """Add the permanent store's checkpoints and sessions; session_id: the only one to add."""
    sessions = {r["session_id"]: r for r in records}
    first: dict[str, tuple[float, SessionEntry]] = {}
    for checkpoint in listing.list_checkpoints(repo, skip_summary=True):
        for entry in checkpoint["sessions"]:
            entry_id = entry["session_id"]
            if session_id and entry_id != session_id:
                continue
            part = _build_part(checkpoint["checkpoint_id"], entry)
            if entry_id not in sessions:
                metadata = entry["metadata"]
                sessions[entry_id] = {
                    "type": "session",
                    "session_id": entry["session_id"],
                    "description": "",
                    "strategy": metadata.get("strategy", ""),
                    "started_at": "",
                    "agent_type": metadata.get("agent", ""),
                    "checkpoints": [],
                }
            if entry_id not in first or part["time"] < first[entry_id][0]:
                first[entry_id] = (part["time"], entry)
            _add_part(sessions[entry_id]["checkpoints"], part)
    _add_descriptions(repo, sessions, first)
    for session in sessions.values():
        session["checkpoints"].sort(key=lambda c: float(c["time"]))
    return list(sessions.values())


def _add_part(checkpoints: list[Record], part: Record) -> None:
    # A checkpoint may have a session twice; the later entry has more.
    if checkpoints and checkpoints[-1]["checkpoint_id"] == part["checkpoint_id"]:
        checkpoints[-1] = part
    else:
        checkpoints.append(part)


def _build_part(checkpoint_id: str, entry: SessionEntry) -> Record:
    metadata = entry["metadata"]
    return {
        "checkpoint_id": checkpoint_id,
        "message": _get_intent(metadata) or f"Checkpoint: {checkpoint_id}",
        "time": parse_time(metadata.get("created_at")),
        "is_task_checkpoint": metadata.get("is_task") is True,
        "tool_use_id": metadata.get("tool_use_id") or "",
    }


def _get_intent(metadata: dict[str, Any]) -> str:
    stored = metadata.get("summary")
    if isinstance(stored, dict) and isinstance(stored.get("intent"), str):
        return str(stored["intent"])
    return ""


def _add_descriptions(
    repo: Repo, sessions: dict[str, Record], first: dict[str, tuple[float, SessionEntry]]
) -> None:
    """Set description and start of sessions without a state from their first checkpoint."""
    session_ids = [session_id for session_id in first if not sessions[session_id]["description"]]
    prompts = _read_prompts(repo, [first[session_id][1]["tree"] for session_id in session_ids])
    for session_id, prompt in zip(session_ids, prompts, strict=True):
        session = sessions[session_id]
        metadata = first[session_id][1]["metadata"]
        session["description"] = prompt or f"{session['agent_type'] or 'Agent'} session"
        session["started_at"] = metadata.get("created_at", "")


def _read_prompts(repo: Repo, trees: list[str]) -> Iterator[str]:
    """The first prompt of each session directory; '' without one."""
    with Objects(repo):
        for start in range(0, len(trees), _WINDOW):
            part = trees[start : start + _WINDOW]
            repo.objects.ahead.fetch(part)
            entries = [_read_entries(repo.objects, tree) for tree in part]
            repo.objects.ahead.fetch(e[format.PROMPT][1] for e in entries if format.PROMPT in e)
            for entry in entries:
                blob = None
                if format.PROMPT in entry:
                    blob = repo.objects.read(entry[format.PROMPT][1])
                joined = ""
                if blob and blob[1] == "blob":
                    joined = decode_name(blob[2])
                prompts = (p.strip() for p in joined.split(format.SEPARATOR))
                yield next(iter(schema.select_typed(prompts)), "")
            repo.objects.ahead.forget()


def _read_entries(objects: Objects, tree: str) -> Tree:
    try:
        return read_tree(objects, tree)
    except Error:
        return {}  # the listing of checkpoints has reported it


# Reads the states of sessions without changing anything: a damaged file stays where it is.
ANOTHERS = "it is another person's"  # why a state is unreadable in a shared repository


def list_states(repo: Repo) -> list[State]:
    """The states of all sessions, as read_state() reads them, without those of other persons."""
    return _read_own(repo, others.list_state_ids(repo))


def read_state(repo: Repo, session_id: str) -> State:
    """The state of a session, with legacy fields updated.

    A state that cannot be read has only its session_id, and the reason in `unreadable`.
    """
    bare: State = {"session_id": session_id, "phase": "", "streams": [], "checkpoint_count": 0}
    try:
        state = store_session.read_state(repo, session_id)
        if state is None:
            why = "it is gone"
            if os.path.exists(get_state_path(repo, session_id)):
                why = ANOTHERS
            return {**bare, "unreadable": why}
        set_streams(repo, state)
        return state
    except Damaged as e:
        return {**bare, "unreadable": e.why}
    except Error as e:
        return {**bare, "unreadable": str(e)}


def get_last_prompt(state: State) -> str:
    """The last prompt of a session that its state has and a person typed; '' without one."""
    turns = state.get("turns")
    last = None
    if isinstance(turns, dict):
        last = turns.get(state.get("turn_id", ""))
    turn_prompt = None
    if isinstance(last, dict):
        turn_prompt = last.get("prompt")
    known = (str(prompt or "") for prompt in (turn_prompt, state.get("first_prompt")))
    return next(filter(prompt_text.name_prompt, known), "")


def pick_id(prefix: str, ids: Iterable[str]) -> str:
    """The only session that prefix names (list_named()).

    Raises Error if there is none, or several, which it lists.
    """
    return pick_match("session", prefix, list_named(prefix, ids))


def list_recent(repo: Repo, count: int, limit: int | None = None) -> tuple[list[State], int]:
    """(the states of open sessions, at most the newest `limit`, and of the `count` newest others;
    the number of sessions left out)."""
    ids = others.list_state_ids(repo)
    marked_ids = set(list_marked_ids(repo))
    open_ids = [session_id for session_id in ids if session_id in marked_ids]
    closed_ids = [session_id for session_id in ids if session_id not in marked_ids]
    rank = partial(_compute_rank, get_folder(repo))
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


# Adoption: a session of another worktree or clone continues in this worktree.
# The fields of a state that move with the session to another clone.
_MOVING = (
    *("agent_type", "agent_process", "tool_events", "phase", "started_at"),
    *("first_prompt", "turn_id", "prompt_id", "turns", "tasks"),
    *("transcript_path", "transcript_identifier_at_start", "checkpoint_transcript_start"),
    *("token_usage", "tokens_at_condensation", "tokens_before"),
)


def adopt_session(ctx: Context, other_ctx: Context, prefix: str) -> Record:
    """Make this worktree the home of a session, by its id or a prefix of it; a record of type
    "adoption".

    other_ctx: the repository that has the session, this one or another clone.  Raises Error if it
    has no such session.
    """
    try:
        session_id = pick_id(prefix, others.list_state_ids(other_ctx.repo))
    except Error as e:
        advice = f"'gitcp adopt {prefix} <directory>' names another clone"
        raise Error(f"{e}; {advice}") from None
    if other_ctx.repo.common != ctx.repo.common:
        return _adopt_from(ctx, other_ctx, session_id)
    state = ctx.read_state(session_id)
    if state is None:
        raise Error(f"the state of session '{session_id}' cannot be read")
    old_path = state.get("worktree_path", "")
    if move_home(ctx.repo, state):
        _begin_here(ctx, state)
    elsewhere.forget_visits(ctx.repo, state)
    ctx.keep(state)
    remaining = []
    for visit in elsewhere.list_worktrees(ctx.repo, state):
        files = sorted(elsewhere.read_work(ctx.repo, visit, session_id).list_paths())
        if files:
            other = find_worktree(ctx.repo, visit)
            remaining.append({"worktree": other.worktree if other else "", "files": files})
    return _build_adopted_record(state, old_path, remaining)


def _adopt_from(ctx: Context, other_ctx: Context, session_id: str) -> Record:
    """Take a session over from another clone, where it ends and its uncommitted work stays."""
    clone = other_ctx.repo
    clone_state = read_state(clone, session_id)
    if clone_state.get("unreadable"):
        raise Error(
            f"the state of session '{session_id}' cannot be read: {clone_state['unreadable']}"
        )
    old_path = clone_state["worktree_path"]
    home = clone_state.get("worktree_id", "")
    files: set[str] = set()
    for stream in clone_state["streams"]:
        files.update(stream["files"])
    files |= set(elsewhere.read_work(clone, home, session_id).list_paths())
    state = _unite_states(ctx, clone_state)
    _begin_here(ctx, state)
    ctx.keep(state)
    ctx.leave()  # one repository's locks at a time
    with other_ctx:
        old = other_ctx.read_state(session_id)
        if old:
            take_event(old, phases.SESSION_END)
            other_ctx.keep(old)
    remaining: list[Record] = []
    if files:
        remaining.append({"worktree": old_path, "files": sorted(files)})
    return _build_adopted_record(state, old_path, remaining)


def _unite_states(ctx: Context, state: State) -> State:
    """The state of a session from another clone, with its turns before those that it had here."""
    existing = ctx.read_state(state["session_id"])
    moving: State = {key: state[key] for key in _MOVING if key in state}  # type: ignore
    if not existing:
        new = make_state(ctx.repo, state["session_id"], state["agent_type"], ctx.head)
        return {**new, **moving}
    turns = state.get("turns", {})
    last = max((turn.get("number", 0) for turn in turns.values()), default=0)
    later = {}
    for number, (turn_id, turn) in enumerate(existing.get("turns", {}).items(), last + 1):
        if turn_id not in turns:
            later[turn_id] = {**turn, "number": number}
    older: State = {key: moving[key] for key in ("first_prompt", "started_at") if key in moving}  # type: ignore
    return {**moving, **existing, **older, "turns": {**turns, **later}}


def _begin_here(ctx: Context, state: State) -> None:
    """Begin the turn, or its continuation, with this worktree as it is now."""
    repo = ctx.repo
    look = looks.look_at_worktree(ctx.repo)
    head = look.scan.head or refs.get_zeros(repo)
    dirty = scan.resolve_changes(ctx.repo.objects, look.scan, write=False)
    look.take(head, dirty)
    clear_verdict(state)
    state["base_commit"] = head
    begin_turn(repo, state, head, dirty, look.began, look.at)


def _build_adopted_record(state: State, old_path: str, remaining: list[Record]) -> Record:
    return {
        "type": "adoption",
        "session_id": state["session_id"],
        "phase": state["phase"],
        "from": old_path,
        "worktree": state["worktree_path"],
        "left": remaining,
    }
