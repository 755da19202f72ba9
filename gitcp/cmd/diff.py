"""gitcp-diff - compare checkpoints, commits and the worktree"""

from __future__ import annotations

from gitcp.console import cli, shell
from gitcp.console.options import make_value
from gitcp.repo import Repo
from gitcp.store import pack_care
from gitcp.store.back import steps
from gitcp.store.objects import Objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    make_value(
        "old",
        "<old>",
        "a checkpoint, a commit, a session or a point, by its name or the beginning of its id",
    ),
    make_value(
        "new", "<new>", "the same, or 'worktree' (default: worktree)", nargs="?", default="worktree"
    ),
)


def run(argv: Sequence[str]) -> int:
    """Run git diff on two trees, with its own pager and colours; return its status."""
    end = argv.index("--") if "--" in argv else len(argv)
    reader = cli.Parser("diff", OPTIONS)
    reader.epilog = "Other options are those of git-diff(1); paths follow after --."
    args, options = reader.parse_known_args(list(argv[:end]))
    with pack_care.open_scratch(Repo.find()) as repo:
        with Objects(repo) as objects:
            pair = [steps.find_tree(repo, objects, name) for name in (args.old, args.new)]
        return shell.run_git(repo.git, ["diff", *options, *pair, "--", *argv[end + 1 :]])
