"""Draw the lines of `gitcp why`: what a line, or each line of a file, came of."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gitcp.agents.reading import turns
from gitcp.lines.causes import NOBODY as NOT_RECORDED
from gitcp.terminal.rows import INDENT, NO_LIMIT, ScreenRow, draw_below, draw_row
from gitcp.text import prompt_text
from gitcp.text.json import ensure_object
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import (
    COMMAND,
    abbreviate,
    clip,
    count_cells,
    count_noun,
    cut_rows,
    escape_part,
    join_words,
    shorten,
    split_rows,
    wrap_line,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.agents.reading.conversation import CallContext
    from gitcp.lines.causes import Cause, FileCauses
    from gitcp.text.record_types import Record
    from gitcp.text.spans import Ago, Line

UNSEEN = "written before gitcp was here, or by a program it did not see"
_PROMPT_ROWS = 5
_SAID_ROWS = 2
_CONTENT_ROWS = 3
_COMMAND_ROWS = 6
_AROUND = 3  # rows of an edit before and after the line that is asked for
_TAB = 4  # cells
_COMMANDS = ("command", "cmd", "commands")
_SIGNS = {"+": "green", "-": "red"}


@dataclass(slots=True)
class Origin:
    """A record `origin` (gitcp-record(5)): what some lines came of."""

    file: str
    path: str
    original_line: int
    first: int
    last: int
    content: list[str]
    who: str
    agent: str
    model: str
    session_id: str
    number: int | None
    prompt: str
    author: str
    time: float | None
    commit: dict[str, str] | None
    call: CallContext | None
    resume: str


class _Drawing:
    """Draws origins.  width: cells of a row, NO_LIMIT for any; full: nothing is shortened."""

    def __init__(self, ago: Ago, width: int, full: bool) -> None:
        self._ago = ago
        self._width = width
        self._full = full

    def draw_origin(self, origin: Origin) -> Iterator[Line]:
        """The lines of a record `origin`."""
        yield from self._draw_place(origin)
        yield []
        if origin.who != "session":
            who = origin.who
            other = describe_other_author(who, origin.agent, origin.author, origin.commit)
            yield self._cut([(other, "")])
            yield from self._draw_commit(origin)
            return
        prompt = prompt_text.name_prompt(origin.prompt) or origin.prompt
        if prompt:
            yield from self._draw_text("> ", prompt, _PROMPT_ROWS, "")
            yield []
        yield self._cut([(f"written by {_name_session(origin)}", "")])
        yield from self._draw_commit(origin)
        call = origin.call
        if call is None:
            yield [(f"edit: {NOT_RECORDED}", "dim")]
        else:
            yield from self._draw_call(origin, call)

    def _draw_place(self, origin: Origin) -> Iterator[Line]:
        """The place of the lines, and what they say."""
        where = f"{origin.file}:{origin.first}"
        content = [_expand(row) for row in origin.content]
        if len(content) == 1:
            yield self._cut([(where, "bold"), (f"  {content[0]}", "")])
            return
        yield self._cut([(f"{where}-{origin.last}", "bold")])
        if origin.who == "session" and not self._full:
            return  # the edit has them
        for row in self._limit(content, _CONTENT_ROWS):
            yield self._cut([(f"    {row}", "")])

    def _draw_commit(self, origin: Origin) -> Iterator[Line]:
        commit = origin.commit
        when = ""
        if origin.time:
            when = self._ago(origin.time)
        if not commit:
            yield [("not committed", "yellow"), (f", written {when}" if when else "", "")]
            return
        line = [(f"committed {when} as ", ""), (abbreviate(commit["oid"]), "yellow")]
        line.append((f" {join_words(commit['subject'])}, by {commit['committer']}", ""))
        yield self._cut(line)
        if origin.path != origin.file:
            yield self._cut([(f"there {origin.path}:{origin.original_line}", "")])

    def _draw_call(self, origin: Origin, call: CallContext) -> Iterator[Line]:
        task = ensure_object(ensure_object(call["task"]).get("given"))
        asked = [str(task[key]) for key in ("description", "prompt") if task.get(key)]
        if asked:
            yield from self._draw_text("task: ", "\n".join(asked), _SAID_ROWS - 1, "")
        words = [call["before"] or call["after"]]
        if self._full:
            words = [call["before"], call["after"]]
        for text in filter(str.strip, words):
            yield from self._draw_text("said: ", text, _SAID_ROWS, "")
        yield []
        rows = turns.list_edit(call["given"], origin.file) or turns.list_edit(
            call["given"], origin.path
        )
        if rows:
            yield from self._draw_edit(rows, origin)
        else:
            text = f"{call['name']}: {_format_given(call['given'])}"
            for row in self._limit(split_rows(text), _COMMAND_ROWS):
                yield self._cut([(_expand(row), "")])

    def _draw_edit(self, rows: Sequence[tuple[str, str]], origin: Origin) -> Iterator[Line]:
        """The rows of an edit around the lines that are asked for, which have their numbers."""
        at = _find_rows(rows, origin.content)
        first = 0
        last = len(rows)
        if not self._full:
            first = max(0, at - _AROUND)
            last = at + min(len(origin.content), _AROUND) + _AROUND
        numbers = dict(enumerate(range(origin.first, origin.last + 1), at))
        for place, (sign, text) in enumerate(rows[first:last], first):
            is_asked = sign == "+" and place in numbers and _is_found(rows, at, origin)
            number = f"{numbers[place]}" if is_asked else ""
            body = f"{number:>7} {sign}{_expand(text)}"
            yield self._cut([(body.rstrip(), _SIGNS.get(sign, ""))])
        left = len(rows) - len(rows[first:last])
        if left:
            yield [(f"        … {count_noun(left, 'more row')} of the edit: --full", "dim")]

    def _draw_text(self, mark: str, text: str, most: int, colour: str) -> Iterator[Line]:
        """A text behind a mark in at most so many rows, blank lines between them once."""
        rows = [row for line in _join_blank(split_rows(text)) for row in self._wrap(line, mark)]
        rows = _join_blank(self._limit(rows, most))
        for number, row in enumerate(rows):
            start = mark if not number else " " * len(mark)
            yield [(start, "dim"), (row, colour)] if row else []

    def _wrap(self, line: str, mark: str) -> list[str]:
        if self._width == NO_LIMIT:
            return [_expand(line)]
        wrapped = wrap_line([(line, "")], max(20, self._width - len(mark)))
        return ["".join(text for text, _ in row) for row in wrapped]

    def _limit(self, rows: Sequence[str], most: int) -> list[str]:
        if self._full:
            return list(rows)
        return cut_rows(rows, most, lambda left: f"… {count_noun(left, 'more line')}: --full")

    def _cut(self, line: Line) -> Line:
        """A line in the cells of a row."""
        if self._width == NO_LIMIT or self._full:
            return line
        cut: Line = []
        left = self._width
        for text, colour in line:
            plain = escape_part(text)
            if count_cells(plain) > left:
                if left:
                    fitting, _ = clip(plain, left - 1)
                    cut.append((f"{fitting}…", colour))
                break
            cut.append((plain, colour))
            left -= count_cells(plain)
        return cut


def draw_origins(
    origins: Iterable[Record], ago: Ago, full: bool, width: int = NO_LIMIT
) -> Iterator[Line]:
    """The lines of records `origin`, with a blank line between two of them, and what to type next.

    width: cells of a row, NO_LIMIT for any.  full: nothing is shortened.
    """
    drawing = _Drawing(ago, width, full)
    last: Origin | None = None
    for record in origins:
        origin = Origin(**{field.name: record[field.name] for field in fields(Origin)})
        if last is not None:
            yield []
        last = origin
        yield from drawing.draw_origin(origin)
    if last is None or last.who != "session":
        return
    yield []
    if full and last.resume:
        yield [("go on: ", "dim"), (last.resume, COMMAND)]
        return
    name = shorten_id(last.session_id)
    whole = ", 'gitcp why --full' the whole edit"
    if full:
        whole = ""
    yield [(f"'gitcp show {name}' shows the session{whole}", "dim")]


def _name_session(origin: Origin) -> str:
    model = ""
    if origin.model:
        model = f" ({origin.model})"
    number = ""
    if origin.number is not None:
        number = f", prompt {origin.number}"
    agent = origin.agent or "an agent"
    return f"{agent}{model}, session {shorten_id(origin.session_id)}{number}"


def describe_other_author(who: str, agent: str, author: str, commit: object) -> str:
    """Who wrote a line that is no session's; commit: whether a commit has it."""
    if who == "unknown" and agent:
        return f"{NOT_RECORDED}: a conversation of {agent} may have written it ('gitcp import')"
    if who == "unknown":
        return UNSEEN
    if not commit:
        return "yours: no agent wrote it"
    if who == "unrecorded":
        return UNSEEN + (f"; the commit names {agent}" if agent else "")
    return f"written by {author}"


