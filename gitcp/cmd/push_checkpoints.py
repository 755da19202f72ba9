"""gitcp-push-checkpoints - send the permanent store to a remote"""

from __future__ import annotations

import sys

from gitcp.core.git import ids
from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.console.cli import Parser
    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo


def parser() -> Parser:
    from gitcp.console import cli

    p = cli.Parser("push-checkpoints")
    p.add_argument("--json", action="store_true", help="write records")
    limit = "give up after so many seconds (default: gitcp.push-timeout, 30)"
    p.add_argument("--timeout", type=cli.number, metavar="<n>", help=limit)
    where = p.add_mutually_exclusive_group()
    to = "make it the destination, to which every 'git push' there sends them too"
    where.add_argument("--to", metavar="<remote>", help=to)
    what = "a remote or its URL, this once (default: the destination, gitcp.remote)"
    where.add_argument("remote", nargs="?", metavar="<remote>", help=what)
    return p


def bind(argv: Sequence[str]) -> Stage:
    """In the hook: a pre-push event sends the store to where the person pushes, if it may."""
    if argv:
        parser().parse_args(argv)
    return _events


def _events(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        outcome = list(_event(record)) if record.get("event") == "pre-push" else []
        yield record
        yield from outcome


def _event(event: Record) -> Iterator[Record]:
    """What git is about to push is git's; what it leaves out of ours is sent before."""
    from gitcp.repo import Repo
    from gitcp.store.share import push_check, sending
    from gitcp.store.v1 import destination

    repo, theirs = Repo.here(), push_check.updates(event.get("stdin") or ())
    remote, url = [*(event.get("args") or ()), "", ""][:2]
    name = destination.effective(repo)
    there = bool(name) and destination.is_target(repo, name, remote, url)
    verdict = push_check.judge(repo, theirs, remote, there)
    if verdict:
        yield verdict
        if verdict["type"] == "refuse":
            return
    if not remote or not repo.config.option("gitcp.push") or _dry():
        return
    if line := sending.announce(repo, name):
        yield {"type": "say", "message": line}
    if there or destination.is_address(repo, name):
        leave = frozenset(ref for _, _, ref in theirs) if there else frozenset()
        sending.send(repo, name, timeout(repo), leave)


def _dry() -> bool:
    """Whether the `git push` above this hook only pretends."""
    from gitcp.store.session import process

    for word in process.git_arguments("push") or ():
        if word.startswith("--"):
            if len(word) > 3 and "--dry-run".startswith(word):
                return True
        elif word.startswith("-") and "n" in word.partition("o")[0]:
            return True
    return False


def ref_lines(tips: Mapping[str, str]) -> Iterator[str]:
    """What is said of refs that were sent or fetched: a line for each, one for all checkpoints
    that have their own."""
    own = [ref for ref in tips if ids.parse_checkpoint_ref(ref)]
    for ref in tips.keys() - set(own):
        yield f"{ref} is {tips[ref][:7]}"
    if own:
        yield f"{len(own)} {'checkpoint has its ref' if len(own) == 1 else 'checkpoints have refs'}"


def timeout(repo: Repo, given: int | None = None) -> float:
    """How many seconds a conversation with a remote may take."""
    return int(repo.config.option("gitcp.push-timeout")) if given is None else given


def main() -> int:
    from gitcp.console import cli

    return cli.guard(_main)


def _main() -> int:
    from gitcp import record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.share import attempts, sync
    from gitcp.store.v1 import destination

    opts, repo = parser().parse_args(), Repo.find()
    name = opts.to or opts.remote or destination.need(repo)
    with Objects(repo) as objects:
        tips, merges = sync.push(repo, objects, name, timeout(repo, opts.timeout))
    attempts.note_success(repo, name)
    if opts.to:
        destination.write(repo, name)
        attempts.forget_words(repo)
    pushed = [{"type": "ref", "ref": r, "oid": oid, "remote": name} for r, oid in tips.items()]
    if opts.json:
        record.write(sys.stdout.buffer, pushed)
        return OK
    for line in ref_lines(tips):
        print(f"{line} at '{name}'")
    if merges:
        print("united with what others had pushed")
    if not tips:
        print("nothing to push: there are no checkpoints")
    return OK
