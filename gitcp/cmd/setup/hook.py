"""gitcp-hook - run the pipeline of a hook"""

from __future__ import annotations

import os

import gitcp
from gitcp import commands, events
from gitcp.commands import make_flag, make_value
from gitcp.errors import OK, Error
from gitcp.git import shell
from gitcp.git.config_table import EVENTS
from gitcp.git.repo import Repo
from gitcp.setup import guard_files
from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

OPTIONS = (
    make_flag("--list", "show which pipeline each event runs, and where it is set"),
    make_flag("--sh", "name the file that git's hooks source"),
    make_value("hook", "<hook>", "a git hook, or an agent", nargs="?"),
    make_value(
        "args", "<arg>", "the arguments that git gives the hook, or the agent's event", nargs="*"
    ),
)


def run(argv: Sequence[str]) -> int:
    """Show the pipelines, or where the hooks' file is."""
    args = cli.parse("hook", OPTIONS, argv)
    if args.sh:
        print(os.path.join(os.path.dirname(os.path.abspath(gitcp.__file__)), "hooks.sh"))
        return OK
    if not args.list:
        args.error("no hook named")
    repo = Repo.find_here()
    guard_files.write_configured(repo)
    print(*_format_table(repo), sep="\n")
    return OK


def _format_table(repo: Repo) -> Iterator[str]:
    """A line for each pipeline in force: its event, its source, its stages, and why it cannot
    run."""
    keys = repo.config.list_keys("gitcp.", ".pipeline")
    configured = {key[len("gitcp.") :].rpartition(".")[0] for key in keys}
    for event in [*EVENTS, *sorted(configured - {"", *EVENTS})]:
        values = repo.config.get_all(f"gitcp.{event}.pipeline")
        for pipeline in events.list_pipelines(repo, event):
            source = "built in"
            if isinstance(pipeline, str):
                source = "configured"
            unable = _explain_unable(repo, event, pipeline)
            yield f"{event:20} {source:11} {events.format_pipeline(pipeline)}{unable}"
        if values and not any(values):
            yield f"{event:20} {'configured':11} (nothing)"


def _explain_unable(repo: Repo, event: str, pipeline: events.Stages | str) -> str:
    """Why a configured pipeline cannot run; '' if no reason is found."""
    if event not in EVENTS:
        return "  (cannot run: no such event)"
    if not isinstance(pipeline, str):
        return ""
    try:
        for name, *_ in commands.parse_pipeline(pipeline):
            if name.startswith("!"):
                shell.find_program(name[1:], repo.top)
    except Error as e:
        return f"  (cannot run: {e})"
    return ""
