"""gitcp-why - show the prompt, the words and the edit behind a line"""

from __future__ import annotations

import os

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK, Error
from gitcp.git.jj import choose_git
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines import causes, line_origins
from gitcp.lines.committed.evidence import Evidence
from gitcp.terminal import cli, origins
from gitcp.text import term
from gitcp.text.console import parse_positive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    make_flag("--full", "nothing shortened"),
    make_value("-n", "<number>", "prompts of a file", type=parse_positive, default=origins.MOST),
    JSON,
    make_value("revision", "<revision>", "default: worktree", nargs="?", default=""),
    make_value("lines", "<file>[:<line>[-<last>]]", "lines of a file; without numbers all"),
)


def run(argv: Sequence[str]) -> int:
    """Show the prompt, the words and the edit that lines come from; of a whole file its prompts."""
    args = cli.parse("why", OPTIONS, argv)
    repo = Repo.find_here()
    place = line_origins.parse_place(args.lines)
    refuse_folder(repo, place.path, args.revision)
    with Objects(repo):
        evidence = Evidence(repo)
        git = choose_git(repo)
        if not place.first and not args.json:
            found = causes.list_causes(repo, git, evidence, place.path, args.revision)
            width = cli.read_width()
            lines = origins.draw_causes(found, term.format_since, width, args.n)
            cli.page_lines(lines)
            return OK
        records = line_origins.list_origins(repo, git, evidence, place, args.revision)
    if args.json:
        return cli.write_records(records)
    width = cli.read_width()
    lines = origins.draw_origins(records, term.format_since, args.full, width)
    cli.page_lines(lines)
    return OK


def refuse_folder(repo: Repo, path: str, revision: str) -> None:
    """Raise Error if a path is that of a folder."""
    is_folder = os.path.isdir(path)
    if revision:
        name = f"{revision}:./{path}"
        status, out = repo.git.run("cat-file", "-t", name, ok=(0, 1, 128))
        is_folder = status == 0 and out.strip() == b"tree"
    if is_folder:
        raise Error(f"'{path}' is a folder: give a file in it")
