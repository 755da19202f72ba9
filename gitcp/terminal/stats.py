"""The tables of `gitcp stats`, for a terminal and for a pull request."""

from __future__ import annotations

from dataclasses import dataclass

from gitcp.lines import sums
from gitcp.terminal.rows import ID, shorten_path
from gitcp.terminal.usage import format_usage
from gitcp.text import prompt_text
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import (
    AUTHORS,
    count_cells,
    count_noun,
    escape_part,
    format_number,
    pad,
    quote_code,
)
from gitcp.text.times import spell_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, NotRequired, TypedDict

    from gitcp.lines.tally import Counts
    from gitcp.text.record_types import Usage
    from gitcp.text.spans import Line

    class Coverage(TypedDict):
        """commits: that add lines; recorded: those of them whose authors are recorded."""

        commits: int
        recorded: int

    class ModelSum(TypedDict):
        """The lines of a model, which is '' if it is not known."""

        agent: str
        model: str
        added: int

    class LastingModel(ModelSum):
        """alive: its lines that are still there; rewritten: the others, by who did it."""

        alive: int
        rewritten: Counts

    class AttestedSum(TypedDict):
        """What commits that name an agent add of which nothing is recorded."""

        agent: str
        commits: int
        added: int

    class SessionSum(TypedDict):
        """The lines of a session with its tasks."""

        session_id: str
        agent: str
        added: int

    class Lasting(TypedDict):
        """How many lines of agents are still there."""

        added: int
        alive: int
        rewritten: Counts
        models: list[LastingModel]

    class Cost(TypedDict):
        """What all tokens cost, None if no price is known, but for those without one."""

        amount: float | None
        unpriced_tokens: int
        currency: str
        source: str

    class Stats(TypedDict):
        """A record `stats` (gitcp-record(5)).  files, days: each with its name, and lines by
        author."""

        commits: int
        linked: int
        added: Counts
        removed: Counts
        tokens: Usage
        coverage: NotRequired[Coverage]
        survival: NotRequired[Lasting]
        cost: NotRequired[Cost]
        models: list[ModelSum]
        attested: list[AttestedSum]
        sessions: list[SessionSum]
        files: list[Mapping[str, Any]]
        days: list[Mapping[str, Any]]


MODEL = "model"
SESSION = "session"
FILE = "file"
DAY = "day"
TABLES = (MODEL, SESSION, FILE, DAY)
COUNTED = "lines that each commit added and removed; a merge has none of its own"
NOT_RECORDED = "not recorded"
# cells of a column
_NAME = 20
_COUNT = 6
_SHARE = 5
_SHARE_BAR = 40  # cells of a bar of all lines
_SHOWN = 4  # rows of a table beside others
_ATTESTED = 2  # agents that commits name
_AUTHORS = 5  # agents that have a row
_MARKDOWN_ROWS = 10


@dataclass(slots=True)
class SessionTitle:
    """What a conversation is called.  title: that its client gave it; prompt: its first."""

    title: str
    prompt: str


@dataclass(slots=True)
class _Row:
    """A row of a table.  name: '' or the id before the label.  by: author -> lines."""

    name: str
    label: str
    by: Mapping[str, int]

    @property
    def added(self) -> int:
        """The lines of all authors."""
        return sum([self.by.get(who, 0) for who in AUTHORS])


def draw_stats(
    stats: Stats, width: int, sessions: Mapping[str, SessionTitle], year: int, table: str = ""
) -> Iterator[Line]:
    """The record `stats`.

    width: cells of a line.  sessions: session id -> what it is called.  year: the present one.
    table: the only table, in full; '' for the beginnings of two.
    """
    if table:
        yield from _draw_table(_list_rows(stats, sessions, table), width, every=True)
        return
    yield [(describe_range(stats, year), "bold")]
    yield []
    yield from _draw_authors(stats, width)
    for fact in (*_list_facts(stats), *_list_attested(stats)):
        yield [(fact, "")]
    lived = stats.get("survival")
    if lived:
        yield []
        yield from _draw_survival(lived, width)
        return
    for title in (SESSION, FILE):
        rows = _list_rows(stats, sessions, title)
        if rows:
            yield []
            yield [(f"by {title}", "bold")]
            yield from _draw_table(rows, width)


def describe_range(stats: Stats, year: int) -> str:
    """The commits of a record: `92 commits, 49 of them with sessions, 1 Mar to 15 Mar`."""
    words = [count_noun(stats["commits"], "commit")]
    if stats["linked"]:
        words.append(f"{stats['linked']} of them with sessions")
    days = [row["day"] for row in stats["days"]]
    if days:
        first = spell_day(min(days), year)
        last = spell_day(max(days), year)
        words.append(first if first == last else f"{first} to {last}")
    return ", ".join(words)


