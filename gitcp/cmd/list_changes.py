"""gitcp-list-changes - list what differs in the worktree from HEAD"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo


def parser() -> cli.Parser:
    return cli.Parser("list-changes")


def listed(repo: Repo) -> Iterator[Record]:
    """HEAD's tree as a record, then a record of type change for each path, in git's order.

    What a snapshot leaves out comes last: status '!', with the reason in 'omitted'.  The tree
    announces a record of type end, so that a list cut short is never taken for the whole.
    """
    from gitcp.core.git import tree_entries
    from gitcp.record import raw
    from gitcp.store.git.objects import Objects
    from gitcp.store.snapshot import blobs, snapshot

    scan = snapshot.scan(repo)
    with Objects(repo) as objects:
        blobs.confirm(objects, scan)
        tree = objects.read(f"{scan.head}^{{tree}}") if scan.head else None
    head = tree[0] if tree else repo.empty_tree
    yield {"type": "tree", "oid": head, "base": scan.head, "ends": True}
    for path in sorted(scan.changes, key=raw):
        change = scan.changes[path]
        yield {**tree_entries.changed(path, change.mode, change.oid, change.was), "type": "change"}
    for item in scan.omitted:
        yield dict(tree_entries.left_out(item["path"], item["reason"]))
    yield {"type": "end"}


def bind(argv: Sequence[str]) -> Stage:
    parser().parse_args(argv)

    def stage(_: object) -> Iterator[Record]:
        from gitcp.repo import Repo

        return listed(Repo.find())

    return stage


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
