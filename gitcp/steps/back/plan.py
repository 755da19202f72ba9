"""Plan what going back does to each path, and why (doc/behaviour.md "Going back").

A plan is data to be shown, confirmed and applied.  Facts answers questions about the disk and
about who made a path.
"""

from __future__ import annotations

from gitcp.errors import InputError
from gitcp.steps.step import Conflict
from gitcp.text import map_fields, value_class
from gitcp.text.ids import COMMIT, check_path
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from gitcp.text.record_types import Record, Version


# `make generate` writes the comments of a type's keys into the manual and the schema.
@value_class
class Action:
    """The change of a path."""

    path: str
    verb: str  # keep for no change
    was: Version  # the present version
    now: Version  # the wanted one
    reason: str
    yours: bool = False  # true if it loses the person's edit, or brings back what they deleted
    theirs: str = ""  # the session, another than the point's, whose work it loses

    def make_record(self) -> Record:
        """It as a record."""
        return map_fields(self)


@value_class
class Plan:
    """The actions that take a worktree to a point."""

    actions: list[Action]  # sorted by path
    conflicts: list[Conflict]  # why nothing can be done
    notes: list[str]  # sentences to read before confirming

    def make_record(self) -> Record:
        """It as a record, without a type."""
        return {
            "actions": [action.make_record() for action in self.actions],
            "conflicts": [map_fields(conflict) for conflict in self.conflicts],
            "notes": self.notes,
        }


@value_class
class WantedChange:
    """The present and the wanted version of a path, and why; '' if the plan says why."""

    path: str
    was: Version
    now: Version
    reason: str = ""


@value_class
class Facts:
    """What a plan asks.

    head, base: the entry of a path in HEAD, and in the point's base commit.  owner: the session
    that made a path, '' if not known.  writer: the session that wrote its present content, '' for
    nobody's or a person's.  edited: the formatted time of the person's newest edit that is lost if
    a path becomes a version again; '' for none.  theirs: the session, another than the point's,
    whose newest edit is lost so; '' for none.  committed: whether the present version was committed
    after the point.  left_out: path -> why snapshots leave it out, now or at the point.  hidden:
    paths that a sparse checkout does not have on disk."""

    head: Callable[[str], Version]
    base: Callable[[str], Version]
    owner: Callable[[str], str]
    writer: Callable[[str], str]
    edited: Callable[[str, Version], str]
    theirs: Callable[[str, Version], str]
    committed: Callable[[str], bool]
    left_out: Mapping[str, str]
    hidden: Collection[str]


CREATE = "create"
MODIFY = "modify"
DELETE = "delete"
KEEP = "keep"
OURS = ".entire/"  # no snapshot has its files


def plan_tree(changes: Iterable[WantedChange], facts: Facts) -> list[Action]:
    """The actions that give the worktree the tree of a point; untracked files that no session made
    stay."""
    return [_plan_action(change, facts) for change in changes if not change.path.startswith(OURS)]


def plan_paths(changes: Iterable[WantedChange], facts: Facts) -> list[Action]:
    """The actions for changes that were decided."""
    actions: list[Action] = []
    for change in changes:
        why = _explain_untouchable(change, facts)
        if why:
            actions.append(_keep(change, why))
        else:
            verb = _choose_verb(change)
            actions.append(Action(change.path, verb, change.was, change.now, change.reason))
    return actions


def _keep(change: WantedChange, why: str) -> Action:
    return Action(change.path, KEEP, change.was, change.now, why)


def _plan_action(change: WantedChange, facts: Facts) -> Action:
    path = change.path
    why = _explain_untouchable(change, facts)
    if why:
        return _keep(change, why)
    reason = _explain_change(change, facts)
    if not reason:
        return _keep(change, "not made by a session")
    edited = facts.edited(path, change.now)
    theirs = facts.theirs(path, change.now)
    if edited and change.was is None:
        reason = f"you deleted it at {edited} (undo deletes it again)"
    elif edited:
        reason = f"your edit of {edited} goes (undo brings it back)"
    elif theirs:
        reason = f"work of session {shorten_id(theirs)} goes (undo brings it back)"
    verb = _choose_verb(change)
    return Action(path, verb, change.was, change.now, reason, bool(edited), theirs)


def _explain_change(change: WantedChange, facts: Facts) -> str:
    """What has happened to a path since the point; '' for a file that no session made."""
    path = change.path
    if change.now is None:
        if facts.head(path) is not None and facts.base(path):
            return "deleted at that point"
        if facts.head(path) is not None:
            return "committed since"
        owner = facts.owner(path)
        if owner:
            return f"made since by session {shorten_id(owner)}"
        return ""
    reason = "changed since"
    if change.was is None:
        reason = "deleted since"
    writer = facts.writer(path)
    if writer:
        reason += f" by session {shorten_id(writer)}"
    if facts.committed(path):
        reason += ", and committed"
    return reason


def _choose_verb(change: WantedChange) -> str:
    if change.now is None:
        return DELETE
    if change.was is None:
        return CREATE
    return MODIFY


def _explain_untouchable(change: WantedChange, facts: Facts) -> str:
    """Why going back may not change a path; '' if it may."""
    for version in (change.was, change.now):
        if version and version[0] == COMMIT:
            return "a submodule or a repository of its own"
    if change.path in facts.left_out:
        return f"not saved ({facts.left_out[change.path]})"
    if change.path in facts.hidden:
        return "not in the sparse checkout"
    return ""


def list_effective(actions: Iterable[Action]) -> list[Action]:
    """The actions that change something."""
    return [action for action in actions if action.verb != KEEP]


def find_name_conflicts(actions: Iterable[Action]) -> list[Conflict]:
    """The conflicts of paths that git would not write."""
    conflicts: list[Conflict] = []
    for action in list_effective(actions):
        if action.now is not None:
            try:
                check_path(action.path)
            except InputError as e:
                conflicts.append(Conflict(action.path, f"no name for a file here: {e}"))
    return conflicts


def count_verbs(actions: Iterable[Action]) -> dict[str, int]:
    """verb -> number of paths."""
    sums = dict.fromkeys((CREATE, MODIFY, DELETE, KEEP), 0)
    for action in actions:
        sums[action.verb] += 1
    return sums


def is_below(path: str, scopes: Collection[str]) -> bool:
    """Whether path is one of scopes or lies below one; every path is, without scopes."""
    if not scopes:
        return True
    return any(scope in ("", path) or path.startswith(f"{scope}/") for scope in scopes)
