"""gitcp-resume - put conversations back where their agents look"""

from __future__ import annotations

import os

from gitcp.console import cli
from gitcp.console.options import JSON, OFFLINE, make_flag, make_value
from gitcp.errors import NO, OK, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Sequence

    from gitcp.repo import Repo
    from gitcp.store.back.conversation import Stored
    from gitcp.store.back.resume import Restored

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
        "-f --force",
        "replace a conversation that is here and went another way, instead of a new id",
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
    "beside": "put beside the one here, which went another way",
    "kept": "is here already",
    "impossible": "cannot be put back",
}


def run(argv: Sequence[str]) -> int:
    """Restore the conversations behind a name; the status: NO when one cannot be."""
    from gitcp.repo import Repo
    from gitcp.store.back import resume
    from gitcp.store.git.objects import Objects
    from gitcp.store.show import on_demand

    args = cli.parse("resume", OPTIONS, argv)
    repo = Repo.find()
    if args.switch:
        _switch(repo, args.name)
    on_demand.fetch_missing(repo, args.name, resume.DEPTH, offline=args.offline)
    with Objects(repo) as objects:
        commit, stored = resume.read_stored(repo, objects, args.name)
        cwd = _find_folder(repo, args, commit)
        restored = [
            resume.plan_restoring(repo, one, cwd, args.force) for one in _choose_newest(stored)
        ]
        resume.write_restored(repo, objects, restored, args.name)
    _report_restored(restored, args)
    return NO if any(one["what"] == resume.IMPOSSIBLE for one in restored) else OK


def _choose_newest(stored: Iterable[Stored]) -> list[Stored]:
    """Each session once, as its last checkpoint has it."""
    return list({one["session_id"]: one for one in stored}.values())


def _switch(repo: Repo, name: str) -> None:
    if repo.git.run("status", "--porcelain", "-z", filters=True)[1]:
        raise Error("there are changes that are not committed: nothing is switched")
    repo.git.run("switch", "--", name, filters=True)


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
        conversations = ({k: v for k, v in one.items() if k != "effects"} for one in restored)
        cli.write_records({"type": "conversation", **one} for one in conversations)
        return
    for one in restored:
        head = f"session {one['session_id']} ({one['agent']}) {_WORDS[one['what']]}"
        print(cli.printable(head))
        for note in one["notes"]:
            print(cli.printable(f"  note: {note}"))
        if one["command"]:
            print(cli.printable(f"  {one['command']}"))
