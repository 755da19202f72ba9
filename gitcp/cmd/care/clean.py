"""gitcp-clean - remove what is settled"""

from __future__ import annotations

from typing import NamedTuple

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

    from gitcp.setup.care.upkeep import Orphan

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
    settled, kept = _clean_settled(args.older_than, force, args.edits)
    if args.json:
        records = [{**orphan.build_record(), "deleted": force} for orphan in settled]
        records += [{**orphan.build_record(), "deleted": False} for orphan in kept]
        return cli.write_records(records)
    cli.show(*format_report(settled, kept, force))
    return OK


class _Cleaned(NamedTuple):
    """settled: was deleted, or would be; kept: is not, for now."""

    settled: list[Orphan]
    kept: list[Orphan]


def _clean_settled(older_than: int | None, force: bool, edits: bool) -> _Cleaned:
    """Find what is settled, and delete it if force is set."""
    repo = Repo.find()
    ages = upkeep.find_ages(repo, older_than, edits)
    term.show_line("looking for what is settled")
    orphans = upkeep.find_orphans(repo, ages)
    kept = [orphan for orphan in orphans if not orphan.is_settled]
    settled = [orphan for orphan in orphans if orphan.is_settled]
    if force:
        term.show_line(f"deleting {count_noun(len(settled), 'item')}")
        settled = upkeep.delete_settled(repo, ages, settled)
    return _Cleaned(settled, kept)


def format_report(
    settled: Sequence[Orphan], recent: Sequence[Orphan], force: bool
) -> Iterator[str]:
    """The report, in the groups of the original program
    (doc/formats.md "The original program")."""
    if not settled:
        yield "No orphaned items to clean up."
    elif force:
        yield f"Deleted {count_noun(len(settled), 'item')}:"
    else:
        yield f"Found {count_noun(len(settled), 'orphaned item')}:"
    yield from _format_groups(settled)
    if recent:
        yield f"\nKept until it is old ({len(recent)}):"
        yield from map(_format_orphan, recent)
    if settled and not force:
        yield "\nRun with --force to delete these items."
    if force and any(orphan.ref for orphan in settled):
        yield "\ngit prunes their objects in time; 'git gc --prune=now' does it at once."


def _format_groups(orphans: Iterable[Orphan]) -> Iterator[str]:
    groups: dict[str, list[Orphan]] = {}
    for orphan in orphans:
        groups.setdefault(orphan.kind, []).append(orphan)
    for kind, heading in KINDS.items():
        if kind in groups:
            yield f"\n{heading} ({len(groups[kind])}):"
            yield from map(_format_orphan, groups[kind])


def _format_orphan(orphan: Orphan) -> str:
    return f"  {orphan.subject}  {orphan.reason}"
