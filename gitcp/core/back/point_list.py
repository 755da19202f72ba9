"""Sort and fold the list of points to go back to, and choose a point by its name."""

from __future__ import annotations

from posixpath import commonprefix

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypedDict

    class Point(TypedDict):
        """A moment of the worktree, of a conversation, or of both.

        kind: temporary, archived, committed, safety; prompt or tool for a moment within a turn.
        tree: of the worktree, '' if the journal has it.  content: equal for equal worktrees.
        incomplete: the content of the paths in lacking is not known; '.' stands for any path.
        gone: the repository no longer has its content.  folded: number of equal points that this
        one stands for.
        """

        id: str
        kind: str
        message: str
        metadata_dir: str
        date: str
        time: int
        is_task_checkpoint: bool
        tool_use_id: str
        is_logs_only: bool
        condensation_id: str
        session_id: str
        session_prompt: str
        ref: str
        base_commit: str
        tree: str
        content: str
        incomplete: bool
        lacking: list[str]
        gone: bool
        folded: int


SHORTEST = 4  # characters that may name a point
NAME_LENGTH = 10  # shown characters of a point's id, if they are unique
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
}


def mark_lacking(point: Point, paths: Iterable[str]) -> Point:
    """A point whose content of these paths is not known."""
    lacking = list(paths)
    return {**point, "incomplete": bool(lacking), "lacking": lacking}


def describe_lacking(kind: str, paths: Iterable[str]) -> str:
    """The text about the lacking paths of a point of that kind; '' for none."""
    names = ["other files" if path == "." else path for path in paths]
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    what = "not seen before it" if kind == "tool" else "left out of its snapshot"
    return f"{what}: {', '.join(names[:_MOST])}{more}" if names else ""


def sort_newest_first(points: Iterable[Point]) -> list[Point]:
    """Points by time, newest first; those of the same time keep their order."""
    return sorted(points, key=lambda p: -p["time"])


def fold_points(points: Sequence[Point]) -> list[Point]:
    """Points without those that have the worktree of the next older point of their session; of the
    points that undo stored for the same worktree, only the oldest."""
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
    exact = [p for p in all_points if name in (p["id"], p["condensation_id"])]
    matching = exact or [
        p
        for p in all_points
        if len(name) >= SHORTEST
        and (p["id"].startswith(name) or p["condensation_id"].startswith(name))
    ]
    names = shorten_names(matching)
    if len(names) > 1:
        raise Error(f"ambiguous point '{name}': {' '.join(names.values())}")
    return matching[0] if matching else None


def shorten_names(points: Iterable[Point]) -> dict[str, str]:
    """id -> its shortest prefix that no other point's id has, NAME_LENGTH characters at least."""
    ids = sorted({point["id"] for point in points})
    beside = zip(ids, ["", *ids], [*ids[1:], ""], strict=False)
    return {
        own: own[: max(NAME_LENGTH, *(1 + len(commonprefix([own, other])) for other in pair))]
        for own, *pair in beside
    }
