"""gitcp-diff - compare checkpoints, commits and the worktree"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> cli.Parser:
    p = cli.Parser("diff")
    old = "a checkpoint, a commit or a session, by its name or the beginning of its id"
    p.add_argument("old", metavar="<old>", help=old)
    new = "the same, or 'worktree' (default: worktree)"
    p.add_argument("new", nargs="?", default="worktree", metavar="<new>", help=new)
    p.epilog = "Other options are those of git-diff(1); paths follow after --."
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Let git compare the trees, with its own pager and colours; git's status."""
    from gitcp.console import shell
    from gitcp.repo import Repo
    from gitcp.store.back import trees
    from gitcp.store.git.objects import Objects
    from gitcp.store.pack import aside

    at = argv.index("--") if "--" in argv else len(argv)
    args, options = parser().parse_known_args(list(argv[:at]))
    with aside.looking(Repo.find()) as repo:
        with Objects(repo) as objects:
            pair = [trees.find_tree(repo, objects, name) for name in (args.old, args.new)]
        return shell.git(repo.git, ["diff", *options, *pair, "--", *argv[at + 1 :]])
