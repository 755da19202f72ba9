"""Find the commit that added a line of a file, by the patches of a range alone."""

from __future__ import annotations

from itertools import repeat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.git.patches import Hunk

    Step = tuple[str, str, str, Sequence[Hunk]]  # a commit, a file's blob before and after, hunks
    Origin = tuple[str, int]  # commit, line there from 1


def trace_lines(steps: Sequence[Step], before: str, after: str) -> dict[int, Origin] | None:
    """Line of a file, from 1 -> its origin, for the lines that steps added.

    steps: newest first, as git log has them.  before, after: the file's blobs at the ends.  None
    if the steps do not lead from before to after, as those of two branches do not.
    """
    origins: list[Origin | None] = []  # all lines after them were there before
    blob = before
    for commit, old, new, hunks in reversed(steps):
        if not old or old != blob:
            return None
        blob, end = new, 0  # end: of the last hunk in old
        lines: list[Origin | None] = []
        for start, removed, first, added in hunks:
            begin = start - 1 if removed else start
            unchanged = origins[end:begin]
            lines += [*unchanged, *repeat(None, begin - end - len(unchanged))]
            lines += [(commit, n) for n in range(first, first + added)]
            end = begin + removed
        origins = [*lines, *origins[end:]]
    if blob != after:
        return None
    return {n: origin for n, origin in enumerate(origins, 1) if origin}
