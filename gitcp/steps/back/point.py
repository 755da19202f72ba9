"""A point to go back to; points sorted, folded and chosen by name (doc/behaviour.md "Going
back")."""

from __future__ import annotations

from posixpath import commonprefix

from gitcp.errors import Error
from gitcp.text import map_fields, replace, short_ids, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.text.record_types import Record

SHORTEST = 4  # characters that may name a point
_MOST = 5  # lacking paths in a message
AFTER = ":after"  # ends the name of the moment after a turn or tool use
KINDS = ("prompt", "tool")  # of the points that are moments inside a turn


# `make generate` writes the comments of a type's keys into the manual and the schema.
@value_class
class Point:
    """A moment of the worktree, of a conversation, or of both."""

    id: str
    kind: str  # prompt and tool for a moment within a turn
    message: str = ""
    metadata_dir: str = ""
    date: str = ""
    time: int = 0
    is_task_checkpoint: bool = False  # true for the work of a subagent
    tool_use_id: str = ""
    is_logs_only: bool = False  # true for a conversation alone
    condensation_id: str = ""  # the committed checkpoint
    session_id: str = ""
    session_prompt: str = ""
    ref: str = ""
    base_commit: str = ""
    tree: str = ""  # of the worktree, empty if the journal has it
    content: str = ""  # not printed: a fingerprint of the worktree
    incomplete: bool = False  # true if the content of some paths is not known
    lacking: Sequence[str] = ()  # those paths; . for any path
    gone: bool = False  # true if the repository no longer has its content
    folded: int = 0  # the number of equal points that this one stands for
    worktree: str = ""  # the removed worktree whose point it is, empty for this one

    @property
    def is_moment(self) -> bool:
        """Whether it is a moment inside a turn, of which the journal has the worktree."""
        return self.kind in KINDS

    @property
    def is_after(self) -> bool:
        """Whether it is the moment after a turn or tool use."""
        return self.id.endswith(AFTER)

    @property
    def moment_id(self) -> str:
        """The id of its turn or tool use."""
        return self.id.removesuffix(AFTER)

    @property
    def can_be_gone_to(self) -> bool:
        """Whether going there can change the worktree: not to a commit that has a conversation
        alone, and not to a point whose content is gone."""
        return not (self.is_logs_only or self.gone)

    def make_record(self) -> Record:
        """It as a record."""
        record = map_fields(self)
        del record["content"]
        return {"type": "point", **record}


def mark_lacking(point: Point, paths: Iterable[str]) -> Point:
    """The point, marked as lacking the content of these paths."""
    lacking = list(paths)
    return replace(point, incomplete=bool(lacking), lacking=lacking)


def describe_lacking(kind: str, paths: Iterable[str]) -> str:
    """The text about the lacking paths of a point of that kind; '' for none."""
    names: list[str] = []
    for path in paths:
        if path == ".":
            names.append("other files")
        else:
            names.append(path)
    if not names:
        return ""
    what = "not saved with it"
    if kind == "tool":
        what = "not seen before it"
    text = f"{what}: {', '.join(names[:_MOST])}"
    if len(names) > _MOST:
        text += f" and {len(names) - _MOST} more"
    return text


def sort_newest_first(points: Iterable[Point]) -> list[Point]:
    """Points by time, newest first; those of the same time keep their order."""
    return sorted(points, key=lambda point: -point.time)


def fold_points(points: Sequence[Point]) -> list[Point]:
    """Fold runs of a session's points with the same worktree into the oldest of them; do the same
    for undo's points."""
    folded: list[Point] = []
    for point in _fold_steps(points):
        if folded and _has_same_worktree(folded[-1], point):
            folded[-1] = replace(point, folded=folded[-1].folded + 1)
        else:
            folded.append(point)
    return folded


def _fold_steps(points: Sequence[Point]) -> Iterator[Point]:
    """Yield the points; of the safety points with the same worktree only the oldest."""
    safe = [p.content for p in points if p.kind == "safety" and p.content]
    left = {content: safe.count(content) for content in safe}
    total = dict(left)
    for point in points:
        content = point.content
        if point.kind != "safety" or content not in left:
            yield point
            continue
        left[content] -= 1
        if not left[content]:
            yield replace(point, folded=total[content] - 1)


def _has_same_worktree(newer: Point, older: Point) -> bool:
    if not older.content or older.gone or newer.content != older.content:
        return False
    if newer.session_id != older.session_id or newer.kind != older.kind:
        return False
    return newer.session_prompt == older.session_prompt


def choose_point(points: Iterable[Point], name: str) -> Point | None:
    """The point whose id or checkpoint id is name, or the only one whose id begins with it; None if
    there is none.  Raise Error, which lists them, if there are several."""
    all_points = list(points)
    matching: list[Point] = []
    if name:
        matching = [p for p in all_points if name in (p.id, p.condensation_id)]
    if not matching and len(name) >= SHORTEST:
        matching = [p for p in all_points if _is_named(p, name)]
    names = shorten_names(matching)
    if len(names) > 1:
        raise Error(f"ambiguous point '{name}': {' '.join(names.values())}")
    if matching:
        return matching[0]
    return None


def _is_named(point: Point, name: str) -> bool:
    return short_ids.is_named(point.id, name) or point.condensation_id.startswith(name)


def shorten_names(points: Iterable[Point]) -> dict[str, str]:
    """id -> the name of a point in a list."""
    return shorten_ids(point.id for point in points)


def shorten_ids(ids: Iterable[str]) -> dict[str, str]:
    """id -> the name of its point in a list: short_ids.DIGITS digits of the id, more where another
    one begins alike; those of its SHA-1 where the id is a client's."""
    every = sorted(set(ids))
    hashes = [own for own in every if not own.strip("0123456789abcdef")]
    names: dict[str, str] = {}
    for number, own in enumerate(hashes):
        beside = hashes[max(0, number - 1) : number] + hashes[number + 1 : number + 2]
        alike = max((len(commonprefix([own, other])) for other in beside), default=0)
        names[own] = own[: max(short_ids.DIGITS, 1 + alike)]
    for own in every:
        if own not in names:
            names[own] = short_ids.shorten_id(own)
    return names
