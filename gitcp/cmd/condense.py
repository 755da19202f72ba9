"""gitcp-condense - write the sessions of a commit to the permanent store"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.record import Record, Stage


def parser() -> Parser:
    """No options: commit, id and sessions are in the match record."""
    from gitcp.console import cli

    return cli.Parser("gitcp-condense", "Write the sessions of a commit to the permanent store.")


def bind(argv: Sequence[str]) -> Stage:
    """A match record of post-commit is condensed onto v1, or dismissed, and passed on."""
    if argv:
        parser().parse_args(argv)
    return _condense


def _condense(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            _one(record)
        yield record


def _one(match: Record) -> None:
    from gitcp.repo import Repo
    from gitcp.store.git import notes
    from gitcp.store.git.commit import need_commit
    from gitcp.store.git.objects import Objects
    from gitcp.store.link import condense

    repo = Repo.here()
    with Objects.shared(repo) as objects:
        made, old = need_commit(objects, match["commit"]), match["old"]
        if match["dismissed"]:
            condense.dismiss(repo, objects, made, list(match["sessions"]), old)
        elif match["id"]:
            about = (made, match["id"], match["sessions"], old)
            condense.commit(repo, objects, *about, noted=match["noted"])
            if match["noted"]:
                notes.add(repo, objects, made["oid"], match["id"])


def main() -> int:
    from gitcp.console import cli

    return cli.filter_main(bind, sys.argv[1:])
