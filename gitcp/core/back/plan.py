"""Plan what going back does to each path, and why (doc/behaviour.md "Going back").

A plan is data to be shown, confirmed and applied.  Facts answers questions about the disk and
about who made a path.
"""

from __future__ import annotations

from gitcp.core.git.ids import check_path
from gitcp.core.git.porcelain import COMMIT
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import TypedDict

    from gitcp.core.record_types import Version

    Change = tuple[str, Version, Version]  # path, present version, wanted version

    class Action(TypedDict):
        """The change of a path.  verb: create, modify, delete, or keep for no change.

        was: the present version; now: the wanted one.  yours: an edit of the person is lost,
        or a file that they deleted comes back.
        """

        path: str
        verb: str
        was: Version
        now: Version
        reason: str
        yours: bool

    class Conflict(TypedDict):
        """Why a plan cannot be applied; then no path of it is changed."""

        path: str
        reason: str

    class Plan(TypedDict):
        """actions: sorted by path.  notes: sentences that the person should read before
        confirming."""

        actions: list[Action]
        conflicts: list[Conflict]
        notes: list[str]

    class Facts(TypedDict):
        """head, base: the entry of a path in HEAD, and in the point's base commit.
        owner: the session that made a path, '' if not known.
        edited: the formatted time of the person's newest edit that is lost if a path becomes a
        version again; '' for none.
        committed: whether HEAD has the present version of a path by a later commit.
        left_out: path -> why snapshots leave it out, now or at the point.
        hidden: paths that a sparse checkout does not have on disk."""

        head: Callable[[str], Version]
        base: Callable[[str], Version]
        owner: Callable[[str], str]
        edited: Callable[[str, Version], str]
        committed: Callable[[str], bool]
        left_out: Mapping[str, str]
        hidden: Collection[str]


CREATE, MODIFY, DELETE, KEEP = "create", "modify", "delete", "keep"
OURS = ".entire/"  # no snapshot has its files


def plan_tree(changes: Iterable[Change], facts: Facts) -> list[Action]:
    """The actions that give the worktree the tree of a point; untracked files that no session made
    stay."""
    return [_plan_action(change, facts) for change in changes if not change[0].startswith(OURS)]


def plan_paths(changes: Iterable[tuple[str, Version, Version, str]], facts: Facts) -> list[Action]:
    """The actions for (path, was, now, reason) changes."""
    actions = []
    for path, was, now, reason in changes:
        why = _explain_untouchable(path, was, now, facts)
        verb = KEEP if why else _choose_verb(was, now)
        actions.append(make_action(path, verb, was, now, why or reason))
    return actions


def make_action(
    path: str, verb: str, was: Version, now: Version, reason: str, yours: bool = False
) -> Action:
    """An Action of these values."""
    return {"path": path, "verb": verb, "was": was, "now": now, "reason": reason, "yours": yours}


def _plan_action(change: Change, facts: Facts) -> Action:
    path, was, now = change
    why = _explain_untouchable(path, was, now, facts)
    if why:
        return make_action(path, KEEP, was, now, why)
    if now is not None:
        reason = "deleted since" if was is None else "changed since"
        reason += ", and committed" if facts["committed"](path) else ""
    elif facts["head"](path) is not None:
        reason = "deleted at that point" if facts["base"](path) else "committed since"
    elif owner := facts["owner"](path):
        reason = f"made since by session {owner[:8]}"
    else:
        return make_action(path, KEEP, was, now, "not made by a session")
    edited = facts["edited"](path, now)
    if edited and was is None:
        reason = f"you deleted it at {edited} (undo deletes it again)"
    elif edited:
        reason = f"your edit of {edited} goes (undo brings it back)"
    return make_action(path, _choose_verb(was, now), was, now, reason, bool(edited))


def _choose_verb(was: Version, now: Version) -> str:
    return DELETE if now is None else CREATE if was is None else MODIFY


def _explain_untouchable(path: str, was: Version, now: Version, facts: Facts) -> str:
    """Why going back may not change a path; '' if it may."""
    if COMMIT in ((was or ("",))[0], (now or ("",))[0]):
        return "a submodule or a repository of its own"
    if path in facts["left_out"]:
        return f"left out of snapshots ({facts['left_out'][path]})"
    if path in facts["hidden"]:
        return "not in the sparse checkout"
    return ""


def list_effective(actions: Iterable[Action]) -> list[Action]:
    """The actions that change something."""
    return [a for a in actions if a["verb"] != KEEP]


def find_name_conflicts(actions: Iterable[Action]) -> list[Conflict]:
    """The conflicts of paths that git would not write."""
    conflicts: list[Conflict] = []
    for action in list_effective(actions):
        if action["now"] is not None:
            try:
                check_path(action["path"])
            except InputError as e:
                reason = f"no name for a file here: {e}"
                conflicts.append({"path": action["path"], "reason": reason})
    return conflicts


def count_verbs(actions: Iterable[Action]) -> dict[str, int]:
    """verb -> number of paths."""
    sums = dict.fromkeys((CREATE, MODIFY, DELETE, KEEP), 0)
    for action in actions:
        sums[action["verb"]] += 1
    return sums


def is_below(path: str, scopes: Collection[str]) -> bool:
    """Whether path is one of scopes or lies below one; every path is, without scopes."""
    return not scopes or any(s in ("", path) or path.startswith(s + "/") for s in scopes)
