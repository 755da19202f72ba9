"""Stages by their names: those of configured pipelines, and programs that pipe records.

The files here have the stages that no hook runs by itself; gitcp/events has the others.  A stage is
a function `stage(records)`, or `stage(records, args)` if it has options: its rows in OPTIONS of its
file; one that hooks run takes a context first.  As a program it reads its records from standard
input and writes them to standard output.
"""

from __future__ import annotations

import sys

from gitcp import commands, events
from gitcp.commands import make_value
from gitcp.errors import OK
from gitcp.events import per_event
from gitcp.record import leave_all, open_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gitcp.commands import Rows
    from gitcp.events import Stage
    from gitcp.record import Context
    from gitcp.text.record_types import Event, Passed

# Of stages that hooks run, which load no options.
OPTIONS = {
    "release-claim": (
        make_value(
            "--session", "<id>", "release what this session holds here; the beginning is enough"
        ),
    ),
    "match-commit": (make_value("commit", "<commit>", "a commit that is made", nargs="?"),),
}


@per_event
def update_session(ctx: Context, event: Event) -> list[Passed]:
    """Update the session's state as the built-in pipeline of the event does."""
    for stage in events.find_pipeline(ctx.repo, event["event"]):
        if stage.__name__ == update_session.__name__:
            return list(stage(ctx, [event]))
    return [event]


def _is_of_hooks(name: str) -> bool:
    """Whether hooks run a stage, which then takes a context."""
    module = commands.stage_module(name)
    return module.startswith(events.__name__) or module == __name__


def find_stage(name: str) -> tuple[Callable[..., Iterable[Any]], Rows]:
    """The function and the options of a stage."""
    module: Any = __import__(commands.stage_module(name), fromlist=["OPTIONS"])
    rows = {**OPTIONS, **getattr(module, "OPTIONS", {})}.get(name, ())
    return getattr(module, name.replace("-", "_")), rows


def bind_stage(name: str, argv: Sequence[str]) -> Stage:
    """The stage of a pipeline with its arguments; what hooks run by itself needs none.  Raise
    UsageError for invalid arguments."""
    function, rows = find_stage(name)
    if not argv and (not rows or function.__defaults__):
        return _bind(name, function)
    from gitcp.terminal import cli

    return _bind(name, function, cli.Parser(name, rows, add_help=False).parse_args(argv))


def _bind(name: str, function: Callable[..., Iterable[Any]], *args: Namespace) -> Stage:
    """The stage that calls a function with these arguments."""
    if not _is_of_hooks(name):
        return lambda ctx, records: function(records, *args)
    if args:
        return lambda ctx, records: function(ctx, records, *args)
    return function


def bind_pipeline(text: str, top: str | None) -> tuple[Stage, ...]:
    """The stages of a configured pipeline; a stage `!cmd args` runs as a process in the directory
    top.  Raise Error if it has a mistake."""
    return tuple(
        _bind_foreign([name[1:], *argv], top) if name.startswith("!") else bind_stage(name, argv)
        for name, *argv in commands.parse_pipeline(text)
    )


def _bind_foreign(words: Sequence[str], top: str | None) -> Stage:
    from gitcp.git import shell

    def stage(ctx: Context, passed: Iterable[Passed]) -> Iterable[Any]:
        return shell.run_filter(words, _leave_after(passed), top)

    return stage


def _leave_after(records: Iterable[Passed]) -> Iterator[Any]:
    """The records, for a foreign program: before it runs, states are written and locks released."""
    yield from records
    leave_all()


def run(name: str, argv: Sequence[str]) -> int:
    """Run a stage as a program; return its status."""
    from gitcp.git import records as record
    from gitcp.terminal import cli

    function, rows = find_stage(name)
    args = cli.parse(name, rows, argv)
    records: Iterable[Any] = record.read_records(sys.stdin.buffer)
    if _is_of_hooks(name):
        stage = _bind(name, function, *([args] if rows else []))
        written: Iterable[Any] = events.run_pipeline(open_here(), [stage], records)
    elif rows:
        written = function(records, args)
    else:
        written = function(records)
    key = getattr(args, "z", None)
    if not key:
        return cli.write_records(written)
    for value in dict.fromkeys(item[key] for item in written):
        sys.stdout.write(value + "\0")
    return OK
