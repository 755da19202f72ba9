"""What a name means: its content as records, as a tree for `git diff`, or as files in a new
directory."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass

from gitcp.checkpoints import listing
from gitcp.errors import Error
from gitcp.git.objects import Lookup, compare_trees, edit_tree, need_commit
from gitcp.git.objects.object_lists import list_files
from gitcp.git.objects.partial_clone import need_contents
from gitcp.link import commits
from gitcp.record import stream
from gitcp.record.stream import stream_list
from gitcp.steps import undo
from gitcp.steps.back import moments, points
from gitcp.steps.back.present import read_present
from gitcp.steps.back.staging import check_out
from gitcp.steps.back.taking_back import EditEntries
from gitcp.steps.whose import open_work
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, count_noun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.steps.back.point import Point
    from gitcp.text.record_types import Record

WORKTREE = "worktree"


def find_tree(repo: Repo, name: str) -> str:
    """The tree of a commit, a checkpoint, a session's newest checkpoint, a point or WORKTREE.

    `.entire/metadata` is left out.  Raises Error for an unknown name, and for a committed
    checkpoint that no commit here carries.
    """
    if name == WORKTREE:
        return read_present(repo, dry=True).tree
    meant = _find(repo, name)
    if meant.point:
        return read_tree(repo, meant.point)
    kind = meant.subject.kind
    key = meant.subject.key
    if kind == "checkpoint":
        carriers = listing.find_carriers(repo, [key])[key]
        if not carriers:
            raise Error(f"no commit here carries checkpoint '{key}'")
        key = carriers[0]
    elif kind == "session":
        newest = stream_list.find_newest(repo, key)
        if newest is None:
            raise Error(f"nothing is saved of session '{key}' beside its commits")
        key = newest["oid"]
    return _strip(repo.objects, need_commit(repo.objects, key)["tree"])


def find_moment(repo: Repo, name: str) -> Point | None:
    """The point that a name means; None for commits, checkpoints and sessions.  Raises Error as
    points.find_point()."""
    return _find(repo, name).point


@dataclass(slots=True)
class _Meant:
    """What a name means: a point, or what resolve_name() makes of it."""

    point: Point | None
    subject: commits.Subject


def _find(repo: Repo, name: str) -> _Meant:
    try:
        subject = commits.resolve_name(repo, name)
    except commits.Unknown as e:
        try:
            point = points.find_point(repo, name)
        except points.NoPoint:
            raise e from None
        return _Meant(point, commits.Subject("", ""))
    key = subject.key
    if subject.kind == "commit" and any(step.commit == key for step in undo.read_steps(repo)):
        point = points.find_point(repo, key)
        return _Meant(point, subject)
    return _Meant(None, subject)


def read_tree(repo: Repo, point: Point) -> str:
    """The tree of the worktree at a point; raises Error if its content has expired."""
    if point.gone:
        raise Error(f"point '{point.id[:10]}' has expired: its content is gone")
    if not point.is_moment:
        return _strip(repo.objects, point.tree)
    return moments.find_point_tree(read_present(repo, dry=True), point)


def show_trees(repo: Repo, name: str, lazy: bool = False) -> list[Record]:
    """The records of a name (read_subject()).

    A moment or a step has one record, its point, with `files`: path -> 'added', 'modified' or
    'deleted' by its turn, tool use or step."""
    meant = _find(repo, name)
    if meant.point is None:
        records = commits.read_subject(repo, meant.subject, lazy)
        open_work.set_files(repo, [record for record in records if record["type"] == "session"])
        return records
    files: dict[str, str] = {}
    for path, change in _list_changes(repo, meant.point).items():
        files[path] = "modified"
        if change.before is None:
            files[path] = "added"
        elif change.after is None:
            files[path] = "deleted"
    return [{**meant.point.make_record(), "files": files}]


def _list_changes(repo: Repo, point: Point) -> dict[str, EditEntries]:
    """path -> its entries before and after the turn, tool use or step of a point."""
    if point.kind != "safety":
        return moments.list_changes(moments.read_edits(repo, point), point)
    after = undo.find_tree(repo.objects, point.id, "after") or point.tree
    changes: dict[str, EditEntries] = {}
    for path, old, new in compare_trees(repo.objects, point.tree, after):
        changes[path] = EditEntries(old, new)
    return changes


def choose_patch(repo: Repo, record: Record) -> list[str]:
    """The arguments with which git prints what a record of show_trees() changed: of its first
    commit, or of two trees, which have the changed files alone.  [] for a checkpoint that no commit
    has.  Raises Error for a session."""
    if record["type"] == "session":
        remedy = f"'gitcp diff --session {shorten_id(record['session_id'])}' shows its work"
        raise Error(f"-p shows the change of a commit, a checkpoint or a point; {remedy}")
    if "checkpoint_id" in record:
        for commit in record.get("commits") or ():
            return ["show", "--format=", "-m", "--first-parent", commit["oid"]]
        return []
    if record["type"] == "point":
        changes = _list_changes(repo, points.find_point(repo, record["id"]))
    else:
        changes = _list_checkpoint_changes(repo, record)
    befores = {path: change.before for path, change in changes.items()}
    afters = {path: change.after for path, change in changes.items()}
    trees = [edit_tree(repo.objects, None, side) for side in (befores, afters)]
    repo.objects.flush()
    return ["diff", *trees]


def _list_checkpoint_changes(repo: Repo, record: Record) -> dict[str, EditEntries]:
    """path -> its entries before and after a temporary checkpoint."""
    parent = need_commit(repo.objects, record["parent"] or record["base_commit"])
    before = Lookup(repo.objects, parent["tree"])
    after = Lookup(repo.objects, need_commit(repo.objects, record["oid"])["tree"])
    return {path: EditEntries(before(path), after(path)) for path in record["files"]}


def _strip(objects: Objects, tree: str) -> str:
    return edit_tree(objects, tree, {stream.METADATA.rstrip("/"): None})


def write_directory(repo: Repo, point: Point, folder: str, scopes: Sequence[str]) -> str:
    """Write the files of a point below scopes to a new directory (absolute); return what was made.

    For a committed point without scopes that is a worktree on its commit.  Raises Error, with
    nothing made, if the directory is not empty, if the point has no file at a scope, and if a
    content is missing.
    """
    is_there = os.path.lexists(folder)
    if is_there and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Error(f"'{folder}' is there already and not empty")
    if point.kind == "committed" and not scopes:
        commit = need_commit(repo.objects, point.id)
        tree = commit["tree"]
        need_contents(repo, list_files(repo.objects, tree))
        repo.git.run("worktree", "add", "--detach", "--", folder, point.id, filters=True)
        return f"worktree on commit {abbreviate(point.id)}"
    tree = read_tree(repo, point)
    if any(scopes):
        look = Lookup(repo.objects, tree)
        missing = [path for path in scopes if look(path) is None]
        if missing:
            raise Error(f"there was no file '{missing[0]}' at that point")
        tree = edit_tree(repo.objects, None, {path: look(path) for path in scopes})
    targets = dict(list_files(repo.objects, tree))
    os.makedirs(folder, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="gitcp-") as beside:
            check_out(repo, targets, {}, folder, os.path.join(beside, "index"))
    except BaseException:
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)
        if not is_there:
            os.rmdir(folder)
        raise
    return count_noun(len(targets), "file")
