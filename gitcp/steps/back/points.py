"""The points to go back to: temporary, archived and committed checkpoints, steps of the undo log
and moments inside a turn (doc/behaviour.md "Going back")."""

from __future__ import annotations

import json

from gitcp.checkpoints import format
from gitcp.errors import Error
from gitcp.git import decode_name, refs
from gitcp.git.objects import Lookup, parse_ident, read_commit, read_tree
from gitcp.git.objects.object_lists import list_commits
from gitcp.link import commits
from gitcp.record import stream
from gitcp.record.stream import expired_points, stream_list
from gitcp.record.turn import sessions
from gitcp.steps import undo, undo_tree
from gitcp.steps.back import removed
from gitcp.steps.back.moments import describe_place, list_moments, name_commands
from gitcp.steps.back.point import (
    AFTER,
    Point,
    choose_point,
    fold_points,
    mark_lacking,
    sort_newest_first,
)
from gitcp.steps.back.present import KeptEdits, read_kept_edits
from gitcp.text import replace, term, value_class
from gitcp.text.ids import SESSION_KEY
from gitcp.text.spans import abbreviate
from gitcp.text.times import format_utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Record, Tip

_LACKING = ("too-large", "unreadable")
COMMITS = 50  # of HEAD's history that are searched for committed points


def list_points(repo: Repo, everywhere: bool = False, depth: int = COMMITS) -> list[Point]:
    """The points of read_points(), with those that change nothing folded and each call named by its
    command."""
    found = read_points(repo, everywhere, depth)
    if everywhere:
        found = sort_newest_first([*found, *_list_removed_moments(repo)])
    return name_commands(repo, fold_points(found))


def read_points(repo: Repo, everywhere: bool = False, depth: int = COMMITS) -> list[Point]:
    """Every point of this worktree, newest first.

    everywhere: also points of other bases, checkpoints of worktrees that were removed, and moments
    that were cut from the journal.  depth: the number of commits that are searched.
    """
    points = [*_list_temporary(repo, everywhere), *_list_steps(repo)]
    kept = read_kept_edits(repo)
    moments = kept.list_moments(everywhere)
    points += list_moments(moments, map_prompts(repo), kept.map_commands())
    points += _list_committed(repo, depth)
    points += _list_expired(repo, {point.id for point in points}, everywhere)
    return sort_newest_first(points)


def _list_removed_moments(repo: Repo) -> list[Point]:
    """The moments of worktrees that were removed."""
    points: list[Point] = []
    for gone in removed.list_removed(repo):
        moments = KeptEdits(repo, gone.lines).list_moments(everywhere=True)
        base = removed.find_base(gone)
        for point in list_moments(moments, map_prompts(repo), {}):
            points.append(_mark_removed(replace(point, base_commit=base), gone.name))
    return points


def _mark_removed(point: Point, name: str) -> Point:
    """The point as one of a worktree of that name, which was removed."""
    marked = replace(point, worktree=name)
    return replace(marked, message=marked.message + describe_place(marked))


class NoPoint(Error):
    """A name that no point has."""


def find_point(repo: Repo, name: str, everywhere: bool = True) -> Point:
    """The point of a name: the beginning of its or its checkpoint's id, or HEAD.

    With AFTER appended it names the moment after a turn or tool use.  Without everywhere, points of
    this base go before others.  Raises NoPoint when there is none, Error when several match or a
    commit has taken the point.
    """
    if name == "HEAD":
        return _read_head(repo.objects)
    for point in _list_temporary(repo, True):
        if point.id == name:
            return point
    short = name.removesuffix(AFTER)
    found = None
    if not everywhere:
        found = choose_point(read_points(repo), short)
    points: list[Point] = []
    if found is None:
        points = read_points(repo, everywhere=True)
        found = choose_point(points, short)
    if found is None:
        found = choose_point(_list_removed_moments(repo), short)
    if found is None:
        _refuse_taken(repo, points, name)
        raise NoPoint(f"no such point: '{name}' ('gitcp rewind --list' shows them)")
    if short != name:
        message = found.message.replace("before", "after", 1)
        return mark_lacking(replace(found, id=found.id + AFTER, message=message), ())
    return found


def _refuse_taken(repo: Repo, points: Iterable[Point], name: str) -> None:
    """Raise Error for a point whose work a commit has taken."""
    taken_by = _find_successor(repo, points, name)
    if taken_by:
        commit = abbreviate(taken_by)
        ways = f"'gitcp rewind --to HEAD' or 'gitcp show {commit}'"
        raise Error(f"point '{name}' became commit {commit}: {ways}")


def _read_head(objects: Objects) -> Point:
    commit = read_commit(objects, "HEAD")
    if commit is None:
        raise Error("there is no commit yet")
    oid = commit["oid"]
    seconds = parse_ident(commit["committer"])[1]
    return Point(
        oid,
        "committed",
        commit["message"].partition("\n")[0],
        time=seconds,
        date=format_utc(seconds),
        base_commit=oid,
        tree=commit["tree"],
    )


def _find_successor(repo: Repo, points: Iterable[Point], name: str) -> str | None:
    """The commit that took the work of a temporary checkpoint, which then is no point any more;
    None if no such checkpoint begins with name."""
    oid = commits.find_temporary(repo, name)
    if not oid:
        return None
    commit = read_commit(repo.objects, oid)
    if commit is None:
        return None
    session_id = stream.find_trailer(commit["message"], SESSION_KEY)
    base = stream.find_trailer(commit["message"], "Base-Commit")
    committed: set[str] = set()
    for point in points:
        if point.session_id == session_id and point.kind == "committed":
            committed.add(point.id)
    if not base or not committed:
        return None
    for since in list_commits(repo, "--reverse", f"^{base}", "HEAD"):
        if since in committed:
            return since
    return None


