"""One step, from its plan to its outcome: what rewind, undo and redo share."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import nullcontext, suppress
from typing import NamedTuple

from gitcp.checkpoints import listing
from gitcp.errors import Busy, Changed, Error, Moved
from gitcp.git import decode_name, files
from gitcp.git.files import read_bytes
from gitcp.git.objects import Lookup, compare_trees, edit_tree, find_file, need_commit
from gitcp.git.objects.object_lists import list_files
from gitcp.git.objects.partial_clone import need_contents
from gitcp.link import commits
from gitcp.record import stream
from gitcp.record.journal import INTENT
from gitcp.record.journal.line_kinds import parse_entry
from gitcp.record.snapshot import scan
from gitcp.record.stream import stream_list
from gitcp.steps import effects, undo
from gitcp.steps.back import ignored, points, restore
from gitcp.steps.back import plan as back
from gitcp.steps.back.plan import list_effective
from gitcp.steps.back.points import prepare, refuse_conflicts
from gitcp.steps.back.restore import Apply, find_other_names, read_present, read_signatures
from gitcp.steps.back.staging import Staging, check_out
from gitcp.steps.commits import open_work
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypedDict

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.back.conversation import Conversation
    from gitcp.steps.back.plan import Action, Plan, Point, Step
    from gitcp.steps.back.points import Edits, Prepared, Wisher
    from gitcp.steps.back.restore import Known, Progress
    from gitcp.text.record_types import Record, Version

    Intent = dict[str, Any]  # step, id, commit, staging, actions, merged, effects, raw
    # Shows a plan, and the steps that it takes back or takes again, () for none; returns whether
    # to carry it out.
    Agree = Callable[[Prepared, Sequence[Step]], bool]

    class Outcome(TypedDict):
        """The outcome of a step.  step: its id in the undo log, '' if nothing was changed;
        subject: kind and reason of the step that was undone or redone, else ''; beside: what it
        changed beside files of the worktree, as `HEAD is at 1a2b3c4`; differ: paths that are not
        as planned; notes: sentences about sessions; conversation: the one that was put back."""

        step: str
        subject: str
        beside: str
        plan: Plan
        differ: list[str]
        notes: list[str]
        conversation: Conversation | None


# Carrying out a prepared plan as one step of the undo log: stage, log, apply, check.
#
# <git-dir>/gitcp/rewind/intent exists from before the first file is touched until the last is
# written.  After a kill the next command finishes the step that it describes.
_TRIES = 5  # to make a plan for a worktree that keeps changing


def carry_out_plan(
    prepared: Prepared, step: Step, tip: str | None, progress: Progress
) -> tuple[list[str], list[str]]:
    """Carry out a plan and step's effects as one step of the undo log.

    tip: the log's when the plan was made.  Returns the paths whose content differs from the plan
    when they are read again, and sentences about the sessions at work.  Raises Changed when the
    worktree is not as planned, Moved when another step was recorded, and Error when the system
    refuses a write; the worktree is then as it was.  The caller holds the log's lock.
    """
    repo = prepared.present.repo
    staging = Staging(repo, f"step-{step['id']}")
    targets = {a["path"]: a["now"] for a in prepared.todo if a["now"]}
    try:
        staging.write_files(targets, Lookup(repo.objects, prepared.tree))
        chosen = restore.choose_raw(prepared.present, targets, prepared.signs, prepared.raw)
        staging.add_raw(chosen)
        step["raw"] = restore.keep_raw(prepared.present, prepared.todo, prepared.signs)
        paths = [a["path"] for a in prepared.todo]
        is_unchanged = read_signatures(repo, paths) == prepared.signs
        if not (is_unchanged and prepared.present.is_unchanged(paths)):
            raise Changed("the worktree has changed since it was looked at")
        trees = (prepared.present.tree, prepared.tree)
        written = undo.write_step(repo, step, trees)
        if written[1] != tip:
            raise Moved(undo.get_ref(repo), tip, written[1])
        record = {"step": step["kind"], "commit": written[0], "staging": f"step-{step['id']}"}
        record |= {"actions": prepared.todo, "effects": step["effects"], "raw": chosen}
        record |= {"id": step["id"], "merged": prepared.merged}
        notes = _do_step(prepared, record, staging, written, progress)
    finally:
        staging.remove_all()
    return _list_differing(prepared), notes


def _do_step(
    prepared: Prepared,
    record: Intent,
    staging: Staging,
    written: tuple[str, str | None],
    progress: Progress,
) -> list[str]:
    """Log a step, apply its plan and make its effects; undo all of them if one fails.  Return
    sentences about the sessions at work.

    record: the intent.  written: the step's commit, for append_step().
    """
    repo = prepared.present.repo
    top = prepared.present.worktree.top
    job = Apply(top, staging, prepared.todo, prepared.signs, record["raw"])
    data = json.dumps(record).encode()
    files.write_private(repo, _get_intent_path(repo), data, durable=True)
    logged = False
    try:
        undo.append_step(repo, written)
        logged = True
        job.carry_out(progress)
        effects.put_effects(repo, record["effects"])
    except BaseException as e:
        job.take_back()
        if logged:
            undo.withdraw_step(repo, written)
        with suppress(Error, OSError):  # a hook may have seen half of it
            restore.note_step(repo, record["id"], _reverse(prepared.todo), {})
        _remove_intent(repo)
        if isinstance(e, OSError):
            where = ""
            if e.filename:
                where = f": '{decode_name(os.fsencode(e.filename))}'"
            raise Error(f"{e.strerror}{where}; everything is as it was") from None
        raise
    try:
        notes = restore.follow_step(repo, record["id"], prepared.todo, prepared.merged)
        _remove_intent(repo)
    except OSError:
        return []  # the step is done: the next command finds nothing left to do
    return notes


def _reverse(actions: Iterable[Action]) -> list[Action]:
    return [{**action, "was": action["now"], "now": action["was"]} for action in actions]


def _list_differing(prepared: Prepared) -> list[str]:
    """The paths whose content differs from the plan."""
    repo = prepared.present.repo
    paths = {a["path"] for a in prepared.todo}
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
    if not list_abandoned(repo):
        return []
    with undo.hold_log(repo):
        intent = read_bytes(_get_intent_path(repo))
        if intent:
            sentences = _finish_intent(repo, json.loads(intent))
        else:
            sentences = []
        for name in list_abandoned(repo):
            Staging(repo, name).remove_all()
    return sentences


def _finish_intent(repo: Repo, intent: Intent) -> list[str]:
    staging = Staging(repo, intent["staging"])
    if not any(step["commit"] == intent["commit"] for step in undo.read_steps(repo)):
        staging.remove_all()
        _remove_intent(repo)
        return [f"an interrupted {intent['step']} had changed nothing: it is forgotten"]
    todo, changed_since = _list_open(repo, intent)
    staging.remove_all()
    _apply_rest(repo, staging, todo, intent)
    effects.put_effects(repo, intent["effects"])
    done = [a for a in _list_actions(intent) if a["path"] not in changed_since]
    notes = restore.follow_step(repo, intent.get("id", ""), done, intent.get("merged", {}))
    staging.remove_all()
    _remove_intent(repo)
    count = count_noun(len(todo), "file")
    sentence = f"an interrupted {intent['step']} has been completed ({count} left)"
    stay = (f"'{path}' was changed since, and stays as it is" for path in changed_since)
    return [sentence, *stay, *notes]


def _list_actions(intent: Intent) -> list[Action]:
    """The actions of a step that change something; JSON has read their entries as lists."""
    return [
        {**action, "was": parse_entry(action["was"]), "now": parse_entry(action["now"])}
        for action in list_effective(intent["actions"])
    ]


def _list_open(repo: Repo, intent: Intent) -> tuple[list[Action], list[str]]:
    """(the actions still to do, the paths that are neither as before nor as after the step)."""
    actions = _list_actions(intent)
    entries = scan.read_paths(repo, [a["path"] for a in actions], write=True)
    todo = []
    changed_since = []
    for action in actions:
        entry = entries.get(action["path"])
        if entry == action["was"] and action["path"] in entries:
            todo.append(action)
        elif entry != action["now"]:
            changed_since.append(action["path"])
    return todo, changed_since


def _apply_rest(repo: Repo, staging: Staging, todo: list[Action], intent: Intent) -> None:
    targets = {a["path"]: a["now"] for a in todo if a["now"]}
    after = undo.open_tree(repo.objects, intent["commit"], "after")
    staging.write_files(targets, after)
    raw = intent.get("raw", {})
    staging.add_raw(raw)
    signs = read_signatures(repo, [a["path"] for a in todo])
    try:
        job = Apply(os.fsencode(repo.worktree), staging, todo, signs, raw)
        job.carry_out(lambda done, total: None)
    except Changed:
        still_todo, _ = _list_open(repo, intent)
        if still_todo == todo:
            raise
        staging.remove_all()
        _apply_rest(repo, staging, still_todo, intent)


def _get_intent_path(repo: Repo) -> str:
    return repo.join_own(*INTENT)


def list_abandoned(repo: Repo) -> list[str]:
    """The names below rewind/; under the log's lock no process is using any of them."""
    return files.list_names(repo.join_own("rewind"))


