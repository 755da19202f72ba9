"""What a command may throw away, looked at where looking at everything costs too much."""

from __future__ import annotations

import os
import time

from gitcp.core.guard import discards
from gitcp.errors import Late
from gitcp.record import decode_name
from gitcp.start import late
from gitcp.store.journal import look
from gitcp.store.journal.known import Known
from gitcp.store.session import turn_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.core.guard.discards import Discard
    from gitcp.process.running import Running
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.journal.journal import Journal

_MANY = 20  # paths


def look_at_losses(
    objects: Objects, journal: Journal, command: str, cwd: str, at: int
) -> list[str]:
    """Take in the files that a command run in cwd throws away: those that it names and HEAD has,
    and of what else it reaches those that git calls changed.

    Returns what was not seen within gitcp.loss-budget, as paths from the root of the worktree; of
    very many, and where git did not tell, those that the command names; '.' for anything.
    """
    root = journal.repo.worktree
    losses = find_losses(journal.repo, command, cwd)
    if not losses:
        return []
    until = time.monotonic() + int(journal.repo.config.get_option("gitcp.loss-budget")) / 1000
    places = {path for loss in losses for path in loss["paths"] or ["."]}
    known = Known(journal.repo, objects, journal.lines)
    ignored = {line["path"] for line in journal.lines if line.get("kept") is False}
    listed = known.paths - ignored
    plain = {path for path in places if path in listed or known.get_committed(path)}
    wide = {path for path in places - plain if _may_stand(os.path.join(root, path))}
    asked = _ask_git(journal.repo, losses) if wide else []
    plain |= {path for path in listed if any(discards.covers(x, path) for x in losses)}
    unseen = _look_until(until, objects, journal, plain, at)
    try:
        changed = _read_answers(asked, losses, until) - plain
        unseen |= _look_until(until, objects, journal, changed, at)
    except Late:
        unseen |= wide
    return sorted(unseen if len(unseen) <= _MANY else places)


def find_losses(repo: Repo, command: str, cwd: str) -> list[Discard]:
    """What a command run in cwd may throw away, its paths as git spells them."""
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
    """Look at paths, one after the other, until a time; those that were not looked at."""
    todo = sorted(paths, reverse=True)
    while todo and time.monotonic() < until:
        look.look_at_paths(objects, journal, [todo.pop()], at)
    return set(todo)


def _may_stand(path: str) -> bool:
    return os.path.lexists(path) or any(c in path for c in "*?[")


def _ask_git(repo: Repo, losses: Collection[Discard]) -> list[tuple[bool, Running]]:
    """(whether it tells of tracked files, git begun on what differs from HEAD) of what losses of
    their reach may concern."""
    reaches = {loss["reach"] for loss in losses}
    asked = []
    if reaches - {discards.UNTRACKED}:
        ways = "-c core.fsmonitor=false diff-index --name-only -z HEAD"
        asked.append((True, repo.git.start(*ways.split())))
    if reaches - {discards.TRACKED}:
        ways = "-c core.fsmonitor=false ls-files --others --exclude-standard -z"
        asked.append((False, repo.git.start(*ways.split())))
    return asked


def _read_answers(
    asked: Iterable[tuple[bool, Running]], losses: Collection[Discard], until: float
) -> set[str]:
    """The paths that git tells and losses cover; raise Late where it has not told all by then."""
    lost, exceeded = set[str](), []
    for tracked, running in asked:
        try:
            limit = max(0.001, until - time.monotonic())
            out = running.finish(ok=range(-64, 256), limit=limit)[1]
        except Late as e:
            exceeded.append(e)  # the other one is ended, too
            continue
        paths = map(decode_name, out.split(b"\0")[:-1])
        lost |= {path for path in paths if any(discards.covers(x, path, tracked) for x in losses)}
    if exceeded:
        raise exceeded[0]
    return lost
