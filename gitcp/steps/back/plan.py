"""Plan what going back does to each path, and why (doc/behaviour.md "Going back"); sort the points
to go back to; merge versions; choose the step that undo and redo take.

A plan is data to be shown, confirmed and applied.  Facts answers questions about the disk and
about who made a path.
"""

from __future__ import annotations

from posixpath import commonprefix

from gitcp.errors import Error, InputError
from gitcp.git.objects.merging import merge_versions
from gitcp.record.journal import credit
from gitcp.record.journal.credit import RESTORED
from gitcp.record.journal.line_kinds import Closing, Edit, Opening
from gitcp.text import ids as ids_
from gitcp.text import short_ids
from gitcp.text.ids import COMMIT, check_path
from gitcp.text.short_ids import shorten_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Version

    Change = tuple[str, Version, Version]  # path, present version, wanted version

    # `make generate` writes the comments of a type's keys into the manual and the schema.
    class Action(TypedDict):
        """The change of a path."""

        path: str
        verb: str  # keep for no change
        was: Version  # the present version
        now: Version  # the wanted one
        reason: str
        yours: bool  # true if it loses the person's edit, or brings back what they deleted
        theirs: str  # the session, another than the point's, whose work it loses

    class Conflict(TypedDict):
        """Why a plan cannot be applied; then no path of it is changed."""

        path: str
        reason: str

    class Plan(TypedDict):
        """The actions that take a worktree to a point."""

        actions: list[Action]  # sorted by path
        conflicts: list[Conflict]  # why nothing can be done
        notes: list[str]  # sentences to read before confirming

    class Facts(TypedDict):
        """head, base: the entry of a path in HEAD, and in the point's base commit.
        owner: the session that made a path, '' if not known.
        writer: the session that wrote its present content, '' for nobody's or a person's.
        edited: the formatted time of the person's newest edit that is lost if a path becomes a
        version again; '' for none.
        theirs: the session, another than the point's, whose newest edit is lost so; '' for none.
        committed: whether the present version was committed after the point. left_out: path -> why
        snapshots leave it out, now or at the point. hidden: paths that a sparse checkout does not
        have on disk."""

        head: Callable[[str], Version]
        base: Callable[[str], Version]
        owner: Callable[[str], str]
        writer: Callable[[str], str]
        edited: Callable[[str, Version], str]
        theirs: Callable[[str, Version], str]
        committed: Callable[[str], bool]
        left_out: Mapping[str, str]
        hidden: Collection[str]

    class Point(TypedDict):
        """A moment of the worktree, of a conversation, or of both."""

        id: str
        kind: str  # prompt and tool for a moment within a turn
        message: str
        metadata_dir: str
        date: str
        time: int
        is_task_checkpoint: bool  # true for the work of a subagent
        tool_use_id: str
        is_logs_only: bool  # true for a conversation alone
        condensation_id: str  # the committed checkpoint
        session_id: str
        session_prompt: str
        ref: str
        base_commit: str
        tree: str  # of the worktree, empty if the journal has it
        content: str  # not printed: a fingerprint of the worktree
        incomplete: bool  # true if the content of some paths is not known
        lacking: list[str]  # those paths; . for any path
        gone: bool  # true if the repository no longer has its content
        folded: int  # the number of equal points that this one stands for
        worktree: str  # the removed worktree whose point it is, empty for this one

    Contents = Callable[[str, str, str], tuple[str, bool]]  # base, ours, theirs -> oid, clean
    Step = dict[str, Any]  # id, kind, parent, position, target, targets; gitcp-formats(5)

CREATE = "create"
MODIFY = "modify"
DELETE = "delete"
KEEP = "keep"
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
    """An Action of these values, which loses no session's work."""
    return {
        "path": path,
        "verb": verb,
        "was": was,
        "now": now,
        "reason": reason,
        "yours": yours,
        "theirs": "",
    }


