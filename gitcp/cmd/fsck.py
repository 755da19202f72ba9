"""gitcp-fsck - check the stored data, and repair it"""

from __future__ import annotations

from gitcp.console import cli, term
from gitcp.core import findings
from gitcp.errors import NO, OK
from gitcp.stages import find_stage
from gitcp.stages.upkeep import check_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = find_stage("check-store")[1]


def run(argv: Sequence[str]) -> int:
    """Write the findings; NO if an error or a warning is not repaired."""
    args, failures, rows = cli.parse("fsck", OPTIONS, argv), 0, list[tuple[str, str, str]]()
    for finding in check_store(args, ()):
        failures += findings.count_failures([finding])
        if args.json:
            term.hide_progress()
            cli.write_records([finding])
        else:
            rows.append(findings.build_row(finding))
    term.hide_progress()
    lines = findings.fold_lines(rows, args.verbose)
    cli.show(*lines)
    if len(lines) < len(rows):
        print("\n'gitcp fsck -v' shows each of them")
    return NO if failures else OK
