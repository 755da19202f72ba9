"""Draw the tables of `gitcp stats`, for a terminal and for a pull request."""

from __future__ import annotations

from gitcp.core.render import spans
from gitcp.core.render.spans import (
    AUTHORS,
    count_noun,
    format_number,
    format_usage,
    pad,
    quote_code,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.render.spans import Line

    Record = Mapping[str, Any]

_BAR, _LABEL = 30, 44  # cells of the longest bar, of the longest label
_MOST = 10  # rows of a table; one more sums up the others
_COLOURS = {"agent": "green", "person": "blue", "unknown": "dim", "unrecorded": "dim"}


def draw_stats(stats: Record, width: int) -> Iterator[Line]:
    """The record `stats` with bars; width: cells of the terminal, to which tables are cut."""
    bar = max(4, min(_BAR, width - 31))
    yield [(_format_summary(stats), "bold")]
    total = sum(stats["added"].values())
    for who, count in stats["added"].items():
        removed = stats["removed"][who]
        start = f"  {AUTHORS[who]:10} +{format_number(count):5} -{format_number(removed):5}"
        start += f" {_format_share(count, total)}"
        yield _join_bar(start, _draw_bar(count, total, bar), who)
    if used := format_usage(stats["tokens"]):
        yield [(f"  {used}", "")]
    if cost := stats.get("cost"):
        yield [(f"  {spell_cost(cost)}", "")]
    for row in stats["attested"]:
        yield [(f"  attested: {row['agent']}, {_format_attested(row)}", "")]
    if lived := stats.get("survival"):
        yield []
        yield from _draw_survival(lived, width)
    for title, rows in _list_tables(stats):
        if rows:
            yield []
            yield [(title, "bold")]
            yield from _draw_rows(rows, width)


def spell_cost(cost: Record) -> str:
    """The cost of all tokens in a record `stats`, the prices used, and the tokens without one."""
    amount, unpriced = cost["amount"], cost["unpriced_tokens"]
    if amount is None:
        return f"no price is known by {cost['source']}"
    more = f"; {format_number(unpriced)} tokens have no price" if unpriced else ""
    return f"{amount:.2f} {cost['currency']} by {cost['source']}{more}"


def _format_attested(row: Record) -> str:
    lines = count_noun(row["added"], "unrecorded line")
    return f"{count_noun(row['commits'], 'commit')} with {lines}"


def _draw_survival(lived: Record, width: int) -> Iterator[Line]:
    """The survival of the agents' lines, in all and by model."""
    alive, added = format_number(lived["alive"]), count_noun(lived["added"], "line")
    yield [(f"{alive} of the agents' {added} live", "bold")]
    share = _format_share(lived["alive"], lived["added"]).strip()
    takers = [f"{AUTHORS[who]} {format_number(n)}" for who, n in lived["rewritten"].items()]
    yield [(f"  {share}; the rest rewritten by {', '.join(takers)}", "")]
    labels = [spans.escape_part(_name_model(row)) for row in lived["models"]]
    bar, size = _fit_columns(labels, width - 9)
    for label, row in zip(labels, lived["models"], strict=True):
        start = f"  {pad(label, size)} {_format_share(row['alive'], row['added'])}"
        yield _join_bar(start, _draw_bar(row["alive"], row["added"], bar), "agent")


def _join_bar(start: str, bar: str, who: str) -> Line:
    return [(f"{start} ", ""), (bar, _COLOURS[who])] if bar else [(start, "")]


def _name_model(row: Record) -> str:
    return " ".join(filter(None, (row["agent"], row["model"]))) or "?"


def _format_summary(stats: Record) -> str:
    counts = [count_noun(stats["commits"], "commit"), f"{stats['linked']} linked"]
    counts += [count_noun(stats[f"{word}s"], word) for word in ("checkpoint", "turn")]
    return ", ".join(counts)


def _format_share(count: int, total: int) -> str:
    return f"{100 * count / total if total else 0:3.0f} %"


def _fit_columns(labels: Sequence[str], width: int) -> tuple[int, int]:
    """The cells of the longest bar and of the labels, which share width."""
    label = min(_LABEL, max(map(spans.count_cells, labels), default=0))
    bar = max(width // 3, min(_BAR, width - label))
    return bar, min(label, width - bar)


def _draw_bar(count: int, total: int, longest: int) -> str:
    return "█" * max(round(longest * min(count, total) / total), 1) if total and count else ""


def _list_tables(stats: Record) -> Iterator[tuple[str, list[tuple[str, Mapping[str, int]]]]]:
    """(title, [(label, lines by who)]) of each table below the sums."""
    yield "By model", [(_name_model(row), {"agent": row["added"]}) for row in stats["models"]]
    yield "By session", [(_name_session(s), {"agent": s["added"]}) for s in stats["sessions"]]
    yield "By file", [(f["path"], f) for f in stats["files"]]
    yield "By day", [(d["day"], d) for d in reversed(stats["days"])]


def _name_session(session: Record) -> str:
    used = format_usage(session["tokens"])
    facts = ", ".join(filter(None, (count_noun(session["turns"], "turn"), used)))
    return f"{session['session_id'][:8]} {session['agent']} ({facts})"


def _draw_rows(rows: Sequence[tuple[str, Mapping[str, int]]], width: int) -> Iterator[Line]:
    visible, left_out = list(rows[:_MOST]), rows[_MOST:]
    most = max(sum(row.get(who, 0) for who in AUTHORS) for _, row in visible)
    if left_out:
        left = {who: sum(row.get(who, 0) for _, row in left_out) for who in AUTHORS}
        visible.append((f"… {count_noun(len(left_out), 'more row')}", left))
    labels = [spans.escape_part(label) for label, _ in visible]
    bar, size = _fit_columns(labels, width - 12)  # a bar has up to three ends
    for label, (_, row) in zip(labels, visible, strict=True):
        total = format_number(sum(row.get(who, 0) for who in AUTHORS))
        bars = [(_draw_bar(row[who], most, bar), _COLOURS[who]) for who in AUTHORS if row.get(who)]
        yield [(f"  {pad(label, size)} {total:>5} ", ""), *bars]


def format_markdown(stats: Record) -> Iterator[str]:
    """The record as tables in Markdown, for a comment on a pull request."""
    yield f"**{_format_summary(stats)}**"
    yield ""
    yield "| lines | added | removed | share |"
    yield "|---|--:|--:|--:|"
    total = sum(stats["added"].values())
    for who, count in stats["added"].items():
        share = _format_share(count, total).strip()
        yield f"| {AUTHORS[who]} | {count} | {stats['removed'][who]} | {share} |"
    if used := format_usage(stats["tokens"]):
        yield ""
        yield used
    if cost := stats.get("cost"):
        yield ""
        yield spell_cost(cost)
    for row in stats["attested"]:
        yield ""
        yield f"Attested: {_quote_label(row['agent'])}, {_format_attested(row)}"
    if lived := stats.get("survival"):
        yield ""
        yield "| Agents' lines | added | alive | rewritten by agents | by people | unknown |"
        yield "|---|--:|--:|--:|--:|--:|"
        for row in lived["models"]:
            counts = (row["added"], row["alive"], *row["rewritten"].values())
            yield f"| {_quote_label(_name_model(row))} | {' | '.join(map(str, counts))} |"
    for title, rows in _list_tables(stats):
        if rows:
            yield ""
            yield f"| {title} | {' | '.join(AUTHORS.values())} |"
            yield f"|---|{'--:|' * len(AUTHORS)}"
            for label, row in rows[:_MOST]:
                cells = [str(row.get(who, 0)) for who in AUTHORS]
                yield f"| {_quote_label(label)} | {' | '.join(cells)} |"
            if len(rows) > _MOST:
                yield f"| … {count_noun(len(rows) - _MOST, 'more row')} |{' |' * len(AUTHORS)}"


def _quote_label(label: str) -> str:
    """A label as code, so that it cannot end its cell, become markup, or mention a person."""
    return quote_code(spans.escape_part(label).replace("|", "\\|"))
