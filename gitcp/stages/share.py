"""The stages that send the permanent store to a remote, and fetch it."""

from __future__ import annotations

from gitcp import console
from gitcp.commands import make_flag, make_value
from gitcp.console import parse_number
from gitcp.core.render import spans
from gitcp.errors import hide_passwords
from gitcp.repo import Repo
from gitcp.store import abandoned, session
from gitcp.store.objects import Objects
from gitcp.store.share import remote as share_remote
from gitcp.store.share import sync
from gitcp.store.v1 import checkpoint_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from gitcp.core.record_types import Record

_SECONDS = "give up after so many seconds (default: gitcp.push-timeout, 30)"
_UNSEEN = "cannot see whether this is a --dry-run: no checkpoints are sent; 'gitcp push' sends them"
TIMEOUT = make_value("--timeout", "<n>", _SECONDS, type=parse_number)


def push_checkpoints(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Send the store at a pre-push event, if the person pushes to its destination."""
    for record in records:
        outcome = list(_push_event(record)) if record.get("event") == "pre-push" else []
        yield record
        yield from outcome


def _push_event(event: Record) -> Iterator[Record]:
    """Judge what git is about to push; then send the refs of the store that are not in it."""
    repo, updates = Repo.find_here(), share_remote.parse_updates(event.get("stdin") or ())
    remote, url = [*(event.get("args") or ()), "", ""][:2]
    name = checkpoint_list.find_destination(repo)
    is_destination = bool(name) and checkpoint_list.is_target(repo, name, remote, url)
    if verdict := share_remote.judge_push(repo, updates, remote, is_destination):
        yield verdict
        if verdict["type"] == "refuse":
            return
    if not remote or not repo.config.get_option("gitcp.push"):
        return
    dry_run = _is_dry_run(repo)
    if dry_run is None:
        yield {"type": "say", "message": _UNSEEN}
    if dry_run is not False:
        return
    if line := sync.explain_unsent(repo, name):
        yield {"type": "say", "message": line}
    if is_destination or checkpoint_list.is_address(repo, name):
        share_abandoned(repo)
        pushed = frozenset(ref for _, _, ref in updates) if is_destination else frozenset()
        sync.send_store(repo, name, choose_timeout(repo), pushed)


def share_abandoned(repo: Repo) -> None:
    """With gitcp.share-abandoned: prepare what a push sends of the work that was given up here."""
    if repo.config.get_option("gitcp.share-abandoned"):
        with Objects(repo):
            abandoned.share_summaries(repo)


def _is_dry_run(repo: Repo) -> bool | None:
    """Whether the `git push` that runs this hook has --dry-run; None if that cannot be seen."""
    words = session.read_git_arguments(repo, "push")
    if words is None:
        return False if session.can_see_processes() else None
    for word in words:
        if word.startswith("--"):
            if len(word) > 3 and "--dry-run".startswith(word):
                return True
        elif word.startswith("-") and "n" in word.partition("o")[0]:
            return True
    return False


def choose_timeout(repo: Repo, seconds: int | None = None) -> float:
    """The seconds that a conversation with a remote may take."""
    return int(repo.config.get_option("gitcp.push-timeout")) if seconds is None else seconds


def fetch_checkpoints(args: Namespace, _: object) -> Iterator[Record]:
    """A record for each ref of gitcp after fetching; with --list, for those of the remote."""
    repo = Repo.find()
    name = (
        args.remote
        or checkpoint_list.find_destination(repo)
        or checkpoint_list.find_usual_remote(repo)
    )
    name = name or checkpoint_list.need_destination(repo)  # which raises
    seconds = choose_timeout(repo, args.timeout)
    if args.list:
        tips = sync.list_there(repo, name, seconds)
    else:
        with Objects(repo):
            tips = sync.fetch_store(repo, name, seconds)
        if args.all:
            _fetch_absent(repo, name, seconds)
    for ref, oid in tips.items():
        yield {"type": "ref", "ref": ref, "oid": oid}


def _fetch_absent(repo: Repo, name: str, seconds: float) -> None:
    came, left = sync.fetch_absent(repo, name, seconds)
    count_noun = spans.count_noun
    console.tell(f"fetched {count_noun(came, 'missing part')} of checkpoints")
    if left:
        label = hide_passwords(name)
        console.warn_lacking(f"'{label}' lacks {count_noun(left, 'part')} of checkpoints, too")


STAGES = {
    "push-checkpoints": (push_checkpoints,),
    "fetch-checkpoints": (
        fetch_checkpoints,
        make_flag("--list", "list what is there, by git-ls-remote(1), and fetch nothing"),
        make_flag("--all", "bring also the transcripts and other parts that this clone lacks"),
        TIMEOUT,
        make_value(
            "remote",
            "<remote>",
            "a remote or its URL (default: the destination, else the one git push would take)",
            nargs="?",
        ),
    ),
}
