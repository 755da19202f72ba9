"""One row for one thing, the same in all commands: its id, when, who, a text, numbers.

A row is one line of the terminal: of a text that is too long the end is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitcp.text import prompt_text
from gitcp.text.spans import count_cells, format_number, join_words, pad, shorten

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.checkpoints.format.schema import Part
    from gitcp.text.spans import Line

ID, WHEN, WHO = 8, 9, 12  # cells of a column; two spaces follow it
INDENT = "  "
_LEAST = 20  # cells of a text beside numbers
NO_LIMIT = 0


@dataclass(slots=True)
class Row:
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


def draw_row(row: Row, width: int) -> Line:
    """A row in at most width cells (NO_LIMIT: nothing is cut)."""
    if row.has_id:
        name = row.indent + row.name + " " * (ID - len(row.name))
        when = pad(row.when, WHEN - len(row.indent))
        line: Line = [(name, "yellow"), ("  ", ""), (when, "dim")]
    else:
        line = [(row.indent, ""), (pad(row.when, WHEN), "dim")]
    line += [("  ", ""), (pad(row.who, WHO), row.colour)]
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


def draw_below(
    text: str, width: int, style: str = "dim", indent: str = "", has_id: bool = True
) -> Line:
    """A second line of a row, below its text."""
    first = ID + 2 if has_id else len(indent)
    start = " " * (first + WHEN + 2 + WHO + 2)
    if width != NO_LIMIT:
        text = shorten(text, max(1, width - len(start)))
    return [(start, ""), (text, style)]


def format_changes(added: int, removed: int) -> str:
    """The lines of a change: `+12 -3`; '' for none."""
    if not added and not removed:
        return ""
    return f"+{format_number(added)} -{format_number(removed)}"


def colour_numbers(numbers: str) -> Line:
    """Numbers of format_changes() in colours."""
    plus, sign, minus = numbers.partition(" -")
    if not sign or not plus.startswith("+"):
        return [(numbers, "")]
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
    return "and 1 task" if tasks == 1 else f"and {tasks} tasks"
