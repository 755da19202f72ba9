"""gitcp-unlink - remove the link of a commit to a checkpoint by hand"""

from __future__ import annotations

from gitcp import record
from gitcp.cmd.share.link import tell
from gitcp.commands import JSON, make_value
from gitcp.errors import OK
from gitcp.git.objects import need_commit
from gitcp.steps import by_hand
from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    make_value("-m --message", "<reason>", "why, for the note", default=""),
    JSON,
    make_value("commit", "<commit>", "the commit, which stays as it is"),
    make_value("name", "<id>", "one of its checkpoints; default: all", nargs="?", default=""),
)


def run(argv: Sequence[str]) -> int:
    """Remove links of a commit, and print their checkpoints."""
    args = cli.parse("unlink", OPTIONS, argv)
    with record.open_here() as ctx:
        commit = need_commit(ctx.repo.objects, args.commit)
        gone = by_hand.unlink_commit(ctx, commit, args.name, args.message)
    tell(args.json, "unlinked", commit["oid"], gone)
    return OK
