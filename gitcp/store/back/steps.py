"""One step back or forth, from the plan to the report: what rewind, undo and redo share."""

from __future__ import annotations

from gitcp.core.back import plan as plans
from gitcp.core.back import undo_tree
from gitcp.errors import Busy, Changed, Moved
from gitcp.store.back import carry_out, follow, planning
from gitcp.store.back.planning import Prepared, refuse
from gitcp.store.undo import effects, undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypedDict

    from gitcp.core.back.plan import Plan
    from gitcp.core.back.undo_tree import Step
    from gitcp.repo import Repo
    from gitcp.store.back.apply import Progress
    from gitcp.store.back.conversation import Conversation
    from gitcp.store.back.planning import Wisher
    from gitcp.store.git.objects import Objects

    Agree = Callable[[Prepared], bool]  # shows a plan; whether to carry it out

    class Outcome(TypedDict):
        """What came of it.  step: its id in the undo log, '' when nothing was changed; subject:
        the step that was taken back or done again, as the log has it, '' of one of its own;
        differ: paths that did not come out as planned; notes: sentences about sessions;
        conversation: the one that was put back."""

        step: str
        subject: str
        plan: Plan
        differ: list[str]
        notes: list[str]
        conversation: Conversation | None


_TRIES = 5


def recovered(repo: Repo, objects: Objects) -> list[str]:
    """Finish what a kill left unfinished here; a sentence for each thing that was done."""
    if not carry_out.abandoned(repo):
        return []
    with undo_log.lock(repo):
        sentences = carry_out.recover(repo, objects)
        return [*sentences, *follow.files(repo, objects)]


class Mover:
    """Takes steps in a worktree: agree sees each plan before, progress hears how far one is."""

    def __init__(self, repo: Repo, objects: Objects, agree: Agree, progress: Progress) -> None:
        self._repo, self._objects = repo, objects
        self._agree, self._progress = agree, progress

    def step(self, wisher: Wisher, wanted: Step, talk: Conversation | None = None) -> Outcome:
        """Plan, let agree() see it, and carry it out as wanted, a step of undo_log.new_step().

        talk: the conversation that goes back with it, whose files are among wanted's effects.

        A plan that does not hold any more is made again, and shown again where it has become
        another.  Raises Error for conflicts, with nothing changed; Busy when the worktree never
        stands still.
        """
        repo, objects = self._repo, self._objects
        agreed: Plan | None = None
        for _ in range(_TRIES):
            prepared = Prepared(repo, objects, wisher)
            refuse(prepared.plan["conflicts"])
            nothing = not prepared.todo and not wanted["effects"]
            if prepared.plan != agreed and not self._agree(prepared):
                return _outcome(prepared, "", [], [])
            if nothing and wanted["kind"] not in (undo_tree.UNDO, undo_tree.REDO):
                return _outcome(prepared, "", [], [])
            agreed = prepared.plan
            try:
                with undo_log.lock(repo):
                    differ = carry_out.carry_out(repo, objects, prepared, wanted, self._progress)
                    notes = follow.files(repo, objects, [a["path"] for a in prepared.todo])
            except (Changed, Moved):
                continue
            return {**_outcome(prepared, wanted["id"], differ, notes), "conversation": talk}
        raise Busy("the worktree changes faster than it can be taken back; nothing is changed")

    def undo(self, conflict: str) -> Outcome:
        """Take back the step in force."""
        target = undo_tree.to_undo(undo_log.read(self._repo))
        wanted = _move(undo_tree.UNDO, target, target["parent"])
        wanted["effects"] = effects.turned(target["effects"])
        return self._between(target, ("after", "before"), wanted, conflict)

    def redo(self, name: str, conflict: str) -> Outcome:
        """Do a step again that was undone: name is the beginning of its id, '' the last one."""
        target = undo_tree.to_redo(undo_log.read(self._repo), name)
        wanted = _move(undo_tree.REDO, target, target["id"])
        wanted["effects"] = target["effects"]
        return self._between(target, ("before", "after"), wanted, conflict)

    def _between(
        self, target: Step, parts: tuple[str, str], wanted: Step, conflict: str
    ) -> Outcome:
        """From one part of what a step kept to the other: its worktree before, or after."""
        repo, objects, keep = self._repo, self._objects, conflict == planning.KEEP
        todo, left, blocked = effects.possible(repo, objects, wanted["effects"], keep)
        wanted["effects"] = todo
        refuse(blocked)
        old, new = (undo_log.tree(objects, target["commit"], part) for part in parts)
        why = f"{wanted['kind']} of {target['kind']}"
        if old and new:
            wisher = planning.between(repo, objects, old, new, conflict, why)
        else:
            wisher = planning.taking_back(repo, objects, {}, conflict, why)
        outcome = self.step(wisher, wanted)
        return {**outcome, "subject": wanted["reason"], "notes": [*outcome["notes"], *left]}


def _move(kind: str, target: Step, position: str) -> Step:
    reason = f"{target['kind']}: {target['reason']}"
    return undo_log.new_step(kind, reason, target=target["id"], position=position)


def _outcome(
    prepared: Prepared, step_id: str, differ: Sequence[str], notes: Sequence[str]
) -> Outcome:
    return {
        "step": step_id,
        "subject": "",
        "plan": prepared.plan,
        "differ": list(differ),
        "notes": list(notes),
        "conversation": None,
    }


def summary(plan: Plan) -> str:
    """What a plan did, in words: `2 created, 1 modified`."""
    words = {plans.CREATE: "created", plans.MODIFY: "modified", plans.DELETE: "deleted"}
    counts = plans.counts(plan["actions"])
    return ", ".join(f"{counts[verb]} {word}" for verb, word in words.items() if counts[verb])
