"""Which commit put in a line of a file, by the patches of a range alone."""

from __future__ import annotations

from itertools import repeat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.git.patches import Hunk

    # What a commit did to a file: the commit, the blob before and after, the hunks between.
    Step = tuple[str, str, str, Sequence[Hunk]]
    Origin = tuple[str, int]  # commit, line there from 1


def trace_lines(steps: Sequence[Step], before: str, after: str) -> dict[int, Origin] | None:
    """Line of a file, from 1 -> where it came from, of those that steps put in.

    steps: newest first, as git log has them.  before, after: the file's blobs at the ends.  None
    where the steps do not lead from the one to the other, as those of two branches do not.
    """
    origins: list[Origin | None] = []  # what is behind them was there before
    blob = before
    for commit, old, new, hunks in reversed(steps):
        if not old or old != blob:
            return None
        blob, at = new, 0
        lines: list[Origin | None] = []
        for start, removed, first, added in hunks:
            here = start - 1 if removed else start
            stays = origins[at:here]
            lines += [*stays, *repeat(None, here - at - len(stays))]
            lines += [(commit, n) for n in range(first, first + added)]
            at = here + removed
        origins = [*lines, *origins[at:]]
    if blob != after:
        return None
    return {n: origin for n, origin in enumerate(origins, 1) if origin}
