"""A prepared plan carried out: kept safe, applied, checked, and written into the undo log."""

from __future__ import annotations

import os

from gitcp.errors import Changed, Error
from gitcp.record import text
from gitcp.store.git.tree import TREE, Lookup
from gitcp.store.restore import intent
from gitcp.store.restore.apply import Apply
from gitcp.store.restore.present import signs
from gitcp.store.restore.staging import Staging
from gitcp.store.snapshot import blobs
from gitcp.store.undo import effects as side_effects
from gitcp.store.undo import undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.rewind.undo_tree import Step
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.restore.apply import Progress
    from gitcp.store.restore.planning import Prepared


def _quiet(done: int, of: int) -> None:
    """No progress."""


def carry_out(
    repo: Repo, objects: Objects, prepared: Prepared, step: Step, progress: Progress = _quiet
) -> list[str]:
    """Do what the plan says and what step's effects are, as one step of the undo log.

    Returns the paths that were not as they should be when they were read again afterwards.
    Raises Changed, with nothing touched or all taken back, when the plan does not hold any
    more; Error for what the machine refuses, likewise.  The caller holds the log's lock.
    """
    staging = Staging(repo, f"step-{step['id']}")
    wanted = {a["path"]: a["now"] for a in prepared.todo if a["now"]}
    try:
        staging.fill(wanted, Lookup(objects, prepared.tree))
        _hold(repo, prepared)
        trees = (prepared.present.tree, prepared.tree)
        written = undo_log.write(repo, objects, step, trees)
        _do(repo, objects, prepared, step, staging, written, progress)
    finally:
        staging.remove()
    return _differ(repo, objects, prepared)


def _hold(repo: Repo, prepared: Prepared) -> None:
    """Raise Changed unless what the plan was made for is still there."""
    paths = [a["path"] for a in prepared.todo]
    if signs(repo, paths) != prepared.signs or not prepared.present.still(paths):
        raise Changed("the worktree has changed since it was looked at")


def _do(
    repo: Repo,
    objects: Objects,
    prepared: Prepared,
    step: Step,
    staging: Staging,
    written: tuple[str, str | None],
    progress: Progress,
) -> None:
    record = {"step": step["kind"], "commit": written[0], "staging": f"step-{step['id']}"}
    record |= {"actions": prepared.todo, "effects": step["effects"]}
    job = Apply(prepared.present.worktree.top, staging, prepared.todo, prepared.signs)
    intent.begin(repo, record)
    logged = False
    try:
        undo_log.append(repo, written)
        logged = True
        job.run(progress)
        side_effects.put(repo, objects, step["effects"])
    except BaseException as e:
        job.take_back()
        if logged:
            undo_log.withdraw(repo, written)
        intent.end(repo)
        if isinstance(e, OSError):
            where = f": '{text(os.fsencode(e.filename))}'" if e.filename else ""
            raise Error(f"{e.strerror}{where}; everything is as it was") from None
        raise
    try:
        intent.end(repo)
    except OSError:
        pass  # all of it is done: the next command finds nothing left to do


def _differ(repo: Repo, objects: Objects, prepared: Prepared) -> list[str]:
    paths = [a["path"] for a in prepared.todo]
    there, after = blobs.at(repo, objects, paths, write=False), Lookup(objects, prepared.tree)
    differing = []
    for path in paths:
        entry = after(path)
        wanted = None if entry and entry[0] == TREE else entry
        if there.get(path) != wanted:
            differing.append(path)
    return differing
