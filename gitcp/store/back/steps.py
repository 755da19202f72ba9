"""One step, from its plan to its outcome: what rewind, undo and redo share."""

from __future__ import annotations

from gitcp.core.back import plan as plans
from gitcp.core.back import undo_tree
from gitcp.errors import Busy, Changed, Moved
from gitcp.store.back import carry_out, raw_files, wishes
from gitcp.store.back.planning import Prepared, refuse_conflicts
from gitcp.store.back.present import Present
from gitcp.store.git.tree import compare_trees
from gitcp.store.undo import effects, undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypedDict

    from gitcp.core.back.plan import Plan
    from gitcp.core.back.undo_tree import Step
    from gitcp.core.record_types import Version
    from gitcp.repo import Repo
    from gitcp.store.back.apply import Progress
    from gitcp.store.back.conversation import Conversation
    from gitcp.store.back.raw_files import Known
    from gitcp.store.back.wishes import Edits, Wisher
    from gitcp.store.git.objects import Objects

    Agree = Callable[[Prepared], bool]  # shows a plan; returns whether to carry it out

    class Outcome(TypedDict):
        """The outcome of a step.  step: its id in the undo log, '' if nothing was changed;
        subject: kind and reason of the step that was undone or redone, else ''; differ: paths
        that are not as planned; notes: sentences about sessions; conversation: the one that was
        put back."""

        step: str
        subject: str
        plan: Plan
        differ: list[str]
        notes: list[str]
        conversation: Conversation | None


_TRIES = 5


def finish_interrupted(repo: Repo, objects: Objects) -> list[str]:
    """Finish the step that a kill left unfinished; return a sentence for each thing done."""
    if not carry_out.list_abandoned(repo):
        return []
    with undo_log.hold_log(repo):
        return carry_out.recover_step(repo, objects)


class Mover:
    """Takes steps in a worktree.  agree is asked about each plan; progress(done, total) is called
    for each file; dry: write nothing into the journal."""

    def __init__(
        self,
        repo: Repo,
        objects: Objects,
        agree: Agree,
        progress: Progress,
        dry: bool = False,
    ) -> None:
        self._repo, self._objects, self._dry = repo, objects, dry
        self._agree, self._progress = agree, progress

    def take_step(self, wisher: Wisher, step: Step, talk: Conversation | None = None) -> Outcome:
        """Make a plan, ask agree(), and carry it out as a step of undo_log.make_step().

        talk: the conversation that is put back; its files are among the step's effects.  If the
        worktree changes meanwhile, the plan is made again, and agree() is asked again if it
        differs.  Raises Error for conflicts and Busy if the worktree keeps changing, with nothing
        changed.
        """
        repo, objects = self._repo, self._objects
        agreed: Plan | None = None
        for _ in range(_TRIES):
            prepared = Prepared(Present(repo, objects, self._dry), wisher)
            refuse_conflicts(prepared.plan["conflicts"])
            # Undo and redo move the position in the log even if they change nothing.
            is_needed = prepared.todo or step["effects"] or step["kind"] in undo_tree.MOVES
            if (prepared.plan != agreed and not self._agree(prepared)) or not is_needed:
                return _build_outcome(prepared, "", [], [])
            agreed = prepared.plan
            try:
                with undo_log.hold_log(repo):
                    differ, notes = carry_out.carry_out_plan(prepared, step, self._progress)
            except (Changed, Moved):
                continue
            return {**_build_outcome(prepared, step["id"], differ, notes), "conversation": talk}
        raise Busy("the worktree changes faster than it can be taken back; nothing is changed")

    def undo_steps(self, name: str, conflict: str) -> Outcome:
        """Undo the newest steps, as one step.  name: how many, or the beginning of the id of the
        oldest one to undo."""
        targets = undo_tree.list_steps_to_undo(undo_log.read_steps(self._repo), name)
        oldest = targets[-1]
        step = undo_log.make_step(
            undo_tree.UNDO,
            "; ".join(f"{target['kind']}: {target['reason']}" for target in targets),
            [e for target in targets for e in effects.invert_effects(target["effects"])],
            position=oldest["parent"],
            target=oldest["id"],
            targets=[target["id"] for target in targets],
        )
        edits = _map_edits(self._objects, targets[::-1], "before", "after")
        raw = raw_files.read_steps(self._objects, targets, edits)
        return self._leave_out(edits, raw, f"undo of {oldest['kind']}", step, conflict)

    def redo_step(self, name: str, conflict: str) -> Outcome:
        """Redo a step that was undone.  name: the beginning of its id, '' for the last one."""
        log = undo_log.read_steps(self._repo)
        target = undo_tree.find_step_to_redo(log, name)
        step = undo_log.make_step(
            undo_tree.REDO,
            f"{target['kind']}: {target['reason']}",
            target["effects"],
            target=target["id"],
            position=target["id"],
        )
        edits = _map_edits(self._objects, [target], "after", "before")
        # Before the steps undone with it, or else before the undo, the worktree was as after it.
        undone = [step for step in log if target["id"] in step.get("targets", ())][-1:]
        ids = [t for step in undone for t in step["targets"][: step["targets"].index(target["id"])]]
        newer = [undo_tree.map_steps(log)[step_id] for step_id in ids]
        raw = raw_files.read_steps(self._objects, [*undone, *newer], edits)
        return self._leave_out(edits, raw, f"redo of {target['kind']}", step, conflict)

    def _leave_out(self, edits: Edits, raw: Known, why: str, step: Step, conflict: str) -> Outcome:
        """Take a step of undo or redo, with those of its effects that are still possible."""
        wisher = wishes.leave_out_edits(edits, conflict, why, raw)
        possible, notes, blocked = effects.find_possible(
            self._repo, self._objects, step["effects"], conflict == wishes.KEEP
        )
        refuse_conflicts(blocked)
        outcome = self.take_step(wisher, {**step, "effects": possible})
        return {**outcome, "subject": step["reason"], "notes": [*outcome["notes"], *notes]}


def _map_edits(objects: Objects, steps: Iterable[Step], old: str, new: str) -> Edits:
    """path -> (its version in the tree old, in the tree new) of each step that changed it; old and
    new are 'before' and 'after', or the reverse."""
    edits: dict[str, list[tuple[Version, Version]]] = {}
    for step in steps:
        first, last = (undo_log.find_tree(objects, step["commit"], part) for part in (old, new))
        for path, before, after in compare_trees(objects, first, last) if first and last else ():
            if not path.startswith(plans.OURS):
                edits.setdefault(path, []).append((before, after))
    return edits


def _build_outcome(
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


def summarize_plan(plan: Plan) -> str:
    """What a plan does, as in `2 created, 1 modified`."""
    words = {plans.CREATE: "created", plans.MODIFY: "modified", plans.DELETE: "deleted"}
    counts = plans.count_verbs(plan["actions"])
    return ", ".join(f"{counts[verb]} {word}" for verb, word in words.items() if counts[verb])
