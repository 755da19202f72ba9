"""Code as runs of (kind, text): a highlighter's words, without any markup of its own."""

from __future__ import annotations

from pygments import lex
from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, Keyword, Name, String
from pygments.util import ClassNotFound

LARGEST = 256 << 10  # characters; what is longer stays plain
Run = list[str]  # kind ('' for plain; c, k, t, f: comment, keyword, text, a name given), text


def highlight_lines(path: str, lines: list[str]) -> list[list[Run]]:
    """The runs of each line; as many lines as were given, with the same text."""
    kinds = ((Comment, "c"), (Keyword, "k"), (String, "t"), (Name.Function, "f"), (Name.Class, "f"))
    plain = [[["", line]] if line else [] for line in lines]
    text = "\n".join(lines)
    if len(text) > LARGEST:
        return plain
    try:
        lexer = get_lexer_for_filename(path, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return plain
    rows: list[list[Run]] = [[]]
    for token, value in lex(text, lexer):
        kind = next((short for group, short in kinds if token[: len(group)] == group), "")
        first, *rest = value.split("\n")
        _add_run(rows[-1], kind, first)
        for part in rest:
            rows.append([])
            _add_run(rows[-1], kind, part)
    same = ["".join(run[1] for run in row) for row in rows] == lines
    return rows if same else plain


def _add_run(row: list[Run], kind: str, text: str) -> None:
    if text and row and row[-1][0] == kind:
        row[-1][1] += text
    elif text:
        row.append([kind, text])
