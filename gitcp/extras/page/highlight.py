"""Highlight code as runs of (kind, text), without markup."""

from __future__ import annotations

import fnmatch
import os
import re
from functools import cache
from itertools import chain, groupby
from operator import itemgetter

from pygments.lexers import find_lexer_class, get_all_lexers, get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, String

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pygments.lexer import Lexer
    from pygments.token import _TokenType

    Marks = dict[int, list[str]]  # line -> its marks, of the lines that have some

_AS_IT_IS = {"stripnl": False, "ensurenl": False}
LARGEST = 256 << 10  # characters; what is longer stays plain
_BESIDE = 100  # lines that are looked at before and after those that are shown
_OPENING = ("/*", "<!--", "{-")
_CLOSING = frozenset(("*/", "-->", "-}"))
_ALIKE = ("`", '"""', "'''", "```")
_MARKS = re.compile(r"/\*|\*/|<!--|-->|\{-|-\}|\"\"\"|'''|```|`")
_KIND = itemgetter(0)
Run = list[str]  # kind ('' for plain; c, k, t, f: comment, keyword, text, a defined name), text
_KINDS = ((Comment, "c"), (Keyword, "k"), (String, "t"), (Name.Function, "f"), (Name.Class, "f"))


def highlight_lines(
    path: str, lines: list[str], spans: Iterable[tuple[int, int]]
) -> list[list[Run]]:
    """The runs of each line; together they have the same text.  What is not shown stays plain.

    spans: (first, end) of the runs of lines, from 0, that are shown, in their order.
    """
    rows = [*map(_leave_plain, lines)]
    lexer = _find_lexer(_shorten_name(os.path.basename(path)))
    if lexer is None or sum(map(len, lines)) + len(lines) > LARGEST:
        return rows
    for first, end in _join_spans(lines, spans):
        rows[first:end] = _highlight_span(lexer, lines[first:end])
    return rows


def _join_spans(lines: Sequence[str], spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans with the rest of the comments and texts that they begin or end in."""
    marks = _find_marks(lines)
    joined: list[tuple[int, int]] = []
    for first, end in spans:
        begin = _find_opening(marks, first)
        if joined and begin <= joined[-1][1]:
            begin = joined.pop()[0]
        joined.append((begin, _find_closing(marks, begin, min(end, len(lines)), len(lines))))
    return joined


def _find_marks(lines: Sequence[str]) -> Marks:
    """The marks in lines."""
    text = "\n".join(lines)
    number = 0
    last = 0
    marks: Marks = {}
    for match in _MARKS.finditer(text):
        number += text.count("\n", last, match.start())
        last = match.start()
        marks.setdefault(number, []).append(match[0])
    return marks


def _find_opening(marks: Marks, first: int) -> int:
    """The line of the last mark before a line that opens a comment of several lines; the line
    itself if the last mark closes one, or there is none.

    Where opening and closing are written alike, reading begins _BESIDE lines earlier.
    """
    earliest = max(0, first - _BESIDE)
    for number in range(first - 1, earliest - 1, -1):
        found = marks.get(number)
        if found:
            if any(found.count(mark) % 2 for mark in _ALIKE):
                return earliest
            directed = [mark for mark in found if mark not in _ALIKE]
            if directed and directed[-1] in _OPENING:
                return number
            if directed:
                return first
    return first


def _find_closing(marks: Marks, first: int, end: int, count: int) -> int:
    """The end of the comment that the lines from first to end, of count lines, open; end if they
    open none.  Some lexers see a comment only as a whole."""
    found = chain.from_iterable(marks.get(n, ()) for n in range(first, end))
    directed = [mark for mark in found if mark not in _ALIKE]
    if not directed or directed[-1] not in _OPENING:
        return end
    after = range(end, min(end + _BESIDE, count))
    return next((n + 1 for n in after if _CLOSING.intersection(marks.get(n, ()))), end)


def _highlight_span(lexer: Lexer, texts: list[str]) -> list[list[Run]]:
    rows: list[list[Run]] = [[]]
    tokens = lexer.get_tokens_unprocessed("\n".join(texts))
    named = ((_name_kind(token), value) for _, token, value in tokens)
    for kind, group in groupby(named, _KIND):
        first, *rest = "".join([value for _, value in group]).split("\n")
        if first:
            rows[-1].append([kind, first])
        for part in rest:
            rows.append([])
            if part:
                rows[-1].append([kind, part])
    if [_join_runs(row) for row in rows] == texts:
        return rows
    return [*map(_leave_plain, texts)]


def _leave_plain(line: str) -> list[Run]:
    if line:
        return [["", line]]
    return []


def _join_runs(row: list[Run]) -> str:
    return "".join([text for _, text in row])


def _shorten_name(name: str) -> str:
    """A shorter name with the same lexer, the same for all names with an extension, so that
    _find_lexer() finds it in its cache."""
    short = "x" + name[name.find(".") :]
    if _match_peculiar()(name) or _match_peculiar()(short):
        return name
    return short


@cache
def _list_patterns() -> tuple[list[tuple[str, str]], list[str]]:
    """((an extension with its dot, the name of a lexer for it)…, the other patterns of names)."""
    extensions: list[tuple[str, str]] = []
    peculiar: list[str] = []
    for kind, _, patterns, _ in get_all_lexers():
        for pattern in patterns:
            if pattern[:2] == "*." and not set("*?[") & set(pattern[2:]):
                extensions.append((pattern[1:], kind))
            else:
                peculiar.append(pattern)
    return extensions, peculiar


@cache
def _match_peculiar() -> Callable[[str], object]:
    """The function that matches names whose lexer depends on more than the extension."""
    return re.compile("|".join(map(fnmatch.translate, _list_patterns()[1]))).match


@cache
def _find_lexer(name: str) -> Lexer | None:
    if _match_peculiar()(name):
        return get_lexer_for_filename(name, None, **_AS_IT_IS)
    # What Pygments does, without a regular expression for each of 900 patterns.
    kinds = [kind for extension, kind in _list_patterns()[0] if name.endswith(extension)]
    classes = [kind for kind in map(find_lexer_class, kinds) if kind]
    if not classes:
        return None
    return max(classes, key=lambda kind: (kind.priority, kind.__name__))(**_AS_IT_IS)


@cache
def _name_kind(token: _TokenType) -> str:
    return next((short for group, short in _KINDS if token[: len(group)] == group), "")
