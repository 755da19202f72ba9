"""The undo log as a tree: which step is undone next, which redone.

The log only grows.  A step stands on the one that was in force when it was made; undoing it
goes back to that one, and what was undone stays there as a branch to come back to.
"""

from __future__ import annotations

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    Step = dict[str, Any]  # id, kind, parent, position, target, targets; gitcp-formats(5)

UNDO, REDO = "undo", "redo"
_MOVES = (UNDO, REDO)
SHORTEST = 4  # characters that may name a step


def get_position(log: Sequence[Step]) -> str:
    """The id of the step in force, '' before the first; log: oldest first."""
    return str(log[-1].get("position", "")) if log else ""


def name_worktree_before(step: Step) -> str:
    """The name, as a point to go back to, of the worktree before a step."""
    return f"before {step['kind']}: {step['reason']}"


def map_steps(log: Iterable[Step]) -> dict[str, Step]:
    """id -> step, of all steps but undos and redos."""
    return {step["id"]: step for step in log if step["kind"] not in _MOVES}


def list_steps_to_undo(log: Sequence[Step], name: str = "1") -> list[Step]:
    """The steps in force that are to be undone, newest first: as many as name says, or those
    down to the one whose id begins with it.  Raises Error where there are not so many."""
    every, path = map_steps(log), list_in_force(log)
    if not path:
        raise Error("nothing to undo")
    named = [at for at, step_id in enumerate(path) if step_id.startswith(name)]
    if len(name) >= SHORTEST and len(named) > 1:
        raise Error(f"ambiguous step '{name}': {' '.join(path[at] for at in named)}")
    if len(name) >= SHORTEST and named:
        count = named[0] + 1
    elif not name.isdecimal() or not int(name):
        raise Error(f"no such step in force: '{name}' ('gitcp undo --list' shows them)")
    else:
        count = int(name)
    if count > len(path):
        raise Error(f"cannot undo {count} steps: {len(path)} in force; nothing is changed")
    return [every[step_id] for step_id in path[:count]]


def find_step_to_redo(log: Sequence[Step], name: str = "") -> Step:
    """The step to do again: the one undone last here, or the one whose id begins with name.

    Raises Error when none was undone here, or name is not one of those that were.
    """
    here = get_position(log)
    branches = [s for s in map_steps(log).values() if s["parent"] == here]
    left = [t for s in log if s["kind"] == UNDO for t in s.get("targets", [s["target"]])[::-1]]
    undone = [s for s in branches if s["id"] in left]
    undone.sort(key=lambda s: max(n for n, target in enumerate(left) if target == s["id"]))
    named = [s for s in undone if s["id"].startswith(name)]
    if not named:
        raise Error(f"no such step to redo: '{name}'" if name else "nothing to redo")
    if name and len(named) > 1:
        raise Error(f"ambiguous step '{name}': {' '.join(s['id'] for s in named)}")
    return named[-1]


def list_in_force(log: Sequence[Step]) -> list[str]:
    """The ids of the steps in force, the newest first."""
    known, here, path = map_steps(log), get_position(log), []
    while here in known:
        path.append(here)
        here = known[here]["parent"]
    return path
