"""gitcp-list-claims - list who is at work in this working copy"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.record_types import Stage


def parser() -> cli.Parser:
    """The option narrows the list to what is held."""

    p = cli.Parser("list-claims")
    p.add_argument("--held", action="store_true", help="only paths that a tool call holds now")
    return p


def bind(argv: Sequence[str]) -> Stage:
    """A stage that begins a pipe."""
    from gitcp.repo import Repo
    from gitcp.store.guard import roster

    args = parser().parse_args(argv)
    return lambda _: [
        record for record in roster.listing(Repo.here()) if record["path"] or not args.held
    ]


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
