"""The lines of a message that name the agents of a commit (gitcp.disclose)."""

from __future__ import annotations

import os

from gitcp.agents import find_client
from gitcp.errors import Error
from gitcp.git import files
from gitcp.link.commit import locate_template
from gitcp.record.session import others
from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import State

_TAIL = 1 << 20  # bytes of a transcript in which the last model is looked for


def format_lines(repo: Repo, key: str, session_ids: Iterable[str]) -> list[str]:
    """A line `key: agent (model)` for each agent and model of these sessions, once."""
    lines: dict[str, None] = {}
    for session_id in session_ids:
        state = others.peek_state(repo, session_id)
        if state:
            lines[f"{key}: {_describe(state)}"] = None
    return [*lines]


def _describe(state: State) -> str:
    agent = prompt_text.join_words(state.get("agent_type") or "an agent")
    model = _find_model(state)
    if model:
        return f"{agent} ({prompt_text.join_words(model)})"
    return agent


def _find_model(state: State) -> str:
    """The model of the running turn, else of the last one that has any; "" if none is known."""
    turns = state.get("turns") or {}
    model = turns.get(state.get("turn_id") or "", {}).get("model")
    if model:
        return str(model)
    models = [turn["model"] for turn in turns.values() if turn.get("model")]
    if models:
        return str(models[-1])
    return _read_model(state)


def _read_model(state: State) -> str:
    """The model of the last answer at the end of the transcript; "" if there is none."""
    path = state.get("transcript_path")
    if not path:
        return ""
    try:
        data = files.read_file(path, tail=_TAIL)
    except Error:
        return ""
    if not data:
        return ""
    lines = data
    if len(data) >= _TAIL:
        lines = data.partition(b"\n")[2]
    return find_client(state.get("agent_type", "")).scan(lines).get("model") or ""


def request_check(repo: Repo) -> None:
    """Have check-message read the coming message, which may get no other text."""
    path = locate_template(repo)
    if not os.path.exists(path):
        files.write_private(repo, path, b"")
