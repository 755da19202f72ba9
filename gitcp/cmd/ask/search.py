"""gitcp-search - find turns by what was said, done and committed"""

from __future__ import annotations

import os
import re
import sys
from functools import partial

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK, Error, UsageError
from gitcp.extras.reports import workspace
from gitcp.extras.search import search
from gitcp.extras.search.rules import add_filters, parse_query
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.terminal import cli, hits
from gitcp.terminal.hits import FoundTurns
from gitcp.text import term
from gitcp.text.console import parse_positive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from gitcp.extras.search.rules import Query
    from gitcp.text.record_types import Record


_MOST = 10
_FILTERS = ("agent", "author", "branch", "session")
OPTIONS = (
    make_flag("--exact", "find words as they are written, and parts of words"),
    make_flag("--outputs", "search the outputs of tool calls too"),
    make_value("--agent", "<agent>", "only turns of this agent", action="append"),
    make_value("--author", "<author>", "only turns of commits by this author", action="append"),
    make_value("--branch", "<branch>", "only turns on this branch", action="append"),
    make_value("--session", "<session>", "only turns of this session", action="append"),
    make_value("--since", "<date>", "not older, as in git-log(1)"),
    make_value("--until", "<date>", "not newer, as in git-log(1)"),
    make_value("-n", "<number>", "at most so many", type=parse_positive, default=_MOST),
    make_value(
        "--repos", "<directory>", "all repositories below these", action="append", default=[]
    ),
    [JSON, make_flag("--compact", "write short records for an agent")],
    make_value("word", "<word>", "what to search for; paths follow after --", nargs="*"),
)
_COUNT = re.compile(r"-n\d+")


def run(argv: Sequence[str]) -> int:
    """Bring the index up to date and show what a query finds; status 1 if it finds nothing."""
    end = argv.index("--") if "--" in argv else len(argv)
    negated = [word for word in argv[:end] if _is_negated(word)]
    args = cli.parse("search", OPTIONS, [w for w in argv[:end] if not _is_negated(w)])
    query = parse_query(" ".join([*args.word, *negated]))
    paths = argv[end + 1 :]
    options = {key: getattr(args, key) or () for key in _FILTERS}
    if not (query["words"] or query["filters"] or paths or any(options.values())):
        raise UsageError("nothing to search for: give a word, a phrase or a filter")
    found = []
    for repo in _list_repositories(args):
        one = _find(repo, _add_filters(repo, query, options, paths), args)
        if args.repos:
            one.repository = repo.top or repo.common
        found.append(one)
    found = [one for one in found if one.hits]
    found.sort(key=lambda one: -one.hits[0]["score"])
    if args.json:
        cli.write_records(record for one in found for record in _build_records(one))
    elif args.compact:
        for one in found:
            for hit in one.hits:
                print(hits.format_compact(hit))
    elif found:
        cli.page_lines(hits.draw_hits(found, term.format_since, cli.read_width()))
    else:
        print("no prompt has all of these; '--exact' finds parts of words", file=sys.stderr)
    return OK if found else NO


def _list_repositories(args: Namespace) -> list[Repo]:
    """The repositories to search.  Raises Error if none is below the directories that are given."""
    if not args.repos:
        return [Repo.find_here()]
    repos = workspace.list_repositories(args.repos)
    if not repos:
        raise Error(f"no repository with gitcp is below '{args.repos[0]}'")
    return repos


def _add_filters(
    repo: Repo, query: Query, options: Mapping[str, Sequence[str]], paths: Sequence[str]
) -> Query:
    """The query with the filters of options, and with paths as the repository names them."""
    if repo.top:
        paths = [os.path.relpath(os.path.abspath(path), repo.top) for path in paths]
    filters = {key: list(values) for key, values in query["filters"].items()}
    narrowed: Query = {**query, "filters": filters}
    add_filters(narrowed, {**options, "path": paths})
    return narrowed


def _build_records(found: FoundTurns) -> Iterator[Record]:
    """The records of hits; the repository's name is in them if several were searched."""
    for hit in found.hits:
        record: Record = {"type": "hit", **hit}
        record["snippet"] = hit["snippet"].translate({1: "", 2: ""})
        if found.repository:
            record["repository"] = found.repository
        yield record


def _is_negated(word: str) -> bool:
    """Whether an argument is an excluded word, `-word`, and not an option."""
    return len(word) > 2 and word[0] == "-" != word[1] and not _COUNT.fullmatch(word)


def _find(repo: Repo, query: Query, args: Namespace) -> FoundTurns:
    since, until = (_read_date(repo, key, getattr(args, key)) for key in ("since", "until"))
    listed, left = search.find_hits(
        repo,
        query,
        exact=args.exact,
        outputs=args.outputs,
        since=since or 0.0,
        until=until or float("inf"),
        most=args.n,
        progress=partial(term.show_count, "indexing"),
    )
    with Objects(repo):
        return FoundTurns(listed, left, parents=search.find_parents(repo, listed))


def _read_date(repo: Repo, key: str, date: str | None) -> float | None:
    """A date in git's syntax as seconds since 1970; None for None."""
    if date is None:
        return None
    answer = repo.git.read_line("rev-parse", f"--{key}={date}")
    return float(answer.rpartition(b"=")[2])
