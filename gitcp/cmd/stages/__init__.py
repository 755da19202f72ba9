"""Stages by their names: those of configured pipelines, and programs that pipe records.

The files here have the stages that no hook runs by itself; gitcp/events has the others.  A stage is
a function `stage(records)`, or `stage(records, args)` if it has options: its rows in OPTIONS of its
file.  As a program it reads its records from standard input and writes them to standard output.
"""

from __future__ import annotations

import sys

from gitcp import commands, events
from gitcp.commands import make_value
from gitcp.errors import OK
from gitcp.git.repo import Repo
from gitcp.record import leave_all, open_here, per_event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from gitcp.commands import Rows
    from gitcp.text.record_types import Record, Records, Stage

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
def update_session(event: Record) -> list[Record]:
    """Update the session's state as the built-in pipeline of the event does."""
    stages = events.find_pipeline(Repo.find_here(), event["event"])
    named = (stage for stage in stages if stage.__name__ == update_session.__name__)
    return [record for stage in named for record in stage([event])] or [event]


def find_stage(name: str) -> tuple[Callable[..., Records], Rows]:
    """The function and the options of a stage."""
    module: Any = __import__(commands.stage_module(name), fromlist=["OPTIONS"])
    rows = {**OPTIONS, **getattr(module, "OPTIONS", {})}.get(name, ())
    return getattr(module, name.replace("-", "_")), rows


def bind_stage(name: str, argv: Sequence[str]) -> Stage:
    """The stage of a pipeline with its arguments; what hooks run by itself needs none.  Raise
    UsageError for invalid arguments."""
    function, rows = find_stage(name)
    if not argv and (not rows or function.__defaults__):
        return function
    from gitcp.terminal import cli

    args = cli.Parser(name, rows, add_help=False).parse_args(argv)
    return lambda records: function(records, args)


def bind_pipeline(text: str, top: str | None) -> tuple[Stage, ...]:
    """The stages of a configured pipeline; a stage `!cmd args` runs as a process in the directory
    top.  Raise Error if it has a mistake."""
    return tuple(
        _bind_foreign([name[1:], *argv], top) if name.startswith("!") else bind_stage(name, argv)
        for name, *argv in commands.parse_pipeline(text)
    )


def _bind_foreign(words: Sequence[str], top: str | None) -> Stage:
    from gitcp.git import shell

    return lambda records: shell.run_filter(words, _leave_after(records), top)


def _leave_after(records: Records) -> Iterator[Record]:
    """The records, for a foreign program: before it runs, states are written and locks released."""
    yield from records
    leave_all()


def run(name: str, argv: Sequence[str]) -> int:
    """Run a stage as a program; return its status."""
    from gitcp.git import records as record
    from gitcp.terminal import cli

    function, rows = find_stage(name)
    args = cli.parse(name, rows, argv)
    records: Records = record.read_records(sys.stdin.buffer)
    stage: Stage = (lambda records: function(records, args)) if rows else function
    if commands.stage_module(name).startswith(events.__name__):
        records = events.run_pipeline(open_here(), [stage], records)
    else:
        records = stage(records)
    key = getattr(args, "z", None)
    if not key:
        return cli.write_records(records)
    for value in dict.fromkeys(item[key] for item in records):
        sys.stdout.write(value + "\0")
    return OK
