"""gitcp-doctor - find what is wrong here, and repair it"""

from __future__ import annotations

import os

from gitcp import record
from gitcp.checkpoints import listing
from gitcp.commands import JSON, make_flag
from gitcp.errors import NO, OK
from gitcp.extras.imports import linking
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

    from gitcp.setup.care.case import Mend, Row
    from gitcp.text.record_types import Finding

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
    linking.import_silently(repo)
    if args.fix and not args.dry_run:
        items = _fix(repo, args.json)
    else:
        items = [item for _, item in table.diagnose_repository(repo)]
    if args.json:
        cli.write_records(items)
    else:
        _print_findings(repo, items, args.verbose, tried=args.fix and not args.dry_run)
    if any("fixed" not in item for item in items):
        return NO
    return OK


def _print_findings(repo: Repo, items: Sequence[Finding], everything: bool, tried: bool) -> None:
    state = installation.read_state(repo)
    if state == installation.ENABLED:
        beginning = ""
    else:
        beginning = explain_beginning(state, not repo.top)
    if everything:
        reasons = findings.list_reasons(items, lambda kind: table.find_row(kind).words, tried=tried)
        cli.show(*reasons)
        if beginning:
            cli.show(f"gitcp is not recording here: {beginning}")
    else:
        causes = sentences.list_causes(items, tried=tried)
        if beginning:
            causes.append(sentences.Cause("gitcp is not recording here", beginning, False))
        lines = draw_causes(causes, _describe_there(repo), cli.read_width())
        cli.page_lines(lines, paged=False)
    unsaid = [item for item in items if "--fix" not in findings.format_remedy(item)]
    if not tried and any(item.get("fix") for item in unsaid):
        cli.page_lines([[("'gitcp doctor --fix' repairs what it can", "dim")]], paged=False)
    home = os.path.expanduser("~")
    unchecked = [name for name in installation.list_enabled(repo) if not is_looked_at(name)]
    if unchecked and everything:
        names = ", ".join(unchecked)
        cli.show(f"not checked: whether conversations of {names} were recorded")
    cli.show(*linking.list_deletions(repo, home, linking.count_conversations(repo, home)))


def _describe_there(repo: Repo) -> str:
    with Objects(repo):
        stored = stored_sessions.read_stored(repo)
    names = {*stored.sessions, *others.list_state_ids(repo)}
    return describe_there(len(names), stored.count_tasks(), listing.count_carrying(repo))


def _fix(repo: Repo, quiet: bool) -> list[Finding]:
    """Mend the findings that have a fix, if the person agrees, who is asked once about each."""
    chosen: dict[str, Mend | None] = {}

    def mend(row: Row, item: Finding) -> Finding:
        question = _ask_for(item)
        if question not in chosen:
            chosen[question] = _choose_mend(row, item, quiet)
        with Case(repo, ctx=record.open_context(repo)) as case:
            return table.mend_finding(case, chosen[question], item, "fixed")

    def find(mends: bool) -> list[Finding]:
        return [mend(row, item) if mends else item for row, item in table.diagnose_repository(repo)]

    return table.mend_all(find, "fixed")


def _ask_for(item: Finding) -> str:
    """What is wrong and what would be done, as a question without its mark."""
    remedy = str(item["remedy"])
    if remedy.startswith(("'", "gitcp doctor")):
        does = f"{item['fix']} it"
    else:
        does = remedy
    return f"{item['reason']}: {does}"


def _choose_mend(row: Row, item: Finding, quiet: bool) -> Mend | None:
    """The mend of a finding, None if it has none or the person wants none."""
    mend = row.mend if item["fix"] else None
    if mend and row.choices and not quiet:
        return row.choices.get(cli.ask_choice(f"{item['reason']}:", [*row.choices, "skip"]))
    if mend and not quiet and not cli.ask_consent(f"{_ask_for(item)}?"):
        return None
    return mend
