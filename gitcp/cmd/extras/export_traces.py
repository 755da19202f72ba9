"""gitcp-export-traces - write Agent Trace records of a range"""

from __future__ import annotations

from gitcp.commands import REVISIONS
from gitcp.git.repo import Repo
from gitcp.lines import exports
from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (REVISIONS,)


def run(argv: Sequence[str]) -> int:
    """Write a record for each commit that has lines of a session."""
    revisions = cli.parse("export-traces", OPTIONS, argv).revision
    return cli.write_records(exports.build_traces(Repo.find(), revisions))
