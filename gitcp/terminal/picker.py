"""Let a person choose at the terminal from a list, with a filter and views of the marked entry.

prompt_toolkit draws the list if the terminal can move its cursor; else, and in a zipapp, which has
no such package, the entries are numbered.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass

from gitcp.terminal import browser, cli
from gitcp.terminal.rows import NO_LIMIT
from gitcp.text import spans
from gitcp.text.console import escape_unprintable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gitcp.text.spans import Line

    # number of an entry, cells there are (rows.NO_LIMIT: any) -> its line
    Entry = Callable[[int, int], Line]

_ARROWS = {"up": -1, "c-p": -1, "down": 1, "c-n": 1, "home": -sys.maxsize, "end": sys.maxsize}
_MOVES = {"k": -1, "j": 1, "g": -sys.maxsize, "G": sys.maxsize}
_PAGES = {"pageup": -1, "c-u": -1, "c-b": -1, "pagedown": 1, "c-d": 1, "c-f": 1, " ": 1}
_HELP = """\
j k, down up   move
g G, Home End  the first, the last
/ f            show only what has these words
Esc            show all again; leave
Tab            the plan, the diff
PgDn PgUp      move in them; Ctrl-D Ctrl-U, too
Enter          choose
q              leave
?              this help""".splitlines()


@dataclass(slots=True)
class Question:
    """What stands at the top, on the left and on the right, and the word for choosing."""

    text: str
    about: str
    choose: str


@dataclass(slots=True)
class View:
    """What is shown of the marked entry below the list; tell: a title for the entry of a number."""

    name: str
    draw: Callable[[int], Iterable[Line]]
    tell: Callable[[int], str]


def choose_entry(question: Question, count: int, entry: Entry, views: Sequence[View]) -> int | None:
    """The index of the entry that the person chooses of count entries; None for none.

    views: of the marked entry, shown below the list; the first of them at first.
    """
    if os.environ.get("TERM", "dumb") != "dumb" and sys.stdout.isatty():
        try:
            choice = ChoiceScreen(question, count, entry, views)
            if browser.run_screen(choice) == "chosen":
                return choice.marked
            return None
        except ImportError:
            pass
    width = shutil.get_terminal_size().columns - len(_format_number(count))
    return choose_numbered([_join_text(entry(number, width)) for number in range(count)])


def choose_numbered(entries: Sequence[str], default: int | None = None) -> int | None:
    """The number of the entry that the person types; a mere Enter is the default."""
    for number, entry in enumerate(entries, 1):
        print(f"{_format_number(number)}{entry}")
    while True:
        empty = "none" if default is None else default + 1
        answer = cli.ask_line(f"which one? (number, empty for {empty}) ")
        if not answer:
            return default
        if answer.isdecimal() and 1 <= int(answer) <= len(entries):
            return int(answer) - 1
        print(f"not a number from 1 to {len(entries)}: '{answer}'")


def _format_number(number: int) -> str:
    return f"{number:3}  "


def _join_text(line: Line) -> str:
    return "".join(escape_unprintable(text) for text, _ in line)


class ChoiceScreen(browser.Screen):
    """The state of a choice: the marked entry, the filter and the view; draw() draws its screen."""

    def __init__(self, question: Question, count: int, entry: Entry, views: Sequence[View]) -> None:
        self._question = question
        self._entry = entry
        self._views = views
        self._texts = [_join_text(entry(number, NO_LIMIT)).casefold() for number in range(count)]
        self._matching = list(range(count))
        self._mark = self._view = self._scroll = self._rows = 0  # _mark: an index of _matching
        self._filter = ""
        self._typing = False
        self._help = False

    @property
    def marked(self) -> int | None:
        """The number of the marked entry, None if the filter leaves none."""
        if self._matching:
            return self._matching[self._mark]
        return None

    def move(self, step: int) -> None:
        """Move the mark down by step entries."""
        self._mark = max(0, min(len(self._matching) - 1, self._mark + step))
        self._scroll = 0
        self._help = False

    def turn_pages(self, step: int) -> None:
        """Scroll the view down by step pages."""
        self._scroll = max(0, self._scroll + step * max(1, self._rows - 1))

    def press(self, key: str, text: str) -> str:
        """Take a key (gitcp.terminal.browser); return why the screen is left, '' if it is not."""
        if key == "enter" and self.marked is not None:
            return "chosen"
        if key == "escape" and self.escape():
            return "left"
        if key == "c-c" or (key == "q" and not self._typing):
            return "left"
        if key in _ARROWS or (key in _MOVES and not self._typing):
            self.move(_ARROWS.get(key) or _MOVES[key])
        elif self._typing and key == "backspace":
            self._set_filter(self._filter[:-1])
        elif self._typing and text and text.isprintable():
            self._set_filter(self._filter + text)
        elif key in _PAGES:
            self.turn_pages(_PAGES[key])
        elif key == "tab":
            self._view = (self._view + 1) % len(self._views)
            self._scroll = 0
            self._help = False
        elif key in ("/", "f"):
            self._typing = True
            self._help = False
        elif key == "?":
            self._help = not self._help
        return ""

    def escape(self) -> bool:
        """Show all entries again; return whether the person leaves, since all were shown."""
        if not (self._typing or self._help or self._filter):
            return True
        self._typing = False
        self._set_filter("")
        return False

    def _set_filter(self, text: str) -> None:
        self._filter = text
        self._help = False
        words = text.casefold().split()
        marked = self.marked
        self._matching = [n for n, one in enumerate(self._texts) if all(w in one for w in words)]
        if marked in self._matching:
            self._mark = self._matching.index(marked)
        else:
            self._mark = 0
        self._scroll = 0

    def draw(self, columns: int, rows: int) -> list[Line]:
        """The lines of a screen of that size; the marked entry's colour is `reverse`."""
        about = f"  {self._question.about}"
        if self._filter:
            about = f"  {len(self._matching)} of {len(self._texts)}"
        head = self._question.text
        if self._typing or self._filter:
            head = f"filter: {self._filter}{'_' if self._typing else ''}"
        room = max(0, columns - spans.count_cells(about))
        lines: list[Line] = [[(spans.pad(head, room), "bold"), (about, "dim")]]
        height = min(len(self._matching), max(3, (rows - 4) // 2))
        first = max(0, min(self._mark - height // 2, len(self._matching) - height))
        lines += [self._draw_entry(index, columns) for index in range(first, first + height)]
        lines.append([(f"-- {self._name_view()} ".ljust(columns, "-")[:columns], "dim")])
        below = self._list_below(columns)
        self._rows = max(1, rows - len(lines) - 1)
        self._scroll = max(0, min(self._scroll, len(below) - self._rows))
        part = below[self._scroll : self._scroll + self._rows]
        empty: list[Line] = [[]] * (self._rows - len(part))
        return [*lines, *part, *empty, [(self._format_keys(columns), "dim")]]

    def _name_view(self) -> str:
        """What stands above the view."""
        view = self._views[self._view]
        if self._help:
            return "help"
        if self.marked is None:
            return view.name
        return view.tell(self.marked)

    def _format_keys(self, columns: int) -> str:
        """The keys, as many as fit."""
        other = self._views[(self._view + 1) % len(self._views)].name
        choose = f"Enter {self._question.choose}"
        keys = ["j k move", choose, f"Tab {other}", "/ filter", "? help", "q leave"]
        while len(keys) > 1 and len("  ".join(keys)) > columns:
            keys.pop(0)
        return "  ".join(keys)

    def _draw_entry(self, index: int, columns: int) -> Line:
        line = self._entry(self._matching[index], columns - 2)
        if index != self._mark:
            return [("  ", ""), *line]
        text = f"> {_join_text(line)}"
        return [(text + " " * (columns - spans.count_cells(text)), "reverse")]

    def _list_below(self, columns: int) -> list[Line]:
        if self._help:
            return [row for text in _HELP for row in spans.wrap_line([(text, "")], columns)]
        if self.marked is None:
            return [[("nothing has these words", "dim")]]
        rows = self._views[self._view].draw(self.marked)
        return [part for row in rows for part in spans.wrap_line(row, columns)]