def _plan_action(change: Change, facts: Facts) -> Action:
    path, was, now = change
    why = _explain_untouchable(path, was, now, facts)
    if why:
        return make_action(path, KEEP, was, now, why)
    if now is not None:
        reason = "changed since"
        if was is None:
            reason = "deleted since"
        writer = facts["writer"](path)
        if writer:
            reason += f" by session {shorten_id(writer)}"
        if facts["committed"](path):
            reason += ", and committed"
    elif facts["head"](path) is not None:
        reason = "committed since"
        if facts["base"](path):
            reason = "deleted at that point"
    elif owner := facts["owner"](path):
        reason = f"made since by session {shorten_id(owner)}"
    else:
        return make_action(path, KEEP, was, now, "not made by a session")
    edited = facts["edited"](path, now)
    theirs = facts["theirs"](path, now)
    if edited and was is None:
        reason = f"you deleted it at {edited} (undo deletes it again)"
    elif edited:
        reason = f"your edit of {edited} goes (undo brings it back)"
    elif theirs:
        reason = f"work of session {shorten_id(theirs)} goes (undo brings it back)"
    action = make_action(path, _choose_verb(was, now), was, now, reason, bool(edited))
    action["theirs"] = theirs
    return action


def _choose_verb(was: Version, now: Version) -> str:
    if now is None:
        return DELETE
    return CREATE if was is None else MODIFY


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


def walk_back(edits: Sequence[Edit]) -> Iterator[Edit]:
    """Yield the edits that led to a path's present content, newest first; edits: oldest first."""
    index = len(edits) - 1
    while index >= 0:
        line = edits[index]
        earlier = _find_content(edits[:index], line.after)
        if line.how == RESTORED and earlier is not None and not _is_by_person(line):
            index = earlier
            continue
        yield line
        index -= 1


def _find_content(edits: Sequence[Edit], content: Version) -> int | None:
    """The index of the last edit with this content after it, -1 for before the first; else None."""
    for index in range(len(edits) - 1, -1, -1):
        if edits[index].after == content:
            return index
        if edits[index].before == content:
            return index - 1
    return None


def find_maker(edits: Iterable[Edit]) -> str | None:
    """The session that created the file at a path, '' for the person; None if the edits (oldest
    first) do not tell.

    A later change does not change the maker.  A content that the path has had belongs to the maker
    of the first file with it, whoever restores it.
    """
    makers: dict[Version, str | None] = {None: None}
    maker: str | None = None
    for line in edits:
        before = line.before
        after = line.after
        maker = makers.setdefault(before, None)
        if before is None:
            session_id, who, _ = line.author
            maker = None
            if session_id or who == ids_.PERSON[1]:
                maker = session_id
        maker = makers.setdefault(after, maker)
    return maker


def find_last(
    edits: Sequence[Edit],
    version: Version,
    is_in_git: Callable[[Edit], bool],
    besides: str | None = None,
) -> Edit | None:
    """The person's newest edit that is lost if the path becomes a version again, or that of a
    session other than `besides`; None if none is.

    is_in_git: whether git has the content that an edit left or put away."""
    for line in walk_back(edits):
        before = line.before
        after = line.after
        if after == version or is_in_git(line):
            return None
        if besides is None:
            is_asked_for = _is_by_person(line)
        else:
            is_asked_for = line.author[0] not in ("", besides)
        if is_asked_for:
            return line
        if before == version or None in (before, after):
            return None
    return None


def _is_by_person(line: Edit) -> bool:
    """Whether the person made an edit: as its author, or by deleting an uncommitted file without a
    step."""
    gone = line.after is None and line.how == RESTORED
    by_hand = line.cause == ids_.UNKNOWN and not line.step
    return line.author == ids_.PERSON or (gone and by_hand)


def find_moment(
    lines: Sequence[JournalLine], name: str, after: bool
) -> tuple[list[Edit], int] | None:
    """(the edits since a turn or tool use began, or with after since it ended; the index of that
    line).  None for an unknown name.

    An edit counts by the time at which it was made: a look may see it long afterwards.
    """
    openings = []
    own = []
    calls = set()
    for n, line in enumerate(lines):
        if isinstance(line, Opening) and name in (line.call, line.turn):
            openings.append(n)
            calls.add(line.name)
        elif isinstance(line, Edit) and _is_part(line, name):
            own.append(n)
    own = own or openings
    if not own:
        return None
    if after:
        closings = []
        for n, line in enumerate(lines):
            if isinstance(line, Closing) and line.name in calls:
                closings.append(n)
        ends = closings or own
        position = max(ends)
        time = max(lines[n].at for n in ends)
        later = [line for n, line in enumerate(lines) if n > position and n not in own]
    else:
        position = min([*openings, own[0]])
        time = min((lines[n].at for n in openings), default=0)
        later = [*lines[position:]]
    return [edit for edit in credit.list_edits(later) if edit.made >= time], position


def _is_part(edit: Edit, name: str) -> bool:
    """Whether an edit was made by a turn or a tool use."""
    session_id, *ids = edit.cause
    return bool(session_id) and name in ids


