"""gitcp-link - link a commit to a session or checkpoint by hand"""

from __future__ import annotations

from gitcp import record
from gitcp.commands import JSON, make_value
from gitcp.errors import OK
from gitcp.git.objects import need_commit
from gitcp.steps import by_hand
from gitcp.terminal import cli
from gitcp.text.spans import abbreviate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    JSON,
    make_value("commit", "<commit>", "the commit, which stays as it is"),
    make_value("name", "<id>", "a session or checkpoint, or its beginning"),
)


def run(argv: Sequence[str]) -> int:
    """Link a commit, and print the checkpoint."""
    args = cli.parse("link", OPTIONS, argv)
    with record.open_here() as ctx:
        commit = need_commit(ctx.repo.objects, args.commit)
        checkpoint_id = by_hand.link_commit(ctx, commit, args.name)
    tell(args.json, "linked", commit["oid"], [checkpoint_id])
    return OK


def tell(as_records: bool, what: str, commit: str, checkpoint_ids: Sequence[str]) -> None:
    """Print which links were made or removed."""
    if as_records:
        common = {"type": "match", "commit": commit, "how": what}
        cli.write_records({**common, "checkpoint_id": cid} for cid in checkpoint_ids)
        return
    for checkpoint_id in checkpoint_ids:
        print(f"{what}: {abbreviate(commit)} {checkpoint_id}")
