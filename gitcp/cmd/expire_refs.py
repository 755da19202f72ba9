"""gitcp-expire-refs - name the refs that are past keeping"""

from __future__ import annotations

import sys
import time

from gitcp.console import cli
from gitcp.core.decide import ref_expiry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record, Stage

_DAY = 86400


def parser() -> cli.Parser:
    p = cli.Parser("expire-refs")
    keep = "how many refs of each directory to keep (default: %(default)s)"
    p.add_argument("--keep", type=cli.number, default=10, metavar="<n>", help=keep)
    age = "only refs older than this (default: %(default)s)"
    p.add_argument("--older-than", type=cli.number, default=0, metavar="<days>", help=age)
    return p


def past_keeping(records: Iterable[Record], keep: int, before: int) -> Iterator[Record]:
    """ref_expiry.expired over the records of type ref; the others are not ours to judge."""
    chosen = [r for r in records if r.get("type") == "ref"]
    yield from ref_expiry.expired(map(_checked, chosen), keep, before)  # type: ignore[misc]


def _checked(record: Record) -> ref_expiry.Ref:
    from gitcp.errors import InputError

    if not isinstance(record.get("ref"), str) or not isinstance(record.get("time"), int):
        raise InputError("a record of type 'ref' needs 'ref' and 'time'")
    return record  # type: ignore[return-value]


def bind(argv: Sequence[str]) -> Stage:
    opts = parser().parse_args(argv)
    age = opts.older_than * _DAY
    before = int(time.time()) - age if age else sys.maxsize
    return lambda records: past_keeping(records, opts.keep, before)


def main() -> int:
    return cli.filter_main(bind, sys.argv[1:])
