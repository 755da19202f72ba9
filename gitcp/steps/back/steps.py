"""One step, from its plan to its outcome: what rewind, undo and redo share."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext, suppress
from dataclasses import dataclass

from gitcp.errors import Busy, Changed, Error, Moved
from gitcp.git import decode_name, files
from gitcp.git.files import read_bytes
from gitcp.git.objects import Lookup, compare_trees, find_file
from gitcp.record.journal import INTENT
from gitcp.record.journal.line_kinds import parse_entry
from gitcp.record.snapshot import scan
from gitcp.steps import effects, under_way, undo
from gitcp.steps.back import follow_up, ignored, kept_bytes, plan, wishes
from gitcp.steps.back.carrying_out import Apply
from gitcp.steps.back.plan import Action, list_effective
from gitcp.steps.back.preparing import prepare, refuse_conflicts
from gitcp.steps.back.present import read_present
from gitcp.steps.back.signatures import find_other_names, read_signatures
from gitcp.steps.back.staging import Staging
from gitcp.steps.back.taking_back import EditEntries
from gitcp.steps.step import KEEP, REDO, UNDO, Effect, parse_effect, parse_raw
from gitcp.steps.undo_tree import UndoTree
from gitcp.text import replace
from gitcp.text.spans import count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.back.carrying_out import Progress
    from gitcp.steps.back.conversation import ReadyConversation
    from gitcp.steps.back.kept_bytes import Known
    from gitcp.steps.back.plan import Plan
    from gitcp.steps.back.preparing import Prepared
    from gitcp.steps.back.wishes import Edits, Wisher
    from gitcp.steps.step import Raw, Step
    from gitcp.text.record_types import Record

    # Shows a plan, and the steps that it takes back or takes again, () for none; returns whether
    # to carry it out.
    Agree = Callable[[Prepared, Sequence[Step]], bool]


@dataclass(slots=True)
class Outcome:
    """The outcome of a step.  step: its id in the undo log, '' if nothing was changed; subject:
    kind and reason of the step that was undone or redone, else ''; beside: what it changed beside
    files of the worktree, as `HEAD is at 1a2b3c4`; differ: paths that are not as planned; notes:
    sentences about sessions; conversation: the one that was put back."""

    step: str
    subject: str
    beside: str
    plan: Plan
    differ: list[str]
    notes: list[str]
    conversation: ReadyConversation | None

    def make_record(self) -> Record:
        """It as a record."""
        conversation = None
        if self.conversation:
            conversation = self.conversation.make_record()
        return {
            "type": "step",
            "step": self.step,
            "subject": self.subject,
            "beside": self.beside,
            "differ": self.differ,
            "notes": self.notes,
            "conversation": conversation,
            **self.plan.make_record(),
        }


# Carrying out a prepared plan as one step of the undo log: stage, log, apply, check.
#
# <git-dir>/gitcp/rewind/intent exists from before the first file is touched until the last is
# written.  After a kill the next command finishes the step that it describes.
_TRIES = 5  # to make a plan for a worktree that keeps changing


@dataclass(slots=True)
class Intent:
    """A step that is carried out, as the file of that name has it.

    kind, step_id: of the step.  commit: the step's, in the undo log.  staging: the name of its
    directory.  merged: as Wish has it.  raw: what files and directories get that git does not
    keep."""

    kind: str
    step_id: str
    commit: str
    staging: str
    actions: list[Action]
    merged: Mapping[str, Sequence[str]]
    effects: Sequence[Effect]
    raw: Mapping[str, Raw]

    def make_record(self) -> Record:
        """It as it is stored."""
        return {
            "step": self.kind,
            "id": self.step_id,
            "commit": self.commit,
            "staging": self.staging,
            "actions": [action.make_record() for action in self.actions],
            "merged": self.merged,
            "effects": [effect.make_record() for effect in self.effects],
            "raw": self.raw,
        }


def _read_intent(repo: Repo) -> Intent | None:
    """The step that a kill left unfinished; None without one."""
    stored = read_bytes(_get_intent_path(repo))
    if not stored:
        return None
    record = json.loads(stored)
    actions: list[Action] = []
    for stored_action in record["actions"]:
        was = parse_entry(stored_action["was"])
        now = parse_entry(stored_action["now"])
        actions.append(Action(**{**stored_action, "was": was, "now": now}))
    return Intent(
        record["step"],
        record.get("id", ""),
        record["commit"],
        record["staging"],
        list_effective(actions),
        record.get("merged", {}),
        [parse_effect(effect) for effect in record["effects"]],
        parse_raw(record.get("raw", {})),
    )


@dataclass(slots=True)
class Report:
    """What came of a plan that was carried out: the paths whose content differs from it when they
    are read again, and sentences about the sessions at work."""

    differ: list[str]
    notes: list[str]


def carry_out_plan(prepared: Prepared, step: Step, tip: str | None, progress: Progress) -> Report:
    """Carry out a plan and step's effects as one step of the undo log.

    tip: the log's when the plan was made.  Raises Changed when the worktree is not as planned,
    Moved when another step was recorded, and Error when the system refuses a write; the worktree
    is then as it was.  The caller holds the log's lock.
    """
    repo = prepared.present.repo
    staging = Staging(repo, f"step-{step.id}")
    targets = {a.path: a.now for a in prepared.todo if a.now}
    try:
        staging.write_files(targets, Lookup(repo.objects, prepared.tree))
        chosen = kept_bytes.choose_raw(prepared.present, targets, prepared.signs, prepared.raw)
        staging.add_raw(chosen)
        kept = kept_bytes.keep_raw(prepared.present, prepared.todo, prepared.signs)
        paths = [a.path for a in prepared.todo]
        is_unchanged = read_signatures(repo, paths) == prepared.signs
        if not (is_unchanged and prepared.present.is_unchanged(paths)):
            raise Changed("the worktree has changed since it was looked at")
        ends = undo.Ends(prepared.present.tree, prepared.tree)
        written = undo.write_step(repo, replace(step, raw=kept), ends)
        if written.tip != tip:
            raise Moved(undo.get_ref(repo), tip, written.tip)
        intent = Intent(
            step.kind,
            step.id,
            written.commit,
            f"step-{step.id}",
            prepared.todo,
            prepared.merged,
            step.effects,
            chosen,
        )
        notes = _do_step(prepared, intent, staging, written, progress)
    finally:
        staging.remove_all()
    return Report(_list_differing(prepared), notes)


def _do_step(
    prepared: Prepared,
    intent: Intent,
    staging: Staging,
    written: undo.Written,
    progress: Progress,
) -> list[str]:
    """Log a step, apply its plan and make its effects; undo all of them if one fails.  Return
    sentences about the sessions at work."""
    repo = prepared.present.repo
    top = prepared.present.worktree.top
    job = Apply(top, staging, prepared.todo, prepared.signs, intent.raw)
    data = json.dumps(intent.make_record()).encode()
    files.write_private(repo, _get_intent_path(repo), data, durable=True)
    logged = False
    try:
        undo.append_step(repo, written)
        logged = True
        job.carry_out(progress)
        effects.put_effects(repo, intent.effects)
    except BaseException as e:
        job.take_back()
        if logged:
            undo.withdraw_step(repo, written)
        with suppress(Error, OSError):  # a hook may have seen half of it
            follow_up.note_step(repo, intent.step_id, _reverse(prepared.todo), {})
        _remove_intent(repo)
        if isinstance(e, OSError):
            where = ""
            if e.filename:
                where = f": '{decode_name(os.fsencode(e.filename))}'"
            raise Error(f"{e.strerror}{where}; everything is as it was") from None
        raise
    try:
        notes = follow_up.follow_step(repo, intent.step_id, prepared.todo, prepared.merged)
        _remove_intent(repo)
    except OSError:
        return []  # the step is done: the next command finds nothing left to do
    return notes


def _reverse(actions: Iterable[Action]) -> list[Action]:
    return [replace(action, was=action.now, now=action.was) for action in actions]


def _list_differing(prepared: Prepared) -> list[str]:
    """The paths whose content differs from the plan."""
    repo = prepared.present.repo
    paths = {a.path for a in prepared.todo}
    paths -= find_other_names(repo, paths)
    current = scan.read_paths(repo, paths, write=False)
    after = Lookup(repo.objects, prepared.tree)
    return [path for path in sorted(paths) if current.get(path) != find_file(after, path)]


def _remove_intent(repo: Repo) -> None:
    os.unlink(_get_intent_path(repo))


def finish_interrupted(repo: Repo) -> list[str]:
    """Finish the step that a kill left unfinished; return a sentence for each thing done.

    A step that is not in the undo log has touched nothing: it is dropped.  A path that was
    changed since stays as it is, and a sentence names it.  The staging of steps that had not
    begun is removed.
    """
    if not under_way.list_steps(repo):
        return []
    sentences: list[str] = []
    with undo.hold_log(repo):
        intent = _read_intent(repo)
        if intent:
            sentences = _finish_intent(repo, intent)
        for name in under_way.list_steps(repo):
            Staging(repo, name).remove_all()
    return sentences


def _finish_intent(repo: Repo, intent: Intent) -> list[str]:
    staging = Staging(repo, intent.staging)
    if not any(step.commit == intent.commit for step in undo.read_steps(repo)):
        staging.remove_all()
        _remove_intent(repo)
        return [f"an interrupted {intent.kind} had changed nothing: it is forgotten"]
    rest = _find_rest(repo, intent)
    staging.remove_all()
    _apply_rest(repo, staging, rest.todo, intent)
    effects.put_effects(repo, intent.effects)
    done = [a for a in intent.actions if a.path not in rest.changed_since]
    notes = follow_up.follow_step(repo, intent.step_id, done, intent.merged)
    staging.remove_all()
    _remove_intent(repo)
    count = count_noun(len(rest.todo), "file")
    sentences = [f"an interrupted {intent.kind} has been completed ({count} left)"]
    for path in rest.changed_since:
        sentences.append(f"'{path}' was changed since, and stays as it is")
    return [*sentences, *notes]


@dataclass(slots=True)
class _Rest:
    """What is left of a step: the actions still to do, and the paths that are neither as before nor
    as after it."""

    todo: list[Action]
    changed_since: list[str]


def _find_rest(repo: Repo, intent: Intent) -> _Rest:
    entries = scan.read_paths(repo, [a.path for a in intent.actions], write=True)
    rest = _Rest([], [])
    for action in intent.actions:
        entry = entries.get(action.path)
        if entry == action.was and action.path in entries:
            rest.todo.append(action)
        elif entry != action.now:
            rest.changed_since.append(action.path)
    return rest


def _apply_rest(repo: Repo, staging: Staging, todo: list[Action], intent: Intent) -> None:
    targets = {a.path: a.now for a in todo if a.now}
    after = undo.open_tree(repo.objects, intent.commit, "after")
    staging.write_files(targets, after)
    staging.add_raw(intent.raw)
    signs = read_signatures(repo, [a.path for a in todo])
    try:
        job = Apply(os.fsencode(repo.worktree), staging, todo, signs, intent.raw)
        job.carry_out(lambda done, total: None)
    except Changed:
        still_todo = _find_rest(repo, intent).todo
        if still_todo == todo:
            raise
        staging.remove_all()
        _apply_rest(repo, staging, still_todo, intent)


def _get_intent_path(repo: Repo) -> str:
    return repo.join_own(*INTENT)


@dataclass(slots=True)
class Move:
    """What a step is to do.

    wisher: with the files.  step: of make_step().  talk: the conversation that is put back; its
    files are among the step's effects.  moved: the steps that it undoes or redoes.  notes: a
    sentence for each effect that it leaves out.
    """

    wisher: Wisher
    step: Step
    talk: ReadyConversation | None = None
    moved: Sequence[Step] = ()
    notes: Sequence[str] = ()


class Mover:
    """Takes steps in a worktree.  agree is asked about each plan; progress(done, total) is called
    for each file; dry: write nothing into the journal."""

    def __init__(self, repo: Repo, agree: Agree, progress: Progress, dry: bool = False) -> None:
        self._repo = repo
        self._dry = dry
        self._agree = agree
        self._progress = progress

    def take_step(self, choose: Callable[[], Move]) -> Outcome:
        """Make a plan, ask agree(), and carry it out as a step.

        choose: says what is to be done, by the undo log and the worktree as they are then.  If
        either changes meanwhile, it is asked again, and so is agree() if something else comes of
        it.  Raises Error for conflicts and Busy if the worktree keeps changing, with nothing
        changed.
        """
        repo = self._repo
        agreed: tuple[Plan, Sequence[Step]] | None = None
        for _ in range(_TRIES):
            # Half of another step is no edit of the person's.
            with nullcontext() if self._dry else undo.hold_log(repo):
                tip = undo.read_tip(repo)
                move = choose()
                prepared = prepare(read_present(repo, self._dry), move.wisher)
            refuse_conflicts(prepared.plan.conflicts)
            step = replace(move.step, effects=[*move.step.effects, *prepared.effects])
            wanted = prepared.plan, move.moved
            if wanted != agreed and not self._agree(prepared, move.moved):
                return _build_outcome(repo, prepared, move, None)
            # Undo and redo move the position in the log even if they change nothing.
            if not prepared.todo and not step.effects and not move.moved:
                return _build_outcome(repo, prepared, move, None)
            agreed = wanted
            try:
                with undo.hold_log(repo):
                    ignored.keep_replaced(repo, prepared.effects)
                    report = carry_out_plan(prepared, step, tip, self._progress)
            except (Changed, Moved):
                continue
            return _build_outcome(repo, prepared, move, report)
        raise Busy(
            "files keep changing while they are restored; nothing was changed:"
            " stop the agent, and try again"
        )

    def undo_steps(self, name: str, conflict: str, whole: bool = False) -> Outcome:
        """Undo the newest steps, as one step.  name: how many, or the beginning of the id of the
        oldest one to undo.  whole: also what was changed between them."""
        return self.take_step(lambda: self._choose_undo(name, conflict, whole))

    def redo_step(self, name: str, conflict: str) -> Outcome:
        """Redo a step that was undone.  name: the beginning of its id, '' for the last one."""
        return self.take_step(lambda: self._choose_redo(name, conflict))

    def _choose_undo(self, name: str, conflict: str, whole: bool) -> Move:
        objects = self._repo.objects
        targets = UndoTree(undo.read_steps(self._repo)).list_to_undo(name)
        inverse: list[Effect] = []
        for target in targets:
            inverse += effects.invert_effects(target.effects)
        reason = "; ".join(target.describe() for target in targets)
        step = replace(
            undo.make_step(UNDO, reason, effects.join_staging(self._repo, inverse)),
            position=targets[-1].parent,
            targets=[target.id for target in targets],
        )
        edits = _map_edits(objects, targets[::-1], "before", "after")
        if whole:
            for path, own in edits.items():
                edits[path] = [EditEntries(own[0].before, own[-1].after)]
        raw = kept_bytes.read_steps(objects, targets, edits)
        return self._leave_out(edits, raw, targets, step, conflict)

    def _choose_redo(self, name: str, conflict: str) -> Move:
        objects = self._repo.objects
        tree = UndoTree(undo.read_steps(self._repo))
        target = tree.find_to_redo(name)
        step = replace(
            undo.make_step(REDO, target.describe(), target.effects),
            position=target.id,
            targets=[target.id],
        )
        edits = _map_edits(objects, [target], "after", "before")
        # Before the steps undone with it, or else before the undo, the worktree was as after it.
        undoing = tree.map_undoings()[target.id]
        undone_before = undoing.targets[: undoing.targets.index(target.id)]
        newer = [tree.steps[step_id] for step_id in undone_before]
        raw = kept_bytes.read_steps(objects, [undoing, *newer], edits)
        return self._leave_out(edits, raw, [target], step, conflict)

    def _leave_out(
        self, edits: Edits, raw: Known, moved: Sequence[Step], step: Step, conflict: str
    ) -> Move:
        """A step of undo or redo, with those of its effects that are still possible; moved: the
        steps that it undoes or redoes, the newest first."""
        why = f"{step.kind} of {moved[-1].kind}"
        wisher = wishes.leave_out_edits(edits, conflict, why, raw)
        possible = effects.find_possible(self._repo, step.effects, conflict == KEEP)
        refuse_conflicts(possible.conflicts)
        step = replace(step, effects=possible.todo)
        return Move(wisher, step, moved=moved, notes=possible.notes)


def _map_edits(
    objects: Objects, steps: Iterable[Step], old: str, new: str
) -> dict[str, list[EditEntries]]:
    """path -> its versions in the trees old and new of each step that changed it; old and
    new are 'before' and 'after', or the reverse."""
    edits: dict[str, list[EditEntries]] = {}
    for step in steps:
        first = undo.find_tree(objects, step.commit, old)
        last = undo.find_tree(objects, step.commit, new)
        if first is None or last is None:
            continue
        for path, before, after in compare_trees(objects, first, last):
            if not path.startswith(plan.OURS):
                edits.setdefault(path, []).append(EditEntries(before, after))
    return edits


def _build_outcome(repo: Repo, prepared: Prepared, move: Move, report: Report | None) -> Outcome:
    """The outcome of a move; report: None if nothing was changed."""
    subject = ""
    beside = ""
    if report:
        beside = effects.summarize_effects(repo, prepared.effects)
    if move.moved:
        subject = move.step.reason
        beside = effects.summarize_effects(repo, move.step.effects)
    if report is None:
        return Outcome("", subject, beside, prepared.plan, [], [*move.notes], None)
    notes = [*report.notes, *move.notes]
    return Outcome(move.step.id, subject, beside, prepared.plan, report.differ, notes, move.talk)


def summarize_plan(planned: Plan) -> str:
    """What a plan does, as in `created 2, changed 1`."""
    words = {plan.CREATE: "created", plan.MODIFY: "changed", plan.DELETE: "deleted"}
    counts = plan.count_verbs(planned.actions)
    return ", ".join(f"{word} {counts[verb]}" for verb, word in words.items() if counts[verb])


def summarize_step(repo: Repo, step: Step) -> str:
    """What a step changed, as in `2 files changed, 1 deleted`; '' for nothing to say."""
    created = 0
    changed = 0
    deleted = 0
    before = undo.find_tree(repo.objects, step.commit, "before")
    after = undo.find_tree(repo.objects, step.commit, "after")
    if before and after:
        for path, old, new in compare_trees(repo.objects, before, after):
            if path.startswith(plan.OURS):
                continue
            created += old is None
            deleted += new is None
            changed += None not in (old, new)
    words: list[str] = []
    for count, word in ((created, "created"), (changed, "changed"), (deleted, "deleted")):
        if count and not words:
            words.append(f"{count_noun(count, 'file')} {word}")
        elif count:
            words.append(f"{count} {word}")
    words.append(effects.summarize_effects(repo, step.effects))
    return ", ".join(filter(None, words))
