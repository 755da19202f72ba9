"""Paths whose content came from another path, which was deleted or has a new content."""

from __future__ import annotations

from gitcp.text.ids import EMPTY, remove_space
from gitcp.text.pairing import count_equal_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Lines = Callable[[str], Sequence[bytes]]  # of an oid

_NOTHING = ("", *EMPTY)  # contents that tell nothing
_MOST = 400  # pairs whose lines are compared


def find_moves(
    deleted: Mapping[str, str], created: Mapping[str, str], lines: Lines
) -> dict[str, str]:
    """new path -> the path it was moved from.  deleted, created: path -> oid.

    Each deleted path is used once: for the same content first, then for the most similar one that
    shares more than half of its lines, blank ones aside.
    """
    origins: dict[str, str] = {}
    left = {path: oid for path, oid in deleted.items() if oid not in EMPTY}
    for path, oid in created.items():
        same = next((old for old, old_oid in left.items() if old_oid == oid), None)
        if same is not None:
            origins[path] = same
            del left[same]
    unpaired = [path for path in created if path not in origins]
    if len(unpaired) * len(left) > _MOST:
        return origins
    scores: list[tuple[float, str, str]] = []
    for new in unpaired:
        for old, oid in left.items():
            likeness = _compute_likeness(lines(oid), lines(created[new]))
            if likeness > 0.5:
                scores.append((likeness, new, old))
    for _, new, old in sorted(scores, reverse=True):
        if new not in origins and old in left:
            origins[new] = old
            del left[old]
    return origins


def find_origins(changed: Mapping[str, tuple[str, str]], lines: Lines) -> dict[str, str]:
    """new path -> the path its content came from, for the changes of one look.

    changed: path -> oid before and after, '' for no file.  Besides the results of find_moves(), a
    path that took the former content of another changed path comes from that one: two files were
    swapped, or one was moved and another one created in its place.
    """
    deleted = {path: old for path, (old, new) in changed.items() if not new}
    created = {path: new for path, (old, new) in changed.items() if not old}
    sources = find_moves(deleted, created, lines)
    taken = set(sources.values())
    left: dict[str, str] = {}  # by content
    for path, (old, new) in changed.items():
        if old != new and path not in taken:
            left[old] = path
    for path, (old, new) in changed.items():
        if path in sources or new == old or new in _NOTHING:
            continue
        if new in left:
            sources[path] = left.pop(new)
    return sources


def _compute_likeness(a: Sequence[bytes], b: Sequence[bytes]) -> float:
    """The share of the longer text's lines that both have, white space and blank lines aside."""
    lines_a = _list_bare(a)
    lines_b = _list_bare(b)
    counts = count_equal_lines(lines_b)
    common = sum(min(n, counts.get(line, 0)) for line, n in count_equal_lines(lines_a).items())
    return common / max(len(lines_a), len(lines_b), 1)


def _list_bare(lines: Sequence[bytes]) -> list[bytes]:
    return [bare for bare in map(remove_space, lines) if bare]
