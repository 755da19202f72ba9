"""gitcp-write-blobs - store the content of changed files as blobs"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo


def parser() -> cli.Parser:
    return cli.Parser("write-blobs")


def stored(repo: Repo, records: Iterable[Record]) -> Iterator[Record]:
    """Each change with the oid of what stands at its path now, stored as `git add` would.

    Nothing comes out before all is stored: a failure must not look like a short list.  A
    path that is as in HEAD after all, or went away and is not in HEAD, is dropped.
    """
    from gitcp.core.git import tree_entries
    from gitcp.core.git.ids import repo_path
    from gitcp.core.git.porcelain import GONE
    from gitcp.store.git.objects import Objects
    from gitcp.store.snapshot import blobs

    records, width = list(records), len(repo.empty_tree)
    asked = {
        repo_path(r.get("path")): tree_entries.old(r, width)
        for r in records
        if r.get("type") == "change" and r.get("mode") != GONE
    }
    with Objects(repo) as objects:
        entries, omitted = blobs.looked(repo, objects, asked, write=True, capped=False)
    reasons = {item["path"]: item["reason"] for item in omitted}
    for record in records:
        path = record.get("path")
        if record.get("type") != "change" or path not in asked:
            yield record
            continue
        was, entry = asked[path], entries.get(path)
        if path in reasons:
            yield dict(tree_entries.left_out(path, reasons[path]))
        if entry != was and (entry or path not in reasons):
            mode, oid = entry or (GONE, None)
            yield {**record, **tree_entries.changed(path, mode, oid, was)}


def bind(argv: Sequence[str]) -> Stage:
    parser().parse_args(argv)

    def stage(records: Iterable[Record]) -> Iterator[Record]:
        from gitcp.repo import Repo

        return stored(Repo.find(), records)

    return stage


def main() -> int:
    return cli.filter_main(bind, sys.argv[1:])
