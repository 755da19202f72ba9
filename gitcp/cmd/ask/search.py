"""gitcp-search - find turns by what was said, done and committed"""

from __future__ import annotations

import os
import re
import sys
from functools import partial

from gitcp.commands import JSON, make_flag, make_value
from gitcp.errors import NO, OK, UsageError
from gitcp.extras.search import search
from gitcp.extras.search.rules import add_filters, parse_query
from gitcp.git.repo import Repo
from gitcp.terminal import cli, history
from gitcp.text import term
from gitcp.text.console import parse_positive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import Any

    from gitcp.extras.search.rules import Query

    Hit = dict[str, Any]

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
    [JSON, make_flag("--compact", "write short records for an agent")],
    make_value("word", "<word>", "what to search for; paths follow after --", nargs="*"),
)
_COUNT = re.compile(r"-n\d+")


def run(argv: Sequence[str]) -> int:
    """Bring the index up to date and show what a query finds; status 1 if it finds nothing."""
    end = argv.index("--") if "--" in argv else len(argv)
    negated = [word for word in argv[:end] if _is_negated(word)]
    args = cli.parse("search", OPTIONS, [w for w in argv[:end] if not _is_negated(w)])
    repo = Repo.find_here()
    query = parse_query(" ".join([*args.word, *negated]))
    options = {key: getattr(args, key) or () for key in _FILTERS}
    paths = [os.path.abspath(path) if repo.top else path for path in argv[end + 1 :]]
    paths = [os.path.relpath(path, repo.top) if repo.top else path for path in paths]
    add_filters(query, {**options, "path": paths})
    if not (query["words"] or query["filters"]):
        raise UsageError("nothing to search for: give a word, a phrase or a filter")
    hits, left = _find(repo, query, args)
    if args.json:
        plain = ({**hit, "snippet": hit["snippet"].translate({1: "", 2: ""})} for hit in hits)
        cli.write_records({"type": "hit", **hit} for hit in plain)
    elif args.compact:
        for hit in hits:
            print(history.format_compact(hit))
    elif hits:
        cli.page_lines(history.draw_hits(hits, left, term.format_since))
    else:
        print("no turn has all of these; '--exact' finds parts of words", file=sys.stderr)
    return OK if hits else NO


def _is_negated(word: str) -> bool:
    """Whether an argument is an excluded word, `-word`, and not an option."""
    return len(word) > 2 and word[0] == "-" != word[1] and not _COUNT.fullmatch(word)


def _find(repo: Repo, query: Query, args: Namespace) -> tuple[list[Hit], int]:
    """(the hits to show, the number of further ones)."""
    since, until = (_read_date(repo, key, getattr(args, key)) for key in ("since", "until"))
    return search.find_hits(
        repo,
        query,
        exact=args.exact,
        outputs=args.outputs,
        since=since or 0.0,
        until=until or float("inf"),
        most=args.n,
        progress=partial(term.show_count, "indexing"),
    )


def _read_date(repo: Repo, key: str, date: str | None) -> float | None:
    """A date in git's syntax as seconds since 1970; None for None."""
    if date is None:
        return None
    answer = repo.git.read_line("rev-parse", f"--{key}={date}")
    return float(answer.rpartition(b"=")[2])
