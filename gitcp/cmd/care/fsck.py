"""gitcp-fsck - check the stored data, and repair it"""

from __future__ import annotations

from gitcp.cmd.stages import upkeep
from gitcp.errors import NO, OK
from gitcp.setup.care import findings
from gitcp.setup.care.findings import Told
from gitcp.terminal import cli
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.setup.care.findings import Diagnosis

OPTIONS = upkeep.OPTIONS["check-store"]
_FSCK = "gitcp fsck --fix"


def run(argv: Sequence[str]) -> int:
    """Write the findings; NO if an error or a warning is not repaired."""
    args = cli.parse("fsck", OPTIONS, argv)
    failures = 0
    listed: list[Diagnosis] = []
    for found in upkeep.find_in_store(args):
        failures += findings.count_failures([found])
        if args.json:
            term.hide_progress()
            cli.write_records([found.build_stored_record()])
        else:
            listed.append(found)
    term.hide_progress()
    told = [_tell(found, args.fix) for found in listed]
    lines = findings.group_lines(told, args.verbose)
    cli.show(*lines)
    if lines != findings.group_lines(told, True):
        print("\n'gitcp fsck -v' shows each of them")
    unsaid = [found for found, each in zip(listed, told, strict=True) if "--fix" not in each.remedy]
    if not args.fix and any(found.row.fix for found in unsaid):
        print("\n'gitcp fsck --fix' repairs what it can")
    return NO if failures else OK


def _tell(found: Diagnosis, tried: bool) -> Told:
    """What is told of a finding; tried: whether to repair it was tried."""
    row = found.row
    problem = f"{row.words} ({row.code})"
    subject = found.finding.subject
    if found.done:
        return Told(f"repaired: {problem}", f"{subject}: {found.done}", "")
    remedy = ""
    if found.severity != findings.NOTE:  # of a note nothing has to be done
        remedy = findings.spell_remedy(row.get_remedy(), row.fix, _FSCK, tried=tried)
    place = f"{subject}: {found.build_stored_record()['reason']}"
    return Told(f"{found.severity}: {problem}", place, remedy)
