"""gitcp-push-checkpoints - send the permanent store to a remote"""

from __future__ import annotations

import sys

from gitcp.errors import OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.console.cli import Parser
    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo


def parser() -> Parser:
    from gitcp.console import cli

    p = cli.Parser("push-checkpoints")
    p.add_argument("--json", action="store_true", help="write records")
    limit = "give up after so many seconds (default: gitcp.push-timeout, 30)"
    p.add_argument("--timeout", type=cli.number, metavar="<n>", help=limit)
    what = "a remote or its URL (default: the one git push would take)"
    p.add_argument("remote", nargs="?", metavar="<remote>", help=what)
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
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1 import push_check, sync

    repo, theirs = Repo.here(), push_check.updates(event.get("stdin") or ())
    verdict = push_check.private(repo, theirs)
    if verdict:
        yield verdict
    refused = verdict is not None and verdict["type"] == "refuse"
    if refused or not event.get("args") or not repo.config.flag("gitcp.push", True) or _dry():
        return
    leave = frozenset(remote for _, _, remote in theirs)
    with Objects(repo) as objects:
        limit = timeout(repo)
        sync.push(repo, objects, event["args"][0], limit, again=False, leave=leave)


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


def timeout(repo: Repo, given: int | None = None) -> float:
    """How many seconds a conversation with a remote may take."""
    return repo.config.size("gitcp.push-timeout", 30) if given is None else given


def main() -> int:
    from gitcp.console import cli

    return cli.guard(_main)


def _main() -> int:
    from gitcp import record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1 import remote, sync

    opts, repo = parser().parse_args(), Repo.find()
    name = opts.remote or remote.default(repo)
    with Objects(repo) as objects:
        tips, merges = sync.push(repo, objects, name, timeout(repo, opts.timeout))
    pushed = [{"type": "ref", "ref": r, "oid": oid, "remote": name} for r, oid in tips.items()]
    if opts.json:
        record.write(sys.stdout.buffer, pushed)
        return OK
    for ref, oid in tips.items():
        print(f"{ref} is {oid[:7]} at '{name}'")
    if merges:
        print("united with what others had pushed")
    if not tips:
        print("nothing to push: there are no checkpoints")
    return OK
