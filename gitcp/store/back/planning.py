"""A plan made for the worktree as it is: what is wanted, and what the disk says to it."""

from __future__ import annotations

import json
import os
import stat

from gitcp.core.back import plan, three_way
from gitcp.core.credit import entries
from gitcp.errors import Error
from gitcp.record import text
from gitcp.store.auto.refusal import under_way
from gitcp.store.back.merging import Merger
from gitcp.store.back.present import Present, signs
from gitcp.store.git.tree import TREE, Lookup, diff_trees, edit_tree, tree_of
from gitcp.store.journal import journal
from gitcp.store.snapshot import snapshot
from gitcp.store.stream import shadow_refs, state_copy, stream_history, stream_list
from gitcp.store.turn import session_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import TypedDict

    from gitcp.core.back.plan import Action, Conflict, Facts, Plan
    from gitcp.core.back.point_list import Point
    from gitcp.core.record_types import State, Tip, Version
    from gitcp.repo import Repo
    from gitcp.store.back.present import Signature
    from gitcp.store.git.objects import Objects

    class Wish(TypedDict):
        """What somebody wants of the worktree: actions, conflicts of contents, notes."""

        actions: list[Action]
        conflicts: list[Conflict]
        notes: list[str]

    Wisher = Callable[[Present], Wish]

    Edits = Mapping[str, Sequence[tuple[Version, Version]]]  # path -> (before, after), in order


REFUSE, MARKERS, KEEP = CONFLICTS = ("refuse", "markers", "keep")
_BOTH = "changed since in the same place (--conflict=markers keeps both, =keep what is there)"
_DEPTH = 1000  # checkpoints of a stream whose states are looked at


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


def list_changes(
    objects: Objects, present: Present, tree: str, scopes: Iterable[str]
) -> list[plan.Change]:
    """(path, what is there, what tree has) of every path below scopes that differs."""
    wanted = list(scopes)
    return [
        (path, was, now)
        for path, was, now in diff_trees(objects, present.tree, tree)
        if plan.below(path, wanted)
    ]


def ask_facts(repo: Repo, present: Present, base: str | None, owner: Callable[[str], str]) -> Facts:
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


def nothing(present: Present) -> Wish:
    """No change to any file."""
    return {"actions": [], "conflicts": [], "notes": []}


def to_point(repo: Repo, objects: Objects, point: Point, scopes: Iterable[str]) -> Wisher:
    """The worktree as it was at a point, below scopes (paths from the root; none: all)."""
    wanted = list(scopes)

    def wish(present: Present) -> Wish:
        changed = list_changes(objects, present, point["tree"], wanted)
        base = tree_of(objects, point["base_commit"])
        facts = ask_facts(repo, present, base, Owners(repo, objects).owner)
        facts["left_out"] = {**_left_out(objects, point), **present.left_out}
        notes = [*_elsewhere(point, present), *in_the_middle(repo)]
        return {"actions": plan.whole(changed, facts), "conflicts": [], "notes": notes}

    return wish


def _left_out(objects: Objects, point: Point) -> dict[str, str]:
    """What the point's snapshot left out: path -> reason."""
    entry = Lookup(objects, point["tree"])(f"{point['metadata_dir']}/omitted.json")
    if entry is None:
        return {}
    omitted = json.loads(objects.need(entry[1], "blob"))
    return {item["path"]: item["reason"] for item in omitted}


def _elsewhere(point: Point, present: Present) -> list[str]:
    base = point["base_commit"]
    if not base or base == (present.head or "0" * len(base)):
        return []
    head = (present.head or "")[:7] or "unborn"
    return [f"the point stands on commit {base[:7]}, HEAD is {head}; HEAD stays where it is"]


def in_the_middle(repo: Repo) -> list[str]:
    """A sentence for each operation of git that is under way in this worktree."""
    return [f"{what} is under way; it is neither ended nor continued" for what in under_way(repo)]


def between(repo: Repo, objects: Objects, old: str, new: str, conflict: str, why: str) -> Wisher:
    """The change from tree old to tree new, brought into what is there now."""
    edits = {
        p: [(b, a)] for p, b, a in diff_trees(objects, new, old) if not p.startswith(plan.OURS)
    }
    return taking_back(repo, objects, edits, conflict, why)


def taking_back(repo: Repo, objects: Objects, edits: Edits, conflict: str, why: str) -> Wisher:
    """The worktree without some edits; what others did to the same files since stays.

    conflict: what becomes of a path where both cannot be had: REFUSE, MARKERS or KEEP.
    """

    def wish(present: Present) -> Wish:
        merge = Merger(repo, objects).merge
        facts = ask_facts(repo, present, None, lambda path: "")
        wanted: list[tuple[str, Version, Version, str]] = []
        kept: list[Action] = []
        conflicts: list[Conflict] = []
        for path, pairs in edits.items():
            now = present.file(path)
            then, clean = three_way.take_back(now, three_way.joined(pairs), merge)
            if clean or (conflict == MARKERS and then != now):
                merged = now is not None and pairs[-1][1] != now
                explained = f"{why}, with what was changed since" if merged else why
                wanted += [(path, now, then, explained)] if then != now else []
            elif conflict == KEEP:
                reason = "changed since, and the change cannot be kept beside it"
                kept.append(plan.action(path, plan.KEEP, now, then, reason))
            else:
                conflicts.append({"path": path, "reason": _BOTH})
        actions = [*plan.wanted(wanted, facts), *kept]
        return {"actions": actions, "conflicts": conflicts, "notes": in_the_middle(repo)}

    return wish


class Owners:
    """owner(path) -> session id, '' when no session is known to have written the path.

    The journal is asked first; then the states of today and those that the checkpoints of this
    worktree carry: what a session wrote stays its own when a commit or a rewind settled it.
    """

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._known: dict[str, str] | None = None
        self._journal: dict[str, str] = {}
        self._older: Iterator[dict[str, str]] | None = None

    def owner(self, path: str) -> str:
        if self._known is None:
            self._journal = _makers(self._repo)
            self._known = {}
            for state in session_read.every(self._repo):
                self._known |= _written(state)
            self._older = self._history()
        if path in self._journal:
            return self._journal[path]
        while path not in self._known and self._older is not None:
            more = next(self._older, None)
            if more is None:
                self._older = None
            else:
                self._known = more | self._known
        return self._known.get(path, "")

    def _history(self) -> Iterator[dict[str, str]]:
        tips = [t for t in shadow_refs.listing(self._repo, self._objects) if self._here(t)]
        for chain in stream_history.chains(self._repo, tips).values():
            yield from map(_written, state_copy.along(self._objects, chain[:_DEPTH]))

    def _here(self, tip: Tip) -> bool:
        return stream_list.place(tip["ref"])[1] in ("", self._repo.worktree_hash)


def _makers(repo: Repo) -> dict[str, str]:
    """path -> the session that made what was not there, '' where a person did."""
    makers: dict[str, str] = {}
    for line in entries.edits(journal.read(repo)):
        session_id, who, _ = entries.author(line)
        if entries.entry(line["before"]) is None and (session_id or who == "person"):
            makers[line["path"]] = session_id
    return makers


def _written(state: State) -> dict[str, str]:
    session_id = state["session_id"]
    return {
        path: session_id
        for stream in state.get("streams", ())
        for path, file in stream["files"].items()
        if file["oid"]
    }
