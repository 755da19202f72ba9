"""A push: what it may carry, and the store is sent with it to the places that were agreed to."""

from __future__ import annotations

import os

from gitcp.checkpoints.share import places, sync
from gitcp.checkpoints.share.remote import judge_push, parse_updates
from gitcp.errors import Error
from gitcp.events import build_messages, is_of_git, per_record
from gitcp.git.objects import Objects
from gitcp.link import unread
from gitcp.record import session
from gitcp.setup import git_hooks
from gitcp.steps import abandoned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gitcp.checkpoints.share.places import SharedPlace
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.text.record_types import Message, Passed

_UNSEEN = "cannot see whether this is a --dry-run: no checkpoints are sent; 'gitcp push' sends them"


_NOT_LAST = (
    "no checkpoints are sent: '{}' may still refuse this push; 'gitcp enable' has it call gitcp at "
    "its end"
)


@per_record
def push_checkpoints(ctx: Context, item: Passed) -> list[Passed]:
    """Send the store at a pre-push event to the places that were agreed to."""
    if not is_of_git(item, "pre-push"):
        return [item]
    args = item.get("args") or ()
    lines = item.get("stdin") or ()
    return [item, *_push(ctx.repo, args, lines)]


def judge(repo: Repo, args: Sequence[str], lines: Sequence[str]) -> Message | None:
    """What is said of the refs that git is about to push, as judge_push() has it.

    args, lines: what git gives to the hook."""
    url = [*args, "", ""][1]
    place = places.name_url(repo, url)
    agreed = places.list_agreed(repo)
    updates = parse_updates(lines)
    return judge_push(repo, updates, place, place in agreed)


def _push(repo: Repo, args: Sequence[str], lines: Sequence[str]) -> Iterator[Message]:
    """Judge what git is about to push; then send the refs of the store that are not in it."""
    updates = parse_updates(lines)
    remote, url = [*args, "", ""][:2]
    settled = places.settle(repo)
    if settled and sync.say_once(repo, settled):
        messages = [f"gitcp: {settled}"]
    else:
        messages = []
    place = places.name_url(repo, url)
    agreed = places.list_agreed(repo)
    is_agreed = place in agreed
    verdict = judge(repo, args, lines)
    if verdict:
        yield verdict
    is_refused = verdict is not None and verdict["type"] == "refuse"
    is_wanted = bool(remote) and repo.config.get_option("gitcp.push")
    is_dry_run = _is_dry_run(repo) if is_wanted and not is_refused else True
    if is_dry_run is None:
        messages.append(_UNSEEN)
    if is_dry_run is False:
        messages += _explain_unsent(repo, remote, place, agreed)
    yield from build_messages("\n".join(messages))
    if is_dry_run is not False:
        return
    if not is_agreed and not places.find_own_url(repo):
        return
    later = _find_later_script(repo)
    if later:
        yield from build_messages(_NOT_LAST.format(later))
        return
    unread.complete(repo)
    faults: list[str] = []
    if is_agreed:
        leave = frozenset(update.remote for update in updates)
        faults += _send(repo, lambda: places.find_place(repo, remote, url), leave)
    if places.find_own_url(repo):
        faults += _send(repo, lambda: places.find_own_place(repo, besides=place), frozenset())
    if faults:
        raise Error("; ".join(faults))


def _send(repo: Repo, find: Callable[[], SharedPlace | None], leave: frozenset[str]) -> list[str]:
    """Send the store to the place that is found, without the refs in leave; return what went
    wrong, since another place may follow."""
    try:
        place = find()
        if place:
            share_abandoned(repo)
            sync.send_store(repo, place, int(repo.config.get_option("gitcp.push-timeout")), leave)
    except Error as e:
        return [str(e)]
    return []


def _explain_unsent(repo: Repo, remote: str, place: str, agreed: list[str]) -> list[str]:
    """What is to be said of the places of a push that were not agreed to, also of those to which
    git turns next: without an unsent checkpoint nobody would be asked about them."""
    there = [place, *(other.url for other in places.find_places(repo, remote))]
    unagreed = [url for url in dict.fromkeys(there) if url not in agreed]
    return [line for line in (sync.explain_unsent(repo, remote, url) for url in unagreed) if line]


def _find_later_script(repo: Repo) -> str:
    """The script that git runs after this hook and that may refuse the push, if this is the
    configured one; '' for none."""
    if not os.environ.get("GITCP_CONFIGURED"):
        return ""
    where = git_hooks.find_folder(repo)
    if git_hooks.has_to_be_last(where, "pre-push"):
        return os.path.join(where, "pre-push")
    return ""


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
