"""gitcp-adopt - let a session that moved continue in this worktree"""

from __future__ import annotations

from gitcp.commands import JSON, make_value
from gitcp.errors import OK
from gitcp.git.repo import Repo
from gitcp.record import open_context, open_here
from gitcp.record.turn import sessions
from gitcp.terminal import cli
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    JSON,
    make_value("session", "<session>", "its id or the beginning of it"),
    make_value(
        "directory",
        "<directory>",
        "inside the clone that knows it (default: this repository)",
        nargs="?",
        default="",
    ),
)


def run(argv: Sequence[str]) -> int:
    """Make this worktree the session's home, and print the work that it left elsewhere."""
    args = cli.parse("adopt", OPTIONS, argv)
    with open_here() as ctx:
        if args.directory:
            source = open_context(Repo.find(args.directory))
        else:
            source = ctx
        record = sessions.adopt_session(ctx, source, args.session)
    if args.json:
        cli.write_records([record])
        return OK
    if record["from"] == record["worktree"]:
        cli.show(f"session {record['session_id']} is at home here")
    else:
        cli.show(f"session {record['session_id']} goes on here, from {record['from']}")
    for place in record["left"]:
        where = place["worktree"] or "a worktree that is gone"
        what = count_noun(len(place["files"]), "file")
        cli.show(f"  left in {where}: {what} that no commit has")
    return OK
