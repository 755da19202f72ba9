"""gitcp-link - link a commit to a session or checkpoint by hand"""

from __future__ import annotations

import sys

from gitcp.console import cli
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def parser() -> cli.Parser:
    p = cli.Parser("link")
    p.add_argument("--json", action="store_true", help="write records, one to a line")
    p.add_argument("commit", metavar="<commit>", help="the commit, which stays as it is")
    p.add_argument("name", metavar="<id>", help="a session or checkpoint, or its beginning")
    return p


def run(argv: Sequence[str]) -> int:
    """Link, and say to what."""
    args = parser().parse_args(argv)
    from gitcp import context
    from gitcp.store.git.commit import need_commit
    from gitcp.store.relink import by_hand

    with context.here() as ctx:
        commit = need_commit(ctx.objects, args.commit)
        checkpoint_id = by_hand.link(ctx, commit, args.name)
    tell(args.json, "linked", commit["oid"], [checkpoint_id])
    return OK


def tell(as_records: bool, what: str, commit: str, checkpoint_ids: Sequence[str]) -> None:
    """Say which links were made or taken away."""
    if as_records:
        from gitcp import record

        common = {"type": "match", "commit": commit, "how": what}
        items = ({**common, "checkpoint_id": one} for one in checkpoint_ids)
        record.write(sys.stdout.buffer, items)
        return
    for one in checkpoint_ids:
        print(f"{what}: {commit[:12]} {one}")


def main() -> int:
    return cli.guard(lambda: run(sys.argv[1:]))
