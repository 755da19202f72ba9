"""gitcp-search - find turns by what was said, done and committed"""

from __future__ import annotations

import os
import re
import sys
import time

from gitcp.console import cli
from gitcp.errors import NO, OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from typing import Any

    from gitcp.core.search.query import Query
    from gitcp.repo import Repo

    Hit = dict[str, Any]

_MOST = 10
_FILTERS = ("agent", "author", "branch", "session")
_COUNT = re.compile(r"-n\d+")


def parser() -> cli.Parser:
    p = cli.Parser("search")
    p.add_argument("--exact", action="store_true", help="words as they stand, parts of words too")
    p.add_argument("--outputs", action="store_true", help="also in what tool calls gave back")
    names = {
        "agent": "turns of an agent",
        "author": "turns behind commits of an author",
        "branch": "turns on a branch",
        "session": "turns of a session",
    }
    for name, what in names.items():
        p.add_argument(f"--{name}", action="append", metavar=f"<{name}>", help=what)
    p.add_argument("--since", metavar="<date>", help="not older, as in git-log(1)")
    p.add_argument("--until", metavar="<date>", help="not newer, as in git-log(1)")
    p.add_argument(
        "-n", metavar="<number>", type=cli.positive, default=_MOST, help="at most so many"
    )
    how = p.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="write records, one to a line")
    how.add_argument("--compact", action="store_true", help="write short records for an agent")
    p.add_argument("word", nargs="*", metavar="<word>", help="what to find; after -- paths")
    return p


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))


def run(argv: Sequence[str]) -> int:
    """Bring the index up to date and show what a query finds; status 1 when that is nothing."""
    from gitcp.core.search.query import add_filters, parse_query
    from gitcp.repo import Repo

    end = argv.index("--") if "--" in argv else len(argv)
    negated = [word for word in argv[:end] if _negates(word)]
    args = parser().parse_args([word for word in argv[:end] if not _negates(word)])
    repo = Repo.here()
    query = parse_query(" ".join([*args.word, *negated]))
    options = {key: getattr(args, key) or () for key in _FILTERS}
    paths = [_below(repo, path) for path in argv[end + 1 :]]
    add_filters(query, {**options, "path": paths})
    if not (query["words"] or query["filters"]):
        raise UsageError("nothing to search for: give a word, a phrase or a filter")
    hits, left = _find(repo, query, args)
    _show(hits, left, args)
    return OK if hits else NO


def _negates(word: str) -> bool:
    """Whether an argument is a word that must not be there, `-word`, and no option."""
    return len(word) > 2 and word[0] == "-" != word[1] and not _COUNT.fullmatch(word)


def _below(repo: Repo, path: str) -> str:
    """A path as it is named from the top of the worktree."""
    at = os.path.abspath(path)
    return os.path.relpath(at, repo.top) if repo.top else path


def _find(repo: Repo, query: Query, args: Namespace) -> tuple[list[Hit], int]:
    """The hits that are shown, and how many more there are."""
    from gitcp.store.search import ask

    since, until = (_seconds(repo, key, getattr(args, key)) for key in ("since", "until"))
    return ask.search(
        repo,
        query,
        exact=args.exact,
        outputs=args.outputs,
        since=since or 0.0,
        until=until or float("inf"),
        most=args.n,
        progress=_progress(),
    )


def _seconds(repo: Repo, key: str, date: str | None) -> float | None:
    """A date as git reads it, in seconds since 1970; None for none."""
    if date is None:
        return None
    answer = repo.git.out("rev-parse", f"--{key}={date}")
    return float(answer.rpartition(b"=")[2])


def _progress() -> Callable[[int, int], None]:
    """What shows how far the index has come, where somebody waits at a terminal."""
    from gitcp.console import progress

    return progress.Counter("indexing").show


def _show(hits: Sequence[Hit], left: int, args: Namespace) -> None:
    from gitcp.cmd import show
    from gitcp.console.term import ago
    from gitcp.core.render import search_lines

    if args.json:
        from gitcp import record

        record.write(sys.stdout.buffer, map(_plain, hits))
    elif args.compact:
        for hit in hits:
            print(search_lines.compact(hit))
    elif hits:
        now = time.time()
        show.page(search_lines.hits(hits, left, lambda then: ago(now - then)))
    else:
        print("no turn has all of these; '--exact' finds parts of words", file=sys.stderr)


def _plain(hit: Hit) -> dict[str, Any]:
    """A hit as a record: the marks in its snippet are for eyes."""
    snippet = hit["snippet"].replace("\1", "").replace("\2", "")
    return {"type": "hit", **hit, "snippet": snippet}
