"""The screen of `gitcp ui`: a list, the parts of its marked row, and what the marked part changed.

Keys and a size come in, lines go out.  A source reads the data: a few rows at a time, by load().
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

from gitcp.errors import Error
from gitcp.terminal.rows import draw_patch, fit_line
from gitcp.text import spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.spans import Line

# "text" is prose, which is wrapped; "diff" is a patch, and "code" other lines that are cut.
Block = tuple[str, Sequence[str]]


class PaneRow(NamedTuple):
    """A row of a pane, of one or two lines.

    id: the same when the list is read again.  day: its heading, '' for none.  words: what a filter
    looks at.  command: of gitcp, which shows the row.  item: of the source, which the row shows.
    is_live: new parts come at the end.
    """

    id: str
    day: str
    lines: Sequence[Line]
    words: str
    command: Sequence[str]
    item: Any = None
    is_live: bool = False


class Action(NamedTuple):
    """A command of gitcp.  plan: the command that shows what it would do, () if none does.  asks:
    what is typed behind it, '' for nothing.  copied: what is copied instead of a command."""

    label: str
    command: Sequence[str] = ()
    plan: Sequence[str] = ()
    asks: str = ""
    copied: str = ""


class ListSource(Protocol):
    """Reads a list, the parts of a row, and the content of a part.

    The list is read as it is needed, newest first.  The first part is the row as a whole.  nothing:
    a sentence for an empty list.  complete_row() adds what takes longer to a row that is seen; None
    for a row that lacks nothing.
    """

    name: str
    nothing: str

    def list_rows(self) -> Iterator[PaneRow]: ...
    def list_parts(self, row: PaneRow) -> list[PaneRow]: ...
    def read_content(self, row: PaneRow, part: PaneRow) -> list[Block]: ...
    def complete_row(self, row: PaneRow) -> PaneRow | None: ...


_PULLED = 8  # rows that are read before the keys are asked again
# columns of a screen from which on they fit
_TWO_PANES = 56
_THREE_PANES = 132
# shares of a screen; the latter two of three
_LEFT_OF_TWO = 0.40
_LEFT = 0.30
_MIDDLE = 0.32
_MOST_LINES = 20_000  # of a content
_STEP = 8  # cells that a key shifts a content by
_END = 1 << 60  # more rows than there are
_MENU = "j k move  Enter shows the plan and asks  q back"
_FOOT = "j k move  Enter open  / search  f filter  z zoom  : actions  ? keys  q leave"
_HELP = """\
j k, down up      the next row, the one before
l h, right left   to the pane on the right, on the left; the last one shifts
Enter, Tab        to the next pane
Ctrl-D Ctrl-U     half a page down, up; PgDn PgUp: a page
g G, Home End     the first row, the last
1 2 3             sessions, commits, points
/ n N             search; the next match, the one before
f                 show only rows with these words; Esc shows all again
v                 a patch with its two sides beside each other, or as git has it
z                 this pane alone, or all of them
:                 what can be done with what is marked; each shows its plan, and asks
q, Esc            to the pane on the left; q leaves the first one
?                 this help, until the next key""".splitlines()
_MOVES = {"j": 1, "down": 1, "c-n": 1, "k": -1, "up": -1, "c-p": -1}
_MOVES |= {"g": -_END, "home": -_END, "G": _END, "end": _END}
_PAGES = {"c-d": 0.5, "c-u": -0.5, "pagedown": 1, " ": 1, "c-f": 1, "pageup": -1, "c-b": -1}


class Pane:
    """Rows, of which one is marked, and the part of them that is shown."""

    def __init__(self, rows: Iterable[PaneRow] = ()) -> None:
        self.rows = list(rows)
        self.mark = 0
        self._top = 0

    @property
    def marked(self) -> PaneRow | None:
        """The marked row; None in an empty pane."""
        return self.rows[self.mark] if self.rows else None

    def move(self, step: int) -> None:
        """Move the mark down by step rows, as far as there are rows."""
        self.mark = max(0, min(len(self.rows) - 1, self.mark + step))

    def turn_pages(self, pages: float, height: int) -> None:
        """Move the mark down by pages of a height."""
        lines = max((len(row.lines) for row in self.rows[:1]), default=1)
        self.move(int(pages * height / lines))

    def put_row(self, number: int, row: PaneRow) -> None:
        """Put another row in the place of one."""
        self.rows[number] = row

    def list_seen(self, height: int) -> range:
        """The numbers of the rows that are shown in a height, or may be."""
        return range(self._top, min(len(self.rows), self._top + height))

    def put_rows(self, rows: Iterable[PaneRow], *, at_end: bool = False) -> None:
        """Put other rows in place; the marked one stays marked, or the last one with at_end."""
        row_id = self.marked and self.marked.id
        self.rows = list(rows)
        found = (n for n, row in enumerate(self.rows) if row.id == row_id)
        self.mark = next(found, self.mark)
        self.move(_END if at_end else 0)

    def seek(self, words: str, way: int) -> bool:
        """Mark the next row with a text, or the one before if way is -1; after the last row comes
        the first.  Return whether there is one."""
        found = _find([row.words for row in self.rows], words, self.mark, way)
        self.mark = self.mark if found is None else found
        return found is not None

    def draw(self, width: int, height: int, has_keys: bool) -> list[Line]:
        """The lines of the pane, at most height.  has_keys: whether keys move its mark."""
        self._top = max(min(self._top, self.mark), self.mark - height + 1)
        while self._top < self.mark and self._measure(self._top, self.mark) > height:
            self._top += 1
        lines: list[Line] = []
        for number in range(self._top, min(len(self.rows), self._top + height)):
            row = self.rows[number]
            is_marked = number == self.mark
            if self._has_heading(number):
                lines.append([(row.day, "bold")])
            for count, line in enumerate(row.lines):
                filled = _fill([("> " if is_marked and not count else "  ", ""), *line], width)
                if is_marked and has_keys:
                    filled = [("".join(spans.list_texts([filled])), "reverse")]
                lines.append(filled)
        return lines[:height]

    def _measure(self, first: int, last: int) -> int:
        return sum(len(self.rows[n].lines) + self._has_heading(n) for n in range(first, last + 1))

    def _has_heading(self, number: int) -> bool:
        before = ""
        if number > self._top:
            before = self.rows[number - 1].day
        return self.rows[number].day not in ("", before)


class Listing(Pane):
    """The rows of a source that have the words of a filter, as far as they are read.

    awaits: what to do when more rows are read: "" nothing, "end" go to the last one, else seek this
    text.
    """

    def __init__(self, source: ListSource) -> None:
        super().__init__()
        self.source = source
        self.filter = ""
        self.awaits = ""
        self._read: list[PaneRow] = []
        self._completed: set[str] = set()  # ids of rows
        self._coming = source.list_rows()
        self.is_read = False

    def pull(self) -> None:
        """Read the next rows, and do what waited for them."""
        rows = list(islice(self._coming, _PULLED))
        count = len(self.rows)
        self.is_read = len(rows) < _PULLED
        self._read += rows
        self.rows += filter(self._has_words, rows)
        if self.awaits == "end":
            self.move(_END)
        elif self.awaits:
            new = [row.words for row in self.rows[count:]]
            found = _find(new, self.awaits, -1, 1)
            if found is not None:
                self.mark = count + found
            self.awaits = self.awaits if found is None else ""
        self.awaits = "" if self.is_read else self.awaits

    def complete(self, height: int) -> bool:
        """Complete a row that is seen in a height; return whether there was one that may lack
        something."""
        for number in self.list_seen(height):
            row = self.rows[number]
            if row.id in self._completed:
                continue
            self._completed.add(row.id)
            whole = self.source.complete_row(row)
            if whole is not None:
                self.put_row(number, whole)
                self._read = [whole if other is row else other for other in self._read]
            return True
        return False

    def set_filter(self, text: str) -> None:
        """Show only the rows that have the words of a text."""
        self.filter = text
        self.put_rows(filter(self._has_words, self._read))

    def read_again(self) -> None:
        """Read the list again, as far as it was read."""
        count, self._read, self._coming = len(self._read), [], self.source.list_rows()
        self._completed.clear()
        rows = list(islice(self._coming, max(_PULLED, count)))
        self._read = rows
        self.is_read = len(rows) < max(_PULLED, count)
        self.put_rows(filter(self._has_words, rows))

    def _has_words(self, row: PaneRow) -> bool:
        text = row.words.casefold()
        return all(word in text for word in self.filter.casefold().split())


class Content:
    """Blocks as lines, and the part of them that is shown.  shift: hidden cells at the left."""

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self._blocks = blocks
        self._drawn = (0, False)
        self._lines: list[Line] = []
        self._top = self.shift = 0
        self.beside = False

    def put_blocks(self, blocks: Sequence[Block], *, stays: bool) -> None:
        """Put other blocks in place; stays: what was at the top stays there."""
        self._blocks = blocks
        self._drawn = (0, False)
        if not stays:
            self._top = self.shift = 0

    def move(self, step: int) -> None:
        """Scroll down by step lines."""
        self._top = max(0, min(len(self._lines) - 1, self._top + step))

    def turn_pages(self, pages: float, height: int) -> None:
        """Scroll down by pages of a height."""
        self.move(int(pages * height))

    def seek(self, words: str, way: int) -> bool:
        """Put the next line with a text at the top, or the one before, as Pane.seek() does."""
        found = _find(list(spans.list_texts(self._lines)), words, self._top, way)
        self._top = self._top if found is None else found
        return found is not None

    def draw(self, width: int, height: int, has_keys: bool) -> list[Line]:
        """The lines of the pane, at most height."""
        if self._drawn != (width, self.beside):
            self._drawn = width, self.beside
            self._lines = list(islice(draw_content(self._blocks, width, self.beside), _MOST_LINES))
        self._top = min(self._top, max(0, len(self._lines) - height))
        return [_cut_left(row, self.shift) for row in self._lines[self._top : self._top + height]]


class Browser:
    """The state of the screen; each source has a list of its own."""

    def __init__(self, sources: Sequence[ListSource], title: str, bars: str = "│┃") -> None:
        """bars: what stands on the left of a pane, and of the one that has the keys."""
        self._listings = [Listing(source) for source in sources]
        self._title = title
        self._bars = bars
        self._chosen = 0
        self._focus = 0
        self._parts = Pane()
        self._content = Content()
        self._shown = ["", "", ""]  # the list, its row and the part that are read
        self._asks = self._typed = self._sought = self._message = ""
        self._is_alone = self._shows_help = False
        self._height = 1
        self._menu = Pane()  # empty if it is not shown
        self.chosen: Action | None = None  # of the menu, when the screen is left for it

    @property
    def listing(self) -> Listing:
        """The list that is shown."""
        return self._listings[self._chosen]

    @property
    def _panes(self) -> tuple[Listing, Pane, Content]:
        return self.listing, self._parts, self._content

    @property
    def command(self) -> list[str]:
        """The command that shows what is marked."""
        row = (self._focus and self._parts.marked) or self.listing.marked
        return ["gitcp", *row.command] if row else []

    def load(self) -> bool:
        """Read one thing that the screen lacks; return whether there may be more."""
        try:
            return self._load()
        except Error as e:
            self._message = str(e)
            return False

    def _load(self) -> bool:
        listing = self.listing
        source = self.listing.source
        wanted = listing.mark + (1 if self._focus else self._height)
        if not listing.is_read and (len(listing.rows) < wanted or listing.awaits):
            listing.pull()
            return True
        row = listing.marked
        at = [source.name, row.id if row else "", ""]
        if self._shown[:2] != at[:2]:
            self._shown = at
            self._parts = Pane()
            self._content.put_blocks([], stays=False)
            if row:
                self._parts.put_rows(source.list_parts(row), at_end=row.is_live)
            return True
        part = self._seen_part
        if row and part and self._shown[2] != part.id:
            self._shown[2] = part.id
            self._content.put_blocks(source.read_content(row, part), stays=False)
            return True
        return listing.complete(self._height)

    @property
    def _seen_part(self) -> PaneRow | None:
        """The part whose content is shown: the marked one; while the list has the keys the whole
        row."""
        if not self._focus and self._parts.rows:
            return self._parts.rows[0]
        return self._parts.marked

    def read_again(self) -> None:
        """Read again what is shown.  What is marked stays marked; the mark on the last part of a
        session at work goes to the new last one."""
        for listing in self._listings:
            listing.read_again()
        row = self.listing.marked
        parts = self._parts
        if row and row.id == self._shown[1]:
            at_end = row.is_live and parts.mark == len(parts.rows) - 1
            parts.put_rows(self.listing.source.list_parts(row), at_end=at_end)
            part = self._seen_part
            if part and part.id == self._shown[2]:
                content = self.listing.source.read_content(row, part)
                self._content.put_blocks(content, stays=True)

    def press(self, key: str, text: str = "") -> str:
        """Take a key in, by its name or its character.  Return "quit" when the person leaves, "do"
        to do what was chosen and come back."""
        self._message = ""
        if self._focus and self._parts_lag():
            self.load()  # a key may come before what it acts on was read
        if self._shows_help:
            self._shows_help = False
        elif key == "paste":
            self._message = "pasted text is not a key: nothing was done"
        elif self._asks:
            self._type(key)
        elif self._menu.rows:
            return self._choose(key)
        elif key == "c-c" or (key == "q" and not self._focus):
            return "quit"
        elif key in ("q", "escape", "s-tab"):
            self._step_back()
        elif key in _MOVES or key in _PAGES:
            self._move(key)
        elif key in ("enter", "tab", "l", "right", "h", "left"):
            self._go_beside(key)
        else:
            self._switch(key)
        return ""

    def say(self, text: str) -> None:
        """Show a message until the next key."""
        self._message = text

    def _open_menu(self) -> None:
        part = self._parts.marked if self._focus else None
        actions = list_actions(self.listing.source.name, self.listing.marked, part)
        rows = [
            PaneRow(
                one.label,
                "",
                [[(one.label, "bold")], [("  ", ""), (_spell(one), "cyan")]],
                "",
                (),
                one,
            )
            for one in actions
        ]
        self._menu = Pane(rows)

    def _choose(self, key: str) -> str:
        """Take a key of the menu in."""
        if key in _MOVES:
            self._menu.move(_MOVES[key])
        elif key in ("q", "escape", "h", "left", "c-c", ":"):
            self._menu = Pane()
        elif key == "enter" and self._menu.marked:
            self.chosen = self._menu.marked.item
            self._menu = Pane()
            return "do"
        return ""

    def _parts_lag(self) -> bool:
        """Whether the parts are not those of the marked row."""
        row = self.listing.marked
        return row is not None and self._shown[:2] != [self.listing.source.name, row.id]

    def _step_back(self) -> None:
        if not self._focus:
            self.listing.set_filter("")
        self._focus = max(0, self._focus - 1)

    def _move(self, key: str) -> None:
        pane = self._panes[self._focus]
        if pane is self.listing:
            if _MOVES.get(key) == _END:
                self.listing.awaits = "end"
            else:
                self.listing.awaits = ""
        if key in _MOVES:
            pane.move(_MOVES[key])
        else:
            pane.turn_pages(_PAGES[key], self._height)

    def _go_beside(self, key: str) -> None:
        is_left = key in ("h", "left")
        if (
            self._focus == 2
            and key not in ("enter", "tab")
            and (self._content.shift or not is_left)
        ):
            self._content.shift += -_STEP if is_left else _STEP
        elif key == "tab":
            self._focus = (self._focus + 1) % 3
        elif is_left:
            self._focus = max(0, self._focus - 1)
        else:
            self._focus = min(2, self._focus + 1)

    def _switch(self, key: str) -> None:
        if key in map(str, range(1, len(self._listings) + 1)):
            self._chosen = int(key) - 1
            self._focus = 0
        elif key in ("/", "f"):
            self._focus = 0 if key == "f" else self._focus
            self._asks = key
            self._typed = self.listing.filter if key == "f" else ""
        elif key in ("n", "N") and self._sought:
            self._search(1 if key == "n" else -1)
        elif key == "?":
            self._shows_help = True
        elif key == ":":
            self._open_menu()
        elif key == "v":
            self._content.beside = not self._content.beside
        elif key == "z":
            self._is_alone = not self._is_alone

    def _type(self, key: str) -> None:
        asks = self._asks
        if key in ("enter", "escape", "c-c"):
            self._asks = ""
            self._typed = self._typed if key == "enter" else ""
            if asks == "/" and self._typed:
                self._sought = self._typed
                self._search(1)
        elif key == "backspace":
            self._typed = self._typed[:-1]
        elif len(key) == 1 and key.isprintable():
            self._typed += key
        if asks == "f":
            self.listing.set_filter(self._typed)

    def _search(self, way: int) -> None:
        pane = self._panes[self._focus]
        before = self.listing.mark
        found = pane.seek(self._sought, way)
        went_round = not found or self.listing.mark <= before
        if pane is self.listing and way > 0 and went_round and not self.listing.is_read:
            self.listing.mark = before
            self.listing.awaits = self._sought
        elif not found:
            self._message = f"no match for '{self._sought}'"

    def draw(self, columns: int, rows: int) -> list[Line]:
        """The lines of a screen, each of exactly that many cells."""
        self._height = max(1, rows - 3)
        menu: list[Line] = []
        if self._menu.rows:
            most = max(2, self._height * 2 // 3)
            menu = self._menu.draw(columns, min(most, 2 * len(self._menu.rows)), True)
        height = self._height - len(menu)
        if self._shows_help:
            body = self._draw_help(columns, height)
        else:
            body = self._draw_panes(columns, height)
        body += menu
        drawn = [self._draw_head(), *body, self._draw_command(), self._draw_foot(columns)]
        return [_fill(line, columns) for line in drawn][-rows:]

    def _draw_help(self, columns: int, height: int) -> list[Line]:
        lines: list[Line] = []
        for text in _HELP:
            lines += spans.wrap_line([(text, "")], columns)
        lines += [[]] * (height - len(lines))
        return lines[:height]

    def _draw_panes(self, columns: int, height: int) -> list[Line]:
        """The rows of the panes that are shown, side by side."""
        body: list[Line] = [[] for _ in range(height)]
        for number, width in self._divide(columns):
            has_keys = number == self._focus and not self._menu.rows
            lines = self._panes[number].draw(width, height, has_keys)
            if not (number or self.listing.rows):
                lines = self._explain_nothing(width)
            lines += [[]] * (height - len(lines))
            for count, line in enumerate(lines):
                bar = (self._bars[has_keys], "" if has_keys else "dim")
                body[count] += [*([bar] if body[count] else []), *_fill(line, width)]
        return body

    def _divide(self, columns: int) -> list[tuple[int, int]]:
        """(number, cells) of each pane that is shown."""
        if self._is_alone or columns < _TWO_PANES:
            return [(self._focus, columns)]
        if columns < _THREE_PANES:
            width = int(columns * _LEFT_OF_TWO)
            return [(min(1, self._focus), width), (2, columns - width - 1)]
        widths = int(columns * _LEFT), int(columns * _MIDDLE)
        return [(0, widths[0]), (1, widths[1]), (2, columns - sum(widths) - 2)]

    def _explain_nothing(self, width: int) -> list[Line]:
        listing = self.listing
        if listing.filter:
            text = "no row has these words"
        else:
            text = listing.source.nothing
        return list(spans.wrap_line([(text if listing.is_read else "", "dim")], width))

    def _draw_head(self) -> Line:
        line: Line = []
        for number, listing in enumerate(self._listings):
            name = f"{number + 1} {listing.source.name}"
            is_shown = number == self._chosen
            line.append((f"[{name}]" if is_shown else f" {name} ", "bold" if is_shown else "dim"))
        line.append((f"   {self._title}", ""))
        name = self.listing.source.name
        count = f"{len(self.listing.rows):,}{'' if self.listing.is_read else '+'} {name}"
        filtered = ""
        if self.listing.filter:
            filtered = f"  filter: {self.listing.filter}"
        reading = "  reading …"
        if self.listing.is_read or self.listing.rows:
            reading = ""
        return [*line, (f"   {count}{filtered}{reading}", "dim")]

    def _draw_command(self) -> Line:
        if self.command:
            return [("$ ", "dim"), (shlex.join(self.command), "cyan")]
        return []

    def _draw_foot(self, columns: int) -> Line:
        if self._asks:
            return [(f"{'filter: ' if self._asks == 'f' else '/'}{self._typed}_", "")]
        waits = ""
        if self.listing.awaits:
            waits = f"reading: {len(self.listing.rows):,} rows"
        text = self._message or waits
        foot = text or (_MENU if self._menu.rows else _FOOT)
        if spans.count_cells(foot) > columns:
            foot = spans.fit_words(foot, columns)
        return [(foot, "" if text else "dim")]


def _spell(action: Action) -> str:
    if action.command:
        words = shlex.join(["gitcp", *action.command])
    else:
        words = action.copied
    if action.asks:
        return f"{words} <{action.asks}>"
    return words


def _find(texts: Sequence[str], words: str, start: int, way: int) -> int | None:
    """The number of the next text with these words in a direction from start, round the end."""
    numbers = ((start + way * n) % len(texts) for n in range(1, len(texts) + 1))
    return next((n for n in numbers if words.casefold() in texts[n].casefold()), None)


def _fill(line: Line, width: int) -> Line:
    """A line in exactly so many cells."""
    fitted = fit_line([(text.expandtabs(4), colour) for text, colour in line], width)
    return [*fitted, (" " * (width - sum(spans.count_cells(t) for t, _ in fitted)), "")]


def _cut_left(line: Line, cells: int) -> Line:
    """A line without its first cells."""
    cut: Line = []
    for text, colour in line:
        plain = spans.escape_part(text.expandtabs(4))
        begin, taken = spans.clip(plain, cells)
        cut.append((plain[len(begin) :], colour))
        cells -= taken
    return cut


def draw_content(blocks: Iterable[Block], width: int, beside: bool) -> Iterator[Line]:
    """The lines of blocks in a pane; beside: the two sides of a patch beside each other."""
    for number, (kind, texts) in enumerate(blocks):
        if number:
            yield []
        if kind == "text":
            for text in texts:
                yield from spans.wrap_line([(text, "")], width)
        elif kind == "diff":
            if beside:
                yield from _draw_sides(texts, width)
            else:
                yield from draw_patch(texts)
        else:
            yield from ([(text, "dim")] for text in texts)


def _draw_sides(rows: Iterable[str], width: int) -> Iterator[Line]:
    """A patch with the lines before on the left, those after on the right."""
    half = (width - 1) // 2
    sides: dict[str, list[str]] = {"-": [], "+": []}

    def pair_rows() -> Iterator[Line]:
        for number in range(max(map(len, sides.values()))):
            old, new = (side[number] if number < len(side) else "" for side in sides.values())
            yield [*_fill([(old, "red")], half), ("│", "dim"), (new, "green")]
        for side in sides.values():
            side.clear()

    for row in rows:
        if row[:1] in sides and not row.startswith(("+++ ", "--- ")):
            sides[row[0]].append(row)
            continue
        yield from pair_rows()
        if row[:1] == " ":
            yield [*_fill([(row, "")], half), ("│", "dim"), (row, "")]
        else:
            yield from draw_patch([row])
    yield from pair_rows()


def cut_patch(rows: Iterable[str]) -> list[tuple[str, list[str]]]:
    """(path, its rows) of each file in a patch."""
    files: list[tuple[str, list[str]]] = []
    for row in rows:
        if row.startswith("diff --git "):
            files.append((row.rpartition(" b/")[2].removesuffix('"'), []))
        if files:
            files[-1][1].append(row)
    return files


def count_changes(rows: Iterable[str]) -> str:
    """The number of lines that a patch adds and removes: `+3 -1`."""
    body = [row for row in rows if not row.startswith(("+++ ", "--- "))]
    plus, minus = (sum(row[:1] == sign for row in body) for sign in "+-")
    return f"+{plus} -{minus}"


# What the menu offers for what is marked.


def list_actions(name: str, row: PaneRow | None, part: PaneRow | None) -> list[Action]:
    """The actions on a row of the list of that name.  part: what is marked beside it."""
    actions = list[Action]()
    if row and name == "sessions":
        actions += _list_of_session(row, part)
    elif row:
        if name == "commits":
            place = spans.abbreviate(row.id)
        else:
            place = row.id
        has_point = name == "points" or row.item["checkpoints"]
        if has_point:
            actions += [_plan("rewind to here", "rewind", "--to", place)]
        bisect = ("bisect", place, "--", "sh", "-c")
        actions.append(
            Action("bisect from here", bisect, ("bisect", "-n", place), "the command that fails")
        )
        if name == "commits":
            resume = Action("resume its conversations", ("resume", place))
            if has_point:
                actions += [resume]
            actions.append(Action("open a page of it", ("page", "--open", place)))
    undo = ("undo", "--yes"), ("undo", "--dry-run")
    actions.append(Action("undo what gitcp changed last", *undo))
    if row:
        actions.append(Action("copy the id", copied=row.id))
    return actions


def _list_of_session(row: PaneRow, part: PaneRow | None) -> list[Action]:
    """A prompt or a call of a session is taken back or staged alone, else the whole session."""
    if part and isinstance(part.item, dict):
        entry = part.item
    else:
        entry = {}
    turn = row.item["turns"].get(entry.get("number"), "")
    calls = entry.get("ids", ())
    what = "the session's edits"
    stage = list[str]()
    rewind = ["--session", row.id]
    if turn:
        what = "this prompt's edits"
        stage = ["--turn", turn]
        rewind = ["--turn", turn]
    elif calls:
        what = "this call's edits"
        stage = ["--call", calls[0]]
        rewind = ["--tool", calls[0]]
    return [
        _plan(f"take back {what}", "rewind", *rewind),
        _plan(f"stage {what}", "stage", "--session", row.id, *stage),
        Action("resume the conversation", ("resume", row.id)),
        Action("open a page of it", ("page", "--open", row.id)),
    ]


def _plan(label: str, *command: str) -> Action:
    return Action(label, command, (*command, "--dry-run"))
