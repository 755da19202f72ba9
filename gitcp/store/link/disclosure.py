"""What a commit says of the agents that worked on it (gitcp.disclose)."""

from __future__ import annotations

import os

from gitcp.store.git import private
from gitcp.store.session import state as states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import State
    from gitcp.repo import Repo


def lines(repo: Repo, key: str, session_ids: Iterable[str]) -> list[str]:
    """A line `key: agent (model)` for each agent and model of these sessions, once."""
    known = filter(None, (states.peek(repo, name) for name in session_ids))
    return list(dict.fromkeys(f"{key}: {_describe(state)}" for state in known))


def _describe(state: State) -> str:
    agent = " ".join((state.get("agent_type") or "an agent").split())
    turns = state.get("turns") or {}
    now = turns.get(state.get("turn_id") or "", {}).get("model")
    models = [turn["model"] for turn in turns.values() if turn.get("model")]
    model = now or (models[-1] if models else "")
    return f"{agent} ({' '.join(model.split())})" if model else agent


def have_it_checked(repo: Repo) -> None:
    """Let check-message look at the message that comes: it may stay without any other text."""
    path = repo.own("template")
    if not os.path.exists(path):
        private.write(repo, path, b"")
