"""gitcp-doctor - find what is wrong here, and repair it"""

from __future__ import annotations

import os

from gitcp import record
from gitcp.checkpoints import listing
from gitcp.commands import JSON, make_flag
from gitcp.errors import NO, OK
from gitcp.extras.imports import counts, unasked
from gitcp.extras.reports import stored_sessions
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record.session import others
from gitcp.record.unheard.unrecorded import is_looked_at
from gitcp.setup import guard_files
from gitcp.setup.care import findings, installation, sentences, table
from gitcp.setup.care.case import Case
from gitcp.terminal import cli
from gitcp.terminal.causes import describe_there, draw_causes
from gitcp.terminal.status import explain_beginning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.setup.care.findings import Diagnosis, Mend

OPTIONS = (
    make_flag("--fix", "repair it, asking at a terminal"),
    make_flag("-n --dry-run", "only show what is wrong, even with --fix"),
    make_flag("-v --verbose", "show each finding, also of many with the same cause"),
    JSON,
)


def run(argv: Sequence[str]) -> int:
    """Print what is wrong, with --fix after mending it; NO if something is left."""
    args = cli.parse("doctor", OPTIONS, argv)
    repo = Repo.find()
    guard_files.write_configured(repo)
    unasked.import_silently(repo)
    if args.fix and not args.dry_run:
        items = _fix(repo, args.json)
    else:
        items = table.diagnose_repository(repo)
    if args.json:
        cli.write_records(item.build_record() for item in items)
    else:
        _print_findings(repo, items, args.verbose, tried=args.fix and not args.dry_run)
    if all(item.done for item in items):
        return OK
    return NO


def _print_findings(repo: Repo, items: Sequence[Diagnosis], everything: bool, tried: bool) -> None:
    state = installation.read_state(repo)
    if state == installation.ENABLED:
        beginning = ""
    else:
        beginning = explain_beginning(state, not repo.top)
    if everything:
        cli.show(*findings.list_reasons(items, tried=tried))
        if beginning:
            cli.show(f"gitcp is not recording here: {beginning}")
    else:
        causes = sentences.list_causes(items, tried=tried)
        if beginning:
            causes.append(sentences.Cause("gitcp is not recording here", beginning, False))
        lines = draw_causes(causes, _describe_there(repo), cli.read_width())
        cli.page_lines(lines, paged=False)
    unsaid = [item for item in items if "--fix" not in item.spell_remedy()]
    if not tried and any(item.fix for item in unsaid):
        cli.page_lines([[("'gitcp doctor --fix' repairs what it can", "dim")]], paged=False)
    home = os.path.expanduser("~")
    unchecked = [name for name in installation.list_enabled(repo) if not is_looked_at(name)]
    if unchecked and everything:
        names = ", ".join(unchecked)
        cli.show(f"not checked: whether conversations of {names} were recorded")
    cli.show(*counts.list_deletions(repo, home, counts.count_conversations(repo, home)))


def _describe_there(repo: Repo) -> str:
    with Objects(repo):
        stored = stored_sessions.read_stored(repo)
    names = {*stored.sessions, *others.list_state_ids(repo)}
    return describe_there(len(names), stored.count_tasks(), listing.count_carrying(repo))


def _fix(repo: Repo, quiet: bool) -> list[Diagnosis]:
    """Mend the findings that have a fix, if the person agrees, who is asked once about all that
    have one cause."""
    chosen: dict[str, Mend | None] = {}

    def mend(found: Diagnosis) -> Diagnosis:
        with Case(repo, ctx=record.open_context(repo)) as case:
            return table.mend_finding(case, found, chosen.get(_identify(found)))

    def find(mends: bool) -> list[Diagnosis]:
        listed = table.diagnose_repository(repo)
        if not mends:
            return listed
        groups: dict[str, list[Diagnosis]] = {}
        for found in listed:
            if found.fix:
                groups.setdefault(_identify(found), []).append(found)
        for cause, items in groups.items():
            if cause not in chosen:
                chosen[cause] = _choose_mend(items, quiet)
        return [mend(found) for found in listed]

    return table.mend_all(find)


def _identify(found: Diagnosis) -> str:
    """What is the same in all findings that one answer of the person is for."""
    cause = sentences.identify_cause(found)
    if found.row.choices:
        return f"{cause}: {found.finding.subject}"
    return cause


def _choose_mend(items: Sequence[Diagnosis], quiet: bool) -> Mend | None:
    """The mend of findings with one cause, None if the person wants none."""
    first = items[0]
    row = first.row
    if quiet or row.mend is None:
        return row.mend
    (cause,) = sentences.list_causes(items)
    if row.choices:
        return row.choices.get(cli.ask_choice(f"{cause.sentence}:", [*row.choices, "skip"]))
    remedy = first.remedy
    if remedy.startswith(("'", "gitcp doctor")):
        remedy = f"{first.fix} it"
    if len(items) > 1 and remedy.endswith(" it"):
        remedy = f"{remedy.removesuffix('it')}them"
    if cli.ask_consent(f"{cause.sentence}: {remedy}?"):
        return row.mend
    return None
