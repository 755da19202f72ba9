"""gitcp-du - show what takes how much space"""

from __future__ import annotations

import time

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.git.objects.reading import split_windows
from gitcp.git.repo import Repo
from gitcp.setup.care import space, space_sums
from gitcp.terminal import cli
from gitcp.text import spans, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.setup.care.space_sums import Sum
    from gitcp.text.record_types import Record

_WINDOW = 500  # items after which the count is shown
_KEYS = {"kind": "kind", "session": "session_id", "age": "age"}
OPTIONS = (
    make_value(
        "--by",
        "<what>",
        "what to sum by: kind, session or age (default: %(default)s)",
        choices=tuple(_KEYS),
        default="kind",
    ),
    make_flag("-b --bytes", "show bytes, not larger units"),
    JSON,
)


def run(argv: Sequence[str]) -> int:
    """Show the sums."""
    args = cli.parse("du", OPTIONS, argv)
    items = space.list_items(Repo.find(), skip_sessions=args.by == "kind")
    windows = term.iterate_counted("measuring objects", split_windows(items, _WINDOW))
    each = (item for window in windows for item in window)
    sums = space_sums.sum_items(each, args.by, time.time())
    if args.json:
        return cli.write_records(list_records(sums, args.by))
    for line in format_table(sums, args.by, args.bytes):
        print(line)
    return OK


def list_records(sums: Sequence[Sum], by: str) -> Iterator[Record]:
    """A record of type usage for each sum."""
    for name, size, count in sums:
        yield {"type": "usage", _KEYS[by]: name, "bytes": size, "items": count}


def format_table(sums: Sequence[Sum], by: str, exact: bool) -> list[str]:
    """The sums as a table with their total.  exact: show bytes, not larger units."""

    def format_size(size: int) -> str:
        if exact:
            return str(size)
        return space_sums.format_size(size)

    rows = [(size, f"{_name_group(name, by)}  ({count})") for name, size, count in sums]
    rows.append((sum(size for _, size, _ in sums), "total"))
    width = max(len(format_size(size)) for size, _ in rows)
    return [f"{format_size(size):>{width}}  {spans.join_words(name)}" for size, name in rows]


def _name_group(name: str, by: str) -> str:
    if by == "kind":
        return space_sums.KINDS[name]
    if by == "session":
        return name or "of several sessions or none"
    ages = {"today": "less than a day old", "older": "older", "": "of unknown age"}
    return ages.get(name, f"less than a {name} old")
