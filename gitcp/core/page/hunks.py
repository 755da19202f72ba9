"""Cut a file's edits into hunks, with lines of context, more of which can be unfolded."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.git.patches import Hunk

    Spans = list[tuple[int, int]]  # first and end of runs of lines, from 0

    class View(TypedDict):
        """old, new: the first line shown, from 1.  hidden: the number of lines before it that no
        hunk shows; more: the last of them.  rows: [sign, line, author] with the sign ' ', '-' or
        '+', the author only with '+'."""

        old: int
        new: int
        hidden: int
        more: list[Any]
        rows: list[list[Any]]


AROUND = 3  # lines of context on each side
FOLDED = 20  # further lines that a click shows
MOST = 5000  # rows of a file that are shown


def cut_hunks(
    edits: Sequence[Hunk], old: Sequence[Any], new: Sequence[Any], authors: Mapping[int, int]
) -> tuple[list[View], int]:
    """(the hunks of a file, the number of rows left out after MOST).

    edits: as of `git diff -U0`.  old, new: the lines of the file before and after.  authors: line
    of new, from 1 -> a number for its author.
    """
    hunks: list[View] = []
    end = rows = left = 0  # end: of the lines of new that are shown
    for start, removed, first, added in edits:
        before, after = start - bool(removed), first - bool(added)  # from 0
        gone = min(removed, MOST - rows)
        came = min(added, MOST - rows - gone)
        left += removed + added - gone - came
        if not gone + came:
            continue
        rows += gone + came
        if not hunks or after - end > 2 * AROUND + 1:
            if hunks:
                hunks[-1]["rows"] += _build_context(new, end, end + AROUND)
                end += AROUND
            hunks.append(_begin_hunk(new, before, after, end))
            end = hunks[-1]["new"] - 1
        view = hunks[-1]["rows"]
        view += _build_context(new, end, after)
        view += (["-", line] for line in old[before : before + gone])
        lines = new[after : after + came]
        view += (["+", line, authors.get(n, 0)] for n, line in enumerate(lines, after + 1))
        end = after + came
    if hunks:
        hunks[-1]["rows"] += _build_context(new, end, end + AROUND)
    return hunks, left


def _begin_hunk(new: Sequence[Any], before: int, after: int, end: int) -> View:
    """An empty hunk for an edit at these places; end: of what is shown before."""
    top = max(end, after - AROUND)
    return {
        "old": before - (after - top) + 1,
        "new": top + 1,
        "hidden": top - end,
        "more": list(new[max(end, top - FOLDED) : top]),
        "rows": [],
    }


def _build_context(lines: Sequence[Any], first: int, end: int) -> list[list[Any]]:
    return [[" ", line] for line in lines[first:end]]


def list_shown(edits: Sequence[Hunk]) -> tuple[Spans, Spans]:
    """The lines, from 0, of a file (before, after) that cut_hunks() reads, with those that a click
    shows beside the hunks."""
    beside = AROUND + FOLDED
    gone = [(start - 1, start - 1 + removed) for start, removed, _, _ in edits if removed]
    came = [
        (max(0, first - 1 - beside), first + max(added, 1) + beside) for _, _, first, added in edits
    ]
    return gone, came


def list_added(edits: Sequence[Hunk]) -> list[tuple[int, int]]:
    """(first, last) of the runs of lines that edits add."""
    return [(first, first + added - 1) for _, _, first, added in edits if added]
