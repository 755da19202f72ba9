"""The turns of a stored conversation with the tokens of each."""

from __future__ import annotations

from gitcp.agents import find_client
from gitcp.core.page import turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gitcp.core.page.turns import Turn
    from gitcp.core.record_types import Record


def cut_turns(data: bytes, agent: object, tasks: Mapping[str, bytes] | None = None) -> list[Turn]:
    """The turns of an agent's transcript with their tokens; tasks: see core.page.turns."""
    gathered = turns.gather_turns(data, tasks)
    turns.add_tokens(data, gathered, find_client(str(agent)).scan)
    return gathered


def list_turns(data: bytes, agent: object, start: int) -> list[Record]:
    """prompt, start, end and tokens (None if unknown) of the turns that begin at line `start` or
    later."""
    return [
        {key: turn[key] for key in ("prompt", "start", "end")} | {"tokens": turn["spent"]}
        for turn in cut_turns(data, agent)
        if turn["line"] >= start
    ]
