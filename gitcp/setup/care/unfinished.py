"""What a killed command for people left half done, and its completion.

The command that was killed held a lock until its end, which is free now: what it left is found by
that, whatever its age.
"""

from __future__ import annotations

import os

from gitcp.errors import Busy
from gitcp.record.snapshot import index
from gitcp.setup.care.findings import Finding
from gitcp.steps import effects, undo
from gitcp.steps.back import steps
from gitcp.steps.commits import scratch, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.setup.care.case import Case
    from gitcp.steps.back.steps import Mover

_FIX = "gitcp doctor --fix"


def look_at_unfinished(case: Case) -> Iterator[Finding]:
    """Report the commands of this worktree that were killed half way."""
    if case.repo.top:
        for what in _list_unfinished(case.repo):
            yield Finding("unfinished", case.repo.worktree, what, remedy=_FIX)


def _list_unfinished(repo: Repo) -> Iterator[str]:
    is_left = index.is_abandoned(repo) or steps.list_abandoned(repo)
    if is_left and _is_free(undo.hold_log(repo, timeout=0)):
        is_locked = os.path.lexists(f"{index.locate_index(repo)}.lock")
        locked = ""
        if is_locked:
            locked = ", and the index is locked"
        yield f"a step of the undo log was killed half way{locked}"
    if split.is_unlinked(repo) and _is_free(split.hold(repo)):
        yield "'gitcp split' was killed before it had stored the conversations of its commits"
    if scratch.is_in_place(repo) and _is_free(scratch.hold(repo)):
        yield "'gitcp bisect --in-place' was killed, and the worktree is at a state that it tested"


def _is_free(lock: AbstractContextManager[None]) -> bool:
    try:
        with lock:
            return True
    except Busy:
        return False


def finish(ctx: Context) -> list[str]:
    """Complete the steps that kills left half done; return a sentence for each that touched files.

    Nothing of a command that runs is touched."""
    if index.is_abandoned(ctx.repo):
        effects.settle_index(ctx.repo)
    if split.is_unlinked(ctx.repo):
        split.finish(ctx)
    return steps.finish_interrupted(ctx.repo)


def finish_all(case: Case, _: Finding) -> str:
    """Complete whatever a kill left half done; return what was done."""
    done = finish(case.ctx)
    if scratch.is_in_place(case.repo):
        with scratch.hold(case.repo):
            done += finish_bisection(case.repo)
    return "; ".join(done) or "completed"


def finish_bisection(repo: Repo) -> list[str]:
    """End what a killed bisection left, and take it back if it was in place; return as finish()
    does.  The caller holds its lock."""
    scratch.remove_abandoned(repo)
    was_left = scratch.finish_in_place(repo, make_mover(repo))
    if was_left:
        return ["an interrupted bisection in place was taken back"]
    return []


def make_mover(repo: Repo) -> Mover:
    """One that asks nobody and shows no progress."""
    return steps.Mover(repo, lambda prepared, moved: True, lambda done, total: None)


def list_scratch(repo: Repo) -> Iterator[tuple[str, str]]:
    """(path, whose it is) of the scratch directories that killed commands left."""
    for room in (scratch, split):
        paths = room.list_scratch(repo)
        if paths and _is_free(room.hold(repo)):
            for path in paths:
                yield path, f"'gitcp {room.FOLDER}' was killed"


def remove_scratch(repo: Repo, path: str) -> bool:
    """Remove a path of list_scratch(), with its like; return whether it was one."""
    for room in (scratch, split):
        if path in room.list_scratch(repo):
            with room.hold(repo):
                room.remove_abandoned(repo)
            return True
    return False