@value_class
class _Scope:
    """Which streams are listed: those on a HEAD, or everywhere.  others: the hashes of the other
    worktrees that are there."""

    head: str
    others: Collection[str]
    everywhere: bool


def _list_temporary(repo: Repo, everywhere: bool) -> Iterator[Point]:
    others = removed.list_hashes(repo) - {repo.worktree_hash}
    scope = _Scope(refs.read_base(repo), others, everywhere)
    names: Mapping[str, str] = {}
    if everywhere:
        names = removed.map_names(repo)
    tips = [tip for tip in stream.list_tips(repo) if _is_listed(repo, tip, scope)]
    for ref, chain in stream_list.read_chains(repo, tips).items():
        place = stream_list.parse_ref(ref)
        for checkpoint in chain:
            if checkpoint["message"] in (stream.CARRIED, stream.FOLLOWED):
                continue
            point = _build_point(repo.objects, checkpoint, place.kind)
            if not place.is_here(repo):
                point = _mark_removed(point, names.get(place.worktree, place.worktree))
            yield point


def _is_listed(repo: Repo, tip: Tip, scope: _Scope) -> bool:
    """Whether a stream is one of this worktree, or, if everywhere, of one that was removed."""
    place = stream_list.parse_ref(tip["ref"])
    is_hidden = not scope.everywhere or place.worktree in scope.others
    if is_hidden and not place.is_here(repo):
        return False
    if scope.everywhere or place.kind != "archived":
        return True
    return tip["base"].startswith(scope.head[: len(tip["base"])])


def _build_point(objects: Objects, checkpoint: Record, kind: str) -> Point:
    """The point of a temporary checkpoint; `gone` is true if objects of it are missing."""
    if kind != "archived":
        kind = "temporary"
    point = Point(
        checkpoint["oid"],
        kind,
        checkpoint["message"],
        stream.METADATA + checkpoint["session_id"],
        format_utc(checkpoint["time"]),
        checkpoint["time"],
        checkpoint["is_task_checkpoint"],
        checkpoint["tool_use_id"],
        session_id=checkpoint["session_id"],
        ref=checkpoint["ref"],
        base_commit=checkpoint["base_commit"],
        tree=checkpoint["tree"],
    )
    try:
        content = _join_content(read_tree(objects, point.tree))
        files = Lookup(objects, point.tree).read_folder(point.metadata_dir)
        prompt = _read_prompt(objects, files)
        lacking = _list_omitted(objects, files)
    except Error:
        return replace(point, gone=True)
    return mark_lacking(replace(point, content=content, session_prompt=prompt), lacking)


def _list_omitted(objects: Objects, files: Mapping[str, Entry]) -> list[str]:
    """The files that a snapshot lacks for their size or because they could not be read."""
    entry = files.get("omitted.json")
    if entry is None:
        return []
    listed = json.loads(objects.need(entry[1], "blob"))
    return [item["path"] for item in listed if item["reason"] in _LACKING]


def _read_prompt(objects: Objects, files: Mapping[str, Entry]) -> str:
    entry = files.get(format.PROMPT)
    prompts = ""
    if entry:
        prompts = decode_name(objects.need(entry[1], "blob"))
    return prompts.rpartition(format.SEPARATOR)[2]


def _join_content(root: Mapping[str, Entry]) -> str:
    """The entries of a root tree as text, without `.entire/`; equal for equal worktrees."""
    return " ".join(
        f"{name}\0{oid}" for name, (_, oid) in sorted(root.items()) if name != ".entire"
    )


def _list_steps(repo: Repo) -> Iterator[Point]:
    """The worktree before each step of the undo log."""
    for step in reversed(undo.read_steps(repo)):
        tree = undo.find_tree(repo.objects, step.commit, "before")
        if tree:
            yield Point(
                step.commit,
                "safety",
                undo_tree.name_worktree_before(step, term.format_clock(step.time)),
                time=step.time,
                date=format_utc(step.time),
                ref=undo.get_ref(repo),
                tree=tree,
                content=_join_content(read_tree(repo.objects, tree)),
            )


def _list_committed(repo: Repo, depth: int) -> Iterator[Point]:
    """A point for each session of the checkpoints of HEAD's history."""
    if refs.read_head(repo) is None:
        return
    for commit in commits.list_commits(repo, [], [f"-n{depth}"]):
        for checkpoint in commit["checkpoints"]:
            for session in checkpoint.get("contents", ()):
                yield Point(
                    commit["oid"],
                    "committed",
                    commit["message"],
                    time=commit["time"],
                    date=format_utc(commit["time"]),
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
    for record in expired_points.list_records(repo):
        if record["worktree"] not in ("", repo.worktree_hash) or record["id"] in ids:
            continue
        base = record["base_commit"]
        if everywhere or base in ("", head):
            yield Point(
                record["id"],
                record["kind"],
                record["message"],
                time=record["time"],
                date=format_utc(record["time"]),
                session_id=record["session_id"],
                base_commit=base,
                gone=True,
            )


def map_prompts(repo: Repo) -> dict[str, str]:
    """turn id -> prompt, for the sessions that have a state."""
    found: dict[str, str] = {}
    for state in sessions.list_states(repo):
        for turn_id, turn in (state.get("turns") or {}).items():
            if isinstance(turn, dict):
                found[turn_id] = str(turn.get("prompt") or "")
    return found
