"""The tables of `gitcp stats`, for a terminal and for a pull request."""

from __future__ import annotations

from gitcp.core.render.spans import JOINERS, cells, many, number, padded, spent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.render.spans import Line

    Record = Mapping[str, Any]

_BAR, _LABEL = 30, 44  # cells of the longest bar, of the longest label
_MOST = 10  # rows of a table; what is left is summed up in one
_COLOURS = {"agent": "green", "person": "blue", "unknown": "dim", "unrecorded": "dim"}
_NAMES = {
    "agent": "agents",
    "person": "people",
    "unknown": "unknown",
    "unrecorded": "unrecorded",
}


def table(stats: Record, width: int) -> Iterator[Line]:
    """The record `stats` with bars; width: cells of the terminal, to which tables are cut."""
    bar = max(4, min(_BAR, width - 31))
    yield [(_summary(stats), "bold")]
    total = sum(stats["added"].values())
    for who, count in stats["added"].items():
        removed = stats["removed"][who]
        counts = f"  {_NAMES[who]:10} +{number(count):5} -{number(removed):5}"
        yield _with_bar(f"{counts} {_share(count, total)}", _bar(count, total, bar), who)
    if used := spent(stats["tokens"]):
        yield [(f"  {used}", "")]
    if cost := stats.get("cost"):
        yield [(f"  {spell_cost(cost)}", "")]
    for row in stats["attested"]:
        yield [(f"  attested: {row['agent']}, {_counts(row)}", "")]
    if lived := stats.get("survival"):
        yield []
        yield from _lived(lived, width)
    for title, rows in _sections(stats):
        if rows:
            yield []
            yield [(title, "bold")]
            yield from _rows(rows, width)


def spell_cost(cost: Record) -> str:
    """What all tokens of a record `stats` cost, by which prices, and how much has none."""
    amount, unpriced = cost["amount"], cost["unpriced_tokens"]
    words = "no price is known" if amount is None else f"{amount:.2f} {cost['currency']}"
    left = f"; {number(unpriced)} tokens have no price" if unpriced and amount is not None else ""
    return f"{words} by {cost['source']}{left}"


def _counts(row: Record) -> str:
    return f"{many(row['commits'], 'commit')} with {many(row['added'], 'unrecorded line')}"


def _lived(lived: Record, width: int) -> Iterator[Line]:
    """What became of the agents' lines, and by model."""
    share = _share(lived["alive"], lived["added"]).strip()
    yield [(f"{number(lived['alive'])} of the agents' {many(lived['added'], 'line')} live", "bold")]
    yield [(f"  {share}; the rest rewritten by {_takers(lived['rewritten'])}", "")]
    labels = [_visible(_model(row)) for row in lived["models"]]
    bar, size = _columns(labels, width - 9)
    for label, row in zip(labels, lived["models"], strict=True):
        start = f"  {padded(label, size)} {_share(row['alive'], row['added'])}"
        yield _with_bar(start, _bar(row["alive"], row["added"], bar), "agent")


def _with_bar(start: str, bar: str, who: str) -> Line:
    return [(f"{start} ", ""), (bar, _COLOURS[who])] if bar else [(start, "")]


def _takers(rewritten: Mapping[str, int]) -> str:
    return ", ".join(f"{_NAMES[who]} {number(count)}" for who, count in rewritten.items())


def _model(row: Record) -> str:
    return " ".join(filter(None, (row["agent"], row["model"]))) or "?"


def _summary(stats: Record) -> str:
    counts = [many(stats["commits"], "commit"), f"{stats['linked']} linked"]
    return ", ".join(
        [*counts, many(stats["checkpoints"], "checkpoint"), many(stats["turns"], "turn")]
    )


def _share(count: int, total: int) -> str:
    return f"{100 * count / total if total else 0:3.0f} %"


