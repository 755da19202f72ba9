"""Which of several lines that read alike a commit added: as git's diff of it has them.

The record comes of our own diff.  Where a block repeats what is beside it (a brace, an empty
line) two diffs may rightly tell another one of the equal lines for the new one; whoever asks goes
by git's.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitcp.core.git.patches import Hunk
    from gitcp.core.lines.authors import Author


def select_added(authors: Mapping[int, Author], hunks: Iterable[Hunk]) -> dict[int, Author]:
    """The authors of those lines (1-based) by known that hunks put in."""
    return {line: authors[line] for line in list_new_lines(hunks) if line in authors}


def align_authors(
    decided: dict[int, Author], hunks: Iterable[Hunk], content: Callable[[], Sequence[bytes]]
) -> dict[int, Author]:
    """The authors of lines (1-based) by known, and of those that it lacks by their equals.

    hunks: of git's diff of the commit.  content reads the lines of the file.  A line that they
    put in and known has not takes the author of a known one that they do not, and that reads the
    same, in their order; none where those are of several sessions.
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
    there = ((line, alike.get(lines[line - 1])) for line in lacking if line <= len(lines))
    mine = {line: author for line, it in there if it and (author := next(it, None))}
    return {**decided, **mine}


def list_new_lines(hunks: Iterable[Hunk]) -> list[int]:
    """The lines that hunks put in."""
    return [line for _, _, first, count in hunks for line in range(first, first + count)]
