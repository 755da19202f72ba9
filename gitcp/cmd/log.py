"""gitcp-log - show commits with the sessions behind them"""

from __future__ import annotations

import os
import sys

from gitcp.console import JSON, cli, make_flag, make_value, parse_positive
from gitcp.core.render import history
from gitcp.errors import OK
from gitcp.repo import Repo
from gitcp.stages.turns import look_at_head
from gitcp.store.show import commits
from gitcp.store.v1 import checkpoint_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    make_value("-n", "<number>", "at most that many commits", type=parse_positive),
    make_flag("--all", "commits of all branches and tags"),
    make_flag("--graph", "draw git's graph, and sessions as lanes"),
    JSON,
    make_value(
        "revision",
        "<revision>",
        "as in git-log(1) (default: HEAD); after -- only commits that change these paths",
        nargs="*",
    ),
)
_PAGE = 1000  # commits at a terminal, where few people read on


def run(argv: Sequence[str]) -> int:
    """Show commits with their sessions."""
    before, after = _split(argv)
    args = cli.parse("log", OPTIONS, before)
    limit = args.n
    if limit is None and sys.stdout.isatty() and not args.json:
        limit = _PAGE
    options = [*(checkpoint_list.ALL if args.all else ()), *([f"-n{limit}"] if limit else [])]
    repo = Repo.find_here()
    look_at_head(repo)
    revisions, paths = _split_names(repo, args.revision, bool(after))
    paths += after[1:]
    paths = [os.path.abspath(path) for path in paths] if repo.top else paths
    if args.graph:
        options.append("--topo-order")  # the order of git's graph
    chosen = revisions, options, paths
    if args.json:
        cli.write_records(commits.list_commits(repo, *chosen))
    elif args.graph:
        graph = commits.read_graph(repo, *chosen)
        lines = history.draw_graph(list(commits.list_commits(repo, *chosen)), graph)
        if width := cli.read_width():  # a line that wraps would break the lanes
            lines = (history.fit_line(line, width) for line in lines)
        cli.page_lines(lines, folded=False)
    else:
        draw = cli.choose_drawing()
        texts = commits.map_commits(repo, lambda c: draw(history.draw_log(c)), *chosen)
        cli.page_texts(texts)
    return OK


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the arguments before `--`, with -<number> as -n; `--` and those after it)."""
    end = argv.index("--") if "--" in argv else len(argv)
    before = [f"-n{a[1:]}" if a[:1] == "-" and a[1:].isdecimal() else a for a in argv[:end]]
    return before, list(argv[end:])


def _split_names(repo: Repo, words: list[str], revisions_only: bool) -> tuple[list[str], list[str]]:
    """(revisions, paths) among words, by git's rules; revisions_only: there are no paths."""
    for number, name in enumerate(() if revisions_only else words):
        if os.path.lexists(name):
            status, _ = repo.git.run("rev-parse", "--quiet", "--verify", name, ok=(0, 1, 128))
            if status:
                return words[:number], words[number:]
    return words, []
