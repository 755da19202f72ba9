"""What somebody who goes back wants of the worktree, said of the worktree as it is."""

from __future__ import annotations

import json

from gitcp.core.rewind import plan, three_way
from gitcp.store.auto.refusal import under_way
from gitcp.store.git.tree import Lookup, diff_trees, tree_of
from gitcp.store.restore import planning
from gitcp.store.restore.merging import Merger
from gitcp.store.rewind.owners import Owners

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.core.record_types import Version
    from gitcp.core.rewind.plan import Action, Conflict
    from gitcp.core.rewind.point_list import Point
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.restore.planning import Wish, Wisher
    from gitcp.store.restore.present import Present

    Edits = Mapping[str, Sequence[tuple[Version, Version]]]  # path -> (before, after), in order

REFUSE, MARKERS, KEEP = CONFLICTS = ("refuse", "markers", "keep")
_BOTH = "changed since in the same place (--conflict=markers keeps both, =keep what is there)"


def nothing(present: Present) -> Wish:
    """No change to any file."""
    return {"actions": [], "conflicts": [], "notes": []}


def to_point(repo: Repo, objects: Objects, point: Point, scopes: Iterable[str]) -> Wisher:
    """The worktree as it was at a point, below scopes (paths from the root; none: all)."""
    wanted = list(scopes)

    def wish(present: Present) -> Wish:
        changes = planning.changes(objects, present, point["tree"], wanted)
        base = tree_of(objects, point["base_commit"])
        facts = planning.facts(repo, present, base, Owners(repo, objects).owner)
        facts["left_out"] = {**_left_out(objects, point), **present.left_out}
        notes = [*_elsewhere(point, present), *in_the_middle(repo)]
        return {"actions": plan.whole(changes, facts), "conflicts": [], "notes": notes}

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
        facts = planning.facts(repo, present, None, lambda path: "")
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
