"""The lines of `gitcp doctor`: what is wrong, worst first, and what there is."""

from __future__ import annotations

from gitcp.terminal.status import SCREEN
from gitcp.text.spans import count_cells, count_noun, escape_part, wrap_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gitcp.setup.care.sentences import Cause
    from gitcp.text.spans import Line

_WIDE = 80  # cells of a line without a terminal


def draw_causes(causes: Sequence[Cause], there: str, width: int) -> list[Line]:
    """Each cause with what helps, on one line if it fits, then what is there.

    Where they are more than a screen, what helps is left out.  width: 0 without a terminal."""
    lines = [*_list_lines(causes, there, width or _WIDE, with_remedies=True)]
    rows = sum(len([*wrap_line(line, width or _WIDE)]) for line in lines)
    if rows <= SCREEN - 2:
        return lines
    return [
        *_list_lines(causes, there, width or _WIDE, with_remedies=False),
        [("'gitcp doctor -v' says what helps", "dim")],
    ]


def _list_lines(
    causes: Sequence[Cause], there: str, width: int, *, with_remedies: bool
) -> Iterator[Line]:
    for cause in causes:
        yield from _draw_cause(cause, width, with_remedies=with_remedies)
    is_well = all(cause.is_mended for cause in causes)
    yield [("✓ ", "green"), (f"all is well: {there}" if is_well else there, "")]


def _draw_cause(cause: Cause, width: int, *, with_remedies: bool) -> Iterator[Line]:
    sign, colour = ("✗ ", "red") if cause.is_error else ("! ", "yellow")
    if cause.is_mended:
        sign = "✓ "
        colour = "green"
    if not with_remedies or not cause.remedy:
        yield [(sign, colour), (cause.sentence, "")]
        return
    line = f"{cause.sentence}: {cause.remedy}"
    if count_cells(escape_part(line)) + len(sign) <= width:
        yield [(sign, colour), (line, "")]
        return
    yield [(sign, colour), (cause.sentence, "")]
    yield [("    ", ""), (cause.remedy, "")]


def describe_there(sessions: int, tasks: int, commits: int) -> str:
    """How much is recorded here: `13 sessions and their 425 tasks, 49 commits with sessions`."""
    if not sessions:
        return "no session is recorded yet"
    words = count_noun(sessions, "session")
    if tasks:
        them = "its" if sessions == 1 else "their"
        words += f" and {them} {count_noun(tasks, 'task')}"
    with_sessions = f"{count_noun(commits, 'commit')} with sessions"
    return f"{words}, {with_sessions}"