class Move(NamedTuple):
    """What a step is to do.

    wisher: with the files.  step: of make_step().  talk: the conversation that is put back; its
    files are among the step's effects.  moved: the steps that it undoes or redoes.  notes: a
    sentence for each effect that it leaves out.
    """

    wisher: Wisher
    step: Step
    talk: Conversation | None = None
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
            refuse_conflicts(prepared.plan["conflicts"])
            # Undo and redo move the position in the log even if they change nothing.
            step = {**move.step, "effects": [*move.step["effects"], *prepared.effects]}
            is_needed = prepared.todo or step["effects"] or move.moved
            wanted = prepared.plan, move.moved
            if (wanted != agreed and not self._agree(prepared, move.moved)) or not is_needed:
                return _build_outcome(repo, prepared, move, "", [], [])
            agreed = wanted
            try:
                with undo.hold_log(repo):
                    ignored.keep_replaced(repo, prepared.effects)
                    differ, notes = carry_out_plan(prepared, step, tip, self._progress)
            except (Changed, Moved):
                continue
            return _build_outcome(repo, prepared, move, move.step["id"], differ, notes)
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
        targets = back.list_steps_to_undo(undo.read_steps(self._repo), name)
        oldest = targets[-1]
        step = undo.make_step(
            back.UNDO,
            "; ".join(f"{target['kind']}: {target['reason']}" for target in targets),
            effects.join_staging(
                self._repo, [e for t in targets for e in effects.invert_effects(t["effects"])]
            ),
            position=oldest["parent"],
            target=oldest["id"],
            targets=[target["id"] for target in targets],
        )
        edits = _map_edits(self._repo.objects, targets[::-1], "before", "after")
        if whole:
            edits = {path: [(pairs[0][0], pairs[-1][1])] for path, pairs in edits.items()}
        raw = restore.read_steps(self._repo.objects, targets, edits)
        return self._leave_out(edits, raw, targets, step, conflict)

    def _choose_redo(self, name: str, conflict: str) -> Move:
        log = undo.read_steps(self._repo)
        target = back.find_step_to_redo(log, name)
        step = undo.make_step(
            back.REDO,
            f"{target['kind']}: {target['reason']}",
            target["effects"],
            target=target["id"],
            position=target["id"],
        )
        edits = _map_edits(self._repo.objects, [target], "after", "before")
        # Before the steps undone with it, or else before the undo, the worktree was as after it.
        undone = [step for step in log if target["id"] in step.get("targets", ())][-1:]
        ids = [t for step in undone for t in step["targets"][: step["targets"].index(target["id"])]]
        newer = [back.map_steps(log)[step_id] for step_id in ids]
        raw = restore.read_steps(self._repo.objects, [*undone, *newer], edits)
        return self._leave_out(edits, raw, [target], step, conflict)

    def _leave_out(
        self, edits: Edits, raw: Known, moved: Sequence[Step], step: Step, conflict: str
    ) -> Move:
        """A step of undo or redo, with those of its effects that are still possible; moved: the
        steps that it undoes or redoes, the newest first."""
        why = f"{step['kind']} of {moved[-1]['kind']}"
        wisher = points.leave_out_edits(edits, conflict, why, raw)
        possible, notes, blocked = effects.find_possible(
            self._repo, step["effects"], conflict == points.KEEP
        )
        refuse_conflicts(blocked)
        return Move(wisher, {**step, "effects": possible}, moved=moved, notes=notes)


