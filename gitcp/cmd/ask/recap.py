"""gitcp-recap - show what was done, by day and session"""

from __future__ import annotations

import time

from gitcp.checkpoints import redactor
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.extras.reports import activities, workspace
from gitcp.extras.reports import recap as recaps
from gitcp.link import commits
from gitcp.terminal import cli, recap, rows
from gitcp.text.times import format_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.repo import Repo

_SINCE = "1 week ago"
_DAY = 86400  # seconds
_WEEK = 7 * _DAY
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
    make_flag("-v --verbose", "show each session and commit, however many they are"),
)


def run(argv: Sequence[str]) -> int:
    """Show what was done."""
    args = cli.parse("recap", OPTIONS, argv)
    repos = workspace.list_repositories(args.repos)
    if not repos and not args.json:
        names = ", ".join(f"'{name}'" for name in args.repos) or "gitcp.workspace"
        cli.show(f"gitcp is in no repository below {names}: 'gitcp enable' in one begins")
        return OK
    records = [recaps.build_recap(repo, args.since, args.until, args.author) for repo in repos]
    records = [record for record in records if record["commits"] or record["open"]]
    if args.json:
        cli.write_records(records)
    elif not records:
        cli.page_lines([[(_describe_nothing(repos, args.since), "")]], paged=False)
    elif args.markdown:
        cli.show(*recap.format_markdown(records))
    elif args.generate:
        request = redactor.redact_text(repos[0], recap.format_request(records))
        cli.show(commits.write_prose(repos[0], request))
    else:
        width = cli.read_width() or rows.NO_LIMIT
        lines = recap.draw_recap(records, _read_calendar(), width, is_full=args.verbose)
        cli.page_lines(lines)
    return OK


def _read_calendar() -> recap.Calendar:
    now = time.time()
    return recap.Calendar(format_day(now), format_day(now - _DAY), time.localtime(now).tm_year)


def _describe_nothing(repos: Sequence[Repo], since: str) -> str:
    """That nothing was done, and when the last session was."""
    if since == _SINCE:
        when = "in the last week"
    else:
        when = f"since '{since}'"
    last = 0.0
    for repo in repos:
        for session in activities.list_all_sessions(repo):
            last = max(last, session["last"])
    if not last:
        return f"nothing {when}, and no session is recorded: one begins with the next prompt"
    day = _read_calendar().name(format_day(last))
    if day[0].isdigit():
        day = f"on {day}"
    earlier = format_day(last - _WEEK)
    return f"nothing {when}; the last session was {day}: 'gitcp recap --since {earlier}'"