def _expand(row: str) -> str:
    """A row as a terminal shows it: without the end of a DOS line, with spaces for tabs."""
    return row.removesuffix("\r").expandtabs(_TAB)


def _join_blank(rows: Sequence[str]) -> list[str]:
    """Rows without those that are blank after a blank one, at an end, or before what is left
    out."""
    joined: list[str] = []
    for row in rows:
        if row.startswith("… ") and joined and not joined[-1]:
            joined.pop()
        if row.strip() or (joined and joined[-1]):
            joined.append(row.rstrip())
    while joined and not joined[-1]:
        joined.pop()
    return joined


def _find_rows(rows: Sequence[tuple[str, str]], content: Sequence[str]) -> int:
    """Where the first of some lines is among the rows of an edit; 0 if it is not there."""
    wanted = [line.removesuffix("\r").strip() for line in content]
    added = [n for n, (sign, _) in enumerate(rows) if sign == "+"]
    for size in (len(wanted), 1):  # all of them, else the first alone
        for at in added:
            found = [text.removesuffix("\r").strip() for _, text in rows[at : at + size]]
            if found == wanted[:size]:
                return at
    return 0


def _is_found(rows: Sequence[tuple[str, str]], at: int, origin: Origin) -> bool:
    return bool(rows[at][1].strip() == origin.content[0].strip())


