"""The points to go back to: temporary checkpoints of this base, archived ones, committed ones,
what the undo log kept, and moments; newest first (doc/behaviour.md "Going back")."""

from __future__ import annotations

import json
import time

from gitcp.core.back import plan as plans
from gitcp.core.back import point_list, undo_tree
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.back import moments
from gitcp.store.back.present import KeptEdits, Present
from gitcp.store.git import refs
from gitcp.store.git.commit import list_commits, read_commit
from gitcp.store.git.tree import Lookup, edit_tree, read_tree
from gitcp.store.show import commit_list, lookup
from gitcp.store.stream import expired, shadow_refs, stream_list
from gitcp.store.turn import session_read
from gitcp.store.undo import undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from gitcp.core.back.plan import Plan
    from gitcp.core.back.point_list import Point
    from gitcp.core.record_types import Record, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


_LACKING = ("too-large", "unreadable")
_DIFF = "diff --no-color --no-ext-diff --no-textconv".split()
_LONGEST = 200_000  # bytes of a patch that are shown before a choice
COMMITS = 50  # of HEAD's history that are looked at for committed points


def list_points(
    repo: Repo, objects: Objects, everywhere: bool = False, depth: int = COMMITS
) -> list[Point]:
    """read_points() for eyes: those without a change are folded."""
    return point_list.fold_points(read_points(repo, objects, everywhere, depth))


def read_points(
    repo: Repo, objects: Objects, everywhere: bool = False, depth: int = COMMITS
) -> list[Point]:
    """Every point of this worktree, newest first; everywhere: also those of other bases, and the
    moments that the journal has no more.  depth: how many commits are looked at."""
    points = [*_list_temporary(repo, objects, everywhere), *_list_steps(repo, objects)]
    edits = KeptEdits(repo).list_moments(everywhere)
    points += moments.list_moments(edits, _map_prompts(repo), _format_date)
    points += _list_committed(repo, depth)
    points += _list_expired(repo, {point["id"] for point in points}, everywhere)
    return point_list.sort_newest_first(points)


class NoPoint(Error):
    """A name that no point has."""


def find_point(repo: Repo, objects: Objects, name: str, everywhere: bool = True) -> Point:
    """The point of a name: its id, a checkpoint's, or the beginning of one; HEAD; a moment with
    AFTER behind it.  Without everywhere those of this base go before the others.

    Raises NoPoint when there is none, Error when several begin so, and for one that a commit took.
    """
    if name == "HEAD":
        return _read_head(objects)
    if exact := next((p for p in _list_temporary(repo, objects, True) if p["id"] == name), None):
        return exact
    after = moments.AFTER if name.endswith(moments.AFTER) else ""
    own = name.removesuffix(after)
    for anywhere in (True,) if everywhere else (False, True):
        known = read_points(repo, objects, anywhere)
        if point := point_list.choose_point(known, own):
            if after:
                message = point["message"].replace("before", "after", 1)
                point = {**point, "id": point["id"] + after, "message": message}
                return point_list.mark_lacking(point, ())
            return point
    if commit := (_find_successor(repo, objects, known, name) or "")[:7]:
        ways = f"'gitcp rewind --to HEAD' or 'gitcp show {commit}'"
        raise Error(f"point '{name}' became commit {commit}: {ways}")
    raise NoPoint(f"no such point: '{name}' ('gitcp rewind --list' shows them)")


def _read_head(objects: Objects) -> Point:
    commit = read_commit(objects, "HEAD")
    if commit is None:
        raise Error("there is no commit yet")
    return {
        **point_list.EMPTY,
        "id": commit["oid"],
        "kind": "committed",
        "message": commit["message"].partition("\n")[0],
        "base_commit": commit["oid"],
        "tree": commit["tree"],
    }


