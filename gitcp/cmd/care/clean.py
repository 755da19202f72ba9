"""gitcp-clean - remove what is settled"""

from __future__ import annotations

from gitcp.checkpoints.format.orphan_rules import KINDS
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.git.repo import Repo
from gitcp.setup.care import upkeep
from gitcp.terminal import cli
from gitcp.text import term
from gitcp.text.console import parse_number
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.text.record_types import Finding

OPTIONS = (
    make_flag("-f --force", "delete the items instead of listing them"),
    make_flag("-n --dry-run", "list the items, even with --force"),
    make_value(
        "--older-than",
        "<days>",
        "items that were not used for so many days (default: as configured)",
        type=parse_number,
    ),
    make_flag("--edits", "the edits of all settled sessions too, even of recent ones"),
    JSON,
)


def run(argv: Sequence[str]) -> int:
    """Show what is settled, or delete it."""
    args = cli.parse("clean", OPTIONS, argv)
    force = args.force and not args.dry_run
    settled, kept = clean_settled(args.older_than, force, args.edits)
    if args.json:
        records = [{**finding, "deleted": force} for finding in settled]
        return cli.write_records([*records, *({**finding, "deleted": False} for finding in kept)])
    cli.show(*format_report(settled, kept, force))
    return OK


def clean_settled(
    older_than: int | None, force: bool, edits: bool
) -> tuple[list[Finding], list[Finding]]:
    """(the settled findings, which are deleted if force is set; those that are kept for now)."""
    repo = Repo.find()
    ages = upkeep.find_ages(repo, older_than, edits)
    term.show_line("looking for what is settled")
    findings = upkeep.find_orphans(repo, ages)
    kept = [finding for finding in findings if not finding["settled"]]
    settled = [finding for finding in findings if finding["settled"]]
    if not force:
        return settled, kept
    term.show_line(f"deleting {count_noun(len(settled), 'item')}")
    return upkeep.delete_settled(repo, ages, settled), kept


def format_report(
    settled: Sequence[Finding], recent: Sequence[Finding], force: bool
) -> Iterator[str]:
    """The report, in the groups of the original program
    (doc/formats.md "The original program")."""
    if settled:
        count = count_noun(len(settled), "item" if force else "orphaned item")
        yield f"{'Deleted' if force else 'Found'} {count}:"
        yield from _format_groups(settled)
    else:
        yield "No orphaned items to clean up."
    if recent:
        yield f"\nKept until it is old ({len(recent)}):"
        yield from (f"  {finding['subject']}  {finding['reason']}" for finding in recent)
    if settled and not force:
        yield "\nRun with --force to delete these items."
    if force and any("ref" in finding for finding in settled):
        yield "\ngit prunes their objects in time; 'git gc --prune=now' does it at once."


def _format_groups(findings: Iterable[Finding]) -> Iterator[str]:
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding["kind"], []).append(finding)
    for kind, heading in KINDS.items():
        if kind in groups:
            yield f"\n{heading} ({len(groups[kind])}):"
            yield from (f"  {finding['subject']}  {finding['reason']}" for finding in groups[kind])
