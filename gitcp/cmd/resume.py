"""gitcp-resume - bring a conversation back, also into a new clone"""

from __future__ import annotations

import os

from gitcp.commands import JSON, OFFLINE, make_flag, make_value
from gitcp.console import cli
from gitcp.errors import NO, OK, Error
from gitcp.repo import Repo
from gitcp.store.back import conversation
from gitcp.store.objects import Objects
from gitcp.store.show import commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from gitcp.store.back.conversation import Restored

OPTIONS = (
    [
        make_flag("--switch", "switch to the branch first"),
        make_value(
            "--worktree",
            "<folder>",
            "check the commit out in a new worktree there, and go on in it",
        ),
    ],
    make_flag(
        "-f --force", "replace a conversation here that has diverged, instead of using a new id"
    ),
    JSON,
    OFFLINE,
    make_value(
        "name",
        "<name>",
        "a branch, a commit, a checkpoint or a session (default: HEAD)",
        nargs="?",
        default="HEAD",
    ),
)
_WORDS = {
    "written": "put back",
    "replaced": "replaced",
    "beside": "put beside the one here, which has diverged",
    "kept": "is here already",
    "impossible": "cannot be put back",
}


def run(argv: Sequence[str]) -> int:
    """Restore the conversations of a name; NO if one cannot be restored."""
    args = cli.parse("resume", OPTIONS, argv)
    repo = Repo.find()
    if args.switch:
        if repo.git.run("status", "--porcelain", "-z", filters=True)[1]:
            raise Error("there are uncommitted changes: nothing is switched")
        repo.git.run("switch", "--", args.name, filters=True)
    with Objects(repo):
        commits.fetch_missing(repo, args.name, conversation.DEPTH, offline=args.offline)
        commit, stored = conversation.read_stored(repo, args.name)
        cwd = _find_folder(repo, args, commit)
        newest = {session["session_id"]: session for session in stored}.values()
        restored = [
            conversation.plan_restoring(repo, session, cwd, args.force) for session in newest
        ]
        conversation.write_restored(repo, restored, args.name)
    _report_restored(restored, args)
    return NO if any(outcome["what"] == conversation.IMPOSSIBLE for outcome in restored) else OK


def _find_folder(repo: Repo, args: Namespace, commit: str) -> str:
    if not args.worktree:
        return os.path.realpath(repo.worktree)
    if not commit:
        raise Error(f"'{args.name}' belongs to no commit: there is nothing to check out")
    folder = os.path.abspath(args.worktree)
    repo.git.run("worktree", "add", "--detach", "--", folder, commit, filters=True)
    return str(os.path.realpath(folder))


def _report_restored(restored: Sequence[Restored], args: Namespace) -> None:
    if args.json:
        records = ({k: v for k, v in outcome.items() if k != "effects"} for outcome in restored)
        cli.write_records({"type": "conversation", **record} for record in records)
        return
    for outcome in restored:
        words = _WORDS[outcome["what"]]
        cli.show(f"session {outcome['session_id']} ({outcome['agent']}) {words}")
        for note in outcome["notes"]:
            cli.show(f"  note: {note}")
        if outcome["command"]:
            cli.show(f"  {outcome['command']}")