def _map_edits(objects: Objects, steps: Iterable[Step], old: str, new: str) -> Edits:
    """path -> (its version in the tree old, in the tree new) of each step that changed it; old and
    new are 'before' and 'after', or the reverse."""
    edits: dict[str, list[tuple[Version, Version]]] = {}
    for step in steps:
        first, last = (undo.find_tree(objects, step["commit"], part) for part in (old, new))
        if first and last:
            for path, before, after in compare_trees(objects, first, last):
                if not path.startswith(back.OURS):
                    edits.setdefault(path, []).append((before, after))
    return edits


def _build_outcome(
    repo: Repo,
    prepared: Prepared,
    move: Move,
    step_id: str,
    differ: Sequence[str],
    notes: Sequence[str],
) -> Outcome:
    """The outcome of a move; step_id: '' if nothing was changed."""
    beside = ""
    if step_id:
        beside = effects.summarize_effects(repo, prepared.effects)
    if move.moved:
        beside = effects.summarize_effects(repo, move.step["effects"])
    return {
        "step": step_id,
        "subject": move.step["reason"] if move.moved else "",
        "beside": beside,
        "plan": prepared.plan,
        "differ": list(differ),
        "notes": [*notes, *move.notes],
        "conversation": move.talk if step_id else None,
    }


