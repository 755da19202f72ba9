"""gitcp-why - show the prompt, the words and the edit behind a line"""

from __future__ import annotations

from gitcp import term
from gitcp.cmd import log
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.jj import choose_git
from gitcp.objects import Objects
from gitcp.render import answers
from gitcp.repo import Repo
from gitcp.store.lines import blame
from gitcp.store.lines.evidence import Evidence
from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    make_flag("--full", "nothing shortened"),
    JSON,
    make_value("revision", "<revision>", "default: worktree", nargs="?", default=""),
    make_value(
        "lines", "<file>[:<line>[-<last>]]", "lines of a file; without numbers its newest change"
    ),
)


def run(argv: Sequence[str]) -> int:
    """Show the prompt, the words and the edit that each line comes from."""
    args = cli.parse("why", OPTIONS, argv)
    repo = Repo.find_here()
    log.look_at_head(repo)
    with Objects(repo):
        evidence = Evidence(repo)
        git, lines = choose_git(repo), args.lines
        records = list(blame.list_origins(repo, git, evidence, lines, args.revision))
    if args.json:
        return cli.write_records(records)
    cli.page_lines(answers.draw_origins(records, term.format_time, args.full))
    return OK
