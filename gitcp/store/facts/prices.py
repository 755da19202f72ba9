"""The cost of tokens at the list prices of their day."""

from __future__ import annotations

from datetime import UTC, datetime

from gitcp.core.facts import schema
from gitcp.core.transcript import tokens
from gitcp.store.stats.prices import list_price

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.facts.rows import Row
    from gitcp.core.stats.sums import Commit

_COLUMNS = [name for name, _, _ in schema.TABLES["sessions"][4:]]
_MODEL, _INPUT = _COLUMNS.index("model"), _COLUMNS.index("input_tokens")


def add_price(row: Row, commit: Commit) -> Row:
    """A row of sessions with its price in US dollars as the last column; None for an unknown
    model, or without the package of prices."""
    fresh, creation, read, output = row[_INPUT : _INPUT + 4]
    time = int(commit["author"].rpartition(" ")[2])
    day = datetime.fromtimestamp(time - time % 86400, UTC)
    used = tokens.make_usage(fresh, creation, read, output)
    return *row[:-1], list_price(row[_MODEL], used, day) if row[_MODEL] else None
