"""Points to go back to, as a list: in order, folded, and chosen by a name."""

from __future__ import annotations

from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import TypedDict

    class Point(TypedDict):
        """A moment of the worktree, of a conversation, or of both.

        The keys of the original program's list, and ours: kind is temporary, archived,
        committed, safety, or, of a moment inside a turn, prompt or tool; tree what the worktree
        was ('' where the journal tells it); content what tells two trees apart; incomplete:
        something of it is not known, which lacking names, '.' for anything; gone: its content is
        not in this repository any more; folded: how many equal ones it stands for.
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
NAME_LENGTH = 10  # characters of a point's id that are shown, where they tell it from the others
_NAMED = 5  # paths that are named of those that a point lacks
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
    """A point of which these paths are not known."""
    lacking = list(paths)
    return {**point, "incomplete": bool(lacking), "lacking": lacking}


def describe_lacking(kind: str, paths: Iterable[str]) -> str:
    """What is not known of a point of that kind, in words; '' where all is."""
    names = ["other files" if path == "." else path for path in paths]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    what = "not seen before it" if kind == "tool" else "left out of its snapshot"
    return f"{what}: {', '.join(names[:_NAMED])}{more}" if names else ""


def sort_newest_first(points: Iterable[Point]) -> list[Point]:
    """Points by time; of one moment in the order given."""
    return sorted(points, key=lambda p: -p["time"])


def fold_points(points: Sequence[Point]) -> list[Point]:
    """Points without those whose worktree is that of the next older one of their session, and
    each worktree once that undo kept.

    The older stays: it is the moment at which the worktree became so.
    """
    kept: list[Point] = []
    for point in _fold_steps(points):
        last = kept[-1] if kept else None
        if last and _has_same_worktree(last, point):
            kept[-1] = {**point, "folded": last["folded"] + 1}
        else:
            kept.append(point)
    return kept


def _fold_steps(points: Sequence[Point]) -> Iterator[Point]:
    """The points, and of several steps with the same worktree before them only the oldest."""
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
    """The point whose id or checkpoint id is name, or the only one that begins so; None for none.

    Raises Error when several begin so: it lists them.
    """
    known = list(points)
    exact = [p for p in known if name in (p["id"], p["condensation_id"])]
    begin = [p for p in known if len(name) >= SHORTEST and _begins(p, name)]
    matching = exact or begin
    names = shorten_names(matching)
    if len(names) > 1:
        raise Error(f"ambiguous point '{name}': {' '.join(names.values())}")
    return matching[0] if matching else None


def _begins(point: Point, name: str) -> bool:
    return point["id"].startswith(name) or point["condensation_id"].startswith(name)


def shorten_names(points: Iterable[Point]) -> dict[str, str]:
    """id -> its beginning, long enough to tell it from the ids of the other points."""
    ids = sorted({point["id"] for point in points})
    beside = zip(ids, ["", *ids], [*ids[1:], ""], strict=False)
    return {
        own: own[: max(NAME_LENGTH, 1 + max(_count_common(own, before), _count_common(own, after)))]
        for own, before, after in beside
    }


def _count_common(first: str, second: str) -> int:
    """How many characters both begin with."""
    both = zip(first, second, strict=False)
    return next((n for n, (a, b) in enumerate(both) if a != b), min(len(first), len(second)))
