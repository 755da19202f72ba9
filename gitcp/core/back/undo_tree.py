"""The undo log as a tree: the step to undo or to redo.

The log only grows.  The parent of a step is the one that was in force when it was made.  Undoing a
step goes back to its parent; the undone step stays as a branch that can be redone.
"""

from __future__ import annotations

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    Step = dict[str, Any]  # id, kind, parent, position, target, targets; gitcp-formats(5)

UNDO, REDO = "undo", "redo"
MOVES = (UNDO, REDO)
SHORTEST = 4  # characters of a prefix that names a step


def get_position(log: Sequence[Step]) -> str:
    """The id of the step in force, '' for none; log: oldest first."""
    return str(log[-1].get("position", "")) if log else ""


def name_worktree_before(step: Step) -> str:
    """The name of the point for the worktree before a step."""
    return f"before {step['kind']}: {step['reason']}"


def map_steps(log: Iterable[Step]) -> dict[str, Step]:
    """id -> step, of all steps but undos and redos."""
    return {step["id"]: step for step in log if step["kind"] not in MOVES}


def list_steps_to_undo(log: Sequence[Step], name: str = "1") -> list[Step]:
    """The steps in force to undo, newest first.  name: their number, or a prefix of the id of the
    last one.  Raise Error if there are not so many, or no such step."""
    steps, path = map_steps(log), list_in_force(log)
    if not path:
        raise Error(
            "nothing to undo: gitcp changed no file here ('gitcp rewind' goes back before a prompt)"
        )
    matching = [index for index, step_id in enumerate(path) if step_id.startswith(name)]
    if len(name) >= SHORTEST and len(matching) > 1:
        raise Error(f"ambiguous step '{name}': {' '.join(path[index] for index in matching)}")
    if len(name) >= SHORTEST and matching:
        count = matching[0] + 1
    elif not name.isdecimal() or not int(name):
        raise Error(f"no such step in force: '{name}' ('gitcp undo --list' shows them)")
    else:
        count = int(name)
    if count > len(path):
        raise Error(f"cannot undo {count} steps: {len(path)} in force; nothing is changed")
    return [steps[step_id] for step_id in path[:count]]


def find_step_to_redo(log: Sequence[Step], name: str = "") -> Step:
    """The step to redo: the last undone one, or the one whose id begins with name.

    Raise Error if the present position has no such undone step.
    """
    position = get_position(log)
    branches = [s for s in map_steps(log).values() if s["parent"] == position]
    undone_ids = [
        t for s in log if s["kind"] == UNDO for t in s.get("targets", [s["target"]])[::-1]
    ]
    newest = {step_id: number for number, step_id in enumerate(undone_ids)}
    undone = sorted((s for s in branches if s["id"] in newest), key=lambda s: newest[s["id"]])
    matching = [s for s in undone if s["id"].startswith(name)]
    if not matching:
        raise Error(f"no such step to redo: '{name}'" if name else "nothing to redo")
    if name and len(matching) > 1:
        raise Error(f"ambiguous step '{name}': {' '.join(s['id'] for s in matching)}")
    return matching[-1]


def list_in_force(log: Sequence[Step]) -> list[str]:
    """The ids of the steps in force, the newest first."""
    steps, position, path = map_steps(log), get_position(log), []
    while position in steps:
        path.append(position)
        position = steps[position]["parent"]
    return path