# Sort and fold the list of points to go back to, and choose a point by its name.
SHORTEST = 4  # characters that may name a point
_MOST = 5  # lacking paths in a message
EMPTY: Point = {
    "id": "",
    "kind": "",
    "message": "",
    "metadata_dir": "",
    "date": "",
    "time": 0,
    "is_task_checkpoint": False,
    "tool_use_id": "",
    "is_logs_only": False,
    "condensation_id": "",
    "session_id": "",
    "session_prompt": "",
    "ref": "",
    "base_commit": "",
    "tree": "",
    "content": "",
    "incomplete": False,
    "lacking": [],
    "gone": False,
    "folded": 0,
    "worktree": "",
}


def mark_lacking(point: Point, paths: Iterable[str]) -> Point:
    """The point, marked as lacking the content of these paths."""
    lacking = list(paths)
    return {**point, "incomplete": bool(lacking), "lacking": lacking}


def describe_lacking(kind: str, paths: Iterable[str]) -> str:
    """The text about the lacking paths of a point of that kind; '' for none."""
    names = ["other files" if path == "." else path for path in paths]
    more = ""
    if len(names) > _MOST:
        more = f" and {len(names) - _MOST} more"
    what = "left out of its snapshot"
    if kind == "tool":
        what = "not seen before it"
    if names:
        return f"{what}: {', '.join(names[:_MOST])}{more}"
    return ""


def sort_newest_first(points: Iterable[Point]) -> list[Point]:
    """Points by time, newest first; those of the same time keep their order."""
    return sorted(points, key=lambda p: -p["time"])


def can_be_gone_to(point: Point) -> bool:
    """Whether going to a point can change the worktree: not to a commit that has a conversation
    alone, and not to a point whose content is gone."""
    return not (point["is_logs_only"] or point["gone"])


def fold_points(points: Sequence[Point]) -> list[Point]:
    """Fold runs of a session's points with the same worktree into the oldest of them; do the same
    for undo's points."""
    folded: list[Point] = []
    for point in _fold_steps(points):
        last = folded[-1] if folded else None
        if last and _has_same_worktree(last, point):
            folded[-1] = {**point, "folded": last["folded"] + 1}
        else:
            folded.append(point)
    return folded


def _fold_steps(points: Sequence[Point]) -> Iterator[Point]:
    """Yield the points; of the safety points with the same worktree only the oldest."""
    safe = [p["content"] for p in points if p["kind"] == "safety" and p["content"]]
    left = {content: safe.count(content) for content in safe}
    total = dict(left)
    for point in points:
        content = point["content"]
        if point["kind"] != "safety" or content not in left:
            yield point
            continue
        left[content] -= 1
        if not left[content]:
            yield {**point, "folded": total[content] - 1}


def _has_same_worktree(newer: Point, older: Point) -> bool:
    keys = ("content", "session_id", "kind", "session_prompt")
    known = bool(older["content"]) and not older["gone"]
    return known and [newer[k] for k in keys] == [older[k] for k in keys]  # type: ignore[literal-required]


def choose_point(points: Iterable[Point], name: str) -> Point | None:
    """The point whose id or checkpoint id is name, or the only one whose id begins with it; None if
    there is none.  Raise Error, which lists them, if there are several."""
    all_points = list(points)
    exact = [p for p in all_points if name and name in (p["id"], p["condensation_id"])]
    matching = exact or [
        p
        for p in all_points
        if len(name) >= SHORTEST
        and (short_ids.is_named(p["id"], name) or p["condensation_id"].startswith(name))
    ]
    names = shorten_names(matching)
    if len(names) > 1:
        raise Error(f"ambiguous point '{name}': {' '.join(names.values())}")
    return matching[0] if matching else None


def shorten_names(points: Iterable[Point]) -> dict[str, str]:
    """id -> the name of a point in a list: short_ids.DIGITS digits of its id, more where another
    one begins alike; those of its SHA-1 where the id is a client's."""
    ids = sorted({point["id"] for point in points})
    names: dict[str, str] = {}
    hashes = [own for own in ids if not own.strip("0123456789abcdef")]
    beside = zip(hashes, ["", *hashes], [*hashes[1:], ""], strict=False)
    for own, *pair in beside:
        alike = max(len(commonprefix([own, other])) for other in pair)
        names[own] = own[: max(short_ids.DIGITS, 1 + alike)]
    for own in ids:
        if own not in names:
            names[own] = short_ids.shorten_id(own)
    return names


