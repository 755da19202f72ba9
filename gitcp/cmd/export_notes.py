"""gitcp-export-notes - write who wrote which line as notes of Git AI"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK


def parser() -> cli.Parser:
    return cli.of_revisions("export-notes")


def main() -> int:
    return cli.guard(_run)


def _run() -> int:
    """Write the notes, and say on which commits."""
    from gitcp.repo import Repo
    from gitcp.store.lines import exports

    args = parser().parse_args()
    changed, warnings = exports.note(Repo.find(), args.revision)
    for warning in warnings:
        print("warning:", cli.printable(warning), file=sys.stderr)
    for oid in changed:
        print(oid)
    return OK
