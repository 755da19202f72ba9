"""Stages of configured pipelines, called as functions of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitcp import commands, events
from gitcp.cmd import stages
from gitcp.record import open_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gitcp.events import Stage

Json = dict[str, Any]


def bind_stage(name: str, argv: Sequence[str]) -> Callable[[Iterable[Json]], Iterable[Any]]:
    """The stage of a pipeline with its arguments, as a function of its records; one that hooks run
    is in the context of the repository here."""
    stage = stages.bind_stage(name, argv)
    if commands.stage_module(name).startswith(events.__name__):
        return lambda records: through([stage], records)
    bound: Any = stage
    return lambda records: bound(None, records)


def through(pipeline: Sequence[Stage], records: Iterable[Any]) -> list[Any]:
    """What a pipeline makes of records."""
    return events.run_pipeline(open_here(), pipeline, records)
