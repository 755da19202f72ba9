"""Cut the change of a file into hunks, each headed by the prompt that wrote most of it."""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitcp.git.objects.patches import Hunk


AROUND = 3  # lines of context on each side
MOST_ROWS = 5000  # rows of a file that are shown
_LONG = 10  # lines of another prompt within one edit that are a hunk of their own


@dataclass(slots=True, eq=False)
class Owner:
    """Who wrote lines of the change.

    kind: `prompt`, or a word of tally.WHO.  name: of a person.  session_id, number: of a prompt.
    """

    kind: str
    name: str = ""
    session_id: str = ""
    number: int = 0


@dataclass(slots=True)
class Mark:
    """The owner of an added line, and what proves that.

    call: session id and tool use that wrote it, '' if unknown.  is_beside: no edit proves it, but
    the lines around it.  commit: that added it.
    """

    owner: Owner
    call: tuple[str, str] = ("", "")
    is_beside: bool = False
    commit: str = ""


@dataclass(slots=True)
class PageHunk:
    """Rows with one owner at their head; None if only lines were removed.

    rows: (line before, line after), from 1, 0 where the row has none.  marks: of its added lines.
    """

    owner: Owner | None
    rows: list[tuple[int, int]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def count(self, owner: Owner) -> int:
        """The added lines of an owner."""
        return sum([mark.owner is owner for mark in self.marks])


@dataclass(slots=True)
class _Piece:
    """A part of an edit: the lines before and after it replaces and adds, from 0; its owner."""

    before: int
    gone: int
    after: int
    came: int
    owner: Owner | None


def cut_hunks(
    edits: Sequence[Hunk], count: int, marks: Mapping[int, Mark]
) -> tuple[list[PageHunk], int]:
    """(the hunks of a file, the number of changed lines left out after MOST_ROWS).

    edits: as `git diff -U0` has them.  count: of the lines after.  marks: by added line, from 1.
    """
    hunks: list[PageHunk] = []
    pieces, omitted = _list_pieces(edits, marks)
    end = 0  # of the lines after that are shown
    ended = 0  # of the lines before
    for piece in pieces:
        gap = piece.after - end
        is_apart = gap > 2 * AROUND
        if not hunks or is_apart or piece.owner is not hunks[-1].owner:
            if hunks:
                shown = min(gap, AROUND)
                _add_context(hunks[-1], ended, end, shown)
                ended += shown
                end += shown
            hunks.append(PageHunk(piece.owner))
            skipped = max(0, piece.after - end - AROUND)
            ended += skipped
            end += skipped
        hunk = hunks[-1]
        _add_context(hunk, ended, end, piece.after - end)
        _add_piece(hunk, piece, marks)
        ended = piece.before + piece.gone
        end = piece.after + piece.came
    if hunks and not omitted:
        _add_context(hunks[-1], ended, end, min(AROUND, count - end))
    return hunks, omitted


def _add_context(hunk: PageHunk, before: int, after: int, count: int) -> None:
    for number in range(1, count + 1):
        hunk.rows.append((before + number, after + number))


def _add_piece(hunk: PageHunk, piece: _Piece, marks: Mapping[int, Mark]) -> None:
    for number in range(piece.before + 1, piece.before + piece.gone + 1):
        hunk.rows.append((number, 0))
    for number in range(piece.after + 1, piece.after + piece.came + 1):
        hunk.rows.append((0, number))
        if number in marks:
            hunk.marks.append(marks[number])


def _list_pieces(edits: Sequence[Hunk], marks: Mapping[int, Mark]) -> tuple[list[_Piece], int]:
    """(the edits, of which one with long runs of several prompts is several pieces; the number of
    lines that are left out)."""
    pieces: list[_Piece] = []
    rows = 0
    omitted = 0
    for start, removed, first, added in edits:
        before = start
        if removed:
            before -= 1
        after = first
        if added:
            after -= 1
        gone = min(removed, MOST_ROWS - rows)
        came = min(added, MOST_ROWS - rows - gone)
        omitted += removed + added - gone - came
        rows += gone + came
        if gone + came:
            pieces += _split_edit(before, gone, after, came, marks)
    return pieces, omitted


def _split_edit(
    before: int, gone: int, after: int, came: int, marks: Mapping[int, Mark]
) -> list[_Piece]:
    """The pieces of an edit: a new one begins with each long run of another prompt."""
    starts = [after]
    prompt: Owner | None = None  # of the last long run
    run: Owner | None = None
    begin = after
    for line in range(after, after + came):
        mark = marks.get(line + 1)
        owner = None
        if mark and mark.owner.kind == "prompt":
            owner = mark.owner
        if owner is not run:
            run = owner
            begin = line
        if run is not None and line - begin + 1 == _LONG and run is not prompt:
            if prompt is not None:
                starts.append(begin)
            prompt = run
    ends = [*starts[1:], after + came]
    pieces = []
    for start, end in zip(starts, ends, strict=True):
        taken = 0
        if start == after:
            taken = gone
        owner = _choose_owner([marks[n] for n in range(start + 1, end + 1) if n in marks])
        pieces.append(_Piece(before + gone - taken, taken, start, end - start, owner))
    return pieces


def _choose_owner(marks: Sequence[Mark]) -> Owner | None:
    """Who wrote most: a prompt if one wrote any line of it; None if there is no added line."""
    counts: dict[Owner, int] = {}
    for mark in marks:
        counts[mark.owner] = counts.get(mark.owner, 0) + 1
    if not counts:
        return None
    return max(counts, key=lambda owner: (owner.kind == "prompt", counts[owner]))
