"""gitcp-resume - bring a conversation back, also into a new clone"""

from __future__ import annotations

import os
import shlex

from gitcp.agents import get_client
from gitcp.commands import JSON, OFFLINE, make_flag, make_value
from gitcp.errors import NO, OK, Error
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.link import commits
from gitcp.setup import adapters
from gitcp.steps import handover, handover_text
from gitcp.steps.back import conversation
from gitcp.terminal import cli
from gitcp.text.console import parse_positive
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from gitcp.steps.back.conversation import Restored

OPTIONS = (
    [
        make_flag("--switch", "switch to the branch first"),
        make_value(
            "--worktree",
            "<folder>",
            "check the commit out in a new worktree there, and go on in it",
        ),
    ],
    make_value(
        "--with",
        "<client>",
        "hand it over to another client: the command that begins a session",
        type=adapters.parse_client,
    ),
    make_flag("--print", "with --with: the first prompt itself"),
    make_value(
        "--size",
        "<bytes>",
        f"with --with: the most that the prompt may have (default: {handover_text.DEFAULT})",
        type=parse_positive,
    ),
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
    if getattr(args, "with") is not None:
        return _hand_over(repo, args)
    if args.print or args.size:
        args.error("--print and --size need --with")
    if args.switch:
        if repo.git.run("status", "--porcelain", "-z", filters=True)[1]:
            raise Error("commit or stash your changes first: nothing was switched")
        repo.git.run("switch", "--", args.name, filters=True)
    with Objects(repo):
        commits.fetch_missing(repo, args.name, conversation.DEPTH, offline=args.offline)
        stored = conversation.read_stored(repo, args.name)
        cwd = _find_folder(repo, args, stored.commit)
        newest = {session.session_id: session for session in stored.sessions}.values()
        restored = [
            conversation.plan_restoring(repo, session, cwd, args.force) for session in newest
        ]
        conversation.write_restored(repo, restored, args.name)
    _report_restored(restored, args)
    if any(outcome.what == conversation.IMPOSSIBLE for outcome in restored):
        return NO
    return OK


def _hand_over(repo: Repo, args: Namespace) -> int:
    """Write the prompt by which another client goes on, or the command that gives it that."""
    if args.switch or args.worktree or args.force or (args.print and args.json):
        args.error("--with takes only --print or --json, --size, --offline and a name")
    client = get_client(getattr(args, "with"))
    size = args.size or handover_text.DEFAULT
    if not handover_text.LEAST <= size <= handover_text.MOST:
        args.error(f"--size is from {handover_text.LEAST} to {handover_text.MOST} bytes")
    with pack_care.open_scratch(repo) as scratch, Objects(scratch):
        commits.fetch_missing(scratch, args.name, conversation.DEPTH, offline=args.offline)
        made = handover.make_handover(scratch, args.name, size)
    if args.print:
        cli.write_bytes([made["text"].encode("utf-8", "replace")])
        return OK
    words = ["gitcp", "resume", "--with", client.NAME, "--print"]
    if args.size:
        words += [f"--size={args.size}"]
    printed = shlex.join([*words, made["session_id"]])
    command = client.format_begin_command(f'"$({printed})"')
    if command:
        notes = []
    else:
        notes = [f"{client.AGENT_TYPE} takes no prompt at its start: give it this one"]
    session = {"session_id": made["session_id"], "agent": made["agent"]}
    if args.json:
        told = {"what": "handed-over", "command": command or printed, "notes": notes}
        return cli.write_records([{"type": "conversation", **session, **told}])
    count = f"{made['turns']} of {count_noun(made['of'], 'turn')}"
    size = len(made["text"].encode("utf-8", "replace"))
    cli.show(f"session {made['session_id']} ({made['agent']}): {count} in {size} bytes")
    for note in notes:
        cli.show(f"  note: {note}")
    cli.show(f"  {command or printed}")
    return OK


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
        cli.write_records(outcome.make_record() for outcome in restored)
        return
    for outcome in restored:
        words = _WORDS[outcome.what]
        cli.show(f"session {outcome.session_id} ({outcome.agent}) {words}")
        for note in outcome.notes:
            cli.show(f"  note: {note}")
        if outcome.command:
            cli.show(f"  {outcome.command}")
