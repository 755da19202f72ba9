"""What tokens cost, at the list prices of their day that a package knows."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

from gitcp.core.facts import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.facts.rows import Row
    from gitcp.core.stats.sums import Commit

_COLUMNS = [name for name, _, _ in schema.TABLES["sessions"][4:]]
_MODEL, _INPUT = _COLUMNS.index("model"), _COLUMNS.index("input_tokens")


def with_price(row: Row, commit: Commit) -> Row:
    """A row of sessions with its price in US dollars as the last column; None for an unknown
    model, and where the package is not installed."""
    fresh, creation, read, output = row[_INPUT : _INPUT + 4]
    time = int(commit["author"].rpartition(" ")[2])
    day = datetime.fromtimestamp(time - time % 86400, UTC)
    rates = _price(row[_MODEL], fresh, creation, read, output, day) if row[_MODEL] else None
    return *row[:-1], rates


@cache
def _package() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices


def _price(model: str, fresh: int, creation: int, read: int, output: int, day: Any) -> float | None:
    prices = _package()
    if prices is None:
        return None
    usage = prices.Usage(
        input_tokens=fresh + creation + read,
        cache_write_tokens=creation,
        cache_read_tokens=read,
        output_tokens=output,
    )
    try:
        return float(prices.calc_price(usage, model, genai_request_timestamp=day).total_price)
    except LookupError:
        return None
