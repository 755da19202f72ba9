"""The points to go back to: temporary, archived and committed checkpoints, steps of the undo log
and moments inside a turn (doc/behaviour.md "Going back")."""

from __future__ import annotations

import json

from gitcp.core.back import plan as plans
from gitcp.core.back import point_list, undo_tree
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.back import moments, wishes
from gitcp.store.back.planning import Prepared
from gitcp.store.back.present import KeptEdits, Present
from gitcp.store.git import refs
from gitcp.store.git.commit import list_commits, parse_ident, read_commit
from gitcp.store.git.tree import Lookup, read_tree
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
COMMITS = 50  # of HEAD's history that are searched for committed points


def list_points(
    repo: Repo, objects: Objects, everywhere: bool = False, depth: int = COMMITS
) -> list[Point]:
    """The points of read_points(), with those that change nothing folded."""
    return point_list.fold_points(read_points(repo, objects, everywhere, depth))


def read_points(
    repo: Repo, objects: Objects, everywhere: bool = False, depth: int = COMMITS
) -> list[Point]:
    """Every point of this worktree, newest first.

    everywhere: also points of other bases and moments that were cut from the journal.  depth: the
    number of commits that are searched.
    """
    points = [*_list_temporary(repo, objects, everywhere), *_list_steps(repo, objects)]
    edits = KeptEdits(repo).list_moments(everywhere)
    points += moments.list_moments(edits, _map_prompts(repo))
    points += _list_committed(repo, depth)
    points += _list_expired(repo, {point["id"] for point in points}, everywhere)
    return point_list.sort_newest_first(points)


class NoPoint(Error):
    """A name that no point has."""


def find_point(repo: Repo, objects: Objects, name: str, everywhere: bool = True) -> Point:
    """The point of a name: the beginning of its or its checkpoint's id, or HEAD.

    With AFTER appended it names the moment after a turn or tool use.  Without everywhere, points of
    this base go before others.  Raises NoPoint when there is none, Error when several match or a
    commit has taken the point.
    """
    if name == "HEAD":
        return _read_head(objects)
    if exact := next((p for p in _list_temporary(repo, objects, True) if p["id"] == name), None):
        return exact
    after = moments.AFTER if name.endswith(moments.AFTER) else ""
    for anywhere in (True,) if everywhere else (False, True):
        points = read_points(repo, objects, anywhere)
        if point := point_list.choose_point(points, name.removesuffix(after)):
            if after:
                message = point["message"].replace("before", "after", 1)
                point = {**point, "id": point["id"] + after, "message": message}
                return point_list.mark_lacking(point, ())
            return point
    if commit := (_find_successor(repo, objects, points, name) or "")[:7]:
        ways = f"'gitcp rewind --to HEAD' or 'gitcp show {commit}'"
        raise Error(f"point '{name}' became commit {commit}: {ways}")
    raise NoPoint(f"no such point: '{name}' ('gitcp rewind --list' shows them)")


def _read_head(objects: Objects) -> Point:
    commit = read_commit(objects, "HEAD")
    if commit is None:
        raise Error("there is no commit yet")
    subject, oid = commit["message"].partition("\n")[0], commit["oid"]
    seconds = parse_ident(commit["committer"])[1]
    return moments.make_point(
        "committed", oid, seconds, subject, base_commit=oid, tree=commit["tree"]
    )


def _find_successor(repo: Repo, objects: Objects, points: Iterable[Point], name: str) -> str | None:
    """The commit that took the work of a temporary checkpoint, which then is no point any more;
    None if no such checkpoint begins with name."""
    oid = lookup.find_temporary(repo, objects, name)
    commit = read_commit(objects, oid) if oid else None
    if commit is None:
        return None
    session_id = shadow_refs.find_trailer(commit["message"], "Entire-Session")
    base = shadow_refs.find_trailer(commit["message"], "Base-Commit")
    own = (point for point in points if point["session_id"] == session_id)
    commits = {point["id"] for point in own if point["kind"] == "committed"}
    since = list_commits(repo, "--reverse", f"^{base}", "HEAD") if base and commits else ()
    return next((oid for oid in since if oid in commits), None)


def _list_temporary(repo: Repo, objects: Objects, everywhere: bool) -> Iterator[Point]:
    head = refs.read_base(repo)
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
    """The point of a temporary checkpoint; `gone` is true if objects of it are missing."""
    same = "is_task_checkpoint tool_use_id session_id ref base_commit tree".split()
    point = moments.make_point(
        "archived" if kind == "archived" else "temporary",
        checkpoint["oid"],
        checkpoint["time"],
        checkpoint["message"],
        metadata_dir=shadow_refs.METADATA + checkpoint["session_id"],
        **{key: checkpoint[key] for key in same},
    )
    try:
        root = read_tree(objects, point["tree"])
        files = Lookup(objects, point["tree"]).read_folder(point["metadata_dir"])
        point["content"] = _join_content(root)
        point["session_prompt"] = _read_prompt(objects, files)
        return point_list.mark_lacking(point, _list_omitted(objects, files))
    except Error:
        return {**point, "gone": True}


