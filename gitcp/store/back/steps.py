"""One step, from its plan to its outcome: what rewind, undo and redo share."""

from __future__ import annotations

from gitcp.core.back import plan as plans
from gitcp.core.back import undo_tree
from gitcp.errors import Busy, Changed, Moved
from gitcp.store.back import carry_out, follow, planning, raw_files
from gitcp.store.back.planning import Prepared, refuse_conflicts
from gitcp.store.back.present import Present
from gitcp.store.git.tree import compare_trees
from gitcp.store.undo import effects, undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypedDict

    from gitcp.core.back.plan import Plan
    from gitcp.core.back.undo_tree import Step
    from gitcp.core.record_types import Version
    from gitcp.repo import Repo
    from gitcp.store.back.apply import Progress
    from gitcp.store.back.conversation import Conversation
    from gitcp.store.back.planning import Wisher
    from gitcp.store.back.raw_files import Raw
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
    with undo_log.lock(repo):
        sentences = carry_out.recover_step(repo, objects)
        return [*sentences, *follow.follow_files(repo, objects)]


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

    def take_step(self, wisher: Wisher, wanted: Step, talk: Conversation | None = None) -> Outcome:
        """Make a plan, ask agree(), and carry it out as wanted, a step of undo_log.make_step().

        talk: the conversation that is put back; its files are among the effects of wanted.  When
        the worktree changes meanwhile, the plan is made again, and agree() is asked again if it
        differs.  Raises Error for conflicts and Busy when the worktree keeps changing, with
        nothing changed.
        """
        repo, objects = self._repo, self._objects
        agreed: Plan | None = None
        for _ in range(_TRIES):
            prepared = Prepared(Present(repo, objects, self._dry), wisher)
            refuse_conflicts(prepared.plan["conflicts"])
            nothing = not prepared.todo and not wanted["effects"]
            if prepared.plan != agreed and not self._agree(prepared):
                return _build_outcome(prepared, "", [], [])
            if nothing and wanted["kind"] not in (undo_tree.UNDO, undo_tree.REDO):
                return _build_outcome(prepared, "", [], [])
            agreed = prepared.plan
            try:
                with undo_log.lock(repo):
                    differ = carry_out.carry_out_plan(
                        repo, objects, prepared, wanted, self._progress
                    )
                    notes = follow.follow_files(repo, objects, [a["path"] for a in prepared.todo])
            except (Changed, Moved):
                continue
            return {**_build_outcome(prepared, wanted["id"], differ, notes), "conversation": talk}
        raise Busy("the worktree changes faster than it can be taken back; nothing is changed")

    def undo_steps(self, name: str, conflict: str) -> Outcome:
        """Undo the newest steps, as one step.  name: how many, or the beginning of the id of the
        oldest one to undo."""
        targets = undo_tree.list_steps_to_undo(undo_log.read_steps(self._repo), name)
        reason = "; ".join(f"{target['kind']}: {target['reason']}" for target in targets)
        wanted = undo_log.make_step(undo_tree.UNDO, reason, position=targets[-1]["parent"])
        wanted["target"], wanted["targets"] = targets[-1]["id"], [t["id"] for t in targets]
        wanted["effects"] = [
            effect for target in targets for effect in effects.invert_effects(target["effects"])
        ]
        return self._move_between(targets[::-1], targets, ("after", "before"), wanted, conflict)

    def redo_step(self, name: str, conflict: str) -> Outcome:
        """Redo a step that was undone.  name: the beginning of its id, '' for the last one."""
        log = undo_log.read_steps(self._repo)
        target = undo_tree.find_step_to_redo(log, name)
        undone = [step for step in log if target["id"] in step.get("targets", ())]
        reason = f"{target['kind']}: {target['reason']}"
        wanted = undo_log.make_step(
            undo_tree.REDO, reason, target["effects"], target=target["id"], position=target["id"]
        )
        return self._move_between([target], undone[-1:], ("before", "after"), wanted, conflict)

    def _move_between(
        self,
        targets: Sequence[Step],
        seen: Sequence[Step],
        parts: tuple[str, str],
        wanted: Step,
        conflict: str,
    ) -> Outcome:
        """Change the worktree from the first of parts of targets (oldest first) to the second.

        parts: ("before", "after") or the reverse.  seen: the steps whose `before` is the result,
        newest first; their raw bytes and permissions are restored."""
        repo, objects, keep = self._repo, self._objects, conflict == planning.KEEP
        todo, left, blocked = effects.find_possible(repo, objects, wanted["effects"], keep)
        wanted["effects"] = todo
        refuse_conflicts(blocked)
        edits: dict[str, list[tuple[Version, Version]]] = {}
        for target in targets:
            old, new = (undo_log.find_tree(objects, target["commit"], part) for part in parts)
            for path, before, after in compare_trees(objects, new, old) if old and new else ():
                if not path.startswith(plans.OURS):
                    edits.setdefault(path, []).append((before, after))
        raw: dict[str, tuple[Version, Raw]] = {}
        for step in seen:
            stood = undo_log.open_tree(objects, step["commit"], "before")
            raw |= {path: (stood(path), raw_files.read_step(step, path)) for path in edits}
        why = f"{wanted['kind']} of {targets[0]['kind']}"
        outcome = self.take_step(planning.leave_out_edits(edits, conflict, why, raw), wanted)
        return {**outcome, "subject": wanted["reason"], "notes": [*outcome["notes"], *left]}


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
