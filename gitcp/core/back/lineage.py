"""Select the edits of a journal since a moment, and those that led to a path's present content.

A content that a step or a command of git restored continues from its earlier occurrence: the edits
between do not belong to it.
"""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.core.credit.evidence import RESTORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.core.record_types import JournalLine, Version


def walk_back(edits: Sequence[JournalLine]) -> Iterator[JournalLine]:
    """Yield the edits that led to a path's present content, newest first; edits: oldest first."""
    index = len(edits) - 1
    while index >= 0:
        line = edits[index]
        earlier = _find_content(edits[:index], entries.parse_entry(line["after"]))
        if line["how"] == RESTORED and earlier is not None and not _is_by_person(line):
            index = earlier
            continue
        yield line
        index -= 1


def _find_content(edits: Sequence[JournalLine], content: Version) -> int | None:
    """The index of the last edit with this content after it, -1 for before the first; else None."""
    for index in range(len(edits) - 1, -1, -1):
        if entries.parse_entry(edits[index]["after"]) == content:
            return index
        if entries.parse_entry(edits[index]["before"]) == content:
            return index - 1
    return None


def find_maker(edits: Iterable[JournalLine]) -> str | None:
    """The session that created the file at a path, '' for the person; None if the edits (oldest
    first) do not tell.

    A later change does not change the maker.  A content that the path has had belongs to the maker
    of the first file with it, whoever restores it.
    """
    makers: dict[Version, str | None] = {None: None}
    maker: str | None = None
    for line in edits:
        before, after = entries.parse_entry(line["before"]), entries.parse_entry(line["after"])
        maker = makers.setdefault(before, None)
        if before is None:
            session_id, who, _ = entries.get_author(line)
            maker = session_id if session_id or who == entries.PERSON[1] else None
        maker = makers.setdefault(after, maker)
    return maker


def find_last_by_person(
    edits: Sequence[JournalLine], version: Version, is_in_git: Callable[[JournalLine], bool]
) -> JournalLine | None:
    """The person's newest edit that is lost if the path becomes a version again; None if none is.
    is_in_git: whether git has the content that an edit left or put away."""
    for line in walk_back(edits):
        before, after = entries.parse_entry(line["before"]), entries.parse_entry(line["after"])
        if after == version or is_in_git(line):
            return None
        if _is_by_person(line):
            return line
        if before == version or None in (before, after):
            return None
    return None


def _is_by_person(line: JournalLine) -> bool:
    """Whether the person made an edit: as its author, or by deleting an uncommitted file without a
    step."""
    gone = line["after"] is None and line["how"] == RESTORED
    by_hand = entries.get_cause(line) == entries.UNKNOWN and "step" not in line
    return entries.get_author(line) == entries.PERSON or (gone and by_hand)


def find_moment(
    lines: Sequence[JournalLine], name: str, after: bool
) -> tuple[list[JournalLine], int] | None:
    """(the edits since a turn or tool use began, or with after since it ended; the index of that
    line).  None if it made no edit and its opening names no unseen path.

    An edit counts by the time at which it was made: a look may see it long afterwards.
    """
    openings = [n for n, line in enumerate(lines) if _is_opening(line, name)]
    own = [n for n, line in enumerate(lines) if name in _list_causes(line)]
    own = own or [n for n in openings if "unseen" in lines[n]]
    if not own:
        return None
    if after:
        calls = {(lines[n]["session"], lines[n]["open"]) for n in openings}
        closings = [n for n, x in enumerate(lines) if (x.get("session"), x.get("close")) in calls]
        ends = closings or own
        position, time = max(ends), max(int(lines[n]["at"]) for n in ends)
        later = [line for n, line in enumerate(lines) if n > position and n not in own]
    else:
        position = min([*openings, own[0]])
        time = min((int(lines[n]["at"]) for n in openings), default=0)
        later = [*lines[position:]]
    return entries.list_edits(line for line in later if time_made(line) >= time), position


def _list_causes(line: JournalLine) -> tuple[str, ...]:
    """The turn and the tool use that made an edit."""
    session_id, *ids = entries.get_cause(line) if "path" in line else ("",)
    return tuple(ids) if session_id else ()


def _is_opening(line: JournalLine, name: str) -> bool:
    return "open" in line and name in (line["open"], line.get("turn"))


def time_made(line: JournalLine) -> int:
    """When an edit was made, or seen if that is not known; ns."""
    return int(line["made"] if "made" in line else line.get("at", 0))
