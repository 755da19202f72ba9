"""gitcp-carry-forward - move streams on to a new commit"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage
    from gitcp.store.git.refs import Edit


def parser() -> Parser:
    """No options: the commit and the base it left are in the match record."""
    from gitcp.console import cli

    return cli.Parser("gitcp-carry-forward", "Move streams on to a new commit.")


def bind(argv: Sequence[str]) -> Stage:
    """After a match record's commit the streams of its old base move on; each ref edit is
    passed on as a ref record."""
    if argv:
        parser().parse_args(argv)
    return _forward


def _forward(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        yield record
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            for ref, new, old in _moves(record):
                yield {"type": "ref", "ref": ref, "oid": new, "old_oid": old}


def _moves(match: Record) -> list[Edit]:
    from gitcp import context
    from gitcp.store.git.commit import need_commit
    from gitcp.store.link import commit_hooks
    from gitcp.store.stream import carry_forward

    with context.here() as ctx:
        if commit_hooks.rewriting(ctx.repo):
            return []  # a replayed commit is not the last one: the next event moves them
        made = need_commit(ctx.objects, match["commit"])
        settled = set(match["sessions"]) if match["linked"] else None
        return carry_forward.forward(ctx.repo, ctx.objects, match["old"], made, settled)


def main() -> int:
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