def _draw_authors(stats: Stats, width: int) -> Iterator[Line]:
    """The lines added by each agent, by people and by nobody known, with bars of one scale."""
    added = stats["added"]
    total = sum(added.values())
    head = "lines added"
    size = _NAME + _COUNT + _SHARE + 6
    yield [(f"{head}{format_number(total):>{_NAME + _COUNT + 4 - len(head)}}", "bold")]
    bar = max(4, min(_SHARE_BAR, width - size - 3))
    for name, colour, count in _list_authors(stats):
        if not count:
            continue
        line: Line = [
            (f"  {pad(name, _NAME)}  ", colour),
            (f"{format_number(count):>{_COUNT}} {_format_share(count, total)}  ", ""),
            (_draw_bar(count, total, bar), colour),
        ]
        yield line


def _list_authors(stats: Stats) -> list[tuple[str, str, int]]:
    """(name, colour, lines) of each author of lines; of many agents the last is the others."""
    by_agent: dict[str, int] = {}
    for row in stats["models"]:
        agent = row["agent"] or "Agent"
        by_agent[agent] = by_agent.get(agent, 0) + row["added"]
    agents = sorted(by_agent.items(), key=lambda item: (-item[1], item[0]))
    rows = [(name, "green", count) for name, count in agents[:_AUTHORS]]
    others = agents[_AUTHORS:]
    if others:
        rows.append((f"{len(others)} other agents", "green", sum(n for _, n in others)))
    added = stats["added"]
    left = added["agent"] - sum(by_agent.values())
    rows.append(("agents", "green", left))
    rows.append(("people", "blue", added["person"]))
    rows.append((NOT_RECORDED, "dim", added["unknown"] + added["unrecorded"]))
    return rows


def _list_facts(stats: Stats) -> Iterator[str]:
    """How many commits have their authors, the tokens, and what they cost."""
    coverage = stats.get("coverage")
    if coverage and coverage["commits"]:
        share = _format_share(coverage["recorded"], coverage["commits"]).strip()
        counted = f"{coverage['recorded']} of {count_noun(coverage['commits'], 'commit')}"
        yield f"the authors of all lines are recorded in {counted} ({share})"
    used = format_usage(stats["tokens"])
    if used:
        yield used
    cost = stats.get("cost")
    if cost:
        yield spell_cost(cost)


def _list_attested(stats: Stats) -> Iterator[str]:
    """The agents that commits name of which nothing is recorded."""
    attested = stats["attested"]
    for row in attested[:_ATTESTED]:
        counted = f"{count_noun(row['commits'], 'commit')} with {count_noun(row['added'], 'line')}"
        yield f"of what is not recorded, {row['agent']} is named in {counted}"
    left = len(attested) - _ATTESTED
    if left > 0:
        yield f"and {count_noun(left, 'more agent')} in others"


def spell_cost(cost: Cost) -> str:
    """The cost of all tokens in a record `stats`, the prices used, and the tokens without one."""
    amount = cost["amount"]
    unpriced = cost["unpriced_tokens"]
    if amount is None:
        return f"no price is known by {cost['source']}"
    more = ""
    if unpriced:
        more = f"; {format_number(unpriced)} tokens have no price"
    return f"{amount:.2f} {cost['currency']} by {cost['source']}{more}"


