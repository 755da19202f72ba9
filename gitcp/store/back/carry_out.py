"""Carrying out a prepared plan as one step of the undo log: stage, log, apply, check.

<git-dir>/gitcp/rewind/intent exists from before the first file is touched until the last is
written.  After a kill the next command finishes the step that it describes.
"""

from __future__ import annotations

import json
import os
import shutil

from gitcp.core.back.plan import list_effective
from gitcp.core.credit.entries import parse_entry
from gitcp.core.render.spans import count_noun
from gitcp.errors import Changed, Error, GitError
from gitcp.process import files
from gitcp.process.files import read_bytes as content
from gitcp.record import decode_name, encode_lines, encode_name
from gitcp.store.back import follow, raw_files
from gitcp.store.back.apply import Apply
from gitcp.store.back.present import find_other_names, read_signatures
from gitcp.store.git import private
from gitcp.store.git.tree import Lookup, encode_index_info, find_file
from gitcp.store.snapshot import blobs
from gitcp.store.undo import effects, undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from gitcp.core.back.plan import Action
    from gitcp.core.back.undo_tree import Step
    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo
    from gitcp.store.back.apply import Progress
    from gitcp.store.back.planning import Prepared
    from gitcp.store.back.raw_files import Raw
    from gitcp.store.git.objects import Objects

    Intent = dict[str, Any]  # step, id, commit, staging, actions, merged, effects, raw


_WAYS = (
    "-c core.hooksPath=/dev/null -c core.splitIndex=false -c core.fsmonitor=false"
    " -c core.sparseCheckout=false -c core.bare=false -c core.useReplaceRefs=false"
).split()
ATTRIBUTES = ".gitattributes"


