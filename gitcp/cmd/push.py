"""gitcp-push - send checkpoints to a remote"""

from __future__ import annotations

from gitcp.console import cli
from gitcp.console.options import JSON, value
from gitcp.core.git import ids
from gitcp.errors import OK
from gitcp.stages.share import TIMEOUT, timeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OPTIONS = (
    JSON,
    TIMEOUT,
    [
        value(
            "--to",
            "<remote>",
            "make it the destination, to which every 'git push' there sends them too",
        ),
        value(
            "remote",
            "<remote>",
            "a remote or its URL, this once (default: the destination, gitcp.remote)",
            nargs="?",
        ),
    ],
)


def run(argv: Sequence[str]) -> int:
    """Send the permanent store, and say what is there now."""
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.share import attempts, sync
    from gitcp.store.v1 import destination

    args, repo = cli.parse("push", OPTIONS, argv), Repo.find()
    name = args.to or args.remote or destination.need(repo)
    with Objects(repo) as objects:
        tips, merges = sync.push(repo, objects, name, timeout(repo, args.timeout))
    attempts.note_success(repo, name)
    if args.to:
        destination.write(repo, name)
        attempts.forget_words(repo)
    if args.json:
        return cli.write_records(
            {"type": "ref", "ref": ref, "oid": oid, "remote": name} for ref, oid in tips.items()
        )
    for line in ref_lines(tips):
        print(f"{line} at '{name}'")
    if merges:
        print("united with what others had pushed")
    if not tips:
        print("nothing to push: there are no checkpoints")
    return OK


def ref_lines(tips: Mapping[str, str]) -> Iterator[str]:
    """What is said of refs that were sent or fetched: a line for each, one for all checkpoints
    that have their own."""
    own = [ref for ref in tips if ids.parse_checkpoint_ref(ref)]
    for ref in sorted(tips.keys() - set(own)):
        yield f"{ref} is {tips[ref][:7]}"
    if own:
        yield f"{len(own)} {'checkpoint has its ref' if len(own) == 1 else 'checkpoints have refs'}"
