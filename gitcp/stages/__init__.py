"""Stages of pipelines: records in, records out.  A file holds those of one subject.

Each file ends with STAGES: name -> (function, rows of gitcp.console.options).  The function takes
the arguments and the records before it.  As a program a stage reads records from standard input,
where it looks at them, and writes them to standard output.
"""

from __future__ import annotations

import sys

from gitcp import commands
from gitcp.errors import OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, NoReturn

    from gitcp.console.options import Rows
    from gitcp.core.record_types import Record, Stage

    Function = Callable[[Any, Iterable[Record]], Iterable[Record]]


class Bare:
    """The arguments of a stage that is given none; hook: it stands in the pipeline of a hook."""

    hook = True

    def error(self, message: str) -> NoReturn:
        """A mistake in the arguments."""
        raise UsageError(message)


def find_stage(name: str) -> tuple[Function, Rows]:
    """The function and the options of a stage."""
    # as import_module() does, whose package costs a hook half a millisecond
    function, *rows = __import__(commands.stage_module(name), fromlist=["STAGES"]).STAGES[name]
    return function, rows


def bind_stage(name: str, argv: Sequence[str]) -> Stage:
    """The stage of a pipeline with its arguments; argparse is brought in only for some.
    UsageError for arguments that cannot be."""
    function, rows = find_stage(name)
    args: Any = Bare()
    if argv or (rows and _needs_argument(rows)):
        from gitcp.console import cli

        args = cli.parse(name, rows, argv)
    elif rows:
        from gitcp.console import options

        vars(args).update(options.list_defaults(rows), hook=True)
    return lambda records: function(args, records)


def _needs_argument(rows: Rows) -> bool:
    from gitcp.console import options

    return any(map(options.is_needed, rows))


def run(name: str, argv: Sequence[str]) -> int:
    """The stage as a program; its status."""
    from gitcp import record
    from gitcp.console import cli

    function, rows = find_stage(name)
    args = cli.parse(name, rows, argv)
    records = function(args, record.read_records(sys.stdin.buffer))
    if not (key := getattr(args, "z", None)):
        return cli.write_records(records)
    for value in dict.fromkeys(one[key] for one in records):
        sys.stdout.write(value + "\0")
    return OK