def _columns(labels: Sequence[str], width: int) -> tuple[int, int]:
    """The cells of the longest bar and of the labels, which share so many."""
    label = min(_LABEL, max(map(cells, labels), default=0))
    bar = max(width // 3, min(_BAR, width - label))
    return bar, min(label, width - bar)


def _bar(count: int, total: int, longest: int) -> str:
    return "█" * max(round(longest * min(count, total) / total), 1) if total and count else ""


def _sections(stats: Record) -> Iterator[tuple[str, list[tuple[str, Mapping[str, int]]]]]:
    """(title, [(label, lines by who)]) of each table below the sums."""
    yield "By model", [(_model(row), {"agent": row["added"]}) for row in stats["models"]]
    yield "By session", [(_session(s), {"agent": s["added"]}) for s in stats["sessions"]]
    yield "By file", [(f["path"], f) for f in stats["files"]]
    yield "By day", [(d["day"], d) for d in reversed(stats["days"])]


def _session(session: Record) -> str:
    used = spent(session["tokens"])
    facts = ", ".join(filter(None, (many(session["turns"], "turn"), used)))
    return f"{session['session_id'][:8]} {session['agent']} ({facts})"


def _rows(rows: Sequence[tuple[str, Mapping[str, int]]], width: int) -> Iterator[Line]:
    kept = [(_visible(label), row) for label, row in rows[:_MOST]]
    rest = rows[_MOST:]
    most = max(sum(row.get(who, 0) for who in _NAMES) for _, row in kept)
    if rest:
        left = {who: sum(row.get(who, 0) for _, row in rest) for who in _NAMES}
        kept = [*kept, (f"… {many(len(rest), 'more row')}", left)]
    bar, size = _columns([label for label, _ in kept], width - 12)  # a bar has up to three ends
    for label, row in kept:
        line: Line = [(f"  {padded(label, size)} ", "")]
        line.append((f"{number(sum(row.get(who, 0) for who in _NAMES)):>5} ", ""))
        line += [(_bar(row[who], most, bar), _COLOURS[who]) for who in _NAMES if row.get(who)]
        yield line


def markdown(stats: Record) -> Iterator[str]:
    """The same as tables of Markdown, for a comment on a pull request."""
    yield f"**{_summary(stats)}**"
    yield ""
    yield "| lines | added | removed | share |"
    yield "|---|--:|--:|--:|"
    total = sum(stats["added"].values())
    for who, count in stats["added"].items():
        share = _share(count, total).strip()
        yield f"| {_NAMES[who]} | {count} | {stats['removed'][who]} | {share} |"
    if used := spent(stats["tokens"]):
        yield ""
        yield used
    if cost := stats.get("cost"):
        yield ""
        yield spell_cost(cost)
    for row in stats["attested"]:
        yield ""
        yield f"Attested: {_code(row['agent'])}, {_counts(row)}"
    if lived := stats.get("survival"):
        yield ""
        yield "| Agents' lines | added | alive | rewritten by agents | by people | unknown |"
        yield "|---|--:|--:|--:|--:|--:|"
        for row in lived["models"]:
            counts = (row["added"], row["alive"], *row["rewritten"].values())
            yield f"| {_code(_model(row))} | {' | '.join(map(str, counts))} |"
    for title, rows in _sections(stats):
        if rows:
            yield ""
            yield f"| {title} | {' | '.join(_NAMES.values())} |"
            yield f"|---|{'--:|' * len(_NAMES)}"
            for label, row in rows[:_MOST]:
                cells = [str(row.get(who, 0)) for who in _NAMES]
                yield f"| {_code(label)} | {' | '.join(cells)} |"
            if len(rows) > _MOST:
                yield f"| … {many(len(rows) - _MOST, 'more row')} |{' |' * len(_NAMES)}"


def _code(label: str) -> str:
    """A label as code, so that it cannot end its cell, become markup, or call somebody's name."""
    safe = _visible(label).replace("|", "\\|")
    fence = "`"
    while fence in safe:
        fence += "`"
    edge = " " if safe[:1] == "`" or safe[-1:] == "`" else ""
    return f"{fence}{edge}{safe}{edge}{fence}"


def _visible(label: str) -> str:
    """A label as many cells wide as it will be drawn: what drawing would escape is one `?`."""
    return "".join(c if c.isprintable() or c in JOINERS else "?" for c in label)
