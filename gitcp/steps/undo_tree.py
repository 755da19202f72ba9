"""The undo log as a tree: the steps that are in force, and the next one to undo or to redo.

The log only grows.  The parent of a step is the one that was in force when it was made.  Undoing a
step goes back to its parent; the undone step stays as a branch that can be redone.
"""

from __future__ import annotations

from functools import cached_property

from gitcp.errors import Error
from gitcp.steps.step import BISECT, UNDO
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.steps.step import Step

_SHORTEST = 4  # characters that may name a step


class UndoTree:
    """The steps of a log.  steps: id -> step, of all but undos and redos, oldest first.  position:
    the id of the step in force, '' for none."""

    def __init__(self, log: Sequence[Step]) -> None:
        """log: oldest first."""
        self._log = log
        self.steps = {step.id: step for step in log if not step.is_move}
        self.position = ""
        if log:
            self.position = log[-1].place

    @cached_property
    def in_force(self) -> list[str]:
        """The ids of the steps in force, the newest first."""
        ids: list[str] = []
        position = self.position
        while position in self.steps:
            ids.append(position)
            position = self.steps[position].parent
        return ids

    def map_undoings(self) -> dict[str, Step]:
        """The id of each step that was undone -> the last step that undid it, in the order in which
        they were undone, of several at once the oldest first."""
        undoings: dict[str, Step] = {}
        for step in self._log:
            if step.kind == UNDO:
                for step_id in reversed(step.targets):
                    undoings.pop(step_id, None)
                    undoings[step_id] = step
        return undoings

    def list_to_undo(self, name: str = "1") -> list[Step]:
        """The steps in force to undo, newest first.  name: their number, or a prefix of the id of
        the last one.  Raises Error if there are not so many, or no such step."""
        if not self.in_force and self.steps:
            raise Error("nothing to undo: all is undone ('gitcp redo' does the last again)")
        if not self.in_force:
            raise Error(
                "nothing to undo: gitcp changed no file here"
                " ('gitcp rewind' goes back before a prompt)"
            )
        count = self._count_to_undo(name)
        if count > len(self.in_force):
            only = count_noun(len(self.in_force), "step")
            raise Error(f"only {only} can be undone; nothing was changed")
        return [self.steps[step_id] for step_id in self.in_force[:count]]

    def _count_to_undo(self, name: str) -> int:
        matching = [step_id for step_id in self.in_force if step_id.startswith(name)]
        if len(name) >= _SHORTEST and matching:
            if len(matching) > 1:
                raise Error(f"ambiguous step '{name}': {' '.join(matching)}")
            return self.in_force.index(matching[0]) + 1
        if not name.isdecimal() or not int(name):
            raise Error(f"no such step to undo: '{name}' ('gitcp undo --list' shows them)")
        return int(name)

    def find_to_redo(self, name: str = "") -> Step:
        """The step to redo: the last undone one, or the one whose id begins with name.

        A bisection's steps are undone for good.  Raises Error if the present position has no such
        undone step.
        """
        matching = [step for step in self._list_to_redo() if step.id.startswith(name)]
        if not matching and name:
            raise Error(f"no such step to redo: '{name}'")
        if not matching:
            raise Error("nothing to redo")
        if name and len(matching) > 1:
            raise Error(f"ambiguous step '{name}': {' '.join(step.id for step in matching)}")
        return matching[-1]

    def find_next_to_redo(self) -> Step | None:
        """The step that find_to_redo() finds without a name; None for none."""
        steps = self._list_to_redo()
        if steps:
            return steps[-1]
        return None

    def can_redo(self, step: Step) -> bool:
        """Whether a step that was undone can be redone at the present position."""
        return step.parent == self.position and step.kind != BISECT

    def _list_to_redo(self) -> list[Step]:
        """The steps that can be redone, the last undone one last."""
        steps: list[Step] = []
        for step_id in self.map_undoings():
            step = self.steps.get(step_id)
            if step and self.can_redo(step):
                steps.append(step)
        return steps


def name_worktree_before(step: Step, clock: str) -> str:
    """The name of the point for the worktree before a step; clock: when it was, for people."""
    return f"before 'gitcp {step.kind}' at {clock}"
