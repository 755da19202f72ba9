"""gitcp-write-commit - make a commit of a tree"""

from __future__ import annotations

import sys

from gitcp import git
from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo


def parser() -> cli.Parser:
    p = cli.Parser("write-commit")
    p.add_argument("-m", metavar="<message>", dest="message", required=True, help="its message")
    what = "a parent; may be given again (default: the commit that the tree was built on)"
    p.add_argument("-p", metavar="<parent>", dest="parents", action="append", help=what)
    return p


def committed(
    repo: Repo, records: Iterable[Record], message: str, parents: Sequence[str] | None
) -> Iterator[Record]:
    """A record of type commit for each tree; 'omitted' is carried on, other records pass."""
    from gitcp.errors import InputError
    from gitcp.store.git.commit import need_commit, write_commit
    from gitcp.store.git.objects import Objects

    with Objects(repo) as objects:
        for record in records:
            if record.get("type") != "tree":
                yield record
                continue
            tree, base = record.get("oid"), record.get("base")
            if not isinstance(tree, str) or not isinstance(base, str | None):
                raise InputError("'oid' or 'base' of a tree record is no object name")
            objects.need(tree, "tree")
            named = parents if parents is not None else [base] if base else []
            oids = [need_commit(objects, name)["oid"] for name in named]
            oid = write_commit(objects, repo, tree, oids, message)
            git.settle()  # who reads the record may look for it
            kept = {"omitted": record["omitted"]} if "omitted" in record else {}
            yield {"type": "commit", "oid": oid, "tree": tree, "parents": oids, **kept}


def bind(argv: Sequence[str]) -> Stage:
    opts = parser().parse_args(argv)

    def stage(records: Iterable[Record]) -> Iterator[Record]:
        from gitcp.repo import Repo

        return committed(Repo.find(), records, opts.message, opts.parents)

    return stage


def main() -> int:
    return cli.filter_main(bind, sys.argv[1:])
