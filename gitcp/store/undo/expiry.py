"""Undo logs grow with each step; what is old goes, and what only that needed with it.

A step keeps the whole worktree before and after it, so that a log never cut keeps everything.
"""

from __future__ import annotations

from gitcp.core.rewind import undo_tree
from gitcp.store.git import refs
from gitcp.store.undo import undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.core.record_types import Record
    from gitcp.core.rewind.undo_tree import Step
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def young(steps: Sequence[Step], before: float) -> Sequence[Step]:
    """The steps from the first on that is not older than before, seconds since 1970."""
    start = next((n for n, step in enumerate(steps) if step["time"] >= before), len(steps))
    return steps[start:]


def names(steps: Iterable[Step]) -> set[str]:
    """The names of the contents that the effects of steps need from store.undo.kept."""
    effects = (effect for step in steps for effect in step["effects"] if "file" in effect)
    return {name for effect in effects for name in (effect["old"], effect["new"]) if name}


def shorten(repo: Repo, objects: Objects, ref: str, tip: str, before: float) -> list[Record] | None:
    """Let a log begin with its first step that is not older than before; the points that went.

    The steps that stay keep their ids, dates and trees.  None, and nothing is done, where ref is
    not at tip any more.
    """
    with undo_log.lock(repo, ref.removeprefix(undo_log.PREFIX)):
        if refs.read(repo, ref) != tip:
            return None
        steps = undo_log.read(repo, ref)
        left = young(steps, before)
        parent = ""
        for step in left:
            parent = _moved(repo, objects, step["commit"], parent)
        refs.update(repo, [(ref, parent or None, tip)], "gitcp: clean")
        return points(objects, ref, steps[: len(steps) - len(left)])


def points(objects: Objects, ref: str, steps: Iterable[Step]) -> list[Record]:
    """What steps were as points to go back to, as store.stream.expired remembers them."""
    return [
        {
            "id": step["commit"],
            "kind": "safety",
            "time": step["time"],
            "message": undo_tree.before(step),
            "session_id": "",
            "base_commit": "",
            "worktree": ref.removeprefix(undo_log.PREFIX),
        }
        for step in steps
        if undo_log.tree(objects, step["commit"], "before")
    ]


def _moved(repo: Repo, objects: Objects, oid: str, parent: str) -> str:
    """The commit of a step, put onto another one; the other commits that it holds stay."""
    head, _, message = objects.need(oid, "commit").partition(b"\n\n")
    lines = head.split(b"\n")
    parents = [line for line in lines if line.startswith(b"parent ")]
    onto = parent or (undo_log.empty_root(repo, objects) if parents[1:] else "")
    kept = [b"parent %s" % onto.encode()] if onto else []
    kept += parents[1:]
    rest = [line for line in lines[1:] if line not in parents]
    return objects.write("commit", b"\n".join([lines[0], *kept, *rest]) + b"\n\n" + message)
