"""Draw a page of the manual where there is no man: the part of mdoc(7) that our pages use."""

from __future__ import annotations

import re
from textwrap import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text.spans import Line

# cells before text, before a subheading, and of an inner indent
_MARGIN = 5
_HALF = 3
_STEP = 6
_WIDEST = 78
_MOST_GAP = 4  # cells between the columns of a table of four, and of more one to three less
_STYLES = set("Ar Cm Dv Em Ev Fl Ic Nm No Pa Sy Va".split())  # they only look different
_ENCLOSURES = {"Dq": '""', "Op": "[]", "Pq": "()", "Ql": "''", "Sq": "''"}
_OPENERS = {"Do": '"', "Po": "("}
_CLOSERS = {"Dc": '"', "Pc": ")"}
_INLINE = {*_STYLES, *_ENCLOSURES, *_OPENERS, *_CLOSERS, "Ns", "Pf", "Xr"}
_CLOSING = set(".,:;)]?!")
_OPENING = set("([")
_WORD = re.compile(r'"([^"]*)"|((?:\\ |\S)+)')
_ESCAPE = re.compile(r"\\(?:\((..)|(.))")
_ESCAPES = {"dq": '"', "e": "\\", "&": "", "-": "-", "~": "\u00a0", " ": "\u00a0"}


def draw_page(source: str, width: int = 0) -> list[Line]:
    """A page's lines for a terminal of width cells, 0 for none; headings are bold."""
    page = _Page(min(width or _WIDEST, _WIDEST))
    for line in source.splitlines():
        page.take_line(line)
    page.end_paragraph()
    return page.lines


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1] or found[2], ""), text)


class _Text:
    """Words of a paragraph, with the spaces that macros want between them."""

    def __init__(self, page: str) -> None:
        self.text = ""
        self._page = page  # its name, which Nm alone stands for
        self._joined = True  # the next word follows without a space

    def add(self, word: str, *, joins: bool = False) -> None:
        """Add a word; joins: the next one follows without a space."""
        self.text += ("" if self._joined else " ") + _unescape(word)
        self._joined = joins

    def close(self, mark: str) -> None:
        """Add a mark right after the last word."""
        self.text += mark
        self._joined = False

    def add_words(self, words: list[str]) -> None:
        """Add the words of a line, of which some are macros."""
        while words:
            word = words.pop(0)
            if word in _ENCLOSURES:
                self._enclose(_ENCLOSURES[word], words)
            elif word in _STYLES:
                self._add_styled(word, words)
            elif word == "Xr":
                self.add(f"{words.pop(0)}({words.pop(0)})")
            elif word == "Pf":
                self.add(words.pop(0), joins=True)
            elif word == "Ns":
                self._joined = True
            elif word in _OPENERS:
                self.add(_OPENERS[word], joins=True)
            elif word in _CLOSERS:
                self.close(_CLOSERS[word])
            else:
                self._add_plain(word)

    def _add_plain(self, word: str, sign: str = "") -> None:
        if word in _CLOSING:
            self.close(word)
        elif word in _OPENING or word == "|":
            self.add(word, joins=word in _OPENING)
        else:
            self.add(sign + word)

    def _add_styled(self, macro: str, words: list[str]) -> None:
        """Add the words up to the next macro; a flag gets its dash."""
        sign = "-" if macro == "Fl" else ""
        if not words or words[0] in _INLINE or words[0] in _CLOSING:
            alone = {"Fl": "-", "Ar": "file ...", "Nm": self._page}.get(macro, "")
            if alone:
                self.add(alone)
        while words and words[0] not in _INLINE:
            self._add_plain(words.pop(0), sign)

    def _enclose(self, marks: str, words: list[str]) -> None:
        """Add the other words between two marks, and what ends the sentence after them."""
        end = len(words)
        while end and words[end - 1] in _CLOSING:
            end -= 1
        inner = words[:end]
        after = words[end:]
        words.clear()
        while inner and inner[0] in _OPENING:
            self.add(inner.pop(0), joins=True)
        self.add(marks[0], joins=True)
        self.add_words(inner)
        self.close(marks[1])
        for mark in after:
            self.close(mark)


class _List:
    """A list that is open: where its items begin, and how much more their text is indented."""

    def __init__(self, kind: str, left: int, width: int, *, is_compact: bool) -> None:
        self.kind = kind
        self.left = left
        self.width = width
        self.is_compact = is_compact
        self.count = 0

    def make_head(self, text: str) -> str:
        """What stands before the text of the next item."""
        self.count += 1
        return {"-bullet": "*", "-enum": f"{self.count}."}.get(self.kind, text)


