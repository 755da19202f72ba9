"""Draw sessions as lanes in a terminal: columns beside git's graph, or rows along the time.

In a column `+` is a commit with work of the session, `o` a prompt, and `|` the time between.  In a
row `=` is a turn and `#` a tool call.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitcp.terminal import scales
from gitcp.terminal.usage import count_session
from gitcp.text import prompt_text
from gitcp.text.json import ensure_object
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import (
    abbreviate,
    shorten,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.text.record_types import Drawn, Record
    from gitcp.text.spans import Ago, Line

    Changed = tuple[int, int]  # lines added and removed
    Share = tuple[str, str, str, int]  # author, colour, sign in a bar, lines
    When = Callable[[float], str]  # seconds since 1970 -> date and time
    Shown = Mapping[str, Any]

_COLOURS = ("green", "magenta", "cyan", "blue", "yellow", "red")
# cells of a bar, and of a line of time
_BAR = 20
_TIME = 40
_PROMPT = 60
_LEGEND = ("lanes: + commit of a session, o prompt", "lines: # agent, = person, - unknown")


def draw_graph(
    commits: Sequence[Record], drawn: Mapping[str, Drawn], *, with_prompts: bool = True
) -> Iterator[Line]:
    """The lines of `gitcp log --graph`: for each commit its lines by author, and below it the
    prompts behind it.  commits: as list_commits() lists them, newest first."""
    parts = [_map_parts(commit) for commit in commits]
    lanes = allot_lanes([list(part) for part in parts])
    for n, (commit, sessions) in enumerate(zip(commits, parts, strict=True)):
        before, below = drawn.get(commit["oid"], ("* ", []))
        style = ""
        if sessions:
            style = "bold"
        added = {name: _get_added(commit, name) for name in sessions}
        yield [
            *lanes.draw_row(n, dict.fromkeys(sessions, "+")),
            (before, ""),
            (abbreviate(commit["oid"]), "yellow"),
            (f" {shorten(commit['message'], _PROMPT)}", style),
            *_draw_bar(_list_shares(added, lanes)),
        ]
        for row in below:
            yield [*lanes.draw_row(n, {}), (row, "")]
        # The rows of prompts repeat git's last row; a commit without parents has no line below it.
        if below:
            row = below[-1]
        elif commit["parents"]:
            row = before.replace("*", "|")
        else:
            row = before.replace("*", " ")
        if with_prompts:
            for session_id, part in sessions.items():
                yield from _draw_prompts(lanes, n, row, session_id, part["asked"])
    if lanes.names:
        yield []
        yield from ([(row, "dim")] for row in _LEGEND)


def _draw_prompts(
    lanes: Lanes, n: int, row: str, session_id: str, asked: list[str]
) -> Iterator[Line]:
    """The rows of a session's prompts, the last first.  n: the number of the commit's row; row:
    git's graph before them."""
    cells = lanes.draw_row(n, {session_id: "o"})
    name = (lanes.names[session_id], lanes.choose_colour(session_id))
    for prompt in reversed(prompt_text.list_names(asked)):
        yield [*cells, (row, ""), name, (f"  {shorten(prompt, _PROMPT)}", "")]


def allot_lanes(rows: Sequence[Sequence[str]]) -> Lanes:
    """The columns of the sessions of each row, from above; a column is free after the oldest row of
    its session."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for n, row in enumerate(rows):
        last |= dict.fromkeys(row, n)
    columns: dict[str, int] = {}
    for n, row in enumerate(rows):
        for name in row:
            if name not in columns:
                taken = {column for other, column in columns.items() if last[other] >= n}
                free = set(range(len(taken) + 1)) - taken
                columns[name] = min(free)
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
    times: list[float] = []
    for session in sessions:
        for turn in session["turns"]:
            times += turn
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


def _map_parts(commit: Record) -> dict[str, Record]:
    """session -> its part in a commit; of several parts the last, which has most."""
    parts: dict[str, Record] = {}
    for link in commit["checkpoints"]:
        for part in link.get("contents", ()):
            parts[part["session_id"]] = part
    return parts


def _get_added(commit: Record, session_id: str) -> Record:
    """The lines that a commit adds, with those of one session as the agent's."""
    added = ensure_object(ensure_object(commit.get("lines")).get("added"))
    return {**added, "agent": count_session(commit, session_id)}


@dataclass(slots=True)
class _Share:
    """The lines of one author in a bar.  sign: of which the bar is made."""

    author: str
    colour: str
    sign: str
    count: int


def _list_shares(added: Mapping[str, Record], lanes: Lanes) -> list[_Share]:
    """The lines added by each session, the person and unknown authors.  added: session -> its
    lines_added, in which the counts of person and unknown are the same for all."""
    shares: list[_Share] = []
    for name, row in added.items():
        count = _read_count(row, "agent")
        shares.append(_Share(lanes.names[name], lanes.choose_colour(name), "#", count))
    for row in added.values():
        shares.append(_Share("person", "", "=", _read_count(row, "person")))
        shares.append(_Share("unknown", "dim", "-", _read_count(row, "unknown")))
        break
    return [share for share in shares if share.count > 0]


def _read_count(row: Record, who: str) -> int:
    """A count of a record, which others may have written; 0 if it is none."""
    count = row.get(who)
    if isinstance(count, int):
        return count
    return 0


def _draw_bar(shares: Sequence[_Share]) -> Iterator[tuple[str, str]]:
    if not shares:
        return
    yield "  ", ""
    sums = {str(n): share.count for n, share in enumerate(shares)}
    drawn = 0  # cells
    for key, start, size in scales.divide_bar(sums, _BAR):
        share = shares[int(key)]
        end = round(start + size)
        yield share.sign * (end - drawn), share.colour
        drawn = end
    yield "  " + ", ".join(f"{share.author} {share.count}" for share in shares), "dim"
