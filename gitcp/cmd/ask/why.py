"""gitcp-why - show the prompt, the words and the edit behind a line"""

from __future__ import annotations

from gitcp.cmd.ask import log
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.git.jj import choose_git
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines import blame
from gitcp.lines.committed.evidence import Evidence
from gitcp.terminal import answers, cli
from gitcp.text import term

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
