"""gitcp-export-traces - write Agent Trace records of a range"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK


def parser() -> cli.Parser:
    return cli.of_revisions("export-traces")


def main() -> int:
    return cli.guard(_run)


def _run() -> int:
    """Write a record for each commit that a session wrote lines of; nothing is changed."""
    from gitcp import record
    from gitcp.repo import Repo
    from gitcp.store.lines import exports

    revisions = parser().parse_args().revision
    record.write(sys.stdout.buffer, exports.traces(Repo.find(), revisions))
    return OK
