"""gitcp-relink - find the commits that lost their checkpoint id"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage


def parser() -> Parser:
    """Only people need the option; post-rewrite brings what was rewritten in its event."""
    from gitcp.console import cli

    p = cli.Parser("gitcp-relink", "Find the commits that lost their checkpoint id.")
    p.add_argument("-n", "--dry-run", action="store_true", help="write no notes")
    p.add_argument("--hook", action="store_true", help="take post-rewrite events from the pipe")
    return p


def bind(argv: Sequence[str]) -> Stage:
    """In a pipe: each post-rewrite event is obeyed.  By itself: look for all that is lost."""
    if not argv:
        return _events
    options = parser().parse_args(argv)
    return _events if options.hook else lambda _: _all(options.dry_run)


def _events(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        yield record
        if record.get("event") == "post-rewrite" and record["args"]:
            yield from _rewritten(record)


def _rewritten(event: Record) -> Iterator[Record]:
    from gitcp import context
    from gitcp.store.link import relink
    from gitcp.store.session import markers

    with context.here() as ctx:
        about = event["args"][0], event["stdin"]
        noted, made = relink.rewritten(ctx.repo, ctx.objects, *about)
        for marker in markers.here(ctx.repo) if made else ():
            state = ctx.state(marker["session_id"], rebuild=False)
            if state:
                relink.work(ctx.repo, ctx.objects, state, made)
                ctx.keep(state)
    yield from ({"type": "match", **link} for link in noted)


def _all(dry_run: bool) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store.git import notes
    from gitcp.store.git.objects import Objects
    from gitcp.store.link import relink

    repo = Repo.here()
    with Objects(repo) as objects:
        for found in relink.lost(repo, objects):
            if not dry_run:
                notes.add(repo, objects, found["commit"], found["checkpoint_id"])
            yield {"type": "match", **found}


def main() -> int:
    from gitcp.console import cli

    argv = sys.argv[1:]
    if "--hook" in argv:
        return cli.filter_main(bind, argv)
    return cli.source_main(lambda given: lambda _: _run(given), argv)


def _run(argv: Sequence[str]) -> Iterable[Record]:
    return _all(parser().parse_args(argv).dry_run)
