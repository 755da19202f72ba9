"""Pair the equal lines of two texts in nearly linear time; difflib is quadratic.

Lines that one side lacks are dropped first.  A small remainder is matched exactly.  A large one is
split at lines that occur once on each side, in the longest run with the same order (patience
diff).  A remainder without such lines, or past `EFFORT` comparisons a line, is matched by count,
where a moved line is paired too: the difference may then be too small, never too large.
"""

from __future__ import annotations

from gitcp.start import stdlib

EXACT = 10_000  # pairs of lines compared one by one
EFFORT = 12

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Pairs = list[tuple[int, int]]


def split_lines(data: bytes | None) -> list[bytes]:
    """Return the lines of a text without their newlines; the last line may lack its newline."""
    return data.removesuffix(b"\n").split(b"\n") if data else []


def count_equal_lines(items: Iterable[bytes]) -> dict[bytes, int]:
    """Return how often each line occurs."""
    counts: dict[bytes, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


def group_runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return (first, last) of each run of consecutive numbers, in order."""
    spans: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return spans


def count_same_ends(a: Sequence[bytes], b: Sequence[bytes]) -> tuple[int, int]:
    """Return how many lines at the start of two texts are equal, and how many of the others at
    their end."""
    shorter, start, end = min(len(a), len(b)), 0, 0
    while start < shorter and a[start] == b[start]:
        start += 1
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    return start, end


def pair_lines(a: Sequence[bytes], b: Sequence[bytes]) -> Pairs:
    """Return the pairs (i, j) of equal lines a[i] and b[j], each index once."""
    start, end = count_same_ends(a, b)
    last, after = len(a) - end, len(b) - end
    paired = [*zip(range(start), range(start), strict=True)]
    paired += zip(range(last, len(a)), range(after, len(b)), strict=True)
    in_a, in_b = set(a[start:last]), set(b[start:after])
    old = [i for i in range(start, last) if a[i] in in_b]
    work = [(old, [j for j in range(start, after) if b[j] in in_a])]
    effort = EFFORT * (len(a) + len(b))
    while work:
        ends, old, new = _pair_ends(a, b, *work.pop())
        paired += ends
        effort -= len(old) + len(new)
        if len(old) * len(new) <= EXACT:
            paired += _pair_exactly(a, b, old, new)
        elif (
            anchors := _pair_anchors([a[i] for i in old], [b[j] for j in new]) if effort > 0 else []
        ):
            paired += [(old[i], new[j]) for i, j in anchors]
            steps = zip([(-1, -1), *anchors], [*anchors, (len(old), len(new))], strict=True)
            work += [(old[i + 1 : k], new[j + 1 : n]) for (i, j), (k, n) in steps]
        else:
            paired += _pair_by_count(a, b, old, new)
    return paired


def find_changed_lines(a: Sequence[bytes], b: Sequence[bytes]) -> tuple[list[int], list[int]]:
    """Return the indices of the lines of a that b lacks, and of the lines of b that a lacks."""
    paired = pair_lines(a, b)
    in_a, in_b = {i for i, _ in paired}, {j for _, j in paired}
    removed = [i for i in range(len(a)) if i not in in_a]
    return removed, [j for j in range(len(b)) if j not in in_b]


def _pair_ends(
    a: Sequence[bytes], b: Sequence[bytes], old: list[int], new: list[int]
) -> tuple[Pairs, list[int], list[int]]:
    """Pair the equal lines at the start and at the end; return the pairs and the other lines."""
    start, end = count_same_ends([a[i] for i in old], [b[j] for j in new])
    ends = list(zip(old[:start], new[:start], strict=True))
    ends += zip(old[len(old) - end :], new[len(new) - end :], strict=True)
    return ends, old[start : len(old) - end], new[start : len(new) - end]


def _pair_anchors(a: list[bytes], b: list[bytes]) -> Pairs:
    """Pair lines that occur once in both, in the longest run with the same order in both."""
    in_a, in_b = count_equal_lines(a), count_equal_lines(b)
    positions = {x: j for j, x in enumerate(b)}
    once = [(i, positions[x]) for i, x in enumerate(a) if in_a[x] == 1 == in_b.get(x)]
    tops: list[int] = []  # the lowest last line of a run, by the run's length - 1
    ends: list[int] = []  # the number of its pair
    before: list[int] = []
    for n, (_, j) in enumerate(once):
        k = stdlib.bisect.bisect_left(tops, j)
        before.append(ends[k - 1] if k else -1)
        tops[k : k + 1], ends[k : k + 1] = [j], [n]
    run = []
    n = ends[-1] if ends else -1
    while n >= 0:
        run.append(once[n])
        n = before[n]
    return run[::-1]


def _pair_exactly(a: Sequence[bytes], b: Sequence[bytes], old: list[int], new: list[int]) -> Pairs:
    """Pair a longest common subsequence."""
    rows = [[0] * (len(new) + 1)]
    for i in reversed(old):
        row, below = [0], rows[-1]
        for k, j in enumerate(reversed(new)):
            row.append(below[k] + 1 if a[i] == b[j] else max(below[k + 1], row[k]))
        rows.append(row)
    i, j = len(old), len(new)  # lines left of each
    paired = []
    while i and j:
        if a[old[-i]] == b[new[-j]]:
            paired.append((old[-i], new[-j]))
            i, j = i - 1, j - 1
        elif rows[i - 1][j] >= rows[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return paired


def _pair_by_count(a: Sequence[bytes], b: Sequence[bytes], old: list[int], new: list[int]) -> Pairs:
    places: dict[bytes, list[int]] = {}
    for i in reversed(old):
        places.setdefault(a[i], []).append(i)
    return [(places[b[j]].pop(), j) for j in new if places.get(b[j])]