def _find_successor(repo: Repo, objects: Objects, points: Iterable[Point], name: str) -> str | None:
    """The commit that took the work of a temporary checkpoint which is no point any more; None
    where name is the beginning of none."""
    oid = lookup.find_temporary(repo, objects, name)
    commit = read_commit(objects, oid) if oid else None
    if commit is None:
        return None
    session_id, base = (
        shadow_refs.find_trailer(commit["message"], key)
        for key in ("Entire-Session", "Base-Commit")
    )
    mine = (p for p in points if p["kind"] == "committed" and p["session_id"] == session_id)
    commits = {point["id"] for point in mine}
    since = list_commits(repo, "--reverse", f"^{base}", "HEAD") if base and commits else ()
    return next((oid for oid in since if oid in commits), None)


def _list_temporary(repo: Repo, objects: Objects, everywhere: bool) -> Iterator[Point]:
    head = refs.read_head(repo) or shadow_refs.get_zeros(repo)
    tips = [t for t in shadow_refs.list_tips(repo, objects) if _is_here(repo, t, head, everywhere)]
    for ref, chain in stream_list.read_chains(repo, tips).items():
        kind = stream_list.parse_ref(ref)[0]
        for checkpoint in chain:
            if checkpoint["message"] not in (shadow_refs.CARRIED, shadow_refs.FOLLOWED):
                yield _build_point(objects, checkpoint, kind)


def _is_here(repo: Repo, tip: Tip, head: str, everywhere: bool) -> bool:
    kind, worktree = stream_list.parse_ref(tip["ref"])
    if worktree not in ("", repo.worktree_hash):
        return False
    return everywhere or kind != "archived" or tip["base"].startswith(head[: len(tip["base"])])


def _build_point(objects: Objects, checkpoint: Record, kind: str) -> Point:
    """A temporary checkpoint as a point; one whose objects are gone says so."""
    point: Point = {
        **point_list.EMPTY,
        "id": checkpoint["oid"],
        "kind": "archived" if kind == "archived" else "temporary",
        "message": checkpoint["message"],
        "time": checkpoint["time"],
        "date": _format_date(checkpoint["time"]),
        "metadata_dir": shadow_refs.METADATA + checkpoint["session_id"],
        "is_task_checkpoint": checkpoint["is_task_checkpoint"],
        "tool_use_id": checkpoint["tool_use_id"],
        "session_id": checkpoint["session_id"],
        "ref": checkpoint["ref"],
        "base_commit": checkpoint["base_commit"],
        "tree": checkpoint["tree"],
    }
    try:
        root = read_tree(objects, point["tree"])
        files = Lookup(objects, point["tree"]).read_folder(point["metadata_dir"])
        point["content"] = _join_content(root)
        point["session_prompt"] = _read_prompt(objects, files)
        return point_list.mark_lacking(point, _list_omitted(objects, files))
    except Error:
        return {**point, "gone": True}


def _list_omitted(objects: Objects, files: dict[str, tuple[str, str]]) -> list[str]:
    """The files of the worktree's own that a snapshot lacks; other repositories are none."""
    entry = files.get("omitted.json")
    listed = json.loads(objects.need(entry[1], "blob")) if entry else []
    return [item["path"] for item in listed if item["reason"] in _LACKING]


def _read_prompt(objects: Objects, files: dict[str, tuple[str, str]]) -> str:
    entry = files.get(summary.PROMPT)
    prompts = decode_name(objects.need(entry[1], "blob")) if entry else ""
    return prompts.rpartition(summary.SEPARATOR)[2]


def _join_content(root: dict[str, tuple[str, str]]) -> str:
    """What tells two trees apart, whatever is in `.entire/`."""
    return " ".join(
        f"{name}\0{oid}" for name, (_, oid) in sorted(root.items()) if name != ".entire"
    )


def _list_steps(repo: Repo, objects: Objects) -> Iterator[Point]:
    """The worktree before each step of the undo log."""
    for step in reversed(undo_log.read_steps(repo)):
        tree = undo_log.find_tree(objects, step["commit"], "before")
        if tree:
            yield {
                **point_list.EMPTY,
                "id": step["commit"],
                "kind": "safety",
                "message": undo_tree.name_worktree_before(step),
                "time": step["time"],
                "date": _format_date(step["time"]),
                "ref": undo_log.get_ref(repo),
                "tree": tree,
                "content": _join_content(read_tree(objects, tree)),
            }