class _Page:
    """The lines that were drawn, and the paragraph that is open."""

    def __init__(self, width: int) -> None:
        self.lines: list[Line] = []
        self._width = width
        self._left = _MARGIN
        self._hang = 0
        self._name = ""
        self._section = ""
        self._head = ""
        self._lists: list[_List] = []
        self._columns: list[str] = []  # the widest cells of the table that is open
        self._literal = -1  # the indent of lines that are shown as they are
        self._text = _Text("")

    def take_line(self, line: str) -> None:
        """Draw a line of the source, or what ends before it."""
        if not line.startswith("."):
            if self._literal >= 0:
                self._put(" " * self._literal + _unescape(line))
            else:
                self._text.add(line)
            return
        macro, *words = [found[1] or found[2] or "" for found in _WORD.finditer(line[1:])]
        block = getattr(self, f"_take_{macro.lower()}", None)
        if block and macro not in _INLINE:
            block(words)
        elif macro in _INLINE:
            if macro == "Nm" and not words and self._section == "SYNOPSIS":
                self.end_paragraph()
                self._hang = len(self._name) + 1
            self._text.add_words([macro, *words])
            if self._literal >= 0:
                self.end_paragraph()

    def end_paragraph(self) -> None:
        """Draw the paragraph that is open."""
        if self._literal >= 0:
            left = self._literal
        else:
            left = self._left
        head = self._head
        text = self._text.text
        self._head, self._text = "", _Text(self._name)
        if head and (left - self._lists[-1].left <= len(head) or not text):
            self._put(" " * self._lists[-1].left + head)
            head = ""
        first = " " * left
        if head:
            first = (" " * self._lists[-1].left + head).ljust(left)
        if text:
            further = " " * (left + self._hang)
            for line in wrap(
                text, self._width, initial_indent=first, subsequent_indent=further,
                break_on_hyphens=False, break_long_words=False,
            ):  # fmt: skip
                self._put(line)
        self._hang = 0

    def _put(self, text: str, colour: str = "") -> None:
        self.lines.append([(text.rstrip(), colour)])

    def _join(self, words: list[str]) -> str:
        """The words of a line, some of them macros, as text."""
        text = _Text(self._name)
        text.add_words(words)
        return text.text

    def _skip(self) -> None:
        """End the paragraph with one empty line, but after a heading."""
        self.end_paragraph()
        if self.lines and self.lines[-1][0][0] and not self.lines[-1][0][1]:
            self._put("")

    def _take_dt(self, words: list[str]) -> None:
        self._put(f"{words[0]}({words[1]})", "bold")

    def _take_sh(self, words: list[str]) -> None:
        self.end_paragraph()
        self._put("")
        self._section = " ".join(words)
        self._put(self._section, "bold")

    def _take_ss(self, words: list[str]) -> None:
        self._skip()
        self._put(" " * _HALF + _unescape(" ".join(words)), "bold")

    def _take_pp(self, _: list[str]) -> None:
        self._skip()

    def _take_nd(self, words: list[str]) -> None:
        self._text.add("- " + " ".join(words))
        self._name = self._text.text.partition(" ")[0]

    def _take_dl(self, words: list[str]) -> None:
        self.end_paragraph()
        self._put(" " * (self._left + _STEP) + self._join(words))

    def _take_bd(self, words: list[str]) -> None:
        if "-compact" not in words:
            self._skip()
        self._literal = self._left + (_STEP if "-offset" in words else 0)

    def _take_ed(self, _: list[str]) -> None:
        self._literal = -1

    def _take_bl(self, words: list[str]) -> None:
        self.end_paragraph()
        if words[0] == "-column":
            self._columns = words[1:]
        named = ""
        if "-width" in words:
            named = words[words.index("-width") + 1]
        width = {"Ds": 8, "": 4}.get(named, len(_unescape(named)) + 2)
        is_compact = "-compact" in words
        self._lists.append(_List(words[0], self._left, width, is_compact=is_compact))

    def _take_it(self, words: list[str]) -> None:
        inner = self._lists[-1]
        if inner.kind == "-column":
            self._draw_row(words)
            return
        if inner.is_compact:
            self.end_paragraph()
        else:
            self._skip()
        self._head = inner.make_head(self._join(words))
        self._left = inner.left + inner.width

    def _draw_row(self, words: list[str]) -> None:
        """Draw a row of a table, whose cells are parted by Ta."""
        gap = _MOST_GAP - min(max(len(self._columns) - 4, 0), 3)
        row = " " * self._left
        end = len(row)  # of the columns so far
        for column in [*self._columns, ""]:
            cell = words
            if "Ta" in words:
                cell = words[: words.index("Ta")]
            words = words[len(cell) + 1 :]
            row = row.ljust(end) + self._join(list(cell))
            end += len(column) + gap
        self._put(row)

    def _take_el(self, _: list[str]) -> None:
        self.end_paragraph()
        self._left = self._lists.pop().left