def summarize_plan(plan: Plan) -> str:
    """What a plan does, as in `created 2, changed 1`."""
    words = {back.CREATE: "created", back.MODIFY: "changed", back.DELETE: "deleted"}
    counts = back.count_verbs(plan["actions"])
    return ", ".join(f"{word} {counts[verb]}" for verb, word in words.items() if counts[verb])


# The content of a name as records, as a tree for `git diff`, or as files in a new directory.
WORKTREE = "worktree"


def find_tree(repo: Repo, name: str) -> str:
    """The tree of a commit, a checkpoint, a session's newest checkpoint, a point or WORKTREE.

    `.entire/metadata` is left out.  Raises Error for an unknown name, and for a committed
    checkpoint that no commit here carries.
    """
    if name == WORKTREE:
        return restore.read_present(repo, dry=True).tree
    point, (kind, key) = _find(repo, name)
    if point:
        return read_tree(repo, point)
    if kind == "checkpoint":
        commits = listing.find_carriers(repo, [key])[key]
        if not commits:
            raise Error(f"no commit here carries checkpoint '{key}'")
        key = commits[0]
    elif kind == "session":
        newest = stream_list.find_newest(repo, key)
        if newest is None:
            raise Error(f"session '{key}' has no temporary checkpoint")
        key = newest["oid"]
    return _strip(repo.objects, need_commit(repo.objects, key)["tree"])


def find_moment(repo: Repo, name: str) -> Point | None:
    """The point that a name means; None for commits, checkpoints and sessions.  Raises Error as
    points.find_point()."""
    return _find(repo, name)[0]


def _find(repo: Repo, name: str) -> tuple[Point | None, commits.Subject]:
    """(the point of find_moment(), what resolve_name() makes of another name)."""
    try:
        resolved = kind, key = commits.resolve_name(repo, name)
    except commits.Unknown as e:
        try:
            return points.find_point(repo, name), ("", "")
        except points.NoPoint:
            raise e from None
    is_step = kind == "commit" and any(step["commit"] == key for step in undo.read_steps(repo))
    return points.find_point(repo, key) if is_step else None, resolved


def read_tree(repo: Repo, point: Point) -> str:
    """The tree of the worktree at a point; raises Error if its content has expired."""
    if point["gone"]:
        raise Error(f"point '{point['id'][:10]}' has expired: its content is gone")
    if point["kind"] not in points.KINDS:
        return _strip(repo.objects, point["tree"])
    return points.find_point_tree(restore.read_present(repo, dry=True), point)


