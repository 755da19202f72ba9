"""The lines of a message that name the agents of a commit (gitcp.disclose)."""

from __future__ import annotations

import os

from gitcp.agents import find_client
from gitcp.errors import Error
from gitcp.process import files
from gitcp.store.git import private
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import State
    from gitcp.repo import Repo

_TAIL = 1 << 20  # bytes of a transcript in which the last model is looked for


def format_lines(repo: Repo, key: str, session_ids: Iterable[str]) -> list[str]:
    """A line `key: agent (model)` for each agent and model of these sessions, once."""
    read = filter(None, (states.peek(repo, session_id) for session_id in session_ids))
    return list(dict.fromkeys(f"{key}: {_describe(state)}" for state in read))


def _describe(state: State) -> str:
    agent = " ".join((state.get("agent_type") or "an agent").split())
    turns = state.get("turns") or {}
    model = turns.get(state.get("turn_id") or "", {}).get("model")
    models = [turn["model"] for turn in turns.values() if turn.get("model")]
    model = model or (models[-1] if models else _read_model(state))
    return f"{agent} ({' '.join(model.split())})" if model else agent


def _read_model(state: State) -> str:
    """The model of the last answer at the end of the transcript; "" if there is none."""
    path = state.get("transcript_path")
    try:
        data = files.read_file(path, tail=_TAIL) if path else None
    except Error:
        return ""
    if not data:
        return ""
    lines = data if len(data) < _TAIL else data.partition(b"\n")[2]
    return find_client(state.get("agent_type", "")).scan(lines).get("model") or ""


def request_check(repo: Repo) -> None:
    """Have check-message read the coming message, which may get no other text."""
    path = repo.join_own("template")
    if not os.path.exists(path):
        private.write_private(repo, path, b"")
