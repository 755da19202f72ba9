"""Where two contents differ: the gaps between pairs of lines that can be relied on.

A formatter leaves most lines alone and writes others in another way; what such a line came from
stands at the same place.  A row of equal lines is firm if one of them can be known by its key, or
if it is the start or the end of both contents: a bracket alone says nothing.  Neither does a line
alone that is there several times.
"""

from __future__ import annotations

from gitcp.text.carry.text import is_telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.text.carry.text import Text


class Gap:
    """Lines of before and the lines of after that stand in their place: indices, the end not
    included."""

    __slots__ = ("new_end", "new_start", "old_end", "old_start")

    def __init__(self, old_start: int, old_end: int, new_start: int, new_end: int) -> None:
        self.old_start = old_start
        self.old_end = old_end
        self.new_start = new_start
        self.new_end = new_end


class _Row:
    """Lines of after that are paired with lines of before, each with the one after the last."""

    __slots__ = ("count", "new", "old")

    def __init__(self, old: int, new: int) -> None:
        self.old = old
        self.new = new
        self.count = 1


def find_gaps(before: Text, after: Text, origins: Sequence[int]) -> list[Gap]:
    """The gaps that have lines on both sides.

    origins: by index in after, the index of the equal line of before, or -1.
    """
    gaps = []
    old = 0
    new = 0
    for row in _list_firm_rows(before, after, origins):
        if row.old < old:
            continue  # it crosses the row before it: where lines are paired by count
        if row.old > old and row.new > new:
            gaps.append(Gap(old, row.old, new, row.new))
        old = row.old + row.count
        new = row.new + row.count
    if len(before.lines) > old and len(after.lines) > new:
        gaps.append(Gap(old, len(before.lines), new, len(after.lines)))
    return gaps


def _list_firm_rows(before: Text, after: Text, origins: Sequence[int]) -> Iterator[_Row]:
    for row in _list_rows(origins):
        new_end = row.new + row.count
        is_start = row.new == 0 and row.old == 0
        is_end = new_end == len(after.lines) and row.old + row.count == len(before.lines)
        if is_start or is_end or _is_known(row, before, after):
            yield row


def _is_known(row: _Row, before: Text, after: Text) -> bool:
    """Whether the lines of a row say where they are from."""
    keys = after.keys[row.new : row.new + row.count]
    if not any(map(is_telling, keys)):
        return False
    return row.count > 1 or before.keys.count(keys[0]) == 1 == after.keys.count(keys[0])


def _list_rows(origins: Sequence[int]) -> list[_Row]:
    rows: list[_Row] = []
    following = -1  # the line of before that would go on with the last row
    for new, old in enumerate(origins):
        if old >= 0:
            if old == following:
                rows[-1].count += 1
            else:
                rows.append(_Row(old, new))
            following = old + 1
        else:
            following = -1
    return rows