def show_trees(repo: Repo, name: str, lazy: bool = False) -> list[Record]:
    """The records of a name (read_subject()).

    A moment or a step has one record, its point, with `files`: path -> 'added', 'modified' or
    'deleted' by its turn, tool use or step."""
    point, target = _find(repo, name)
    if point is None:
        records = commits.read_subject(repo, target, lazy)
        open_work.set_files(repo, [record for record in records if record["type"] == "session"])
        return records
    files = {
        path: "added" if before is None else "deleted" if after is None else "modified"
        for path, (before, after) in _list_changes(repo, point).items()
    }
    return [{**points.make_record(point), "files": files}]


def _list_changes(repo: Repo, point: Point) -> dict[str, tuple[Version, Version]]:
    """path -> its entries before and after the turn, tool use or step of a point."""
    if point["kind"] != "safety":
        return points.list_changes(points.read_edits(repo, point), point)
    after = undo.find_tree(repo.objects, point["id"], "after") or point["tree"]
    return {
        path: (old, new) for path, old, new in compare_trees(repo.objects, point["tree"], after)
    }


def choose_patch(repo: Repo, record: Record) -> list[str]:
    """The arguments with which git prints what a record of show_trees() changed: of its first
    commit, or of two trees, which have the changed files alone.  [] for a checkpoint that no commit
    has.  Raises Error for a session."""
    if record["type"] == "session":
        remedy = f"'gitcp diff --session {shorten_id(record['session_id'])}' shows its work"
        raise Error(f"-p shows the change of a commit, a checkpoint or a point; {remedy}")
    if "checkpoint_id" in record:
        commits = record.get("commits") or ()
        return next((["show", "--format=", "-m", "--first-parent", c["oid"]] for c in commits), [])
    if record["type"] == "point":
        changes = _list_changes(repo, points.find_point(repo, record["id"]))
    else:
        tips = (record["parent"] or record["base_commit"], record["oid"])
        before, after = (Lookup(repo.objects, need_commit(repo.objects, c)["tree"]) for c in tips)
        changes = {path: (before(path), after(path)) for path in record["files"]}
    sides = ({path: pair[n] for path, pair in changes.items()} for n in (0, 1))
    trees = [edit_tree(repo.objects, None, side) for side in sides]
    repo.objects.flush()
    return ["diff", *trees]


def _strip(objects: Objects, tree: str) -> str:
    return edit_tree(objects, tree, {stream.METADATA.rstrip("/"): None})


def write_directory(repo: Repo, point: Point, folder: str, scopes: Sequence[str]) -> str:
    """Write the files of a point below scopes to a new directory (absolute); return what was made.

    For a committed point without scopes that is a worktree on its commit.  Raises Error, with
    nothing made, if the directory is not empty, if the point has no file at a scope, and if a
    content is missing.
    """
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Error(f"'{folder}' is there already and not empty")
    if point["kind"] == "committed" and not scopes:
        commit = need_commit(repo.objects, point["id"])
        tree = commit["tree"]
        need_contents(repo, list_files(repo.objects, tree))
        repo.git.run("worktree", "add", "--detach", "--", folder, point["id"], filters=True)
        return f"worktree on commit {abbreviate(point['id'])}"
    tree = read_tree(repo, point)
    if any(scopes):
        look = Lookup(repo.objects, tree)
        missing = [path for path in scopes if look(path) is None]
        if missing:
            raise Error(f"there was no file '{missing[0]}' at that point")
        tree = edit_tree(repo.objects, None, {path: look(path) for path in scopes})
    files = dict(list_files(repo.objects, tree))
    is_there = os.path.lexists(folder)
    os.makedirs(folder, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="gitcp-") as beside:
            check_out(repo, files, {}, folder, os.path.join(beside, "index"))
    except BaseException:
        for entry in os.scandir(folder):
            remove = shutil.rmtree if entry.is_dir(follow_symlinks=False) else os.unlink
            remove(entry.path)
        if not is_there:
            os.rmdir(folder)
        raise
    return count_noun(len(files), "file")
