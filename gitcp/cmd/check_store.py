"""gitcp-check-store - check every promise of the stored data"""

from __future__ import annotations

import sys

from gitcp.console import cli, progress
from gitcp.core.upkeep import findings
from gitcp.errors import NO, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Finding, Stage


def parser() -> cli.Parser:
    p = cli.Parser("check-store")
    p.add_argument("--repair", action="store_true", help="mend what can be mended without loss")
    p.add_argument("--secrets", action="store_true", help="search what is stored for secrets")
    p.add_argument("-q", "--quiet", action="store_true", help="leave notes out")
    p.add_argument("--json", action="store_true", help="write records, one to a line")
    return p


def listed(argv: Sequence[str]) -> Iterator[Finding]:
    """The findings that the options ask for, as they come."""
    from gitcp.repo import Repo
    from gitcp.store.upkeep import check_store

    args = parser().parse_args(argv)
    for one in check_store.check(Repo.find(), secrets=args.secrets, repair=args.repair):
        if not args.quiet or one["severity"] != findings.NOTE:
            yield one


def bind(argv: Sequence[str]) -> Stage:
    """A source of records of type finding: what comes in is not read."""
    parser().parse_args(argv)
    return lambda _: listed(argv)


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Write the findings; NO when one of them is more than a note and not repaired."""
    from gitcp import record

    json, failures = parser().parse_args(argv).json, 0
    for one in listed(argv):
        failures += findings.counts([one])
        progress.hide()
        if json:
            record.write(sys.stdout.buffer, [one])
        else:
            print(cli.printable(findings.line(one)).replace("\n", " "))
    return NO if failures else OK
