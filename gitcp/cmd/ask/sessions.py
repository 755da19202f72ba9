"""gitcp-sessions - list the sessions of several repositories"""

from __future__ import annotations

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.extras.reports import activities, workspace
from gitcp.terminal import cli, history, rows
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_WHERE = "repositories in and below it (default: gitcp.workspace, else this one)"
OPTIONS = (
    make_flag("-a --all", "also sessions that have ended and have nothing uncommitted"),
    JSON,
    make_value("directory", "<directory>", _WHERE, nargs="*"),
)


def run(argv: Sequence[str]) -> int:
    """List sessions."""
    args = cli.parse("sessions", OPTIONS, argv)
    repos = workspace.list_repositories(args.directory)
    records = [*activities.list_activities(repos, ended=args.all)]
    if args.json:
        return cli.write_records(records)
    if records:
        width = cli.read_width() or rows.NO_LIMIT
        has_many = bool(args.directory) or len(repos) > 1
        cli.page_lines(
            history.draw_sessions(records, term.format_since, width, with_places=has_many)
        )
    elif args.all:
        print("no session is recorded here: one begins with the next prompt after 'gitcp enable'")
    else:
        print("no session is at work or has uncommitted work: 'gitcp sessions -a' lists all")
    return OK
