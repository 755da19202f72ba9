"""gitcp-doctor - find what is wrong here, and mend it"""

from __future__ import annotations

import os

from gitcp.console import cli
from gitcp.console.options import JSON, make_flag
from gitcp.errors import NO, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.core.record_types import Finding, Record
    from gitcp.repo import Repo
    from gitcp.store.care.case import Row

OPTIONS = (make_flag("--fix", "mend it, asking at a terminal"), JSON)


def run(argv: Sequence[str]) -> int:
    """Say what is wrong, and mend it where that is asked for; NO when something is left."""
    from gitcp.repo import Repo
    from gitcp.store.care import check
    from gitcp.store.setup import guard_files

    args = cli.parse("doctor", OPTIONS, argv)
    repo = Repo.find()
    guard_files.write_configured(repo)
    every = check.diagnose(repo)
    records = _fix(repo, every, args.json) if args.fix else [one for _, one in every]
    if args.json:
        cli.write_records(records)
    else:
        _tell(repo, records)
    return NO if any("fixed" not in one for one in records) else OK


def _tell(repo: Repo, every: Iterable[Record]) -> None:
    from gitcp.core.render.status_lines import explain_beginning, format_remedy
    from gitcp.store.care import installation
    from gitcp.store.imports import kept

    lines = [f"{one['reason']}: {one.get('fixed') or format_remedy(one)}" for one in every]
    if (state := installation.read_state(repo)) != installation.ENABLED:
        lines.append(f"gitcp is {state} here: {explain_beginning(state, not repo.top)}")
    for line in lines or ["nothing is wrong here"]:
        print(cli.printable(line).replace("\n", " "))
    if any(one.get("fix") and "fixed" not in one for one in every):
        print("\n'gitcp doctor --fix' mends what it can")
    home = os.path.expanduser("~")
    for line in kept.list_deletions(repo, home, kept.count_conversations(repo, home)):
        print(cli.printable(line))


def _fix(repo: Repo, every: Iterable[tuple[Row, Finding]], quiet: bool) -> list[Finding]:
    """Mend what has a fix and the person agrees to; the findings, what is gone by that with
    `fixed`, and whatever is there afterwards."""
    from gitcp import context
    from gitcp.store.care import check
    from gitcp.store.care.case import Case

    done: list[Finding] = []
    for row, one in every:
        mend = row.mend if one["fix"] else None
        if mend and row.choices and not quiet:
            mend = row.choices.get(cli.ask_choice(f"{one['reason']}:", [*row.choices, "skip"]))
        elif mend and not quiet and not cli.ask_consent(f"{one['reason']}: {one['remedy']}?"):
            mend = None
        if mend:
            with Case(repo, ctx=context.open_context(repo)) as case:
                done.append(check.mend_finding(case, mend, one, "fixed"))
    left = [one for _, one in check.diagnose(repo)]
    there = {check.get_key(one) for one in left}
    mended = [one for one in done if "fixed" in one and check.get_key(one) not in there]
    return [*mended, *left]
