"""gitcp-check - check a range by the rules of its target branch"""

from __future__ import annotations

from gitcp.commands import JSON, make_value
from gitcp.errors import NO, OK
from gitcp.extras.reports import checks
from gitcp.git.repo import Repo
from gitcp.terminal import cli
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.text.record_types import Record

OPTIONS = (
    JSON,
    make_value(
        "--rules",
        "<revision>",
        "the revision whose .gitcp.toml has the rules (default: the start of the range)",
        default="",
    ),
    make_value("revision", "<revision>", "a range <target>..<head>, as in git-log(1)", nargs="+"),
)


def run(argv: Sequence[str]) -> int:
    """Print the verdict with its reasons; status 1 if a rule is broken."""
    args = cli.parse("check", OPTIONS, argv)
    record = checks.check_range(Repo.find(), args.revision, args.rules)
    if args.json:
        cli.write_records([record])
    else:
        cli.show(*_format_lines(record))
    return NO if record["reasons"] else OK


def _format_lines(record: Record) -> Iterator[str]:
    if not record["rules"]:
        yield f"nothing to check: '{record['target']}' has no rules ('.gitcp.toml', gitcp-check(1))"
        return
    commits = count_noun(record["commits"], "commit")
    rules = count_noun(len(record["rules"]), "rule")
    yield f"{record['verdict']}: {commits}, {rules} of '{record['target']}'"
    for reason in record["reasons"]:
        where = ""
        if reason["commit"]:
            where = f"{abbreviate(reason['commit'])} "
        yield f"  {reason['rule']}: {where}{reason['reason']}"
