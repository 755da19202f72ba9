"""One row for one thing, the same in all commands: its id, when, who, a text, numbers.

A row is one line of the terminal: of a text that is too long the end is left out.
"""

from __future__ import annotations

from gitcp.text import prompt_text, value_class
from gitcp.text.spans import (
    clip,
    count_cells,
    escape_part,
    format_number,
    join_words,
    pad,
    shorten,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.checkpoints.format.schema import Part
    from gitcp.text.spans import Line

# What a session is doing.
WORKING = "working"
WAITING = "waiting"
STOPPED = "stopped in a prompt"
ENDED = "ended"
# The same by the words of a record `activity`.
STATES = {"open": WORKING, "waiting": WAITING, "stopped": STOPPED, "ended": ENDED}
# cells of a column; two spaces follow it
ID = 8
WHEN = 9
WHO = 12
INDENT = "  "
_LEAST = 20  # cells of a text beside numbers
_TEXT_AT = ID + 2 + WHEN + 2 + WHO + 2  # cells before a text
_PATHS = 5  # that stand below a row
NO_LIMIT = 0


@value_class
class ScreenRow:
    """What a row says.  colour: of who: that of agents, or of persons.  style: of the text.
    has_id: whether there is a column for the name."""

    name: str
    when: str
    who: str
    text: str
    numbers: str = ""
    colour: str = "green"
    style: str = ""
    indent: str = ""
    has_id: bool = True


def draw_row(row: ScreenRow, width: int) -> Line:
    """A row in at most width cells (NO_LIMIT: nothing is cut).

    The columns of an indented row without a time are those of the row above it."""
    if row.has_id:
        name = row.indent + row.name + " " * (ID - len(row.name))
        size = WHEN
        if not row.when:
            size -= len(row.indent)
        when = pad(row.when, size)
        line: Line = [(name, "yellow"), ("  ", ""), (when, "dim")]
    else:
        line = [(row.indent, ""), (pad(row.when, WHEN), "dim")]
    who = join_words(row.who)
    if width != NO_LIMIT or count_cells(who) < WHO:
        who = pad(who, WHO)
    line += [("  ", ""), (who, row.colour)]
    text = join_words(row.text)
    numbers = join_words(row.numbers)
    room = width - sum(count_cells(part) for part, _ in line) - 2
    if width == NO_LIMIT:
        line += [("  ", ""), (text, row.style)]
        if numbers:
            line.append((f"  {numbers}", ""))
        return line
    if numbers and room - count_cells(numbers) - 2 >= _LEAST:
        text = pad(text, room - count_cells(numbers) - 2)
        return [*line, ("  ", ""), (text, row.style), ("  ", ""), *colour_numbers(numbers)]
    return [*line, ("  ", ""), (shorten(text, max(1, room)), row.style)]


def draw_below(text: str, width: int, style: str = "dim", *, has_id: bool = True) -> Line:
    """A second line of an indented row with a time, below its text.  has_id: as that of Row."""
    start = INDENT + " " * _TEXT_AT
    if not has_id:
        start = start[ID + 2 :]
    line = escape_part(text)
    most = max(1, width - len(start))
    if width != NO_LIMIT and count_cells(line) > most:
        line = clip(line, most - 1)[0].rstrip() + "…"
    return [(start, ""), (line, style)]


def name_state(phase: str, is_dead: bool) -> str:
    """What a session is doing, by its phase; is_dead: its agent's process is gone."""
    if phase == "active":
        if is_dead:
            return STOPPED
        return WORKING
    if phase == "idle" and not is_dead:
        return WAITING
    return ENDED


def list_paths(paths: Sequence[str], width: int, room: int = 0) -> str:
    """Paths in what is left of the second line of a row, and the number of the others.

    room: cells of that line that something else takes."""
    most = width - len(INDENT) - _TEXT_AT - room
    words = ""
    for number, path in enumerate(paths):
        left = len(paths) - number
        text = path
        if words:
            text = f"{words}  {path}"
        more = ""
        if left > 1:
            more = f"  and {left} more"
        if number >= _PATHS or (width != NO_LIMIT and words and len(text + more) > most):
            return f"{words}  and {left} more"
        words = text
    return words


def shorten_path(path: str, size: int) -> str:
    """A path in at most size cells, without its beginning if it is too long."""
    over = count_cells(path) - max(2, size)
    if over <= 0:
        return path
    return "…" + path[over + 1 :]


def format_changes(added: int, removed: int) -> str:
    """The lines of a change: `+12 -3`; '' for none."""
    if not added and not removed:
        return ""
    return f"+{format_number(added)} -{format_number(removed)}"


def colour_numbers(numbers: str) -> Line:
    """Numbers of format_changes(), or the first of them, in colours."""
    plus, sign, minus = numbers.partition(" -")
    if not plus.startswith("+"):
        return [(numbers, "")]
    if not sign:
        return [(plus, "green")]
    return [(plus, "green"), (" ", ""), (f"-{minus}", "red")]


def name_session(part: Part) -> str:
    """What a session is called in a row: the prompt of its that counts there, else the title that
    its client gave it; '' for neither."""
    for prompt in part.get("asked") or ():
        name = prompt_text.read_first_line(prompt)
        if name:
            return f"> {name}"
    return str(part.get("title") or "")


def count_tasks(part: Part) -> str:
    """The tasks that a session gave to others: `and 20 tasks`; '' for none."""
    tasks = int(part.get("task_count") or 0)
    if not tasks:
        return ""
    if tasks == 1:
        return "and 1 task"
    return f"and {tasks} tasks"


def fit_line(line: Line, width: int) -> Line:
    """A line in at most so many cells of a terminal."""
    fitted: Line = []
    room = width
    for text, colour in line:
        escaped = escape_part(text)
        part, cells = clip(escaped, room)
        fitted.append((part, colour))
        room -= cells
        if part != escaped:
            break
    return fitted


_PATCH = {"+": "green", "-": "red", "@": "cyan"}


def draw_patch(rows: Iterable[str]) -> Iterator[Line]:
    """The rows of a diff, coloured as git does."""
    for row in rows:
        colour = _PATCH.get(row[:1], "")
        if row.startswith(("diff ", "index ", "+++ ", "--- ")):
            colour = "bold"
        yield [(row, colour)]
