"""gitcp-merge-checkpoints - merge two histories of the permanent store"""

from __future__ import annotations

import sys

from gitcp.console import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.core.record_types import Record, Stage


def parser() -> cli.Parser:
    p = cli.Parser("merge-checkpoints")
    p.add_argument("--notes", action="store_true", help="merge notes, not checkpoints")
    p.add_argument("ours", metavar="<ours>", help="a commit, the first parent of a merge")
    p.add_argument("theirs", metavar="<theirs>", help="another commit")
    return p


def bind(argv: Sequence[str]) -> Stage:
    """A source: a record of the commit that has both; no ref is moved."""
    opts = parser().parse_args(argv)
    return lambda _: _merge(opts.ours, opts.theirs, opts.notes)


def _merge(ours: str, theirs: str, as_notes: bool) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store.git.commit import need_commit
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.merge import histories, notes

    repo = Repo.find()
    with Objects(repo) as objects:
        a, b = (need_commit(objects, spec)["oid"] for spec in (ours, theirs))
        joined = notes.lines if as_notes else None
        merged = need_commit(objects, histories.merged(repo, objects, a, b, joined))
        yield {"type": "commit", **{key: merged[key] for key in ("oid", "tree", "parents")}}


def main() -> int:
    return cli.source_main(bind, sys.argv[1:])
