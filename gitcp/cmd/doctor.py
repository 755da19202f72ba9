"""gitcp-doctor - find what is wrong here, and mend it"""

from __future__ import annotations

import os

from gitcp.console import cli
from gitcp.console.options import JSON, flag
from gitcp.errors import NO, OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.core.record_types import Finding, Record
    from gitcp.repo import Repo
    from gitcp.store.care.case import Case, Mend, Row

OPTIONS = (flag("--fix", "mend it, asking at a terminal"), JSON)


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
    from gitcp.core.render.status_lines import begin, remedy
    from gitcp.store.care import installation
    from gitcp.store.imports import kept

    lines = [f"{one['reason']}: {one.get('fixed') or remedy(one)}" for one in every]
    if (state := installation.state(repo)) != installation.ENABLED:
        lines.append(f"gitcp is {state} here: {begin(state, not repo.top)}")
    for line in lines or ["nothing is wrong here"]:
        print(cli.printable(line).replace("\n", " "))
    if any(one.get("fix") and "fixed" not in one for one in every):
        print("\n'gitcp doctor --fix' mends what it can")
    home = os.path.expanduser("~")
    for line in kept.deletions(repo, home, kept.count(repo, home)):
        print(cli.printable(line))


def _fix(repo: Repo, every: Iterable[tuple[Row, Finding]], quiet: bool) -> list[Finding]:
    """Mend what has a fix and the person agrees to; the findings, what is gone by that with
    `fixed`, and whatever is there afterwards."""
    from gitcp.store.care import check
    from gitcp.store.care.case import Case

    done: list[Finding] = []
    for row, one in every:
        what = str(one["fix"])
        if what == "end" and not quiet:
            what = cli.chosen(f"{one['reason']}:", _DEAD)
        elif what and not quiet and not cli.agreed(f"{one['reason']}: {one['remedy']}?"):
            what = ""
        if mend := _ENDS.get(what, row.mend if what else None):
            with Case(repo) as case:
                done.append(check.mended(case, mend, one, "fixed"))
    left = [one for _, one in check.diagnose(repo)]
    there = {check.key(one) for one in left}
    mended = [one for one in done if "fixed" in one and check.key(one) not in there]
    return [*mended, *left]


def _end(case: Case, item: Finding) -> str:
    """Do what the end of the session would have done, had its agent said so."""
    _run_stages(item["subject"], "update-session", "finalize")
    return "ended; its work stays on its stream"


def _condense(case: Case, item: Finding) -> str:
    from gitcp import context
    from gitcp.store.care import sessions

    _end(case, item)
    with context.open_context(case.repo) as ctx:
        checkpoint_id = sessions.condense(ctx, item["subject"])
    return f"ended, and stored as checkpoint {checkpoint_id}; its work stays on its stream"


def _discard(case: Case, item: Finding) -> str:
    from gitcp import context
    from gitcp.store.care import sessions

    _end(case, item)
    with context.open_context(case.repo) as ctx:
        sessions.discard(ctx, item["subject"])
    return "ended; its work is archived, the files stay as they are"


def _finalize(case: Case, item: Finding) -> str:
    _run_stages(item["subject"], "finalize")
    return "completed as far as its transcript goes"


def _run_stages(session_id: str, *stages: str) -> None:
    from gitcp.stages import bind

    event: Record = {"type": "event", "event": "session-end", "session_id": session_id}
    records: Iterable[Record] = [event]
    for stage in stages:
        records = bind(stage, [])(records)
    list(records)


_DEAD = ("keep", "condense", "discard", "skip")  # what a person may want of a dead session
# What needs the stages of an event; the table has what mends all else.
_ENDS: Mapping[str, Mend] = {
    "end": _end,
    "keep": _end,
    "condense": _condense,
    "discard": _discard,
    "finalize": _finalize,
}
