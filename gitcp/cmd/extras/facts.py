"""gitcp-facts - ask a dataset of facts, by SQL or a question's name"""

from __future__ import annotations

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK, UsageError
from gitcp.extras.facts import dataset
from gitcp.extras.facts.tables import QUESTIONS
from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

OPTIONS = (
    make_value("--in", "<directory>", "the directory of the dataset", dest="directory", default=""),
    [
        JSON,
        make_flag("--list", "list the named questions"),
        make_flag("--sql", "print the SQL of a question"),
    ],
    make_value("question", "<question>", "a name, or a statement of SQL", nargs="?", default=""),
)


def run(argv: Sequence[str]) -> int:
    """Print the answer to a question."""
    args = cli.parse("facts", OPTIONS, argv)
    if args.list:
        for name, (summary, _) in QUESTIONS.items():
            print(f"{name:16} {summary}")
        return OK
    if not args.question or not (args.sql or args.directory):
        raise UsageError("give a question and '--in <directory>': '--list' shows the questions")
    if args.sql:
        print(QUESTIONS[args.question][1] if args.question in QUESTIONS else args.question)
        return OK
    show(*dataset.ask_dataset(args.directory, args.question), args.json)
    return OK


def show(columns: list[str], rows: list[tuple[Any, ...]], as_records: bool) -> None:
    """Print rows as a table, or as records of type fact."""
    if as_records:
        cli.write_records({"type": "fact", **dict(zip(columns, row, strict=True))} for row in rows)
        return
    cli.show(*_format_table(columns, rows))


def _format_table(columns: list[str], rows: list[tuple[Any, ...]]) -> Iterator[str]:
    cells = [columns, *(["-" if value is None else str(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numbers = int | float | None
    right = [all(isinstance(row[n], numbers) for row in rows) for n in range(len(widths))]
    for row in cells:
        parts = zip(row, widths, right, strict=True)
        yield "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in parts).rstrip()
