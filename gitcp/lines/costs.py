"""The cost of tokens by a table of prices; without a price the cost is not known."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from gitcp.agents import transcripts
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitcp.text.record_types import Usage

    Price = dict[str, float]  # kind of token -> the cost of a million
    Cost = Callable[[str, Usage], float | None]

_KINDS = ("input", "cache-write", "cache-read", "output")
_MILLION = 1_000_000


class PriceTable(NamedTuple):
    """What tokens cost."""

    prices: dict[str, Price]  # by the pattern of the models
    currency: str
    date: str


def read_table(values: Iterable[tuple[str, str]]) -> PriceTable:
    """The table in a file in git's format with the keys `model.<pattern>.<kind>`, `prices.currency`
    and `prices.date`.  Raise InputError for a price that is not a number."""
    table: dict[str, Price] = {}
    settings = {"prices.currency": "USD", "prices.date": ""}
    for key, text in values:
        section, _, name = key.partition(".")
        pattern, _, kind = name.rpartition(".")
        if key in settings:
            settings[key] = text
        elif section == "model" and kind in _KINDS:
            try:
                table.setdefault(pattern, {})[kind] = float(text)
            except ValueError:
                raise InputError(f"'{key}' is not a price: {ascii(text)[:40]}") from None
    return PriceTable(table, settings["prices.currency"], settings["prices.date"])


def build_cost(table: Mapping[str, Price]) -> Cost:
    """A function that computes the cost of a model's tokens, by the first matching pattern; None if
    none matches, or if it has no price for a kind of token that was used."""

    def compute_cost(model: str, used: Usage) -> float | None:
        price = next((p for name, p in table.items() if fnmatchcase(model, name)), None)
        if price is None:
            return None
        counts = transcripts.list_counts(transcripts.flatten_tokens(used))
        amount = 0.0
        for kind, count in zip(_KINDS, counts, strict=False):
            if count and kind not in price:
                return None
            amount += count * price.get(kind, 0)
        return amount / _MILLION

    return compute_cost


def sum_costs(spent: Iterable[tuple[str, Usage]], cost: Cost) -> tuple[float | None, int]:
    """(the total cost, None if nothing has a price; the number of tokens without a price)."""
    total = None
    unpriced = 0
    for model, used in spent:
        amount = None
        if model:
            amount = cost(model, used)
        if amount is None:
            unpriced += sum(transcripts.list_counts(transcripts.flatten_tokens(used))[:4])
        else:
            total = (total or 0) + amount
    return total, unpriced
