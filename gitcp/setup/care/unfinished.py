"""What a killed command for people left half done, and its completion.

The command that was killed held a lock until its end, which is free now: what it left is found by
that, whatever its age.
"""

from __future__ import annotations

import os

from gitcp.errors import Busy
from gitcp.record.snapshot import index
from gitcp.setup.care import findings
from gitcp.steps import effects, under_way, undo
from gitcp.steps.back import steps
from gitcp.steps.commits import scratch, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.setup.care.case import Case
    from gitcp.setup.care.findings import Finding
    from gitcp.steps.back.steps import Mover

_FIX = "gitcp doctor --fix"


def look_at_unfinished(case: Case) -> Iterator[Finding]:
    """Report the commands of this worktree that were killed half way."""
    if case.repo.top:
        for what in _list_unfinished(case.repo):
            yield findings.Finding("unfinished", case.repo.worktree, what, remedy=_FIX)


def _list_unfinished(repo: Repo) -> Iterator[str]:
    is_left = index.is_abandoned(repo) or under_way.list_steps(repo)
    if is_left and _is_free(undo.hold_log(repo, timeout=0)):
        if os.path.lexists(f"{index.locate_index(repo)}.lock"):
            yield "a step was killed half way, and the index is locked"
        else:
            yield "a step of the undo log was killed half way"
    if under_way.is_unlinked(repo) and _is_free(under_way.hold_split(repo)):
        yield "'gitcp split' was killed before it stored conversations"
    if under_way.is_in_place(repo) and _is_free(under_way.hold_bisection(repo)):
        yield "'gitcp bisect --in-place' was killed at a state it tests"


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
    if under_way.is_unlinked(ctx.repo):
        split.finish(ctx)
    if not under_way.list_steps(ctx.repo):
        return []
    return steps.finish_interrupted(ctx.repo)


def finish_all(case: Case, _: Finding) -> str:
    """Complete whatever a kill left half done; return what was done."""
    done = finish(case.ctx)
    if under_way.is_in_place(case.repo):
        with under_way.hold_bisection(case.repo):
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
    worktrees = under_way.list_scratch_worktrees(repo)
    if worktrees and _is_free(under_way.hold_bisection(repo)):
        for path in worktrees:
            yield path, "'gitcp bisect' was killed"
    repositories = under_way.list_splits(repo)
    if repositories and _is_free(under_way.hold_split(repo)):
        for path in repositories:
            yield path, "'gitcp split' was killed"


def remove_scratch(repo: Repo, path: str) -> bool:
    """Remove a path of list_scratch(), with its like; return whether it was one."""
    if path in under_way.list_scratch_worktrees(repo):
        with under_way.hold_bisection(repo):
            scratch.remove_abandoned(repo)
        return True
    if path in under_way.list_splits(repo):
        with under_way.hold_split(repo):
            split.remove_abandoned(repo)
        return True
    return False
