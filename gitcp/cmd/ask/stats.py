"""gitcp-stats - count the lines that agents and people wrote"""

from __future__ import annotations

import gc
import os
import time
from functools import partial
from typing import cast

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK, Error
from gitcp.extras.reports import stored_sessions, survival
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines import exports, prices, sums, tallies, tally
from gitcp.lines.committed import evidence
from gitcp.terminal import cli, extras
from gitcp.terminal import stats as drawing
from gitcp.text import console, term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.extras.reports.stored_sessions import StoredSessions
    from gitcp.lines.prices import Prices
    from gitcp.terminal.stats import Lasting, Stats

OPTIONS = (
    [JSON, make_flag("--markdown", "write tables for a pull request")],
    make_flag(
        "--survival", "show too how many of the agents' lines last, and who rewrote the others"
    ),
    *cli.CHOICE,
    make_flag(
        "--all", "count also what is older than the first thing recorded, however much it is"
    ),
    make_value("--by", "<what>", "only one table, in full", choices=drawing.TABLES, default=""),
    make_flag("--cost", "show too what the tokens cost, by the known prices"),
    make_value(
        "words",
        "<revision>",
        "as in git-log(1) (default: HEAD); after -- only these paths are counted",
        nargs="*",
    ),
)
_WIDE = 100  # cells of a line without a terminal


def run(argv: Sequence[str]) -> int:
    """Show who wrote the lines of a range."""
    words, after = cli.split_arguments(argv)
    args = cli.parse("stats", OPTIONS, words)
    paths = after[1:]
    choice = cli.list_choice(args)
    if choice and args.survival:
        args.error("--survival follows lines through every commit of a range: name revisions")
    repo = Repo.find_here()
    below = "."
    if repo.top:
        below = os.path.relpath(os.getcwd(), repo.top)
    paths = [os.path.normpath(os.path.join(below, path)) for path in paths]
    table = prices.load(repo) if args.cost else None
    if args.cost and table is None:
        install = extras.describe_install("prices")
        raise Error(f"no price list found: set gitcp.prices to a file, or install one: {install}")
    if not (args.all or args.words or paths or choice or args.survival):
        choice = _begin_range(repo)
    with Objects(repo):
        stored = stored_sessions.read_stored(repo)
    counted = sums.Sums(stored.map_roots())
    stats = _count_lines(repo, counted, (args.words, paths, choice), args.survival, table)
    if args.json:
        return cli.write_records([stats])
    year = time.localtime().tm_year
    if args.markdown:
        for line in drawing.format_markdown(stats, year):
            print(line)
        return OK
    writing = [row["session_id"] for row in stats["sessions"] if row["added"]]
    sessions = _name_sessions(repo, stored, writing)
    width = cli.read_width() or _WIDE
    cli.page_lines(drawing.draw_stats(stats, width, sessions, year, args.by))
    return OK


def _name_sessions(
    repo: Repo, stored: StoredSessions, asked: Sequence[str]
) -> dict[str, drawing.SessionTitle]:
    """What the conversations are called that are stored, by session id."""
    found: dict[str, drawing.SessionTitle] = {}
    with Objects(repo):
        for name in asked:
            session = stored.sessions.get(name)
            if session is None:
                continue
            prompt = ""
            if not session.title:
                prompt = stored_sessions.read_first_prompt(repo, session)
            found[name] = drawing.SessionTitle(session.title, prompt)
    return found


def _begin_range(repo: Repo) -> list[str]:
    """The options of git log by which the default range begins at the first thing recorded, where
    many commits are older."""
    with Objects(repo):
        start = tallies.find_start(repo)
    if start is None:
        return []
    day = term.format_time(start)[:10]
    console.tell(
        f"gitcp: commits from before {day}, when nothing was recorded, are left out: --all"
    )
    return [f"--since=@{start}"]


def _count_lines(
    repo: Repo,
    counted: sums.Sums,
    chosen: tuple[list[str], list[str], list[str]],
    with_survival: bool,
    price_list: Prices | None,
) -> Stats:
    """The record of chosen commits: (revisions, paths, options of git log).  counted: empty."""
    revisions, paths, choice = chosen
    gc.disable()  # the objects of each window of commits are freed without it
    with Objects(repo):
        if with_survival:
            lasting = _replay_history(repo, revisions, paths, counted)
        else:
            for counts in tallies.list_tallies(repo, revisions, paths, (*exports.WHOLE, *choice)):
                counted.take(counts)
        stats = counted.build_record()
        if with_survival:
            stats["survival"] = lasting
        if price_list:
            stats["cost"] = price_list.sum_record(counted.spent)
    return cast("Stats", stats)


def _replay_history(
    repo: Repo, revisions: list[str], paths: list[str], counted: sums.Sums
) -> Lasting:
    """Count all commits of revisions; return the key `survival`."""
    authors = evidence.Evidence(repo)
    replay = survival.Replay(repo, authors, revisions, paths).begin()
    for commit in exports.list_commits(repo, revisions, (), survival.OPTIONS):
        replay.replay_commit(commit)
        counts = tally.count_commit(commit)
        if paths:
            counts = counts.limit(partial(exports.is_below, paths=paths))
        if counts.files or not paths:
            counted.take(counts)
    return cast("Lasting", replay.build_record())
