"""Draw the lines of a file at a terminal, with whoever wrote them named once a run."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitcp.lines.causes import NOBODY, YOU
from gitcp.terminal.rows import ID
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate, clip, count_cells, escape_part, pad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from gitcp.text.spans import Ago, Line

_MOST = 34  # cells before the code
_WHO = 12  # cells of a name
_TAB = 8  # cells, as in git's own output
_COLOURS = ("green", "magenta", "cyan", "yellow", "red")
# Options that choose lines and leave their form to us.
_CHOOSING = re.compile(
    "-[LMCSw].*|--(since|until|before|after|ignore-rev|contents|encoding|diff-algorithm|minimal"
    "|first-parent|root|progress|no-progress).*|--"
)


@dataclass(slots=True)
class _Writer:
    """Who wrote a line, as it is shown."""

    name: str
    who: str
    when: str
    colour: str


def leaves_form(words: Iterable[str]) -> bool:
    """Whether the words for git blame ask for none of git's own forms."""
    return all(_CHOOSING.fullmatch(word) for word in words if word.startswith("-"))


def draw_blame(records: Sequence[Any], ago: Ago, width: int) -> Iterator[Line]:
    """The lines of records `line`, each in at most width cells."""
    colours: dict[str, str] = {}
    writers = [_name_writer(record, ago, colours) for record in records]
    digits = max((len(str(record["line"])) for record in records), default=0)
    when_size = max((len(writer.when) for writer in writers), default=0)
    who_size = max(1, min(_WHO, _MOST - ID - when_size - digits - len("   ")))
    before: _Writer | None = None
    for record, writer in zip(records, writers, strict=True):
        if writer == before:
            line: Line = [(" " * (ID + who_size + when_size + 2), "")]
        else:
            line = [
                (writer.name.ljust(ID), writer.colour),
                (f" {pad(writer.who, who_size)}", writer.colour),
                (f" {writer.when:<{when_size}}", "dim"),
            ]
        before = writer
        line.append((f" {record['line']:>{digits}} ", "dim"))
        room = width - sum(count_cells(text) for text, _ in line)
        code = escape_part(record["content"].removesuffix("\r").expandtabs(_TAB))
        yield [*line, (clip(code, max(0, room))[0], "")]


def _name_writer(record: Any, ago: Ago, colours: dict[str, str]) -> _Writer:
    """Who wrote the line of a record; each session that was not seen before gets a colour."""
    when = ago(record["time"]) if record["time"] else ""
    commit = ""
    if record["commit"].strip("0"):
        commit = abbreviate(record["commit"])[:ID]
    author = record.get("guess") or record
    mark = "?" if author is not record else ""
    if author["who"] == "session":
        session_id = author["session_id"]
        colour = colours.setdefault(session_id, _COLOURS[len(colours) % len(_COLOURS)])
        return _Writer(shorten_id(session_id), (author["agent"] or "Agent") + mark, when, colour)
    if author["who"] == "person":
        return _Writer(commit, record["author"] if commit else YOU, when, "blue")
    return _Writer(commit, NOBODY, when, "dim")