def carry_out_plan(
    prepared: Prepared, step: Step, progress: Progress
) -> tuple[list[str], list[str]]:
    """Carry out a plan and step's effects as one step of the undo log.

    Returns the paths whose content differs from the plan when they are read again, and sentences
    about the sessions at work.  Raises Changed when the worktree is not as planned, and Error when
    the system refuses a write; the worktree is then as it was.  The caller holds the log's lock.
    """
    repo, objects = prepared.present.repo, prepared.present.objects
    staging = Staging(repo, f"step-{step['id']}")
    targets = {a["path"]: a["now"] for a in prepared.todo if a["now"]}
    try:
        staging.write_files(targets, Lookup(objects, prepared.tree))
        chosen = raw_files.choose_raw(prepared.present, targets, prepared.signs, prepared.raw)
        staging.add_raw(objects, chosen)
        step["raw"] = raw_files.keep_raw(prepared.present, prepared.todo, prepared.signs)
        paths = [a["path"] for a in prepared.todo]
        is_unchanged = read_signatures(repo, paths) == prepared.signs
        if not (is_unchanged and prepared.present.is_unchanged(paths)):
            raise Changed("the worktree has changed since it was looked at")
        trees = (prepared.present.tree, prepared.tree)
        written = undo_log.write_step(repo, objects, step, trees)
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

    record: the intent.  written: the step's commit, for undo_log.append_step().
    """
    repo, objects = prepared.present.repo, prepared.present.objects
    top = prepared.present.worktree.top
    job = Apply(top, staging, prepared.todo, prepared.signs, record["raw"])
    data = json.dumps(record).encode()
    private.write_private(repo, _get_intent_path(repo), data, durable=True)
    logged = False
    try:
        undo_log.append_step(repo, written)
        logged = True
        job.carry_out(progress)
        effects.put_effects(repo, objects, record["effects"])
    except BaseException as e:
        job.take_back()
        if logged:
            undo_log.withdraw_step(repo, written)
        _remove_intent(repo)
        if isinstance(e, OSError):
            where = f": '{decode_name(os.fsencode(e.filename))}'" if e.filename else ""
            raise Error(f"{e.strerror}{where}; everything is as it was") from None
        raise
    try:
        notes = follow.follow_step(repo, objects, record["id"], prepared.todo, prepared.merged)
        _remove_intent(repo)
    except OSError:
        return []  # the step is done: the next command finds nothing left to do
    return notes


def _list_differing(prepared: Prepared) -> list[str]:
    """The paths whose content differs from the plan."""
    repo, objects = prepared.present.repo, prepared.present.objects
    paths = {a["path"] for a in prepared.todo}
    paths -= find_other_names(repo, paths)
    current = blobs.read_paths(repo, objects, paths, write=False)
    after = Lookup(objects, prepared.tree)
    return [path for path in sorted(paths) if current.get(path) != find_file(after, path)]


def _remove_intent(repo: Repo) -> None:
    os.unlink(_get_intent_path(repo))


def recover_step(repo: Repo, objects: Objects) -> list[str]:
    """Finish the step that a kill left unfinished; return a sentence for each thing done.

    A step that is not in the undo log has touched nothing: it is dropped.  A path that was
    changed since stays as it is, and a sentence names it.  The staging of steps that had not
    begun is removed.  The caller holds the lock.
    """
    intent = content(_get_intent_path(repo))
    sentences = _finish_intent(repo, objects, json.loads(intent)) if intent else []
    for name in list_abandoned(repo):
        Staging(repo, name).remove_all()
    return sentences


def _finish_intent(repo: Repo, objects: Objects, left: Intent) -> list[str]:
    staging = Staging(repo, left["staging"])
    if not any(step["commit"] == left["commit"] for step in undo_log.read_steps(repo)):
        staging.remove_all()
        _remove_intent(repo)
        return [f"an interrupted {left['step']} had changed nothing: it is forgotten"]
    todo, foreign = _list_open(repo, objects, left)
    staging.remove_all()
    _apply_rest(repo, objects, staging, todo, left)
    effects.put_effects(repo, objects, left["effects"])
    done = [a for a in _list_actions(left) if a["path"] not in foreign]
    notes = follow.follow_step(repo, objects, left.get("id", ""), done, left.get("merged", ()))
    staging.remove_all()
    _remove_intent(repo)
    count = count_noun(len(todo), "file")
    sentence = f"an interrupted {left['step']} has been completed ({count} left)"
    stay = (f"'{path}' was changed since, and stays as it is" for path in foreign)
    return [sentence, *stay, *notes]


def _list_actions(left: Intent) -> list[Action]:
    """The actions of a step that change something; JSON has read their entries as lists."""
    return [
        {**action, "was": parse_entry(action["was"]), "now": parse_entry(action["now"])}
        for action in list_effective(left["actions"])
    ]


def _list_open(repo: Repo, objects: Objects, left: Intent) -> tuple[list[Action], list[str]]:
    """(the actions still to do, the paths that are neither as before nor as after the step)."""
    actions = _list_actions(left)
    entries = blobs.read_paths(repo, objects, [a["path"] for a in actions], write=True)
    todo, foreign = [], []
    for action in actions:
        entry = entries.get(action["path"])
        if entry == action["was"] and action["path"] in entries:
            todo.append(action)
        elif entry != action["now"]:
            foreign.append(action["path"])
    return todo, foreign


def _apply_rest(
    repo: Repo, objects: Objects, staging: Staging, todo: list[Action], left: Intent
) -> None:
    targets = {a["path"]: a["now"] for a in todo if a["now"]}
    after = undo_log.open_tree(objects, left["commit"], "after")
    staging.write_files(targets, after)
    raw = left.get("raw", {})
    staging.add_raw(objects, raw)
    signs = read_signatures(repo, [a["path"] for a in todo])
    try:
        job = Apply(os.fsencode(repo.worktree), staging, todo, signs, raw)
        job.carry_out(lambda done, total: None)
    except Changed:
        again, _ = _list_open(repo, objects, left)
        if again == todo:
            raise
        staging.remove_all()
        _apply_rest(repo, objects, staging, again, left)


def _get_intent_path(repo: Repo) -> str:
    return repo.join_own("rewind", "intent")


class Staging:
    """The directory of one step.  new: files to be moved into place; old: replaced files."""

    def __init__(self, repo: Repo, name: str) -> None:
        self._repo = repo
        self.place = repo.join_own("rewind", name)
        self.new, self.old = os.path.join(self.place, "new"), os.path.join(self.place, "old")

    def write_files(
        self, targets: Mapping[str, Entry], will: Callable[[str], Entry | None]
    ) -> None:
        """Write the target files, by path.  will: the entry that a path has after the step, for
        attributes files.  Raises Error when a content is missing or cannot be written."""
        self._repo.make_folder(os.path.dirname(self.place))
        os.makedirs(self.new, exist_ok=True)
        attributes = {path: entry for path in _list_attributes(targets) if (entry := will(path))}
        check_out(self._repo, targets, attributes, self.new, f"{self.new}.index")

    def add_raw(self, objects: Objects, raw: Mapping[str, Raw]) -> None:
        """Give those that are among the written files the bytes and permissions that git does not
        keep."""
        for path, item in raw.items():
            if os.path.lexists(self.get_path(path)):
                raw_files.put_raw(objects, self.get_path(path), item)

    def get_path(self, path: str) -> bytes:
        """Where write_files() wrote a path."""
        return os.path.join(os.fsencode(self.new), encode_name(path))

    def get_replaced_path(self, number: int) -> bytes:
        """Where the file that an action replaces is kept until the step is done."""
        return os.path.join(os.fsencode(self.old), b"%d" % number)

    def remove_all(self) -> None:
        """Remove the directory."""
        shutil.rmtree(self.place, ignore_errors=True)


def check_out(
    repo: Repo,
    targets: Mapping[str, Entry],
    attributes: Mapping[str, Entry],
    folder: str,
    index: str,
) -> None:
    """Write files to a folder (absolute) as git does, by an index file made for that.

    attributes: the entries of attributes files, which apply and are not written.  Raises Error
    when a content is missing or cannot be written."""
    if not targets:
        return
    info = encode_index_info({**attributes, **targets})
    git = repo.git.copy_with(folder, {"GIT_INDEX_FILE": index, "GIT_WORK_TREE": folder})
    try:
        git.run(*_WAYS, "update-index", "-z", "--index-info", stdin=info)
        names = encode_lines(targets, "\0")
        git.run(*_WAYS, "checkout-index", "-f", "-z", "--stdin", stdin=names, filters=True)
    except GitError as e:
        raise Error(f"cannot prepare the files: {e.complaint.splitlines()[0]}") from None
    for path in targets:
        if not os.path.lexists(os.path.join(os.fsencode(folder), encode_name(path))):
            raise Error(f"cannot prepare '{path}': its content is not here")


def list_abandoned(repo: Repo) -> list[str]:
    """The names below rewind/; under the log's lock no process is using any of them."""
    return files.list_names(repo.join_own("rewind"))


def _list_attributes(paths: Iterable[str]) -> set[str]:
    """The attributes files that apply to paths."""
    files = set()
    for path in paths:
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            files.add(f"{folder}/{ATTRIBUTES}".lstrip("/"))
    return files
