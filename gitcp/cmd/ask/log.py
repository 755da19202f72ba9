"""gitcp-log - show commits with the sessions behind them"""

from __future__ import annotations

import math
import os
import sys

from gitcp.checkpoints import listing
from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import OK
from gitcp.git import decode_name
from gitcp.git.objects import Objects, pack_care
from gitcp.git.repo import Repo
from gitcp.link import commits
from gitcp.steps import abandoned, abandoned_rules
from gitcp.steps.back import present
from gitcp.terminal import cli, history, lanes, rows
from gitcp.text import term

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.text.record_types import Record
    from gitcp.text.spans import Line

OPTIONS = (
    *cli.CHOICE,
    make_flag("--all", "commits of all branches and tags"),
    make_flag("--oneline", "one line for each commit"),
    make_flag("--graph", "draw git's graph, and sessions as lanes"),
    make_flag("--abandoned", "turns whose work was given up uncommitted (arguments: paths)"),
    make_flag("--stat", "show what each commit changes in each file"),
    make_flag("-p --patch", "show what each commit changes"),
    JSON,
    make_value(
        "revision",
        "<revision>",
        "as in git-log(1) (default: HEAD); after -- only commits that change these paths",
        nargs="*",
    ),
)
_DIFF = ("diff-tree", "-r", "-p", "--no-ext-diff", "--no-color")
_PAGE = 1000  # commits that a terminal gets by default


def run(argv: Sequence[str]) -> int:
    """Show commits with their sessions."""
    before, after = cli.split_arguments(argv)
    args = cli.parse("log", OPTIONS, before)
    if args.abandoned:
        return _show_abandoned(args, after[1:])
    diff_options = _list_diff_options(args)
    if diff_options and (args.graph or args.json):
        args.error("--stat and -p cannot be used with --graph or --json")
    if args.n is None and sys.stdout.isatty() and not args.json:
        args.n = _PAGE
    options = [*(listing.ALL if args.all else ()), *cli.list_choice(args)]
    repo = Repo.find_here()
    revisions, paths = _split_names(repo, args.revision, bool(after))
    paths += after[1:]
    if repo.top:
        paths = [os.path.abspath(path) for path in paths]
    if args.graph:
        options.append("--topo-order")  # the order of git's graph
    chosen = revisions, options, paths
    if args.json:
        cli.write_records(commits.list_commits(repo, *chosen, counted=True))
    elif args.graph:
        graph = commits.read_graph(repo, *chosen)
        records = list(commits.list_commits(repo, *chosen, counted=True))
        lines = lanes.draw_graph(records, graph, with_prompts=not args.oneline)
        if width := cli.read_width():  # a line that wraps would break the lanes
            lines = (rows.fit_line(line, width) for line in lines)
        cli.page_lines(lines, folded=False)
    else:
        texts = _draw_commits(repo, args.oneline, *chosen)
        if diff_options:
            changes = commits.read_changes(repo, diff_options, *chosen)
            texts = _add_changes(texts, changes, spaced=not args.oneline)
        cli.page_texts((text for _, text in texts), has_patch=args.patch)
    return OK


def _show_abandoned(args: Namespace, paths: Sequence[str]) -> int:
    """Show the turns whose work was given up, in args.revision, which are paths too, and paths."""
    if args.all or args.graph or args.oneline or args.stat or args.author:
        args.error("--abandoned takes only -n, --since, --until, --grep, -p, --json and paths")
    repo = Repo.find_here()
    scopes = [present.name_in_worktree(repo, name) for name in (*args.revision, *paths)]
    with pack_care.open_scratch(repo) as repo, Objects(repo):
        times = _read_times(repo, args)
        listed = abandoned.list_turns(repo, scopes)
        words = args.grep or [""]
        records = [
            record
            for record in listed
            if times[0] <= record["time"] <= times[1]
            and any(abandoned_rules.has_text(record, word) for word in words)
        ][: args.n]
        if args.json:
            cli.write_records(map(abandoned.make_plain, records))
        elif not records:
            print("nothing was given up here: what a commit did not take would stand here")
        else:
            lines = (line for r in records for line in _draw_abandoned(repo, r, args.patch))
            cli.page_lines(lines)
    return OK


def _read_times(repo: Repo, args: Namespace) -> tuple[float, float]:
    """The times, in seconds since 1970, of --since and --until."""
    times = [0.0, math.inf]
    for n, (name, date) in enumerate((("since", args.since), ("until", args.until))):
        if date is not None:
            _, out = repo.git.run("rev-parse", f"--{name}={date}")
            times[n] = float(out.partition(b"=")[2])
    return times[0], times[1]


def _draw_abandoned(repo: Repo, record: Record, patch: bool) -> Iterator[Line]:
    yield from history.draw_abandoned(record, term.format_since, cli.read_width())
    if patch:
        trees = abandoned.make_trees(repo, record)
        if trees:
            _, out = repo.git.run(*_DIFF, *trees)
            yield from rows.draw_patch(decode_name(out).splitlines())
            yield []


def _list_diff_options(args: Namespace) -> list[str]:
    """The arguments of git log for --stat and -p; [] for neither."""
    width = cli.read_width()
    formats = [*(["--stat" + (f"={width}" if width else "")] if args.stat else ())]
    if args.patch:
        formats += ["-p"]
    if formats:
        return [*formats, f"--color={'always' if cli.has_colour() else 'never'}"]
    return []


def _draw_commits(repo: Repo, oneline: bool, *chosen: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(oid, text) of each commit."""
    draw = cli.choose_drawing(folded=False)
    if oneline:
        draw_commits = history.draw_oneline
    else:
        draw_commits = history.draw_log
    width = cli.read_width()

    def draw_each(records: Iterator[Record]) -> Iterator[tuple[str, str]]:
        batch = list(records)
        numbers = {}
        if width:  # they take git longer than all else
            numbers = commits.count_changes(repo, [r["oid"] for r in batch], chosen[2])
        for record in batch:
            counted = numbers.get(record["oid"])
            lines = draw_commits(record, term.format_since, width, counted)
            yield record["oid"], "".join(draw(lines))

    return commits.map_commits(repo, draw_each, *chosen, counted=not oneline)


def _add_changes(
    texts: Iterable[tuple[str, str]], changes: Iterator[tuple[str, list[str]]], *, spaced: bool
) -> Iterator[tuple[str, str]]:
    """The texts of commits, each followed by git's lines about its changes; spaced: with a blank
    line before and after these."""
    escape = cli.show_escaped if sys.stdout.isatty() else str
    for oid, text in texts:
        lines = next((lines for changed, lines in changes if changed == oid), [])
        if lines:
            lines = ["", *lines[1:], ""] if spaced else lines[1:]  # the first is blank, or ---
        yield oid, text + "".join(f"{escape(line)}\n" for line in lines)


def _split_names(repo: Repo, words: list[str], revisions_only: bool) -> tuple[list[str], list[str]]:
    """Divide words into (revisions, paths) as git does; revisions_only: all are revisions."""
    for number, name in enumerate(() if revisions_only else words):
        if os.path.lexists(name):
            status, _ = repo.git.run("rev-parse", "--quiet", "--verify", name, ok=(0, 1, 128))
            if status:
                return words[:number], words[number:]
    return words, []
