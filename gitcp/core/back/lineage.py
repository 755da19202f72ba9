"""The edits of a journal as going back asks for them: those since a moment, and those behind the
present content of a path.

What a step or a command of git put back leads on from where that content stood before: the
edits between are not part of it any more.
"""

from __future__ import annotations

from gitcp.core.credit import entries
from gitcp.core.credit.evidence import RESTORED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gitcp.core.record_types import JournalLine, Version


def walk_back(edits: Sequence[JournalLine]) -> Iterator[JournalLine]:
    """The edits of a path (oldest first) behind its present content, newest first."""
    at = len(edits) - 1
    while at >= 0:
        line = edits[at]
        earlier = _find_content(edits[:at], entries.parse_entry(line["after"]))
        if line["how"] == RESTORED and earlier is not None and not _is_by_person(line):
            at = earlier
            continue
        yield line
        at -= 1


def _find_content(edits: Sequence[JournalLine], content: Version) -> int | None:
    """After which of the edits that content stood last, -1: before the first; None: never."""
    for at in range(len(edits) - 1, -1, -1):
        if entries.parse_entry(edits[at]["after"]) == content:
            return at
        if entries.parse_entry(edits[at]["before"]) == content:
            return at - 1
    return None


def find_maker(edits: Iterable[JournalLine]) -> str | None:
    """The session that made the file at a path, '' for the person; None where the edits (oldest
    first) do not tell.

    A file that comes where nothing was is its author's, and a change leaves it its maker.  A
    content that the path has had is always of the maker whose file had it first: by whatever hand
    it comes back.
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
    edits: Sequence[JournalLine], wanted: Version, is_in_git: Callable[[JournalLine], bool]
) -> JournalLine | None:
    """The person's newest edit behind a path's content that is lost where the path becomes
    wanted again; None where none is.  is_in_git: whether git has what an edit left or put away."""
    for line in walk_back(edits):
        before, after = entries.parse_entry(line["before"]), entries.parse_entry(line["after"])
        if after == wanted or is_in_git(line):
            return None
        if _is_by_person(line):
            return line
        if before == wanted or None in (before, after):
            return None
    return None


def _is_by_person(line: JournalLine) -> bool:
    """Whether the person's hand made an edit: the lines may be others', or nobody's where a file
    went that HEAD has not."""
    gone = line["after"] is None and line["how"] == RESTORED
    by_hand = entries.get_cause(line) == entries.UNKNOWN and "step" not in line
    return entries.get_author(line) == entries.PERSON or (gone and by_hand)


def find_moment(
    lines: Sequence[JournalLine], name: str, after: bool
) -> tuple[list[JournalLine], int] | None:
    """(the edits since a turn or tool use began; its place among lines); after: since it ended.
    None where no edit went through it, and nothing that was not seen before it.

    A look may see an edit long after it was made: `made` tells where it belongs, and the order
    of the lines where the clock of the file system tells no difference.
    """
    opened = [n for n, line in enumerate(lines) if _is_opening(line, name)]
    own = [n for n, line in enumerate(lines) if name in _list_causes(line)]
    own = own or [n for n in opened if "unseen" in lines[n]]
    if not own:
        return None
    calls = {(lines[n]["session"], lines[n]["open"]) for n in opened}
    closed = [n for n, x in enumerate(lines) if (x.get("session"), x.get("close")) in calls]
    if after:
        place = max(closed or own)
        end = max(int(lines[n]["at"]) for n in (closed or own))
        since = [n for n in range(place + 1, len(lines)) if time_made(lines[n]) >= end]
        since = [n for n in since if n not in own]
    else:
        place = min([*opened, own[0]])
        start = min(int(lines[n]["at"]) for n in opened) if opened else 0
        since = [n for n in range(place, len(lines)) if time_made(lines[n]) >= start]
    return entries.list_edits([lines[n] for n in since]), place


def _list_causes(line: JournalLine) -> tuple[str, ...]:
    session_id, *names = entries.get_cause(line) if "path" in line else ("",)
    return tuple(names) if session_id else ()


def _is_opening(line: JournalLine, name: str) -> bool:
    return "open" in line and name in (line["open"], line.get("turn"))


def time_made(line: JournalLine) -> int:
    """When an edit was made, ns, as far as that is known; else when it was seen."""
    return int(line["made"] if "made" in line else line.get("at", 0))
