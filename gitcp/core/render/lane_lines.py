"""Draw sessions as lanes in a terminal: columns beside git's graph, or rows along the time.

In a column `+` is a commit with work of the session, `o` a prompt, and `|` the time between.  In a
row `=` is a turn and `#` a tool call.
"""

from __future__ import annotations

from gitcp.core.page import timeline
from gitcp.core.render.spans import clip, escape_part, shorten, shorten_ids
from gitcp.core.transcript.facts import ensure_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.record_types import Record
    from gitcp.core.render.spans import Ago, Line

    Drawn = tuple[str, list[str]]  # git's graph before a commit, and on the lines below it
    Share = tuple[str, str, str, int]  # author, colour, sign in a bar, lines

_COLOURS = ("green", "magenta", "cyan", "blue", "yellow", "red")
_BAR, _TIME = 20, 40  # cells of a bar, and of a line of time
_PROMPT = 60
_LEGEND = ("lanes: + commit of a session, o prompt", "lines: # agent, = person, - unknown")


def draw_graph(commits: Sequence[Record], drawn: Mapping[str, Drawn]) -> Iterator[Line]:
    """The lines of `gitcp log --graph`: for each commit its lines by author, and below it the
    prompts behind it.  commits: as commit_list lists them, newest first."""
    parts = [_map_parts(commit) for commit in commits]
    lanes = Lanes([list(part) for part in parts])
    for n, (commit, sessions) in enumerate(zip(commits, parts, strict=True)):
        before, below = drawn.get(commit["oid"], ("* ", []))
        added = {name: _get_added(part) for name, part in sessions.items()}
        yield [
            *lanes.draw_row(n, dict.fromkeys(sessions, "+")),
            (before, ""),
            (commit["oid"][:7], "yellow"),
            (f" {shorten(commit['message'], _PROMPT)}", "bold" if sessions else ""),
            *_draw_bar(_list_shares(added, lanes)),
        ]
        for row in below:
            yield [*lanes.draw_row(n, {}), (row, "")]
        # The rows of prompts repeat git's last row; a commit without parents has no line below it.
        row = below[-1] if below else before.replace("*", "|" if commit["parents"] else " ")
        for session_id, part in sessions.items():
            name = lanes.names[session_id], lanes.choose_colour(session_id)
            for prompt in reversed(part["asked"]):
                cells = lanes.draw_row(n, {session_id: "o"})
                yield [*cells, (row, ""), name, (f"  {shorten(prompt, _PROMPT)}", "")]
    if lanes.names:
        yield []
        yield from ([(row, "dim")] for row in _LEGEND)


class Lanes:
    """The columns of sessions; a column is free after the oldest row of its session."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        """rows: the sessions of each row, from above."""
        self._last = {name: n for n, row in enumerate(rows) for name in row}
        self._first: dict[str, int] = {}
        self._lane: dict[str, int] = {}
        self.names = shorten_ids(list(self._last))
        for n, row in enumerate(rows):
            for name in row:
                if name not in self._lane:
                    held = {self._lane[s] for s in self._lane if self._last[s] >= n}
                    self._lane[name] = min(set(range(len(held) + 1)) - held)
                    self._first[name] = n

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
    lanes = Lanes([[session["session_id"] for session in sessions]])
    scale = timeline.Scale([*times, end])

    def compute_cell(time: float) -> int:
        return int(scale(min(time, end)) * (_TIME - 1) // timeline.WIDTH)

    yield []
    yield [("Lanes:", "bold"), (f"  from {ago(min(times))} to now, lines no commit has yet", "dim")]
    for session in sessions:
        name, row = session["session_id"], ["."] * _TIME
        for start, end_of_turn in session["turns"]:
            first, last = compute_cell(start), compute_cell(end_of_turn)
            row[first : last + 1] = "=" * (last + 1 - first)
        for time in session["calls"]:
            row[compute_cell(time)] = "#"
        bar = _draw_bar(_list_shares({name: session["lines"]}, lanes))
        colour = lanes.choose_colour(name)
        yield [(f"  {lanes.names[name]}  ", "yellow"), ("".join(row), colour), *bar]


def fit_line(line: Line, width: int) -> Line:
    """A line in at most so many cells of a terminal."""
    fitted, left = [], width
    for text, colour in line:
        escaped = escape_part(text)
        part, cells = clip(escaped, left)
        fitted.append((part, colour))
        left -= cells
        if part != escaped:
            break
    return fitted


def _map_parts(commit: Record) -> dict[str, Record]:
    """session -> its part in a commit; of several parts the last, which has most."""
    parts = (part for c in commit["checkpoints"] for part in c.get("contents", ()))
    return {part["session_id"]: part for part in parts}


def _get_added(part: Record) -> Record:
    return ensure_object(ensure_object(part.get("initial_attribution")).get("lines_added"))


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
    for key, start, size in timeline.divide_bar(sums, _BAR):
        _, colour, sign, _ = shares[int(key)]
        end = round(start + size)
        yield sign * (end - drawn), colour
        drawn = end
    yield "  " + ", ".join(f"{who} {count}" for who, _, _, count in shares), "dim"
