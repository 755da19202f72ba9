"""gitcp-diff - compare checkpoints, commits and the worktree"""

from __future__ import annotations

import os
import sys

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import UsageError
from gitcp.git import decode_name, encode_name, shell
from gitcp.git.objects import Objects, compare_trees, pack_care, patches
from gitcp.git.repo import Repo
from gitcp.lines import absent
from gitcp.steps.back import named
from gitcp.steps.commits.selection import NamedWork, select
from gitcp.steps.commits.work import read_work
from gitcp.steps.whose import open_work
from gitcp.terminal import cli
from gitcp.text import console
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from gitcp.steps.commits.work import DividedWork
    from gitcp.text.record_types import Record

OPTIONS = (
    JSON,
    make_value("--session", "<id>", "the whole work of this session; the beginning of its id"),
    make_flag("--by-hand", "what no agent changed in the worktree since HEAD"),
    make_value(
        "old",
        "<old>",
        "a checkpoint, a commit, a session or a point, by its name or the beginning of its id"
        " (default: what the last turn changed)",
        nargs="?",
    ),
    make_value(
        "new", "<new>", "as <old>, or 'worktree' (the default)", nargs="?", default="worktree"
    ),
)


def run(argv: Sequence[str]) -> int:
    """Run git diff on two trees, with its own pager and colours; return its status."""
    end = argv.index("--") if "--" in argv else len(argv)
    reader = cli.Parser("diff", OPTIONS)
    reader.epilog = "Other options are those of git-diff(1); paths follow after --."
    args, options = reader.parse_known_args(list(argv[:end]))
    if (args.old is not None) + (args.session is not None) + args.by_hand > 1:
        raise UsageError(
            "--session and --by-hand cannot be used together, nor with names to compare"
        )
    if args.json and options:
        raise UsageError(f"--json cannot be used with options of git-diff(1): '{options[0]}'")
    with pack_care.open_scratch(Repo.find()) as repo:
        with Objects(repo):
            if args.old is None:
                pair = _find_work(repo, args)
            else:
                pair = [named.find_tree(repo, name) for name in (args.old, args.new)]
            if args.json:
                return cli.write_records(_list_changes(repo, pair, argv[end + 1 :]))
        with absent.stand_in(repo, absent.ask_difference(*pair), lost=True) as found:
            found.warn()
            words = ["diff", *options, *pair, "--", *argv[end + 1 :]]
            return shell.run_git(repo, words, {**found.env, **_choose_pager(repo)})


def _choose_pager(repo: Repo) -> dict[str, str]:
    """The environment by which git's pager shows the authors of lines."""
    pager = decode_name(repo.git.read_line("var", "GIT_PAGER"))
    setting = repo.config.get("pager.diff")
    if not sys.stdout.isatty() or pager == "cat" or setting:
        return {}
    return {"GIT_PAGER": shell.add_authors(pager)}


def _list_changes(repo: Repo, pair: Sequence[str], paths: Sequence[str]) -> Iterator[Record]:
    """The records of what differs between two trees; paths: only what these match, if any."""
    repo.objects.flush()
    ask = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", *pair, "--")
    names = {
        decode_name(name)
        for name in repo.git.read_records(*ask, *(encode_name(os.path.abspath(p)) for p in paths))
    }
    for path, old, new in compare_trees(repo.objects, *pair):
        if path in names:
            mode, oid = new or ("000000", None)
            change = patches.build_change(path, mode, oid, old)
            yield {**change, "kind": "tracked"}


def _find_work(repo: Repo, args: Namespace) -> Sequence[str]:
    """The trees before and after the work of a session, of no agent, or of the last turn."""
    work = read_work(repo)
    if args.session is None and not args.by_hand:
        last = work.find_last_turn()
        _tell_others(repo, work, last.ids)
        return work.make_trees(last)
    if args.session is not None:
        names = [args.session]
    else:
        names = []
    return work.make_trees(select(repo, work.edits, NamedWork(names, args.by_hand)))


def _tell_others(repo: Repo, work: DividedWork, shown: Sequence[str]) -> None:
    """Say whose turn is shown where others have work that is not committed, too."""
    others = [name for name in work.list_sessions() if name not in shown]
    if others:  # they may have committed their lines of a file that has changed since
        at_work = set[str]()
        for paths in open_work.read_open_work(repo, []).places.values():
            for session_ids in paths.values():
                at_work.update(session_ids)
        others = [name for name in others if name in at_work]
    if others:
        own = shorten_id(shown[0])
        listed = ", ".join(map(shorten_id, others))
        console.tell(f"the last turn, of session {own}; '--session <id>' shows that of {listed}")
