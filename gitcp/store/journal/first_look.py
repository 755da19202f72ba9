"""A look at the files that a command may discard, where a full look costs too much."""

from __future__ import annotations

import os
import time

from gitcp.core.guard import discards
from gitcp.errors import Late
from gitcp.process.running import ANY
from gitcp.record import decode_name
from gitcp.start import late
from gitcp.store.journal import look
from gitcp.store.journal.last_seen import LastSeen
from gitcp.store.session import turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.core.guard.discards import Discard
    from gitcp.process.running import Running
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.journal import Journal

_MANY = 20  # paths that are reported one by one


def look_at_losses(
    objects: Objects, journal: Journal, command: str, cwd: str, at: int
) -> tuple[list[str], list[str]]:
    """Look at the files that a command, run in cwd, may discard: those that it names and HEAD
    has, and those in its reach that git reports as changed.

    Returns the paths, from the root of the worktree, that were looked at, and those that were not
    within gitcp.loss-budget.  If the latter are many or unknown, they are the paths that the
    command names; '.' for the whole worktree.
    """
    root = journal.repo.worktree
    losses = find_losses(journal.repo, command, cwd)
    if not losses:
        return [], []
    until = time.monotonic() + int(journal.repo.config.get_option("gitcp.loss-budget")) / 1000
    reached = {path for loss in losses for path in loss["paths"] or ["."]}
    seen = LastSeen(journal.repo, objects, journal.lines)
    ignored = {line["path"] for line in journal.lines if line.get("kept") is False}
    known = seen.paths - ignored
    named = {path for path in reached if path in known or seen.get_committed(path)}
    unsure = {path for path in reached - named if _may_exist(os.path.join(root, path))}
    queries = _ask_git(journal.repo, losses) if unsure else []
    named |= {path for path in known if any(discards.covers(x, path) for x in losses)}
    unseen = _look_until(until, objects, journal, named, at)
    try:
        changed = _read_answers(queries, losses, until) - named
        unseen |= _look_until(until, objects, journal, changed, at)
        named |= changed
    except Late:
        unseen |= unsure
    return sorted(named - unseen), sorted(unseen if len(unseen) <= _MANY else reached)


def find_losses(repo: Repo, command: str, cwd: str) -> list[Discard]:
    """What a command, run in cwd, may discard; its paths are spelled as git does."""
    root, folder = repo.worktree, os.path.realpath(cwd or repo.worktree)
    if not turn_log.has_many_names(repo):
        return discards.find_discards(command, folder, root)
    losses = discards.find_discards(command, folder, root, late.spelling.fold)
    for loss in losses:
        loss["paths"] = [turn_log.find_relative_path(repo, path) or path for path in loss["paths"]]
    return losses


def _look_until(
    until: float, objects: Objects, journal: Journal, paths: Collection[str], at: int
) -> set[str]:
    """Look at each path until a monotonic time; return the paths that are left."""
    remaining = sorted(paths, reverse=True)
    while remaining and time.monotonic() < until:
        look.record_paths(objects, journal, [remaining.pop()], at)
    return set(remaining)


def _may_exist(path: str) -> bool:
    return os.path.lexists(path) or any(c in path for c in "*?[")


def _ask_git(repo: Repo, losses: Collection[Discard]) -> list[tuple[bool, Running]]:
    """Start git on the changed files in reach of the losses: (whether it lists tracked files, the
    running git)."""
    reaches = {loss["reach"] for loss in losses}
    queries = []
    if reaches - {discards.UNTRACKED}:
        command = "-c core.fsmonitor=false diff-index --name-only -z HEAD"
        queries.append((True, repo.git.start(*command.split())))
    if reaches - {discards.TRACKED}:
        command = "-c core.fsmonitor=false ls-files --others --exclude-standard -z"
        queries.append((False, repo.git.start(*command.split())))
    return queries


def _read_answers(
    queries: Iterable[tuple[bool, Running]], losses: Collection[Discard], until: float
) -> set[str]:
    """The paths that git lists and losses cover; raises Late if git is not done in time."""
    lost, exceeded = set[str](), []
    for tracked, running in queries:
        try:
            limit = max(0.001, until - time.monotonic())
            out = running.finish(ok=ANY, limit=limit)[1]
        except Late as e:
            exceeded.append(e)  # finish the other query, too
            continue
        paths = map(decode_name, out.split(b"\0")[:-1])
        lost |= {path for path in paths if any(discards.covers(x, path, tracked) for x in losses)}
    if exceeded:
        raise exceeded[0]
    return lost
