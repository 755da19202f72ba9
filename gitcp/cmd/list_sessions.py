"""gitcp-list-sessions - list sessions as records"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo


def parser() -> cli.Parser:
    p = cli.Parser("list-sessions")
    p.add_argument("--session", metavar="<id>", help="only this one; the beginning is enough")
    p.add_argument("--worktree", action="store_true", help="only those at home in this worktree")
    which = p.add_mutually_exclusive_group()
    which.add_argument("--states", action="store_true", help="only those that have a state")
    which.add_argument("--stored", action="store_true", help="only those in the permanent store")
    return p


def listed(repo: Repo, args: Namespace) -> list[Record]:
    """Session records, the one that started last first (gitcp-record(5)); nothing changes."""
    from gitcp.store.git.objects import Objects
    from gitcp.store.session import markers, session_list, session_read

    with Objects(repo) as objects:
        sessions = session_list.every(repo, objects, stored=not args.states)
    if args.stored:
        sessions = [r for r in sessions if any(c["checkpoint_id"] for c in r["checkpoints"])]
    if args.worktree:
        sessions = [r for r in sessions if "phase" in r and markers.is_home(repo, r)]
    if args.session is not None:
        wanted = session_read.pick(args.session, [r["session_id"] for r in sessions])
        sessions = [r for r in sessions if r["session_id"] == wanted]
    return sessions


def bind(argv: Sequence[str]) -> Stage:
    """A stage that begins a pipe."""
    from gitcp.repo import Repo

    args = parser().parse_args(argv)
    return lambda _: listed(Repo.here(), args)


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
