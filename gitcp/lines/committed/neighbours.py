"""The lines of a commit that no edit proves by themselves, but their neighbours do.

A run of lines that a commit added may have proven lines of one author and between them a blank
line, a bracket or an import, which occur too often to be proven.  They are shown as that author's.
This is for reading alone: no link and no stored record is made by it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.git.objects.patches import Hunk

_IMPORT = re.compile(rb"\s*(?:import|from|use|using|require|#\s*include)\b|.*\brequire\(")


def is_slight(line: bytes) -> bool:
    """Whether a line is blank or has only signs."""
    return not any(byte > 0x7F or chr(byte).isalnum() for byte in line)


def find_neighbours(
    hunks: Iterable[Hunk],
    proven: Mapping[int, Author],
    in_edits: Mapping[int, Author],
    others: Collection[int],
    content: Sequence[bytes],
) -> dict[int, Author]:
    """Line (from 1) -> its author, of the lines that hunks add and that only their neighbours
    prove.

    proven: the recorded authors.  in_edits: those of lines in the recorded range of an edit that
    proves a line beside them.  others: lines that somebody else has.  content: the file's lines.
    """
    finder = _Finder(proven, in_edits, others, content)
    for _, _, first, count in hunks:
        finder.search_run(first, first + count)
    return finder.found


class _Finder:
    """Looks at one run of added lines after the other."""

    def __init__(
        self,
        proven: Mapping[int, Author],
        in_edits: Mapping[int, Author],
        others: Collection[int],
        content: Sequence[bytes],
    ) -> None:
        self.found: dict[int, Author] = {}
        self._proven = proven
        self._in_edits = in_edits
        self._others = others
        self._content = content
        self._marked: dict[int, Author] = {}  # id of an author -> the same, marked

    def search_run(self, first: int, end: int) -> None:
        """Search the lines from first to end, which is none of them."""
        known: dict[int, Author] = {}
        for line in range(first, end):
            author = self._proven.get(line)
            if author is not None and author["who"] in ("session", "person"):
                known[line] = author
        if not known:
            return
        for line in range(first, end):
            if line not in known and self._is_free(line) and line in self._in_edits:
                known[line] = self._take(line, self._in_edits[line])
        above = first - 1
        for line in sorted(known):
            self._fill_gap(above, line, known.get(above), known[line])
            above = line
        self._fill_gap(above, end, known[above], None)

    def _fill_gap(self, above: int, below: int, upper: Author | None, lower: Author | None) -> None:
        """Give the lines between two known ones, or between one and an end of the run, to their
        author."""
        if upper is None and lower is not None:
            self._fill_edge(range(below - 1, above, -1), lower)
        elif lower is None and upper is not None:
            self._fill_edge(range(above + 1, below), upper)
        elif upper is not None and lower is not None and _is_same(upper, lower):
            for line in range(above + 1, below):
                if self._is_free(line) and self._belongs_between(line):
                    self._take(line, upper)

    def _fill_edge(self, lines: Iterable[int], author: Author) -> None:
        """Give the slight lines next to a known one, in their order, to its author."""
        for line in lines:
            if not self._is_free(line) or not is_slight(self._get_text(line)):
                return
            self._take(line, author)

    def _is_free(self, line: int) -> bool:
        return line not in self._others and line <= len(self._content)

    def _get_text(self, line: int) -> bytes:
        return self._content[line - 1]

    def _belongs_between(self, line: int) -> bool:
        text = self._get_text(line)
        return is_slight(text) or bool(_IMPORT.match(text))

    def _take(self, line: int, author: Author) -> Author:
        """Give a line to an author; lines of one author share an object."""
        key = id(author)
        if key not in self._marked:
            marked = author.copy()
            marked["by_neighbours"] = True
            self._marked[key] = marked
        self.found[line] = self._marked[key]
        return author


def _is_same(one: Author, other: Author) -> bool:
    return one["who"] == other["who"] and one["session_id"] == other["session_id"]
