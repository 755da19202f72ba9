"""The edits that led to the content of a path: who made the file, which edits would be lost, and
which were made since a moment."""

from __future__ import annotations

from gitcp.record.journal import credit
from gitcp.record.journal.credit import RESTORED
from gitcp.record.journal.line_kinds import Closing, Edit, Opening
from gitcp.text import ids, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.record.journal.line_kinds import JournalLine
    from gitcp.text.record_types import Version


@value_class
class Moment:
    """The beginning or the end of a turn or tool use.  since: the edits since then.  number: that
    of its line."""

    since: list[Edit]
    number: int


def walk_back(edits: Sequence[Edit]) -> Iterator[Edit]:
    """Yield the edits that led to a path's present content, newest first; edits: oldest first."""
    index = len(edits) - 1
    while index >= 0:
        line = edits[index]
        earlier = _find_content(edits[:index], line.after)
        if line.how == RESTORED and earlier is not None and not _is_by_person(line):
            index = earlier
            continue
        yield line
        index -= 1


def _find_content(edits: Sequence[Edit], content: Version) -> int | None:
    """The index of the last edit with this content after it, -1 for before the first; else None."""
    for index in range(len(edits) - 1, -1, -1):
        if edits[index].after == content:
            return index
        if edits[index].before == content:
            return index - 1
    return None


def find_maker(edits: Iterable[Edit]) -> str | None:
    """The session that created the file at a path, '' for the person; None if the edits (oldest
    first) do not tell.

    A later change does not change the maker.  A content that the path has had belongs to the maker
    of the first file with it, whoever restores it.
    """
    makers: dict[Version, str | None] = {None: None}
    maker: str | None = None
    for line in edits:
        before = line.before
        after = line.after
        maker = makers.setdefault(before, None)
        if before is None:
            session_id, who, _ = line.author
            maker = None
            if session_id or who == ids.PERSON[1]:
                maker = session_id
        maker = makers.setdefault(after, maker)
    return maker


def find_last(
    edits: Sequence[Edit],
    version: Version,
    is_in_git: Callable[[Edit], bool],
    besides: str | None = None,
) -> Edit | None:
    """The person's newest edit that is lost if the path becomes a version again, or that of a
    session other than `besides`; None if none is.

    is_in_git: whether git has the content that an edit left or put away."""
    for line in walk_back(edits):
        before = line.before
        after = line.after
        if after == version or is_in_git(line):
            return None
        if besides is None:
            is_asked_for = _is_by_person(line)
        else:
            is_asked_for = line.author[0] not in ("", besides)
        if is_asked_for:
            return line
        if before == version or None in (before, after):
            return None
    return None


def _is_by_person(line: Edit) -> bool:
    """Whether the person made an edit: as its author, or by deleting an uncommitted file without a
    step."""
    gone = line.after is None and line.how == RESTORED
    by_hand = line.cause == ids.UNKNOWN and not line.step
    return line.author == ids.PERSON or (gone and by_hand)


def find_moment(lines: Sequence[JournalLine], name: str, after: bool) -> Moment | None:
    """The moment at which a turn or tool use began, or with after ended; None for an unknown name.

    An edit counts by the time at which it was made: a look may see it long afterwards.
    """
    openings: list[int] = []
    own: list[int] = []
    for number, line in enumerate(lines):
        if isinstance(line, Opening) and name in (line.call, line.turn):
            openings.append(number)
        elif isinstance(line, Edit) and _is_part(line, name):
            own.append(number)
    own = own or openings
    if not own:
        return None
    if not after:
        number = min([*openings, own[0]])
        begun = min((lines[n].at for n in openings), default=0)
        return Moment(_list_made_since(lines[number:], begun), number)
    ends = _list_closings(lines, openings) or own
    number = max(ends)
    ended = max(lines[n].at for n in ends)
    own_numbers = set(own)
    later = [line for n, line in enumerate(lines) if n > number and n not in own_numbers]
    return Moment(_list_made_since(later, ended), number)


def _list_closings(lines: Sequence[JournalLine], openings: Iterable[int]) -> list[int]:
    """The numbers of the lines that end the calls which lines of these numbers open."""
    calls = set()
    for number in openings:
        opening = lines[number]
        if isinstance(opening, Opening):
            calls.add(opening.name)
    closings: list[int] = []
    for number, line in enumerate(lines):
        if isinstance(line, Closing) and line.name in calls:
            closings.append(number)
    return closings


def _list_made_since(lines: Iterable[JournalLine], time: int) -> list[Edit]:
    """The edits among some lines that were made at a time, in ns, or later."""
    return [edit for edit in credit.list_edits(lines) if edit.made >= time]


def _is_part(edit: Edit, name: str) -> bool:
    """Whether an edit was made by a turn or a tool use."""
    session_id, *names = edit.cause
    return bool(session_id) and name in names
