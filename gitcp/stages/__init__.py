"""Stages of pipelines: records in, records out.  A file has the stages of a subject.

Each file ends with STAGES: name -> (function, rows of gitcp.console.options).  The function takes
the arguments and the records of the stage before.  As a program a stage reads its records from
standard input and writes them to standard output.
"""

from __future__ import annotations

import sys

from gitcp import commands, record
from gitcp.console import options
from gitcp.errors import OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, NoReturn

    from gitcp.console.options import Rows
    from gitcp.core.record_types import Record, Stage

    Function = Callable[[Any, Iterable[Record]], Iterable[Record]]


class Bare:
    """The arguments of a stage without any; hook: it runs in a hook's pipeline."""

    hook = True

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments."""
        raise UsageError(message)


def find_stage(name: str) -> tuple[Function, Rows]:
    """The function and the options of a stage."""
    # import_module() would cost a hook half a millisecond.
    function, *rows = __import__(commands.stage_module(name), fromlist=["STAGES"]).STAGES[name]
    return function, rows


def bind_stage(name: str, argv: Sequence[str]) -> Stage:
    """The stage of a pipeline with its arguments.  Raise UsageError for invalid arguments."""
    function, rows = find_stage(name)
    args: Any = Bare()
    if argv or rows:
        if argv or any(map(options.is_needed, rows)):
            from gitcp.console import cli

            args = cli.parse(name, rows, argv)
        else:
            vars(args).update(options.list_defaults(rows), hook=True)
    return lambda records: function(args, records)


def map_events(
    records: Iterable[Record], handle: Callable[[Record], Iterable[Record]]
) -> Iterator[Record]:
    """The records, with those that handle() makes of an agent's event in its place."""
    for item in records:
        if item.get("type") == "event" and item.get("session_id"):
            yield from handle(item)
        else:
            yield item


def run(name: str, argv: Sequence[str]) -> int:
    """Run a stage as a program; return its status."""
    function, rows = find_stage(name)
    from gitcp.console import cli

    args = cli.parse(name, rows, argv)
    records = function(args, record.read_records(sys.stdin.buffer))
    if not (key := getattr(args, "z", None)):
        return cli.write_records(records)
    for value in dict.fromkeys(item[key] for item in records):
        sys.stdout.write(value + "\0")
    return OK
