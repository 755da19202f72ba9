"""All sessions as records (doc/scenarios.md "003 Sessions and strategies")."""

from __future__ import annotations

from gitcp.core.v1 import session_part, summary
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.git.tree import read_tree
from gitcp.store.stream import shadow_refs, stream_list
from gitcp.store.turn import session_read
from gitcp.store.v1 import committed_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.core.record_types import Record, State, Tree
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_read import SessionEntry

STRATEGY = "manual-commit"
_WINDOW = 128  # session directories whose prompts are asked for at once


def list_sessions(repo: Repo, objects: Objects, stored: bool = True) -> list[Record]:
    """A record of each session with a state, the newest start first.  stored: also of those that
    have only checkpoints in the permanent store."""
    sessions = build_records(session_read.list_states(repo), list_temporary(repo, objects))
    if stored:
        sessions = add_stored(repo, sessions)
    return sorted(sessions, key=lambda record: -session_read.parse_time(record["started_at"]))


def list_temporary(repo: Repo, objects: Objects) -> list[Record]:
    """A checkpoint record for each commit of every stream."""
    chains = stream_list.read_chains(repo, shadow_refs.list_tips(repo, objects))
    return [checkpoint for chain in chains.values() for checkpoint in chain]


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
    for checkpoint in committed_list.list_checkpoints(repo, brief=True):
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
        "time": session_read.parse_time(metadata.get("created_at")),
        "is_task_checkpoint": metadata.get("is_task") is True,
        "tool_use_id": metadata.get("tool_use_id") or "",
    }


def _get_intent(metadata: dict[str, Any]) -> str:
    stored = metadata.get("summary")
    intent = stored.get("intent") if isinstance(stored, dict) else None
    return intent if isinstance(intent, str) else ""


def _add_descriptions(
    repo: Repo, sessions: dict[str, Record], first: dict[str, tuple[float, SessionEntry]]
) -> None:
    """Set description and start of sessions without a state from their first checkpoint."""
    session_ids = [session_id for session_id in first if not sessions[session_id]["description"]]
    prompts = _read_prompts(repo, [first[session_id][1]["tree"] for session_id in session_ids])
    for session_id, prompt in zip(session_ids, prompts, strict=True):
        session, metadata = sessions[session_id], first[session_id][1]["metadata"]
        session["description"] = prompt or f"{session['agent_type'] or 'Agent'} session"
        session["started_at"] = metadata.get("created_at", "")


def _read_prompts(repo: Repo, trees: list[str]) -> Iterator[str]:
    """The first prompt of each session directory; '' without one."""
    with Prefetched(repo) as objects:
        for start in range(0, len(trees), _WINDOW):
            part = trees[start : start + _WINDOW]
            objects.fetch(part)
            entries = [_read_entries(objects, tree) for tree in part]
            objects.fetch(e[summary.PROMPT][1] for e in entries if summary.PROMPT in e)
            for entry in entries:
                blob = objects.read(entry[summary.PROMPT][1]) if summary.PROMPT in entry else None
                joined = decode_name(blob[2]) if blob and blob[1] == "blob" else ""
                prompts = (p.strip() for p in joined.split(summary.SEPARATOR))
                yield next(iter(session_part.select_typed(prompts)), "")
            objects.forget()


def _read_entries(objects: Objects, tree: str) -> Tree:
    try:
        return read_tree(objects, tree)
    except Error:
        return {}  # the listing of checkpoints has reported it