def _format_given(given: object) -> str:
    """The input of a call as a text: its command, else its arguments."""
    if isinstance(given, str):
        return given
    arguments = ensure_object(given)
    for key in _COMMANDS:
        value = arguments.get(key)
        if value:
            if isinstance(value, list):
                return " ".join(map(str, value))
            return str(value)
    return ", ".join(f"{key}: {join_words(str(value))}" for key, value in arguments.items())


_SPANS = 3  # runs of lines of a row
MOST = 10  # rows of a file, each of which is two lines


def draw_causes(causes: FileCauses, ago: Ago, width: int, most: int) -> Iterator[Line]:
    """The prompts and commits behind the lines of a file, newest first, at most `most` of them."""
    sums = f", {_format_sums(causes)}"
    path = causes.path
    if width != NO_LIMIT:
        path = _cut_path(path, max(1, width - count_cells(sums)))
    yield [(path, "bold"), (sums, "")]
    yield []
    for cause in causes.causes[:most]:
        yield draw_row(_build_row(cause, ago), width)
        yield draw_below(_format_places(cause), width, has_id=False)
    left = len(causes.causes) - most
    if left > 0:
        yield [(f"{INDENT}and {left} more: -n {len(causes.causes)}", "dim")]


def _cut_path(path: str, room: int) -> str:
    """A path in at most room cells, with its end in them if a part of it fits."""
    if count_cells(escape_part(path)) <= room:
        return path
    parts = path.split("/")
    while len(parts) > 1 and count_cells("/".join(parts)) + 2 > room:
        parts.pop(0)
    return shorten("/".join(["…", *parts]), room)


def _format_sums(causes: FileCauses) -> str:
    """The lines of a file, by author."""
    names = {name: count for name, count in causes.lines_by_author.items() if count}
    shown = sorted(names, key=lambda name: (name == NOT_RECORDED, -names[name]))
    words = []
    for name in shown[:4]:
        by = "" if name == NOT_RECORDED else "by "
        words.append(f"{names[name]} {by}{name}")
    others = sum(names[name] for name in shown[4:])
    if others:
        words.append(f"{others} by others")
    uncommitted = ""
    if causes.uncommitted:
        uncommitted = f"; {causes.uncommitted} not committed"
    return f"{count_noun(causes.line_count, 'line')}: {', '.join(words)}{uncommitted}"


def _build_row(cause: Cause, ago: Ago) -> ScreenRow:
    when = ago(cause.time) if cause.time else ""
    row = ScreenRow("", when, cause.author, cause.name, indent=INDENT, has_id=False)
    if cause.who == "session":
        if cause.name:
            row.text = f"> {cause.name}"
        else:
            row.text = "no prompt is recorded"
    elif cause.who == "person":
        row.colour = "blue"
        row.text = cause.name or "not committed"
    else:
        row.who = NOT_RECORDED
        row.colour = "dim"
        row.text = UNSEEN
    return row


def _format_places(cause: Cause) -> str:
    """The lines of a cause, its session, and its commits."""
    spans = _list_spans(cause.lines)
    if len(spans) > _SPANS + 1:
        spans = [*spans[:_SPANS], "…"]
    words = [f"line{'s' if len(cause.lines) > 1 else ''} {', '.join(spans)}"]
    if cause.session_id:
        words.append(f"session {shorten_id(cause.session_id)}")
    commits = [abbreviate(oid) for oid in cause.commits]
    if len(commits) == 1:
        words.append(f"commit {commits[0]}")
    elif commits:
        words.append(f"{len(commits)} commits, the last {commits[0]}")
    if cause.is_open:
        words.append("not committed")
    return ", ".join(words)


def _list_spans(lines: Sequence[int]) -> list[str]:
    """The runs of numbers, which are sorted: `3`, `5-7`."""
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return [f"{first}" if first == last else f"{first}-{last}" for first, last in runs]
