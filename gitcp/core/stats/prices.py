"""Compute the cost of tokens by a table of prices; without a price the cost is not known."""

from __future__ import annotations

from fnmatch import fnmatchcase

from gitcp.core.transcript import tokens
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gitcp.core.record_types import Usage

    Price = dict[str, float]  # kind of token -> the cost of a million
    Cost = Callable[[str, Usage], float | None]

_KINDS = ("input", "cache-write", "cache-read", "output")
_MILLION = 1_000_000


def read_table(values: Iterable[tuple[str, str]]) -> tuple[dict[str, Price], str, str]:
    """(pattern of models -> price, currency, date) of a file in git's format with the keys
    `model.<pattern>.<kind>`, `prices.currency` and `prices.date`.  Raise InputError for a price
    that is not a number."""
    table: dict[str, Price] = {}
    about = {"prices.currency": "USD", "prices.date": ""}
    for key, text in values:
        section, _, name = key.partition(".")
        pattern, _, kind = name.rpartition(".")
        if key in about:
            about[key] = text
        elif section == "model" and kind in _KINDS:
            try:
                table.setdefault(pattern, {})[kind] = float(text)
            except ValueError:
                raise InputError(f"'{key}' is no price: {ascii(text)[:40]}") from None
    return table, about["prices.currency"], about["prices.date"]


def build_cost(table: Mapping[str, Price]) -> Cost:
    """A function that computes the cost of a model's tokens, by the first matching pattern; None if
    none matches, or if it has no price for a kind of token that was used."""

    def compute_cost(model: str, used: Usage) -> float | None:
        price = next((p for name, p in table.items() if fnmatchcase(model, name)), None)
        pairs = [*zip(_KINDS, tokens.list_counts(tokens.flatten(used)), strict=False)]
        if price is None or any(count and kind not in price for kind, count in pairs):
            return None
        return sum(count * price.get(kind, 0) for kind, count in pairs) / _MILLION

    return compute_cost


def sum_costs(spent: Iterable[tuple[str, Usage]], cost: Cost) -> tuple[float | None, int]:
    """(the total cost, None if nothing has a price; the number of tokens without a price)."""
    total, unpriced = None, 0
    for model, used in spent:
        amount = cost(model, used) if model else None
        if amount is None:
            unpriced += sum(tokens.list_counts(tokens.flatten(used))[:4])
        else:
            total = (total or 0) + amount
    return total, unpriced
