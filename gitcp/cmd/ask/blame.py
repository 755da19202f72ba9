"""gitcp-blame - show which session or person wrote each line of a file"""

from __future__ import annotations

import os
import sys

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.git import Git, decode_name, jj
from gitcp.git.gitdir import find_top
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines import blame, blame_options
from gitcp.lines.committed import evidence, history
from gitcp.terminal import blame_rows, cli
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OPTIONS = (
    JSON,
    make_flag("--mark-unknown", "show ? for unrecorded lines too"),
    make_flag("--coarse", "guess the session of unknown lines, and show it with ?"),
    make_value("args", "<arg>", "an argument of git-blame(1)", nargs="*"),
)


def run(argv: Sequence[str]) -> int:
    """Show a file's lines with their authors."""
    if argv in (["-h"], ["--help"]):
        cli.parse("blame", OPTIONS, argv)  # else the arguments are git's
    options = blame_options.parse_arguments(argv)
    flags = options.flags
    form = blame_options.choose_format(options)
    # Start git before Repo.find() where both are sure to find the same repository.
    is_plain = find_top(os.getcwd()) and not jj.find_root(os.getcwd())
    repo = None if is_plain else Repo.find()
    if "reverse" in flags:  # it shows where lines are last, not which commit added them
        os.execvp("git", ["git", "blame", *([f"--{form}"] if form else []), *options.given])
    git = jj.choose_git(repo) if repo else Git()
    if "s" in flags and "json" not in flags and not form:
        _print([history.read_table(git, options)])  # no author is shown
        return OK
    # git works while modules are imported.
    finish = history.start_groups(git, options)
    term.show_line("finding who wrote the lines")
    repo = repo or Repo.find_here()
    with Objects(repo):
        has_contents = any(word.startswith("--contents") for word in options.given)
        line_evidence = evidence.Evidence(repo, worktree=not has_contents)
        if form:
            _print(blame.format_lines(repo, options, finish(), line_evidence))
        elif "json" in flags:
            cli.write_records(blame.build_records(repo, options, finish(), line_evidence))
        elif sys.stdout.isatty() and blame_rows.leaves_form(options.given):
            records = list(blame.build_records(repo, options, finish(), line_evidence))
            lines = blame_rows.draw_blame(records, term.format_since, cli.read_width())
            cli.page_lines(lines, folded=False)
        else:
            _print(blame.format_table(repo, git, options, finish(), line_evidence))
    return OK


def _print(lines: Iterable[bytes]) -> None:
    """Print lines through git's pager at a terminal, and unchanged elsewhere."""
    if sys.stdout.isatty():
        cli.page_texts(cli.show_escaped(decode_name(line)) for line in lines)
    else:
        cli.write_bytes(lines)