def _draw_survival(lived: Lasting, width: int) -> Iterator[Line]:
    """The survival of the agents' lines, in all and by model."""
    alive = format_number(lived["alive"])
    yield [(f"{alive} of the agents' {count_noun(lived['added'], 'line')} live", "bold")]
    share = _format_share(lived["alive"], lived["added"]).strip()
    rewritten = lived["rewritten"]
    takers = [
        f"agents {format_number(rewritten['agent'])}",
        f"people {format_number(rewritten['person'])}",
        f"{NOT_RECORDED} {format_number(rewritten['unknown'])}",
    ]
    yield [(f"  {share}; the rest rewritten by {', '.join(takers)}", "")]
    models = lived["models"]
    shown = models[:_SHOWN]
    size = min(width // 2, max([count_cells(_name_model(row)) for row in shown], default=0))
    bar = max(4, min(_SHARE_BAR, width - size - 12))
    for row in shown:
        start = f"  {pad(_name_model(row), size)} {_format_share(row['alive'], row['added'])} "
        yield [(start, ""), (_draw_bar(row["alive"], row["added"], bar), "green")]
    if len(models) > _SHOWN:
        yield [(f"  and {count_noun(len(models) - _SHOWN, 'more model')}", "dim")]


def _name_model(row: ModelSum) -> str:
    return " ".join(filter(None, (row["agent"], row["model"]))) or "?"


def _format_share(count: int, total: int) -> str:
    return f"{100 * count / total if total else 0:3.0f} %"


def _draw_bar(count: int, total: int, longest: int) -> str:
    """A part of a bar that stands for total; of something at least one cell."""
    if not total or not count:
        return ""
    return "█" * max(round(longest * min(count, total) / total), 1)


def _list_rows(stats: Stats, sessions: Mapping[str, SessionTitle], table: str) -> list[_Row]:
    """The rows of a table that have lines, those with most first, days the newest first."""
    if table == MODEL:
        rows = [_Row("", _name_model(row), {"agent": row["added"]}) for row in stats["models"]]
    elif table == SESSION:
        rows = _list_sessions(stats, sessions)
    elif table == FILE:
        rows = [_Row("", file["path"], file) for file in stats["files"]]
    else:
        rows = [_Row("", day["day"], day) for day in reversed(stats["days"])]
    return [row for row in rows if row.added]


def _list_sessions(stats: Stats, sessions: Mapping[str, SessionTitle]) -> list[_Row]:
    """Each conversation, with the lines of its tasks."""
    rows: list[_Row] = []
    for row in stats["sessions"]:
        name = row["session_id"]
        label = _name_session(sessions.get(name), row["agent"])
        rows.append(_Row(shorten_id(name), label, {"agent": row["added"]}))
    return rows


def _name_session(about: SessionTitle | None, agent: str) -> str:
    """The title of a session, else its prompt, else its agent."""
    if about and about.title:
        return about.title
    prompt = ""
    if about:
        prompt = prompt_text.read_first_line(about.prompt)
    return f"> {prompt}" if prompt else agent or "Agent"


def _draw_table(rows: Sequence[_Row], width: int, *, every: bool = False) -> Iterator[Line]:
    shown = rows if every else rows[:_SHOWN]
    for row in shown:
        start: Line = [("  ", "")]
        room = width - _COUNT - 4
        if row.name:
            start += [(f"{row.name:{ID}}  ", "yellow")]
            room -= ID + 2
            label = pad(row.label, room)
        else:
            label = shorten_path(escape_part(row.label), room)
            label += " " * (room - count_cells(label))
        yield [*start, (label, ""), (f"  {format_number(row.added):>{_COUNT}}", "")]
    left = len(rows) - len(shown)
    if left:
        yield [(f"  and {left} with fewer lines", "dim")]


def format_markdown(stats: Stats, year: int) -> Iterator[str]:
    """The record as tables in Markdown, for a comment on a pull request: numbers, without what was
    asked."""
    yield f"**{describe_range(stats, year)}**"
    yield ""
    yield f"{COUNTED}:"
    yield ""
    yield "| lines | added | removed | share |"
    yield "|---|--:|--:|--:|"
    added = _join_unknown(stats["added"])
    removed = _join_unknown(stats["removed"])
    percent = sums.share_percent(added)
    for who, count in added.items():
        yield f"| {_COLUMNS[who]} | {count} | {removed[who]} | {percent[who]} % |"
    for fact in _list_facts(stats):
        yield ""
        yield fact
    for fact in _list_attested(stats):
        yield ""
        yield quote_code(escape_part(fact))
    lived = stats.get("survival")
    if lived:
        yield ""
        takers = f"rewritten by agents | by people | {NOT_RECORDED}"
        yield f"| Agents' lines | added | alive | {takers} |"
        yield "|---|--:|--:|--:|--:|--:|"
        for row in lived["models"]:
            counts = (row["added"], row["alive"], *row["rewritten"].values())
            yield f"| {_quote_label(_name_model(row))} | {' | '.join(map(str, counts))} |"
    for table in TABLES:
        rows = _list_rows(stats, {}, table)
        if rows:
            yield ""
            yield f"| By {table} | {' | '.join(_COLUMNS.values())} |"
            yield f"|---|{'--:|' * len(_COLUMNS)}"
            for item in rows[:_MARKDOWN_ROWS]:
                label = _quote_label(f"{item.name} {item.label}".strip())
                cells = [str(count) for count in _join_unknown(item.by).values()]
                yield f"| {label} | {' | '.join(cells)} |"
            left = len(rows) - _MARKDOWN_ROWS
            if left > 0:
                yield f"| and {left} with fewer lines |{' |' * len(_COLUMNS)}"


_COLUMNS = {"agent": "agents", "person": "people", "unknown": NOT_RECORDED}


def _join_unknown(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts by author in which what nobody recorded is one."""
    return {
        "agent": counts.get("agent", 0),
        "person": counts.get("person", 0),
        "unknown": counts.get("unknown", 0) + counts.get("unrecorded", 0),
    }


def _quote_label(label: str) -> str:
    """A label as code, so that it cannot end its cell, become markup, or mention a person."""
    return quote_code(escape_part(label).replace("|", "\\|"))
