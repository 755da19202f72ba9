"""The turns of a stored conversation with what each of them cost."""

from __future__ import annotations

from gitcp.agents import find_client
from gitcp.core.page import turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.page.turns import Turn
    from gitcp.core.record_types import Record


def cut_turns(data: bytes, agent: object, tasks: Mapping[str, bytes] | None = None) -> list[Turn]:
    """The turns of an agent's transcript; tasks as core.page.turns has them."""
    each = turns.gather_turns(data, tasks)
    turns.add_tokens(data, each, find_client(str(agent)).scan)
    return each


def list_turns(data: bytes, agent: object, start: int) -> list[Record]:
    """prompt, start, end and tokens (None where nothing tells them) of the turns that begin at
    line `start` or later."""
    return [
        {key: turn[key] for key in ("prompt", "start", "end")} | {"tokens": turn["spent"]}
        for turn in cut_turns(data, agent)
        if turn["line"] >= start
    ]