def _list_committed(repo: Repo, depth: int) -> Iterator[Point]:
    """The commits of HEAD's history whose checkpoints are here: for their conversations."""
    if refs.read_head(repo) is None:
        return
    for commit in commit_list.list_commits(repo, [], [f"-n{depth}"]):
        for checkpoint in commit["checkpoints"]:
            for session in checkpoint.get("contents", ()):
                yield {
                    **point_list.EMPTY,
                    "id": commit["oid"],
                    "kind": "committed",
                    "message": commit["message"],
                    "time": commit["time"],
                    "date": _format_date(commit["time"]),
                    "is_logs_only": True,
                    "condensation_id": checkpoint["checkpoint_id"],
                    "session_id": session["session_id"],
                    "session_prompt": (session["asked"] or [""])[-1],
                    "base_commit": commit["oid"],
                    "tree": commit["tree"],
                }


def _list_expired(repo: Repo, ids: Collection[str], everywhere: bool) -> Iterator[Point]:
    """What cleaning took away, so that nobody looks for it."""
    head = refs.read_head(repo) or shadow_refs.get_zeros(repo)
    for one in expired.list_records(repo):
        here = one["worktree"] in ("", repo.worktree_hash) and one["id"] not in ids
        base = one["base_commit"]
        if here and (everywhere or not base or base == head):
            yield {
                **point_list.EMPTY,
                "id": one["id"],
                "kind": one["kind"],
                "message": one["message"],
                "time": one["time"],
                "date": _format_date(one["time"]),
                "session_id": one["session_id"],
                "base_commit": base,
                "gone": True,
            }


def _map_prompts(repo: Repo) -> dict[str, str]:
    """turn id -> what was asked, of the sessions that have a state."""
    return {
        turn: str(one.get("prompt") or "")
        for state in session_read.list_states(repo)
        for turn, one in (state.get("turns") or {}).items()
        if isinstance(one, dict)
    }


def make_record(point: Point) -> Record:
    """A point as a record; what compares trees stays here."""
    return {"type": "point", **{k: v for k, v in point.items() if k != "content"}}


def _format_date(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Preview:
    """The plans of points, as a look at the worktree that is not repeated gives them."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._present: Present | None = None
        self._plans: dict[str, Plan] = {}

    def get_plan(self, point: Point) -> Plan:
        """The plan to a point; one without actions where no file is to change."""
        if point["id"] not in self._plans:
            self._plans[point["id"]] = self._make_plan(point)
        return self._plans[point["id"]]

    def draw_diff(self, point: Point) -> list[str]:
        """What going to a point changes, as rows of a patch, the first of many."""
        edits = {a["path"]: a["now"] for a in plans.list_effective(self.get_plan(point)["actions"])}
        if self._present is None or not edits:
            return []
        tree = edit_tree(self._objects, self._present.tree, edits)
        out = self._repo.git.run(*_DIFF, self._present.tree, tree)[1]
        return decode_name(out[:_LONGEST]).splitlines()

    def count_verbs(self, point: Point) -> dict[str, int] | None:
        """verb -> how many paths; None for a point of a conversation alone."""
        if point["is_logs_only"] or point["gone"]:
            return None
        return plans.count_verbs(self.get_plan(point)["actions"])

    def _make_plan(self, point: Point) -> Plan:
        if point["is_logs_only"] or point["gone"]:
            return {"actions": [], "conflicts": [], "notes": []}
        if self._present is None:
            self._present = Present(self._repo, self._objects, dry=True)
        try:
            wish = moments.go_to_point(point, ())(self._present)
        except Error as e:
            return {"actions": [], "conflicts": [], "notes": [str(e)]}
        return {"actions": wish["actions"], "conflicts": wish["conflicts"], "notes": wish["notes"]}
