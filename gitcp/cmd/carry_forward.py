"""gitcp-carry-forward - move streams on to a new commit"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage


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
    from gitcp.repo import Repo
    from gitcp.store.git.commit import need_commit
    from gitcp.store.git.objects import Objects
    from gitcp.store.link import commit_hooks
    from gitcp.store.stream import carry_forward

    for record in records:
        yield record
        if record.get("type") != "match" or not record.get("commit") or "old" not in record:
            continue
        repo = Repo.here()
        if commit_hooks.rewriting(repo):
            continue  # a replayed commit is not the last one: the next event moves them
        with Objects.shared(repo) as objects:
            made = need_commit(objects, record["commit"])
            for ref, new, old in carry_forward.forward(
                repo, objects, record["old"], made, record["linked"]
            ):
                yield {"type": "ref", "ref": ref, "oid": new, "old_oid": old}


def main() -> int:
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
