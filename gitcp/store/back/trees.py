"""The content of a name as records, as a tree for `git diff`, or as files in a new directory."""

from __future__ import annotations

import os

from gitcp.core.render.spans import count_noun
from gitcp.errors import Error
from gitcp.start import late, stdlib
from gitcp.store.git.commit import need_commit
from gitcp.store.git.tree import Lookup, compare_trees, edit_tree, list_files
from gitcp.store.show import lookup, subject
from gitcp.store.stream import shadow_refs, stream_list
from gitcp.store.undo import undo_log
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.back.point_list import Point
    from gitcp.core.record_types import Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

WORKTREE = "worktree"


def find_tree(repo: Repo, objects: Objects, name: str) -> str:
    """The tree of a commit, a checkpoint, a session's newest checkpoint, a point or WORKTREE.

    `.entire/metadata` is left out.  Raises Error for an unknown name, and for a committed
    checkpoint that no commit here carries.
    """
    if name == WORKTREE:
        return late.present.Present(repo, objects, dry=True).tree
    point, (kind, key) = _find(repo, objects, name)
    if point:
        return read_tree(repo, objects, point)
    if kind == "checkpoint":
        commits = find_commits.find_carriers(repo, objects, [key])[key]
        if not commits:
            raise Error(f"no commit here carries checkpoint '{key}'")
        key = commits[0]
    elif kind == "session":
        newest = stream_list.find_newest(repo, objects, key)
        if newest is None:
            raise Error(f"session '{key}' has no temporary checkpoint")
        key = newest["oid"]
    return _strip(objects, need_commit(objects, key)["tree"])


def find_moment(repo: Repo, objects: Objects, name: str) -> Point | None:
    """The point of a moment inside a turn or of the worktree before a step; None if the name is
    that of a commit, a checkpoint or a session.  Raises Error as points.find_point()."""
    return _find(repo, objects, name)[0]


def _find(repo: Repo, objects: Objects, name: str) -> tuple[Point | None, lookup.Subject]:
    """(the point of find_moment(), what lookup.resolve_name() makes of another name)."""
    try:
        resolved = kind, key = lookup.resolve_name(repo, objects, name)
    except lookup.Unknown as e:
        try:
            return late.points.find_point(repo, objects, name), ("", "")
        except late.points.NoPoint:
            raise e from None
    is_step = kind == "commit" and any(step["commit"] == key for step in undo_log.read_steps(repo))
    return late.points.find_point(repo, objects, key) if is_step else None, resolved


def read_tree(repo: Repo, objects: Objects, point: Point) -> str:
    """The tree of the worktree at a point; raises Error if its content has expired."""
    if point["gone"]:
        raise Error(f"point '{point['id'][:10]}' has expired: its content is gone")
    if point["kind"] not in late.moments.KINDS:
        return _strip(objects, point["tree"])
    return late.moments.read_tree(late.present.Present(repo, objects, dry=True), point["id"])[0]


def show(repo: Repo, objects: Objects, name: str, lazy: bool = False) -> list[Record]:
    """The records of a name (subject.read_subject()).

    A moment or a step has one record, its point, with `files`: path -> 'added', 'modified' or
    'deleted' by its turn, tool use or step."""
    point, target = _find(repo, objects, name)
    if point is None:
        return subject.read_subject(repo, objects, target, lazy)
    if point["kind"] == "safety":
        after = undo_log.find_tree(objects, point["id"], "after") or point["tree"]
        changes = {p: (old, new) for p, old, new in compare_trees(objects, point["tree"], after)}
    else:
        changes = late.moments.list_changes(late.present.KeptEdits(repo), point)
    files = {
        path: "added" if before is None else "deleted" if after is None else "modified"
        for path, (before, after) in changes.items()
    }
    return [{**late.points.make_record(point), "files": files}]


def _strip(objects: Objects, tree: str) -> str:
    return edit_tree(objects, tree, {shadow_refs.METADATA.rstrip("/"): None})


def write_directory(
    repo: Repo, objects: Objects, point: Point, folder: str, scopes: Sequence[str]
) -> str:
    """Write the files of a point below scopes to a new directory (absolute); return what was made.

    For a committed point without scopes that is a worktree on its commit.  Raises Error, with
    nothing made, if the directory is not empty, if the point has no file at a scope, and if a
    content is missing.
    """
    if os.path.lexists(folder) and (not os.path.isdir(folder) or os.listdir(folder)):
        raise Error(f"'{folder}' is there already and not empty")
    if point["kind"] == "committed" and not scopes:
        repo.git.run("worktree", "add", "--detach", "--", folder, point["id"], filters=True)
        return f"worktree on commit {point['id'][:7]}"
    tree = read_tree(repo, objects, point)
    if any(scopes):
        look = Lookup(objects, tree)
        if missing := [path for path in scopes if look(path) is None]:
            raise Error(f"no file '{missing[0]}' at the point")
        tree = edit_tree(objects, None, {path: look(path) for path in scopes})
    files = dict(list_files(objects, tree))
    is_there = os.path.lexists(folder)
    os.makedirs(folder, exist_ok=True)
    try:
        with stdlib.tempfile.TemporaryDirectory(prefix="gitcp-") as beside:
            late.carry_out.check_out(repo, files, {}, folder, os.path.join(beside, "index"))
    except BaseException:
        for entry in os.scandir(folder):
            remove = stdlib.shutil.rmtree if entry.is_dir(follow_symlinks=False) else os.unlink
            remove(entry.path)
        if not is_there:
            os.rmdir(folder)
        raise
    return count_noun(len(files), "file")
