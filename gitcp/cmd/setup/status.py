"""gitcp-status - show who is at work here, and what is recorded"""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import suppress
from itertools import islice

from gitcp.checkpoints.share import places
from gitcp.commands import JSON, make_flag
from gitcp.errors import OK, Error, GitError, UsageError
from gitcp.extras.imports import unasked
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.link import commits, reading
from gitcp.setup import guard_files
from gitcp.setup.care import sentences, work_status
from gitcp.terminal import cli, lanes, rows
from gitcp.terminal.status import draw_status
from gitcp.text import console, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.setup.care.work_status import Status
    from gitcp.text.spans import Line

OPTIONS = (
    make_flag("-v --verbose", "show all sessions and decisions"),
    make_flag("--watch", "show it again whenever it changes"),
    JSON,
)
_EVERY = 2  # seconds between two updates of --watch
_CLEAR = "\033[H\033[J"


def run(argv: Sequence[str]) -> int:
    """Show the sessions and streams of this worktree."""
    args = cli.parse("status", OPTIONS, argv)
    if args.watch and args.json:
        raise UsageError("--watch writes no records: it cannot be used with --json")
    repo = Repo.find_here()
    reading.look_at_head(repo)
    guard_files.write_configured(repo)
    unasked.import_silently(repo)
    with suppress(Error):  # a repository that can only be read
        settled = places.settle(repo)
        if settled:
            console.tell(settled)
    if args.watch:
        return _watch_status(repo, args.verbose)
    try:
        status = work_status.gather_status(repo)
    except GitError as e:
        raise Error(f"{e.shorten()}; 'gitcp doctor' says more") from None
    if args.json:
        return cli.write_records([status.about, *status.sessions, *status.streams])
    cli.page_lines(_draw_lines(status, args.verbose), paged=False)
    return OK


def _draw_lines(status: Status, verbose: bool) -> list[Line]:
    return draw_status(
        status.about,
        status.sessions,
        status.streams,
        term.format_since,
        cli.read_width() or rows.NO_LIMIT,
        verbose,
        sentences.list_causes(status.findings),
    )


def _watch_status(repo: Repo, verbose: bool) -> int:
    """Show the status with its lanes until the process is ended: at a terminal in place, cut to
    its size; else one after the other."""
    last: object = None
    at_terminal = sys.stdout.isatty()
    while True:
        status = work_status.gather_status(repo)
        with Objects(repo):
            at_work = commits.list_lanes(repo, [s["session_id"] for s in status.sessions])
        first, *rest = _draw_lines(status, verbose)
        drawn = lanes.draw_open_sessions(at_work, time.time(), term.format_since)
        frame = [first, *drawn, *rest]
        if at_terminal:
            width, height = shutil.get_terminal_size()
            frame = [rows.fit_line(line, width) for line in islice(frame, height - 1)]
        # Without a terminal a changed age alone is not printed.
        state = frame if at_terminal else (status, at_work)
        if state != last:
            print(_CLEAR if at_terminal else "\n" if last else "", end="", flush=True)
            cli.page_lines(frame, paged=False)
            sys.stdout.flush()
            last = state
        time.sleep(_EVERY)
