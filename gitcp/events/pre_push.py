"""A push: what it may carry, and the store is sent with it."""

from __future__ import annotations

import os

from gitcp.context import per_record
from gitcp.git import decode_name
from gitcp.objects import Objects
from gitcp.repo import Repo
from gitcp.store import session
from gitcp.store.back import abandoned
from gitcp.store.share import remote as share_remote
from gitcp.store.share import sync
from gitcp.store.v1 import checkpoint_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.core.record_types import Record

_UNSEEN = "cannot see whether this is a --dry-run: no checkpoints are sent; 'gitcp push' sends them"


_NOT_LAST = (
    "no checkpoints are sent: '{}' may still refuse this push; 'gitcp enable' has it call gitcp at "
    "its end"
)


@per_record
def push_checkpoints(record: Record) -> list[Record]:
    """Send the store at a pre-push event, if the person pushes to its destination."""
    return [record, *_push_event(record)] if record.get("event") == "pre-push" else [record]


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
        if later := _find_later_script(repo):
            yield {"type": "say", "message": _NOT_LAST.format(later)}
            return
        share_abandoned(repo)
        pushed = frozenset(ref for _, _, ref in updates) if is_destination else frozenset()
        seconds = int(repo.config.get_option("gitcp.push-timeout"))
        sync.send_store(repo, name, seconds, pushed)


def _find_later_script(repo: Repo) -> str:
    """The script that git runs after this hook, if this is the configured one; '' for none."""
    if not os.environ.get("GITCP_CONFIGURED"):
        return ""
    script = decode_name(repo.git.read_line("rev-parse", "--git-path", "hooks/pre-push"))
    return script if os.access(os.path.join(repo.git.cwd, script), os.X_OK) else ""


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


PIPELINES = {"pre-push": (push_checkpoints,)}
