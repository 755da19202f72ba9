"""gitcp-sessions - list the sessions of several repositories"""

from __future__ import annotations

import sys

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK
from gitcp.extras.reports import reports
from gitcp.terminal import cli, history
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
    """List sessions; status 1 if there is none."""
    args = cli.parse("sessions", OPTIONS, argv)
    records = [
        session
        for repo in reports.list_repositories(args.directory)
        for session in reports.list_sessions(repo)
        if args.all or session["state"] != "ended" or session["files_touched"]
    ]
    if args.json:
        cli.write_records(records)
    elif records:
        cli.page_lines(history.draw_sessions(records, term.format_since))
    else:
        few = "no session is running or has uncommitted work; -a lists all"
        print("no session is recorded" if args.all else few, file=sys.stderr)
    return OK if records else NO