def _list_omitted(objects: Objects, files: dict[str, tuple[str, str]]) -> list[str]:
    """The files that a snapshot lacks for their size or because they could not be read."""
    entry = files.get("omitted.json")
    listed = json.loads(objects.need(entry[1], "blob")) if entry else []
    return [item["path"] for item in listed if item["reason"] in _LACKING]


def _read_prompt(objects: Objects, files: dict[str, tuple[str, str]]) -> str:
    entry = files.get(summary.PROMPT)
    prompts = decode_name(objects.need(entry[1], "blob")) if entry else ""
    return prompts.rpartition(summary.SEPARATOR)[2]


def _join_content(root: dict[str, tuple[str, str]]) -> str:
    """The entries of a root tree as text, without `.entire/`; equal for equal worktrees."""
    return " ".join(
        f"{name}\0{oid}" for name, (_, oid) in sorted(root.items()) if name != ".entire"
    )


def _list_steps(repo: Repo, objects: Objects) -> Iterator[Point]:
    """The worktree before each step of the undo log."""
    for step in reversed(undo_log.read_steps(repo)):
        tree = undo_log.find_tree(objects, step["commit"], "before")
        if tree:
            yield moments.make_point(
                "safety",
                step["commit"],
                step["time"],
                undo_tree.name_worktree_before(step),
                ref=undo_log.get_ref(repo),
                tree=tree,
                content=_join_content(read_tree(objects, tree)),
            )


def _list_committed(repo: Repo, depth: int) -> Iterator[Point]:
    """A point for each session of the checkpoints of HEAD's history."""
    if refs.read_head(repo) is None:
        return
    for commit in commit_list.list_commits(repo, [], [f"-n{depth}"]):
        for checkpoint in commit["checkpoints"]:
            for session in checkpoint.get("contents", ()):
                yield moments.make_point(
                    "committed",
                    commit["oid"],
                    commit["time"],
                    commit["message"],
                    is_logs_only=True,
                    condensation_id=checkpoint["checkpoint_id"],
                    session_id=session["session_id"],
                    session_prompt=(session["asked"] or [""])[-1],
                    base_commit=commit["oid"],
                    tree=commit["tree"],
                )


def _list_expired(repo: Repo, ids: Collection[str], everywhere: bool) -> Iterator[Point]:
    """The points that `gitcp clean` deleted, marked gone."""
    head = refs.read_base(repo)
    for record in expired.list_records(repo):
        here = record["worktree"] in ("", repo.worktree_hash) and record["id"] not in ids
        base = record["base_commit"]
        if here and (everywhere or not base or base == head):
            yield moments.make_point(
                record["kind"],
                record["id"],
                record["time"],
                record["message"],
                session_id=record["session_id"],
                base_commit=base,
                gone=True,
            )


def _map_prompts(repo: Repo) -> dict[str, str]:
    """turn id -> prompt, for the sessions that have a state."""
    return {
        turn_id: str(turn.get("prompt") or "")
        for state in session_read.list_states(repo)
        for turn_id, turn in (state.get("turns") or {}).items()
        if isinstance(turn, dict)
    }


def make_record(point: Point) -> Record:
    """A point as a record, without `content`, which only compares trees."""
    return {"type": "point", **{k: v for k, v in point.items() if k != "content"}}


class Preview:
    """What going to each point would do, all for one scan of the worktree."""

    def __init__(self, repo: Repo, objects: Objects) -> None:
        self._repo, self._objects = repo, objects
        self._present: Present | None = None
        self._prepared: dict[str, Prepared] = {}

    def get_plan(self, point: Point) -> Plan:
        """The plan to go to a point; without actions if no file changes."""
        return self._prepare(point).plan

    def draw_diff(self, point: Point) -> list[str]:
        """The first rows of the patch that going to a point would make."""
        prepared = self._prepare(point)
        trees = prepared.present.tree, prepared.tree
        out = self._repo.git.run(*_DIFF, *trees)[1] if prepared.todo else b""
        return decode_name(out[:_LONGEST]).splitlines()

    def count_verbs(self, point: Point) -> dict[str, int] | None:
        """verb -> number of paths; None for a point that has no files."""
        return plans.count_verbs(self.get_plan(point)["actions"]) if _has_files(point) else None

    def _prepare(self, point: Point) -> Prepared:
        if point["id"] not in self._prepared:
            self._present = self._present or Present(self._repo, self._objects, dry=True)
            way = wishes.go_to_point(point, ()) if _has_files(point) else wishes.wish_nothing()
            try:
                prepared = Prepared(self._present, way)
            except Error as e:
                prepared = Prepared(self._present, wishes.wish_nothing(str(e)))
            self._prepared[point["id"]] = prepared
        return self._prepared[point["id"]]


def _has_files(point: Point) -> bool:
    return not (point["is_logs_only"] or point["gone"])
