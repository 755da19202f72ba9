"""gitcp-list-orphans - list what no session and no commit needs"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Finding, Stage


def parser() -> cli.Parser:
    p = cli.Parser("list-orphans")
    age = "what has not been used for so long (default: what is configured)"
    p.add_argument("--older-than", type=cli.number, metavar="<days>", help=age)
    return p


def listed(older_than: int | None) -> list[Finding]:
    """A record of type finding for each thing (core.decide.orphan_rules); nothing is changed."""
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched
    from gitcp.store.upkeep import orphans
    from gitcp.store.upkeep.survey import Survey

    repo = Repo.find()
    with Prefetched(repo) as objects:
        return list(orphans.find(Survey(repo, objects), orphans.ages(repo, older_than)))


def bind(argv: Sequence[str]) -> Stage:
    """A source: what comes in is not read."""
    args = parser().parse_args(argv)
    return lambda _: listed(args.older_than)


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
