"""gitcp-facts-spark - export the facts of many repositories at once, on Spark"""

from __future__ import annotations

import os
import sys

from gitcp.cmd.extras import facts
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK, UsageError
from gitcp.extras.facts import dataset
from gitcp.terminal import cli
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.text.record_types import Record

OPTIONS = (
    make_value("-o", "<directory>", "the dataset, which all workers see", required=True),
    make_value("--master", "<url>", "Spark's (default: local[*])", default="local[*]"),
    make_flag("--light", "only facts that need no content of files"),
    make_value(
        "--ask",
        "<question>",
        "ask the dataset then, as gitcp facts does; may be given again",
        action="append",
        default=[],
    ),
    JSON,
    make_value("list", "<list>", "a file or table of repositories", nargs="?", default=""),
)


def run(argv: Sequence[str]) -> int:
    """Export the repositories of a list, then ask questions; status 1 if a repository failed."""
    args = cli.parse("facts-spark", OPTIONS, argv)
    if not (args.list or args.ask):
        raise UsageError("give a list of repositories, or --ask <question>")
    directory = os.path.abspath(args.o)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    failed = 0
    with dataset.open_session(args.master) as spark:
        if args.list:
            sources = dataset.read_sources(args.list)
        else:
            sources = []
        for record in dataset.export_all(spark, sources, directory, args.light):
            failed += record["state"] == "failed"
            if args.json:
                cli.write_records([record])
            else:
                cli.show(_format_line(record))
        for question in args.ask:
            facts.show(*dataset.ask_fleet(spark, directory, question), args.json)
    if failed:
        print(f"error: {failed} of {len(sources)} repositories failed", file=sys.stderr)
    return NO if failed else OK


def _format_line(record: Record) -> str:
    if record["state"] == "failed":
        return f"{record['repository']}: failed: {record['reason']}"
    new = count_noun(record["commits"], "new commit")
    return f"{record['repository']}: {new}, {record['seconds']:.1f} s"
