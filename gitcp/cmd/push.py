"""gitcp-push - send what is recorded to a remote"""

from __future__ import annotations

from gitcp import term
from gitcp.commands import JSON, make_value
from gitcp.core.spans import count_noun
from gitcp.errors import OK, Error, hide_passwords
from gitcp.events.pre_push import share_abandoned
from gitcp.objects import Objects
from gitcp.repo import Repo
from gitcp.stages.checkpoints import TIMEOUT, choose_timeout
from gitcp.store.share import remote, sync
from gitcp.store.v1 import checkpoint_list, checkpoints
from gitcp.terminal import cli

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

OPTIONS = (
    JSON,
    TIMEOUT,
    [
        make_value(
            "--to",
            "<remote>",
            "make it the destination: each 'git push' to it sends checkpoints too",
        ),
        make_value(
            "remote",
            "<remote>",
            "a remote or its URL, this once (default: the destination, gitcp.remote)",
            nargs="?",
        ),
    ],
)


def run(argv: Sequence[str]) -> int:
    """Send the permanent store, and print how many checkpoints were sent."""
    args, repo = cli.parse("push", OPTIONS, argv), Repo.find()
    name = args.to or args.remote or checkpoint_list.need_destination(repo)
    term.show_line("sending checkpoints")
    with Objects(repo):
        share_abandoned(repo)
        count = checkpoint_list.count_lacking(repo, name)
        tips, merges, held = sync.push_store(repo, name, choose_timeout(repo, args.timeout))
        lacking = checkpoint_list.count_lacking(repo, name)
    term.hide_progress()
    sync.note_success(repo, name)
    if args.to:
        checkpoint_list.write_destination(repo, name)
        sync.forget_words(repo)
    if args.json:
        records = ({"type": "ref", "ref": ref, "oid": oid} for ref, oid in tips.items())
        cli.write_records({**record, "remote": hide_passwords(name)} for record in records)
    else:
        left = 0 if checkpoints.is_branch_sent(repo) else lacking
        _print_outcome(hide_passwords(name), bool(tips), count - lacking, lacking, left)
        if merges:
            print("merged with what others had pushed")
    if held:
        raise Error(remote.explain(held))
    return OK


def _print_outcome(name: str, has_any: bool, sent: int, lacking: int, left: int) -> None:
    """Print how many checkpoints were sent; lacking: that were not; left: on a branch that is not
    sent."""
    if left:
        unsent = count_noun(left, "checkpoint")
        print(f"not sent: {unsent} on the branch; 'gitcp convert-store' makes them refs")
    if not has_any and not lacking:
        print("nothing to push: there are no checkpoints")
    elif sent > 0:
        print(f"sent {count_noun(sent, 'checkpoint')} to '{name}'")
    elif not lacking:
        print(f"'{name}' has every checkpoint")
