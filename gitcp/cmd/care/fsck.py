"""gitcp-fsck - check the stored data, and repair it"""

from __future__ import annotations

from gitcp.cmd.stages import upkeep
from gitcp.errors import NO, OK
from gitcp.setup.care import findings, table
from gitcp.terminal import cli
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.text.record_types import Finding

OPTIONS = upkeep.OPTIONS["check-store"]


def run(argv: Sequence[str]) -> int:
    """Write the findings; NO if an error or a warning is not repaired."""
    args = cli.parse("fsck", OPTIONS, argv)
    failures = 0
    listed = list["Finding"]()
    for finding in upkeep.check_store((), args):
        failures += findings.count_failures([finding])
        if args.json:
            term.hide_progress()
            cli.write_records([finding])
        else:
            listed.append(finding)
    term.hide_progress()
    rows = [_build_row(finding, args.fix) for finding in listed]
    lines = findings.group_lines(rows, args.verbose)
    cli.show(*lines)
    if lines != findings.group_lines(rows, True):
        print("\n'gitcp fsck -v' shows each of them")
    others = {item["kind"] for item, row in zip(listed, rows, strict=True) if "--fix" not in row[2]}
    if not args.fix and any(table.find_row(kind).fix for kind in others):
        print("\n'gitcp fsck --fix' repairs what it can")
    return NO if failures else OK


def _build_row(finding: Finding, tried: bool) -> tuple[str, str, str]:
    """The row of a finding for group_lines(); tried: whether to repair it was tried."""
    row = table.find_row(finding["kind"])
    problem = f"{row.words} ({row.code})"
    done = finding.get("repaired")
    if done:
        return f"repaired: {problem}", f"{finding['subject']}: {done}", ""
    remedy = {"remedy": row.remedy, "fix": row.fix}
    helps = findings.format_remedy(remedy, "gitcp fsck --fix", tried=tried)
    if finding["severity"] == findings.NOTE:  # nothing has to be done
        helps = ""
    place = f"{finding['subject']}: {finding['reason']}"
    return f"{finding['severity']}: {problem}", place, helps
