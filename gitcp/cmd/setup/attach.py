"""gitcp-attach - link a session that was not recorded, by its transcript"""

from __future__ import annotations

import importlib
import os

from gitcp import record
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK
from gitcp.extras.imports import linking
from gitcp.git.objects import need_commit
from gitcp.setup import adapters
from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    make_value(
        "-a --agent",
        "<agent>",
        "the agent of the transcript, if gitcp cannot tell",
        type=adapters.parse_client,
    ),
    make_value(
        "--path",
        "<directory>",
        "where the repository was when the session was at work; may be given again",
        action="append",
        default=[],
    ),
    make_flag("-n --dry-run", "show what would be linked, and do nothing"),
    JSON,
    make_value("name", "<session>", "its id or the beginning of it, or the file of its transcript"),
    make_value(
        "commit", "<commit>", "a commit of its work (default: those that hold its edits)", nargs="*"
    ),
)


def run(argv: Sequence[str]) -> int:
    """Link a session's commits and print them; status 1 if no commit holds an edit."""
    imported = importlib.import_module("gitcp.cmd.share.import")
    args = cli.parse("attach", OPTIONS, argv)
    with record.open_here() as ctx:
        oids = [need_commit(ctx.repo.objects, name)["oid"] for name in args.commit]
        home = os.path.expanduser("~")
        plan = linking.prepare_one(ctx.repo, home, args.name, args.agent or "", args.path, oids)
        if args.json:
            cli.write_records(imported.list_records(plan))
        else:
            imported.show(plan, ctx.repo.objects)
        if not plan.links:
            return NO
        if not args.dry_run:
            linking.carry_out_plan(ctx.repo, plan)
    return OK
