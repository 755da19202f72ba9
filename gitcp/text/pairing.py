"""Pair the equal lines of two texts in nearly linear time; difflib is quadratic.

Lines that one side lacks are dropped first.  A small remainder is matched exactly.  A large one is
split at lines that occur once on each side, in the longest run with the same order (patience
diff).  A remainder without such lines, or past `EFFORT` comparisons a line, is matched by count,
where a moved line is paired too: the difference may then be too small, never too large.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Pairs = list[tuple[int, int]]  # (index in the old text, index in the new one)

SPACE = b" \t\r\v\f"  # a line has no newline
EXACT = 10_000  # pairs of lines compared one by one
EFFORT = 12


def list_keys(lines: Sequence[bytes]) -> list[bytes]:
    """The lines without white space; one call for all is five times as fast as one for each."""
    if lines:
        return b"\n".join(lines).translate(None, SPACE).split(b"\n")
    return []


def count_equal_lines(items: Iterable[bytes]) -> dict[bytes, int]:
    """Return how often each line occurs."""
    counts: dict[bytes, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


def count_same_ends(a: Sequence[object], b: Sequence[object]) -> tuple[int, int]:
    """Return how many lines at the start of two texts are equal, and how many of the others at
    their end."""
    shorter = min(len(a), len(b))
    start = 0
    for one, other in zip(a, b):  # noqa: B905 - to the end of the shorter one
        if one != other:
            break
        start += 1
    end = 0
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    return start, end


def pair_lines(a: Sequence[bytes], b: Sequence[bytes]) -> Pairs:
    """Return the pairs (i, j) of equal lines a[i] and b[j], each index once."""
    start, end = count_same_ends(a, b)
    a_end = len(a) - end
    b_end = len(b) - end
    paired = [(i, i) for i in range(start)]
    paired += zip(range(a_end, len(a)), range(b_end, len(b)), strict=True)
    in_a = set(a[start:a_end])
    in_b = set(b[start:b_end])
    old = [i for i in range(start, a_end) if a[i] in in_b]
    new = [j for j in range(start, b_end) if b[j] in in_a]
    work = [(old, new)]
    effort = EFFORT * (len(a) + len(b))
    while work:
        ends, old, new = _pair_ends(a, b, *work.pop())
        paired += ends
        effort -= len(old) + len(new)
        if len(old) * len(new) <= EXACT:
            paired += _pair_exactly(a, b, old, new)
            continue
        anchors: Pairs = []
        if effort > 0:
            anchors = _pair_anchors([a[i] for i in old], [b[j] for j in new])
        if anchors:
            old_start = 0
            new_start = 0
            for i, j in anchors:
                paired.append((old[i], new[j]))
                if old_start < i and new_start < j:
                    work.append((old[old_start:i], new[new_start:j]))
                old_start = i + 1
                new_start = j + 1
            work.append((old[old_start:], new[new_start:]))
        else:
            paired += _pair_by_count(a, b, old, new)
    return paired


def find_changed_lines(a: Sequence[bytes], b: Sequence[bytes]) -> tuple[list[int], list[int]]:
    """Return the indices of the lines of a that b lacks, and of the lines of b that a lacks."""
    paired = pair_lines(a, b)
    in_a = {i for i, _ in paired}
    in_b = {j for _, j in paired}
    removed = [i for i in range(len(a)) if i not in in_a]
    added = [j for j in range(len(b)) if j not in in_b]
    return removed, added


def _pair_ends(
    a: Sequence[bytes], b: Sequence[bytes], old: list[int], new: list[int]
) -> tuple[Pairs, list[int], list[int]]:
    """Pair the equal lines at the start and at the end; return the pairs and the other lines."""
    start, end = count_same_ends([a[i] for i in old], [b[j] for j in new])
    old_end = len(old) - end
    new_end = len(new) - end
    ends = list(zip(old[:start], new[:start], strict=True))
    ends += zip(old[old_end:], new[new_end:], strict=True)
    return ends, old[start:old_end], new[start:new_end]


def _pair_anchors(a: list[bytes], b: list[bytes]) -> Pairs:
    """Pair lines that occur once in both, in the longest run with the same order in both."""
    from bisect import bisect_left

    in_a = count_equal_lines(a)
    in_b = count_equal_lines(b)
    positions = {line: j for j, line in enumerate(b)}
    once = [(i, positions[line]) for i, line in enumerate(a) if in_a[line] == 1 == in_b.get(line)]
    tops: list[int] = []  # the lowest last line of a run, by the run's length - 1
    ends: list[int] = []  # the number of its pair
    before: list[int] = []  # by pair, the one before it in its run
    for number, (_, j) in enumerate(once):
        length = bisect_left(tops, j)
        before.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [j]
        ends[length : length + 1] = [number]
    run = []
    number = ends[-1] if ends else -1
    while number >= 0:
        run.append(once[number])
        number = before[number]
    return run[::-1]


def _pair_exactly(a: Sequence[bytes], b: Sequence[bytes], old: list[int], new: list[int]) -> Pairs:
    """Pair a longest common subsequence."""
    rows = [[0] * (len(new) + 1)]  # by lines left of old, then of new: how many can be paired
    for i in reversed(old):
        below = rows[-1]
        row = [0]
        for k, j in enumerate(reversed(new)):
            row.append(below[k] + 1 if a[i] == b[j] else max(below[k + 1], row[k]))
        rows.append(row)
    old_left = len(old)
    new_left = len(new)
    paired = []
    while old_left and new_left:
        if a[old[-old_left]] == b[new[-new_left]]:
            paired.append((old[-old_left], new[-new_left]))
            old_left -= 1
            new_left -= 1
        elif rows[old_left - 1][new_left] >= rows[old_left][new_left - 1]:
            old_left -= 1
        else:
            new_left -= 1
    return paired


def _pair_by_count(a: Sequence[bytes], b: Sequence[bytes], old: list[int], new: list[int]) -> Pairs:
    places: dict[bytes, list[int]] = {}
    for i in reversed(old):
        places.setdefault(a[i], []).append(i)
    return [(places[b[j]].pop(), j) for j in new if places.get(b[j])]
