"""What a command may discard: looked at where a full look at the worktree costs too much."""

from __future__ import annotations

import os
import time

from gitcp.agents.transcripts import shell_words
from gitcp.errors import Late
from gitcp.git import ANY, decode_name
from gitcp.git.objects import reading
from gitcp.record import looks, session
from gitcp.record.journal import credit
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.agents.transcripts.shell_words import Discard
    from gitcp.git import Running
    from gitcp.git.repo import Repo
    from gitcp.record.journal import Journal

_MANY = 20  # paths that are reported one by one


@value_class
class Losses:
    """The paths, from the root of the worktree, that a command may discard.

    seen: those that were looked at.  unseen: those that were not; if they are many or unknown, the
    paths that the command names, '.' for the whole worktree."""

    seen: list[str]
    unseen: list[str]


@value_class
class _Query:
    """A git that lists changed files.  is_tracked: whether it lists tracked ones."""

    is_tracked: bool
    running: Running


def look_at_losses(journal: Journal, command: str, cwd: str, at: int) -> Losses:
    """Look at the files that a command, run in cwd, may discard, within gitcp.loss-budget: those
    that it names and HEAD has, and those in its reach that git reports as changed."""
    root = journal.repo.worktree
    losses = find_losses(journal.repo, command, cwd)
    if not losses:
        return Losses([], [])
    until = time.monotonic() + int(journal.repo.config.get_option("gitcp.loss-budget")) / 1000
    reached: set[str] = set()
    for loss in losses:
        reached |= {*loss["paths"]} or {"."}
    seen = journal.read_last_seen()
    ignored = {edit.path for edit in credit.list_edits(journal.lines) if not edit.is_kept}
    known = seen.paths - ignored
    named = {path for path in reached if path in known or seen.get_committed(path)}
    unsure = {path for path in reached - named if _may_exist(os.path.join(root, path))}
    queries = []
    if unsure:
        queries = _ask_git(journal.repo, losses)
    named |= {path for path in known if any(shell_words.covers(x, path) for x in losses)}
    unseen = _look_until(until, journal, named, at)
    try:
        changed = _read_answers(queries, losses, until) - named
        unseen |= _look_until(until, journal, changed, at)
        named |= changed
    except Late:
        unseen |= unsure
    if len(unseen) > _MANY:
        return Losses(sorted(named - unseen), sorted(reached))
    return Losses(sorted(named - unseen), sorted(unseen))


def find_losses(repo: Repo, command: str, cwd: str, taking: bool = False) -> list[Discard]:
    """What a command, run in cwd, may discard, or take (shell_words.find_discards()); its paths are
    spelled as git does."""
    root = repo.worktree
    folder = os.path.realpath(cwd or repo.worktree)
    if not session.has_many_names(repo):
        return shell_words.find_discards(command, folder, root, taking=taking)
    losses = shell_words.find_discards(command, folder, root, reading.fold_name, taking)
    for loss in losses:
        loss["paths"] = [session.find_relative_path(repo, path) or path for path in loss["paths"]]
    return losses


def _look_until(until: float, journal: Journal, paths: Collection[str], at: int) -> set[str]:
    """Look at each path until a monotonic time; return the paths that are left."""
    remaining = sorted(paths, reverse=True)
    while remaining and time.monotonic() < until:
        looks.record_paths(journal, [remaining.pop()], at)
    return set(remaining)


def _may_exist(path: str) -> bool:
    return os.path.lexists(path) or any(c in path for c in "*?[")


def _ask_git(repo: Repo, losses: Collection[Discard]) -> list[_Query]:
    """Start git on the changed files in reach of the losses."""
    reaches = {loss["reach"] for loss in losses}
    queries = []
    if reaches - {shell_words.UNTRACKED}:
        command = "-c core.fsmonitor=false diff-index --name-only -z HEAD"
        queries.append(_Query(True, repo.git.start(*command.split())))
    if reaches - {shell_words.TRACKED}:
        command = "-c core.fsmonitor=false ls-files --others --exclude-standard -z"
        queries.append(_Query(False, repo.git.start(*command.split())))
    return queries


def _read_answers(queries: Iterable[_Query], losses: Collection[Discard], until: float) -> set[str]:
    """The paths that git lists and losses cover; raises Late if git is not done in time."""
    lost = set[str]()
    exceeded = None
    for query in queries:
        try:
            limit = max(0.001, until - time.monotonic())
            out = query.running.finish(ok=ANY, limit=limit)[1]
        except Late as e:
            exceeded = exceeded or e  # finish the other query, too
            continue
        for path in map(decode_name, out.split(b"\0")[:-1]):
            if any(shell_words.covers(loss, path, query.is_tracked) for loss in losses):
                lost.add(path)
    if exceeded:
        raise exceeded
    return lost
