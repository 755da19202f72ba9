"""Which of several equal lines a commit added, by git's diff of it.

The record is made by gitcp's own diff.  Where a block repeats the lines beside it (a brace, an
empty line), two diffs may each take another one of the equal lines for the new one.  What is shown
beside git's diff follows git's.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitcp.core.git.patches import Hunk
    from gitcp.core.lines.authors import Author


def select_added(authors: Mapping[int, Author], hunks: Iterable[Hunk]) -> dict[int, Author]:
    """The authors of those of the lines (1-based) that hunks put in."""
    return {line: authors[line] for line in list_new_lines(hunks) if line in authors}


def align_authors(
    decided: dict[int, Author], hunks: Iterable[Hunk], content: Callable[[], Sequence[bytes]]
) -> dict[int, Author]:
    """The authors of lines (1-based) in decided, and of new lines without one by their equals.

    hunks: of git's diff of the commit.  content reads the lines of the file.  A line that hunks put
    in and that decided lacks takes the author of an equal line that hunks did not put in, each in
    its order; it takes none where the equal lines are of several sessions.
    """
    new = list_new_lines(hunks)
    lacking = [line for line in new if line not in decided]
    spare = sorted(decided.keys() - set(new)) if lacking else []
    if not spare:
        return decided
    lines = content()
    equals: dict[bytes, list[Author]] = {}
    for line in spare:
        if line <= len(lines):
            equals.setdefault(lines[line - 1], []).append(decided[line])
    alike = {
        text: iter(authors)
        for text, authors in equals.items()
        if len({(author["who"], author["session_id"]) for author in authors}) == 1
    }
    aligned = dict(decided)
    for line in lacking:
        donors = alike.get(lines[line - 1]) if line <= len(lines) else None
        if donors and (author := next(donors, None)):
            aligned[line] = author
    return aligned


def list_new_lines(hunks: Iterable[Hunk]) -> list[int]:
    """The lines that hunks put in."""
    return [line for _, _, first, count in hunks for line in range(first, first + count)]
