"""Where prices come from: a file of the person's, `gitcp.prices`, or the package genai-prices."""

from __future__ import annotations

import os
from importlib.util import find_spec

from gitcp.agents import transcripts
from gitcp.errors import Error, GitError
from gitcp.git import decode_name
from gitcp.lines import costs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from typing import Any

    from gitcp.git.repo import Repo
    from gitcp.lines.costs import Cost
    from gitcp.text.record_types import Usage


class Prices:
    """A table of prices.  source: which, with its date; currency: of what it tells."""

    def __init__(self, cost: Cost, currency: str, source: str) -> None:
        self.cost = cost
        self.currency = currency
        self.source = source

    def sum_record(self, spent: Mapping[tuple[str, str], Usage]) -> dict[str, Any]:
        """What `gitcp stats --cost` adds to its record.  spent: (agent, model) -> tokens."""
        total, unpriced = costs.sum_costs(((m, used) for (_, m), used in spent.items()), self.cost)
        models = [
            {"agent": agent, "model": model, "amount": self.cost(model, used) if model else None}
            for (agent, model), used in sorted(spent.items())
        ]
        about = {"currency": self.currency, "source": self.source, "models": models}
        return {"amount": total, "unpriced_tokens": unpriced, **about}


def load(repo: Repo) -> Prices | None:
    """The prices that are here; None for none.  Raises Error for a file that cannot be read."""
    path = repo.config.get("gitcp.prices")
    if path:
        return _load_file(repo, os.path.expanduser(path))
    if not find_spec("genai_prices"):
        return None
    from importlib.metadata import version

    return Prices(list_price, "USD", f"genai-prices {version('genai-prices')}")


def _load_file(repo: Repo, path: str) -> Prices:
    """Raises Error where git cannot read the file, or a price in it is not a number."""
    try:
        _, out = repo.git.run("config", "--file", os.path.abspath(path), "--list", "-z")
    except GitError as e:
        raise Error(f"cannot read the prices in '{path}': {e.shorten()}") from None
    pairs = (entry.partition("\n") for entry in decode_name(out).split("\0") if entry)
    table = costs.read_table((key, value) for key, _, value in pairs)
    source = f"'{os.path.basename(path)}'" + (f" of {table.date}" if table.date else "")
    return Prices(costs.build_cost(table.prices), table.currency, source)


def list_price(model: str, used: Usage, day: datetime | None = None) -> float | None:
    """US dollars for tokens of a model at its list price, of that day where one is named; None
    for an unknown model, and where the package genai-prices is not installed.

    A long request may cost more for each token: the average one decides.
    """
    try:
        import genai_prices
    except ImportError:
        return None
    *counts, calls = transcripts.list_counts(transcripts.flatten_tokens(used))
    calls = calls or 1
    fresh, write, read, output = (count / calls for count in counts)
    usage = genai_prices.Usage(
        input_tokens=fresh + write + read,  # all of them, as the package counts
        cache_write_tokens=write,
        cache_read_tokens=read,
        output_tokens=output,
    )
    try:
        priced = genai_prices.calc_price(usage, model, genai_request_timestamp=day)
    except LookupError:
        return None
    return float(priced.total_price) * calls
