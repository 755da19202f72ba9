"""gitcp-clean - remove what is settled"""

from __future__ import annotations

from gitcp.console import cli
from gitcp.console.options import JSON, make_flag, make_value, parse_number
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Finding

    Cleaned = tuple[list[Finding], list[Finding]]  # what goes or went, what is kept for now

OPTIONS = (
    make_flag("-f --force", "delete it; else it is only shown"),
    make_value(
        "--older-than",
        "<days>",
        "what has not been used for so long (default: what is configured)",
        type=parse_number,
    ),
    make_flag("--edits", "the edits of all settled sessions too, however young"),
    JSON,
)


def run(argv: Sequence[str]) -> int:
    """Show what is settled, or delete it."""
    args = cli.parse("clean", OPTIONS, argv)
    going, kept = clean_settled(args.older_than, args.force, args.edits)
    if args.json:
        records = [{**one, "deleted": args.force} for one in going]
        return cli.write_records([*records, *({**one, "deleted": False} for one in kept)])
    for line in format_report(going, kept, args.force):
        print(cli.printable(line))
    return OK


def clean_settled(older_than: int | None, force: bool, edits: bool = False) -> Cleaned:
    """What is settled, deleted with force, and what will be later on."""
    from gitcp.repo import Repo
    from gitcp.store.care import cleaning, orphans

    repo = Repo.find()
    ages = orphans.find_ages(repo, older_than, edits)
    findings = orphans.find_orphans(repo, ages)
    kept = [one for one in findings if not one["settled"]]
    settled = [one for one in findings if one["settled"]]
    return cleaning.delete_settled(repo, ages, settled) if force else settled, kept


def format_report(
    going: Sequence[Finding], waiting: Sequence[Finding], force: bool
) -> Iterator[str]:
    """The lines a person reads, in the groups of the original program
    (doc/formats.md "The original program")."""
    if going:
        items = f"{len(going)} item{'s' if len(going) > 1 else ''}"
        yield f"Deleted {items}:" if force else f"Found {items.replace(' ', ' orphaned ')}:"
        yield from _format_groups(going)
    else:
        yield "No orphaned items to clean up."
    if waiting:
        yield f"\nKept until it is old ({len(waiting)}):"
        yield from (f"  {one['subject']}  {one['reason']}" for one in waiting)
    if going and not force:
        yield "\nRun with --force to delete these items."
    if force and any("ref" in one for one in going):
        yield "\ngit takes their objects with time, and 'git gc --prune=now' at once."


def _format_groups(findings: Iterable[Finding]) -> Iterator[str]:
    from gitcp.core.decide.orphan_rules import KINDS

    of: dict[str, list[Finding]] = {}
    for one in findings:
        of.setdefault(one["kind"], []).append(one)
    for kind, heading in KINDS.items():
        if kind in of:
            yield f"\n{heading} ({len(of[kind])}):"
            yield from (f"  {one['subject']}  {one['reason']}" for one in of[kind])
