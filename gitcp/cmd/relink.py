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
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.link import relink

    for record in records:
        yield record
        if record.get("event") == "post-rewrite" and record["args"]:
            repo = Repo.here()
            with Objects.shared(repo) as objects:
                done = relink.rewritten(repo, objects, record["args"][0], record["stdin"])
            yield from ({"type": "match", **found} for found in done)


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
