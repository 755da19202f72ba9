"""Whether a commit touches a place where a session's changes of a file stand, or stood
(doc/credit.md "Linking by evidence").

A place is a range of lines of the commit's parent: those that a change replaced, or the gap where
it put lines in.  A change that was made on another content is placed by the lines around it that
both have.
"""

from __future__ import annotations

from bisect import bisect_left

from gitcp.text import value_class
from gitcp.text.ids import remove_space
from gitcp.text.line_evidence import split_lines
from gitcp.text.pairing import pair_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.record.match.units import Texts


@value_class
class TextRange:
    """Lines of a text: the first, and that after the last one; equal for a gap before that line."""

    first: int
    end: int

    @property
    def is_gap(self) -> bool:
        return self.first == self.end


def touches_change(edits: Iterable[Texts], change: Texts) -> bool:
    """Return whether a commit's change of a text touches a place of one of the edits."""
    lines = split_lines(change.before)
    hunks = _find_hunks(lines, split_lines(change.after))
    for edit in edits:
        before = split_lines(edit.before)
        places = _find_hunks(before, split_lines(edit.after))
        if edit.before != change.before:
            places = _follow_places(places, before, lines)
        for place in places:
            if any(_do_meet(place, hunk) for hunk in hunks):
                return True
    return False


def _find_hunks(old: Sequence[bytes], new: Sequence[bytes]) -> list[TextRange]:
    """Return the places of old at which new differs."""
    hunks: list[TextRange] = []
    old_end = 0
    new_end = 0
    for i, j in [*sorted(pair_lines(old, new)), (len(old), len(new))]:
        if i > old_end or j > new_end:
            hunks.append(TextRange(old_end, i))
        old_end = i + 1
        new_end = j + 1
    return hunks


def _follow_places(
    places: Iterable[TextRange], before: Sequence[bytes], old: Sequence[bytes]
) -> list[TextRange]:
    """Return where places of one content are in another: between the lines around them that both
    have."""
    pairs = sorted(pair_lines(_list_keys(before), _list_keys(old)))
    known = [i for i, _ in pairs]
    followed: list[TextRange] = []
    for place in places:
        above = bisect_left(known, place.first)
        below = bisect_left(known, place.end)
        start = 0
        if above:
            start = pairs[above - 1][1] + 1
        stop = len(old)
        if below < len(pairs):
            stop = pairs[below][1]
        followed.append(TextRange(start, stop))
    return followed


def _list_keys(lines: Iterable[bytes]) -> list[bytes]:
    return [remove_space(line) for line in lines]


def _do_meet(one: TextRange, other: TextRange) -> bool:
    """Whether two places have a line in common, or one is a gap within or beside the other."""
    first = max(one.first, other.first)
    end = min(one.end, other.end)
    if one.is_gap or other.is_gap:
        return first <= end
    return first < end
