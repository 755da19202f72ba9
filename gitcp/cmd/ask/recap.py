"""gitcp-recap - show what was done, by day and session"""

from __future__ import annotations

import sys

from gitcp.checkpoints import redactor
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK
from gitcp.extras.reports import reports
from gitcp.link import commits
from gitcp.terminal import cli, history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SINCE = "1 week ago"
OPTIONS = (
    make_value(
        "--since", "<date>", f"not older, as in git-log(1) (default: {_SINCE})", default=_SINCE
    ),
    make_value("--until", "<date>", "not newer, as in git-log(1)", default=""),
    make_value("--author", "<author>", "only commits of an author, as in git-log(1)", default=""),
    make_value(
        "--repos",
        "<directory>",
        "all repositories below these (default: gitcp.workspace, else this one)",
        nargs="+",
        default=(),
    ),
    [
        JSON,
        make_flag("--markdown", "write Markdown"),
        make_flag("--generate", "let a model put it into words (gitcp.summarize)"),
    ],
)


def run(argv: Sequence[str]) -> int:
    """Show what was done; status 1 if there is nothing."""
    args = cli.parse("recap", OPTIONS, argv)
    repos = reports.list_repositories(args.repos)
    records = [reports.build_recap(repo, args.since, args.until, args.author) for repo in repos]
    records = [record for record in records if record["commits"] or record["open"]]
    if args.json:
        cli.write_records(records)
    elif args.markdown:
        cli.show(*history.format_markdown(records))
    elif args.generate and records:
        request = redactor.redact_text(repos[0], history.format_request(records))
        cli.show(commits.write_prose(repos[0], request))
    elif records:
        cli.page_lines(history.draw_recap(records))
    else:
        print(f"nothing was done since '{args.since}'", file=sys.stderr)
    return OK if records else NO