# Merge three versions of a path (doc/behaviour.md "Going back").
#
# To take an edit back, merge with the version after the edit as base and the version before it as
# theirs: later changes stay.


def take_back(
    version: Version, edits: Iterable[tuple[Version, Version]], contents: Contents
) -> tuple[Version, bool]:
    """(the version without these edits, whether all merges were clean).

    edits: (before, after), oldest first.  contents: merges three blobs.  An edit that cannot be
    merged is left in.
    """
    are_clean = True
    for before, after in reversed(list(edits)):
        version, is_clean = merge_versions(after, version, before, contents)
        are_clean = are_clean and is_clean
    return version, are_clean


def join_edits(edits: Iterable[tuple[Version, Version]]) -> list[tuple[Version, Version]]:
    """Edits of a path, oldest first, with each run of edits that start from the previous one's
    result joined."""
    merged: list[tuple[Version, Version]] = []
    for before, after in edits:
        if merged and merged[-1][1] == before:
            merged[-1] = (merged[-1][0], after)
        else:
            merged.append((before, after))
    return [(before, after) for before, after in merged if before != after]


# The undo log as a tree: the step to undo or to redo.
#
# The log only grows.  The parent of a step is the one that was in force when it was made.  Undoing
# a step goes back to its parent; the undone step stays as a branch that can be redone.
UNDO = "undo"
REDO = "redo"
MOVES = (UNDO, REDO)
BISECT = "bisect"  # a state that was tested in place


def get_position(log: Sequence[Step]) -> str:
    """The id of the step in force, '' for none; log: oldest first."""
    return str(log[-1].get("position", "")) if log else ""


def name_worktree_before(step: Step, clock: str) -> str:
    """The name of the point for the worktree before a step; clock: when it was, for people."""
    return f"before 'gitcp {step['kind']}' at {clock}"


def map_steps(log: Iterable[Step]) -> dict[str, Step]:
    """id -> step, of all steps but undos and redos."""
    return {step["id"]: step for step in log if step["kind"] not in MOVES}


def list_steps_to_undo(log: Sequence[Step], name: str = "1") -> list[Step]:
    """The steps in force to undo, newest first.  name: their number, or a prefix of the id of the
    last one.  Raise Error if there are not so many, or no such step."""
    steps = map_steps(log)
    path = list_in_force(log)
    if not path:
        raise Error(
            "nothing to undo: gitcp changed no file here ('gitcp rewind' goes back before a prompt)"
        )
    matching = [index for index, step_id in enumerate(path) if step_id.startswith(name)]
    if len(name) >= SHORTEST and len(matching) > 1:
        raise Error(f"ambiguous step '{name}': {' '.join(path[index] for index in matching)}")
    if len(name) >= SHORTEST and matching:
        count = matching[0] + 1
    elif not name.isdecimal() or not int(name):
        raise Error(f"no such step to undo: '{name}' ('gitcp undo --list' shows them)")
    else:
        count = int(name)
    if count > len(path):
        if len(path) == 1:
            only = "1 step"
        else:
            only = f"{len(path)} steps"
        raise Error(f"only {only} can be undone; nothing was changed")
    return [steps[step_id] for step_id in path[:count]]


def find_step_to_redo(log: Sequence[Step], name: str = "") -> Step:
    """The step to redo: the last undone one, or the one whose id begins with name.

    A bisection's steps are undone for good.  Raise Error if the present position has no such undone
    step.
    """
    position = get_position(log)
    steps = map_steps(log).values()
    branches = [s for s in steps if s["parent"] == position and s["kind"] != BISECT]
    undone_ids = [
        t for s in log if s["kind"] == UNDO for t in s.get("targets", [s["target"]])[::-1]
    ]
    newest = {step_id: number for number, step_id in enumerate(undone_ids)}
    undone = sorted((s for s in branches if s["id"] in newest), key=lambda s: newest[s["id"]])
    matching = [s for s in undone if s["id"].startswith(name)]
    if not matching:
        raise Error(f"no such step to redo: '{name}'" if name else "nothing to redo")
    if name and len(matching) > 1:
        raise Error(f"ambiguous step '{name}': {' '.join(s['id'] for s in matching)}")
    return matching[-1]


def list_in_force(log: Sequence[Step]) -> list[str]:
    """The ids of the steps in force, the newest first."""
    steps = map_steps(log)
    position = get_position(log)
    path = []
    while position in steps:
        path.append(position)
        position = steps[position]["parent"]
    return path
