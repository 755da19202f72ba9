"""Draw commits and sessions: the lines of `log` and `sessions`."""

from __future__ import annotations

from gitcp.agents.reading import conversation
from gitcp.steps import handover_text
from gitcp.terminal import scales
from gitcp.terminal.rows import (
    ENDED,
    INDENT,
    NO_LIMIT,
    STATES,
    Row,
    count_tasks,
    draw_below,
    draw_row,
    format_changes,
    list_paths,
    name_session,
)
from gitcp.terminal.usage import count_session
from gitcp.text import prompt_text
from gitcp.text.json import ensure_object
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import (
    COMMAND,
    abbreviate,
    clip,
    count_noun,
    cut_rows,
    escape_part,
    shorten,
    split_rows,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.checkpoints.format.schema import Part
    from gitcp.text.record_types import Drawn, Record
    from gitcp.text.spans import Ago, Line

    Changed = tuple[int, int]  # lines added and removed
    Share = tuple[str, str, str, int]  # author, colour, sign in a bar, lines
    When = Callable[[float], str]  # seconds since 1970 -> date and time
    Shown = Mapping[str, Any]

_PROMPT = 72


def draw_log(commit: Record, ago: Ago, width: int, counted: Changed | None) -> Iterator[Line]:
    """The row of a commit, and below it rows of at most _ROWS sessions behind it.

    width: cells of a row, rows.NO_LIMIT for any.  counted: the lines added and removed."""
    parts = list_parts(commit)
    numbers = format_changes(*counted) if counted else ""
    yield draw_row(build_commit_row(commit, ago, numbers), width)
    for part in parts[:_ROWS]:
        yield draw_row(_build_session_row(part), width)
    left = len(parts) - _ROWS
    if left > 0:
        words = [f"and {count_noun(left, 'more session')}"]
    else:
        words = []
    if _lacks_checkpoint(commit):
        words.append("a session is not here: 'gitcp fetch' may bring it")
    if words:
        yield [(f"{INDENT}{'; '.join(words)}", "dim")]


def build_commit_row(commit: Shown, ago: Ago, numbers: str) -> Row:
    """The row of a commit.  numbers: its lines by format_changes()."""
    return Row(
        abbreviate(commit["oid"]),
        ago(commit["time"]),
        commit["author"],
        commit["message"],
        numbers,
        "blue",
        "bold" if commit.get("checkpoints") else "",
    )


_ROWS = 2  # sessions of a commit that have a row


def list_parts(commit: Record) -> list[Part]:
    """The sessions behind a commit, each once, those first that wrote most."""
    parts: dict[str, Part] = {}
    for link in commit["checkpoints"]:
        for part in link.get("contents", ()):
            parts.setdefault(part["session_id"], part)

    def count_lines(part: Part) -> int:
        return count_session(commit, part["session_id"])

    return sorted(parts.values(), key=count_lines, reverse=True)


def _build_session_row(part: Part) -> Row:
    text = name_session(part)
    if part.get("forgotten"):
        text = f"forgotten {str(part['forgotten'])[:10]}"
    parent, agent = handover_text.find_parent(part["asked"])
    if parent:
        text += f" (goes on from session {shorten_id(parent)} of {agent})"
    tasks = count_tasks(part)
    text = text or "no prompt is recorded"
    typed = len(prompt_text.list_names(part["asked"]))
    if typed > 1:
        tasks = ", ".join(filter(None, [f"{typed} prompts", tasks]))
    who = part["agent"] or "Agent"
    return Row(shorten_id(part["session_id"]), "", who, text, tasks, indent=INDENT)


def draw_oneline(commit: Record, ago: Ago, width: int, counted: Changed | None) -> Iterator[Line]:
    """The row of a commit, with the number of sessions behind it at its end."""
    parts = list_parts(commit)
    numbers = [format_changes(*counted)] if counted else []
    if parts:
        numbers.append(f"({len(parts)})")
    if _lacks_checkpoint(commit):
        numbers.append("(not here)")
    yield draw_row(build_commit_row(commit, ago, " ".join(filter(None, numbers))), width)


def _lacks_checkpoint(commit: Record) -> bool:
    return any(link.get("missing") for link in commit["checkpoints"])


# Draw sessions as lanes in a terminal: columns beside git's graph, or rows along the time.
#
# In a column `+` is a commit with work of the session, `o` a prompt, and `|` the time between.  In
# a row `=` is a turn and `#` a tool call.
_COLOURS = ("green", "magenta", "cyan", "blue", "yellow", "red")
# cells of a bar, and of a line of time
_BAR = 20
_TIME = 40
_LANE_PROMPT = 60
_TURN_DIGITS = 8
_LEGEND = ("lanes: + commit of a session, o prompt", "lines: # agent, = person, - unknown")


OUTCOMES = {
    "rewound": "taken back by gitcp",
    "discarded": "discarded",
    "stashed": "put into a stash entry that is gone",
    "overwritten": "overwritten",
}


def draw_abandoned(record: Record, ago: Ago, width: int = NO_LIMIT) -> Iterator[Line]:
    """A turn of which work was given up: its prompt, what it changed, how it went, the prompt after
    it, and the way back."""
    files = record["files"].values()
    added = sum(file.get("added", 0) for file in files)
    removed = sum(file.get("removed", 0) for file in files)
    name = prompt_text.read_first_line(record["prompt"])
    row = Row(
        record["turn"][:_TURN_DIGITS],
        ago(record["time"]),
        record["agent"] or "Agent",
        f"> {name}" if name else "no prompt is recorded",
        format_changes(added, removed),
    )
    yield draw_row(row, width)
    for path, file in record["files"].items():
        counted = f"{path}  +{file.get('added', 0)} -{file.get('removed', 0)}"
        yield [(INDENT, ""), (_cut_text(counted, width), "")]
    outcome = str(OUTCOMES.get(record["how"], record["how"]))
    if record["by"]:
        outcome += f" by session {shorten_id(record['by'])}"
    after = prompt_text.read_first_line(record["next_prompt"])
    if after:
        outcome += f", then > {after}"
    yield [(INDENT, ""), (_cut_text(outcome, width), "dim")]
    if record["restore"]:
        yield [(INDENT, ""), (record["restore"], COMMAND)]
    else:
        why = "are in the clone that recorded it"
        if record["worktree"]:
            why = "are not kept any more"
        yield [(f"{INDENT}its contents {why}", "dim")]


def _cut_text(text: str, width: int) -> str:
    """A text below a row in the cells that are left."""
    if width == NO_LIMIT:
        return text
    return shorten(text, max(1, width - len(INDENT)))


def draw_graph(
    commits: Sequence[Record], drawn: Mapping[str, Drawn], *, with_prompts: bool = True
) -> Iterator[Line]:
    """The lines of `gitcp log --graph`: for each commit its lines by author, and below it the
    prompts behind it.  commits: as list_commits() lists them, newest first."""
    parts = [_map_parts(commit) for commit in commits]
    lanes = allot_lanes([list(part) for part in parts])
    for n, (commit, sessions) in enumerate(zip(commits, parts, strict=True)):
        before, below = drawn.get(commit["oid"], ("* ", []))
        added = {name: _get_added(commit, name) for name in sessions}
        yield [
            *lanes.draw_row(n, dict.fromkeys(sessions, "+")),
            (before, ""),
            (abbreviate(commit["oid"]), "yellow"),
            (f" {shorten(commit['message'], _LANE_PROMPT)}", "bold" if sessions else ""),
            *_draw_bar(_list_shares(added, lanes)),
        ]
        for row in below:
            yield [*lanes.draw_row(n, {}), (row, "")]
        # The rows of prompts repeat git's last row; a commit without parents has no line below it.
        if below:
            row = below[-1]
        else:
            row = before.replace("*", "|" if commit["parents"] else " ")
        if with_prompts:
            for session_id, part in sessions.items():
                name = lanes.names[session_id], lanes.choose_colour(session_id)
                for prompt in reversed(prompt_text.list_names(part["asked"])):
                    cells = lanes.draw_row(n, {session_id: "o"})
                    yield [*cells, (row, ""), name, (f"  {shorten(prompt, _LANE_PROMPT)}", "")]
    if lanes.names:
        yield []
        yield from ([(row, "dim")] for row in _LEGEND)


def allot_lanes(rows: Sequence[Sequence[str]]) -> Lanes:
    """The columns of the sessions of each row, from above; a column is free after the oldest row of
    its session."""
    first: dict[str, int] = {}
    last = {name: n for n, row in enumerate(rows) for name in row}
    columns: dict[str, int] = {}
    for n, row in enumerate(rows):
        for name in row:
            if name not in columns:
                taken = {columns[session_id] for session_id in columns if last[session_id] >= n}
                columns[name] = min(set(range(len(taken) + 1)) - taken)
                first[name] = n
    return Lanes({name: shorten_id(name) for name in last}, columns, first, last)


class Lanes:
    """The columns of sessions, each with its first and its last row.  names: their short ids."""

    def __init__(
        self,
        names: Mapping[str, str],
        columns: dict[str, int],
        first: Mapping[str, int],
        last: Mapping[str, int],
    ) -> None:
        self.names = names
        self._lane = columns
        self._first = first
        self._last = last

    def choose_colour(self, session_id: str) -> str:
        """The colour of a session's lane."""
        return _COLOURS[list(self._lane).index(session_id) % len(_COLOURS)]

    def draw_row(self, n: int, signs: Mapping[str, str]) -> Line:
        """The cells of all lanes in row n.  signs: session -> its sign; a lane without one has
        `|`."""
        width = max(self._lane.values(), default=-1) + 1
        cells = [("  ", "")] * width
        for name, lane in self._lane.items():
            if self._first[name] <= n <= self._last[name]:
                cells[lane] = (f"{signs.get(name, '|')} ", self.choose_colour(name))
        return cells


def draw_open_sessions(sessions: Sequence[Record], end: float, ago: Ago) -> Iterator[Line]:
    """Open sessions, each on a line of time that ends now: {session_id, turns: [(start, end)],
    calls: [time], lines: lines_added as in initial_attribution}, times in seconds since 1970."""
    times = [t for session in sessions for turn in session["turns"] for t in turn]
    if not times:
        return
    lanes = allot_lanes([[session["session_id"] for session in sessions]])
    scale = scales.Scale([*times, end])

    def compute_cell(time: float) -> int:
        return int(scale(min(time, end)) * (_TIME - 1) // scales.WIDTH)

    yield []
    yield [("Lanes:", "bold"), (f"  from {ago(min(times))} to now, lines no commit has yet", "dim")]
    for session in sessions:
        name = session["session_id"]
        row = ["."] * _TIME
        for start, end_of_turn in session["turns"]:
            first = compute_cell(start)
            last = compute_cell(end_of_turn)
            row[first : last + 1] = "=" * (last + 1 - first)
        for time in session["calls"]:
            row[compute_cell(time)] = "#"
        bar = _draw_bar(_list_shares({name: session["lines"]}, lanes))
        colour = lanes.choose_colour(name)
        yield [(f"  {lanes.names[name]}  ", "yellow"), ("".join(row), colour), *bar]


def fit_line(line: Line, width: int) -> Line:
    """A line in at most so many cells of a terminal."""
    fitted = []
    room = width
    for text, colour in line:
        escaped = escape_part(text)
        part, cells = clip(escaped, room)
        fitted.append((part, colour))
        room -= cells
        if part != escaped:
            break
    return fitted


def _map_parts(commit: Record) -> dict[str, Record]:
    """session -> its part in a commit; of several parts the last, which has most."""
    parts = (part for c in commit["checkpoints"] for part in c.get("contents", ()))
    return {part["session_id"]: part for part in parts}


def _get_added(commit: Record, session_id: str) -> Record:
    """The lines that a commit adds, with those of one session as the agent's."""
    added = ensure_object(ensure_object(commit.get("lines")).get("added"))
    return {**added, "agent": count_session(commit, session_id)}


def _list_shares(added: Mapping[str, Record], lanes: Lanes) -> list[Share]:
    """The lines added by each session, the person and unknown authors.  added: session -> its
    lines_added, in which the counts of person and unknown are the same for all."""
    shares: list[tuple[str, str, str, Any]] = []
    for name, row in added.items():
        shares.append((lanes.names[name], lanes.choose_colour(name), "#", row.get("agent")))
    for row in list(added.values())[:1]:
        shares.append(("person", "", "=", row.get("person")))
        shares.append(("unknown", "dim", "-", row.get("unknown")))
    return [share for share in shares if isinstance(share[3], int) and share[3] > 0]


def _draw_bar(shares: Sequence[Share]) -> Iterator[tuple[str, str]]:
    if not shares:
        return
    yield "  ", ""
    sums = {str(n): share[3] for n, share in enumerate(shares)}
    drawn = 0  # cells
    for key, start, size in scales.divide_bar(sums, _BAR):
        _, colour, sign, _ = shares[int(key)]
        end = round(start + size)
        yield sign * (end - drawn), colour
        drawn = end
    yield "  " + ", ".join(f"{who} {count}" for who, _, _, count in shares), "dim"


# Draw the lines of `gitcp show` for a committed checkpoint, with its conversation.
_ROLES = {"User": "green", "Assistant": "", "Tool": "dim"}
_LINES = 12  # of an entry that is not shown in full


def draw_excerpt(transcript: bytes, start: object, full: bool) -> Iterator[Line]:
    """The conversation in a transcript: shortened from item start on, or in full."""
    first = 0
    if isinstance(start, int) and not full:
        first = start
    yield from _draw_entries(conversation.list_entries(transcript, first), full)


def _draw_entries(entries: Iterable[tuple[str, str]], full: bool) -> Iterator[Line]:
    for number, (role, text) in enumerate(entries):
        if not number:
            yield [("  Transcript:", "bold")]
        rows = split_rows(text)
        if not full:
            rows = cut_rows(rows, _LINES, lambda left: f"… {count_noun(left, 'more line')}")
        yield [(f"    [{role}] ", _ROLES[role]), (rows[0], "dim" if role == "Tool" else "")]
        yield from ([(f"      {line}", "")] for line in rows[1:])


def draw_sessions(
    records: Iterable[Shown], ago: Ago, width: int, *, with_places: bool
) -> Iterator[Line]:
    """A row for each session, and below it what it does and its uncommitted files.

    with_places: the sessions of each repository below its path.  width: as for draw_row()."""
    repository = ""
    for record in records:
        if with_places and record["repository"] != repository:
            if repository:
                yield []
            repository = record["repository"]
            yield [(repository, "bold")]
        yield draw_row(_build_activity_row(record, ago), width)
        state = STATES[record["state"]]
        doing = "" if state == ENDED else state
        files = list_paths(record["files_touched"], width, room=len(doing) + 2)
        words = [word for word in (doing, files) if word]
        if words and record["worktree"] and with_places:
            words.append(f"in {record['worktree']}")
        if words:
            yield draw_below("  ".join(words), width)


def _build_activity_row(record: Shown, ago: Ago) -> Row:
    name = prompt_text.read_first_line(record["prompt"])
    text = f"> {name}" if name else "no prompt is recorded"
    if record.get("title") and not record["files_touched"]:
        text = str(record["title"])
    tasks = record.get("tasks")
    numbers = ""
    if tasks:
        numbers = f"and {count_noun(tasks, 'task')}"
    who = record["agent"] or "Agent"
    name = shorten_id(record["session_id"])
    return Row(name, ago(record["last"]), who, text, numbers, indent=INDENT)
