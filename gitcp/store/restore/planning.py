"""A plan made for the worktree as it is: what is wanted, and what the disk says to it."""

from __future__ import annotations

import os
import stat

from gitcp.core.rewind import plan
from gitcp.errors import Error
from gitcp.record import text
from gitcp.store.git.tree import TREE, Lookup, diff_trees, edit_tree
from gitcp.store.restore.present import Present, signs
from gitcp.store.snapshot import snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypedDict

    from gitcp.core.rewind.plan import Action, Conflict, Facts, Plan
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.restore.present import Signature

    class Wish(TypedDict):
        """What somebody wants of the worktree: actions, conflicts of contents, notes."""

        actions: list[Action]
        conflicts: list[Conflict]
        notes: list[str]

    Wisher = Callable[[Present], Wish]


class Prepared:
    """A plan, and the look at the worktree that it holds for.

    tree: what the worktree will be; signs: what each path to be touched is now.
    """

    def __init__(self, repo: Repo, objects: Objects, wisher: Wisher) -> None:
        self.present = Present(repo, objects)
        wish = wisher(self.present)
        disk = _Disk(self.present, wish["actions"])
        actions = disk.settled()
        self.plan: Plan = {
            "actions": sorted(actions, key=lambda a: a["path"]),
            "conflicts": [*wish["conflicts"], *disk.conflicts],
            "notes": wish["notes"],
        }
        self.todo = plan.effective(self.plan["actions"])
        edits = {a["path"]: a["now"] for a in self.todo}
        self.tree = edit_tree(objects, self.present.tree, edits)
        fold = repo.config.flag("core.ignorecase")
        self.plan["conflicts"] += plan.names_in_conflict(self.todo, fold)
        if fold:
            self.plan["conflicts"] += _twins(Lookup(objects, self.tree), self.todo)
        self.signs: dict[str, Signature] = signs(repo, edits)


def refuse(conflicts: Sequence[Conflict]) -> None:
    """Raise Error naming what stands against a plan, when anything does."""
    if conflicts:
        lines = [f"'{c['path']}': {c['reason']}" for c in conflicts]
        raise Error("nothing is changed, for:\n  " + "\n  ".join(lines))


class _Disk:
    """What stands where the actions want to write, which no tree knows."""

    def __init__(self, present: Present, actions: Iterable[Action]) -> None:
        self._work, self._present = present.worktree, present
        self._actions = list(actions)
        todo = plan.effective(self._actions)
        self._gone = {a["path"] for a in todo if a["now"] is None}
        self.conflicts: list[Conflict] = []

    def settled(self) -> list[Action]:
        """The actions, those that cannot or must not be done turned into keep."""
        return [self._one(a) if a["verb"] != plan.KEEP else a for a in self._actions]

    def _one(self, action: Action) -> Action:
        path = action["path"]
        if self._work.repositories(path) and not action["was"]:
            return {**action, "verb": plan.KEEP, "reason": "in a repository of its own"}
        if action["now"] is None:
            return action
        self._above(path)
        if action["was"] is None:
            there = self._work.look(path)
            if there and stat.S_ISDIR(there.st_mode):
                self._below(path)
            elif there:
                return {**action, "verb": plan.KEEP, "reason": self._in_the_way(path)}
        return action

    def _in_the_way(self, path: str) -> str:
        why = self._present.left_out.get(path, "ignored by git")
        return f"something stands there ({why})"

    def _above(self, path: str) -> None:
        """A directory on the way must be one, or the plan removes what stands there."""
        parts = path.split("/")[:-1]
        for n in range(len(parts)):
            folder = "/".join(parts[: n + 1])
            try:
                is_folder = stat.S_ISDIR(os.lstat(self._work.full(folder)).st_mode)
            except (FileNotFoundError, NotADirectoryError):
                return
            if not is_folder:
                if folder not in self._gone:
                    self._refuse(path, f"'{folder}' is not a directory")
                return

    def _below(self, path: str) -> None:
        """A directory may give way to a file when the plan removes all that is in it."""
        for folder, folders, files in os.walk(self._work.full(path)):
            links = [n for n in folders if os.path.islink(os.path.join(folder, n))]
            for name in [*files, *links]:
                inside = text(os.path.relpath(os.path.join(folder, name), self._work.top))
                if inside not in self._gone:
                    self._refuse(path, f"'{inside}' would be lost with its directory")
                    return

    def _refuse(self, path: str, reason: str) -> None:
        self.conflicts.append({"path": path, "reason": reason})


def _twins(after: Lookup, todo: Iterable[Action]) -> list[Conflict]:
    """Names that differ in case alone, where the file system cannot tell them apart."""
    conflicts: dict[str, Conflict] = {}
    for action in todo:
        parts = action["path"].split("/") if action["now"] else []
        for n, name in enumerate(parts):
            folder = after.folder("/".join(parts[:n]))
            other = [x for x in folder if x != name and x.casefold() == name.casefold()]
            if other:
                path = "/".join(parts[: n + 1])
                conflicts[path] = {"path": path, "reason": f"cannot stand beside '{other[0]}' here"}
    return list(conflicts.values())


def changes(
    objects: Objects, present: Present, tree: str, scopes: Iterable[str]
) -> list[plan.Change]:
    """(path, what is there, what tree has) of every path below scopes that differs."""
    wanted = list(scopes)
    return [
        (path, was, now)
        for path, was, now in diff_trees(objects, present.tree, tree)
        if plan.below(path, wanted)
    ]


def facts(repo: Repo, present: Present, base: str | None, owner: Callable[[str], str]) -> Facts:
    """What a plan asks for; base: the tree of the point's own commit, if it is known."""
    head = Lookup(present.objects, present.head_tree)
    before = Lookup(present.objects, base)
    return {
        "head": lambda path: _file(head(path)),
        "base": lambda path: _file(before(path)),
        "owner": owner,
        "left_out": dict(present.left_out),
        "hidden": {
            p for p in snapshot.sparse(repo) if not os.path.lexists(present.worktree.full(p))
        },
    }


def _file(entry: tuple[str, str] | None) -> tuple[str, str] | None:
    return None if entry and entry[0] == TREE else entry
