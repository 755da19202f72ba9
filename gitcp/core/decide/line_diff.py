"""Which lines went and which came between two texts, in time that is nearly linear.

difflib is quadratic and minutes slow where it matters.  Here lines that only one side has are
set apart; the others are matched from lines that occur once on each side, longest rising run
first, and again between those (the patience way); small rests exactly.  What is left, or would
take more than `EFFORT` looks at each line, is matched as sets with counts, so that a line that
only moved counts as unchanged there: the result may then be too small, never too large.
"""

from __future__ import annotations

from bisect import bisect_left

EXACT = 2_500  # pairs of lines compared one by one in a rest without unique lines
EFFORT = 12

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def lines(data: bytes | None) -> list[bytes]:
    """Return the lines of a text without their newlines; a last line may lack its own."""
    return data.removesuffix(b"\n").split(b"\n") if data else []


def counted(items: Iterable[bytes]) -> dict[bytes, int]:
    """Count equal lines."""
    counts: dict[bytes, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts


def changed(a: list[bytes], b: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the lines of a that b has lost and the lines of b that a has not."""
    in_a, in_b = set(a), set(b)
    removed = [line for line in a if line not in in_b]
    added = [line for line in b if line not in in_a]
    work = [([x for x in a if x in in_b], [x for x in b if x in in_a])]
    effort = EFFORT * (len(a) + len(b))
    while work:
        old, new = _trimmed(*work.pop())
        effort -= len(old) + len(new)
        pairs = _anchors(old, new) if old and new and effort > 0 else []
        if pairs:
            ends = zip([(-1, -1), *pairs], [*pairs, (len(old), len(new))], strict=True)
            work += [(old[i + 1 : k], new[j + 1 : n]) for (i, j), (k, n) in ends]
            continue
        small = len(old) * len(new) <= EXACT
        gone, come = (_exactly if small else _as_sets)(old, new)
        removed += gone
        added += come
    return removed, added


def _trimmed(a: list[bytes], b: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Leave out what both begin with and what both end with."""
    shorter = min(len(a), len(b))
    start = 0
    while start < shorter and a[start] == b[start]:
        start += 1
    end = 0
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    return a[start : len(a) - end], b[start : len(b) - end]


def _anchors(a: list[bytes], b: list[bytes]) -> list[tuple[int, int]]:
    """Pair the lines that both have once, as many as keep their order in both."""
    at, in_a, in_b = {x: j for j, x in enumerate(b)}, counted(a), counted(b)
    once = [(i, at[x]) for i, x in enumerate(a) if in_a[x] == 1 == in_b.get(x)]
    tops: list[int] = []  # the lowest end of a rising run, by its length
    ends: list[int] = []  # which pair that is
    before: list[int] = []
    for n, (_, j) in enumerate(once):
        k = bisect_left(tops, j)
        before.append(ends[k - 1] if k else -1)
        tops[k : k + 1], ends[k : k + 1] = [j], [n]
    pairs = []
    n = ends[-1] if ends else -1
    while n >= 0:
        pairs.append(once[n])
        n = before[n]
    return pairs[::-1]


def _exactly(a: list[bytes], b: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Match a longest common subsequence."""
    rows = [[0] * (len(b) + 1)]
    for x in reversed(a):
        row, below = [0], rows[-1]
        for j in range(len(b)):
            y = b[-1 - j]
            row.append(below[j] + 1 if x == y else max(below[j + 1], row[j]))
        rows.append(row)
    i, j = len(a), len(b)  # how many are left of each
    removed, added = [], []
    while i and j:
        if a[-i] == b[-j]:
            i, j = i - 1, j - 1
        elif rows[i - 1][j] >= rows[i][j - 1]:
            removed.append(a[-i])
            i -= 1
        else:
            added.append(b[-j])
            j -= 1
    return removed + a[len(a) - i :], added + b[len(b) - j :]


def _as_sets(a: list[bytes], b: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    in_a, in_b = counted(a), counted(b)
    return _surplus(in_a, in_b), _surplus(in_b, in_a)


def _surplus(a: dict[bytes, int], b: dict[bytes, int]) -> list[bytes]:
    return [x for x, n in a.items() for _ in range(n - b.get(x, 0))]
