"""Add and subtract token usages.

The keys are those of the session state and of committed metadata.  A usage is cumulative over a
transcript; the cost of a checkpoint is the difference of two usages.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from gitcp.core.record_types import Usage


def make_usage(
    fresh: int = 0, cache_creation: int = 0, cache_read: int = 0, output: int = 0, calls: int = 0
) -> Usage:
    """A usage of the five counts; fresh is input that came from no cache."""
    return {
        "input_tokens": fresh,
        "cache_creation_tokens": cache_creation,
        "cache_read_tokens": cache_read,
        "output_tokens": output,
        "api_call_count": calls,
    }


KEYS = tuple(make_usage())


def parse_count(value: object) -> int:
    """A count of a client; 0 if it is absent, negative or not a number."""
    return value if isinstance(value, int) and value > 0 else 0


def read_usage(counts: Mapping[str, Any], *keys: str, with_cache: bool = False) -> Usage:
    """The usage of an answer.  keys: of the input, of its parts that were written to the cache and
    read from it, and of the output.  with_cache: the input includes these parts."""
    fresh, creation, read, output = (parse_count(counts.get(key)) for key in keys)
    if with_cache:
        fresh = max(0, fresh - creation - read)
    return make_usage(fresh, creation, read, output, 1)


def list_counts(tokens: Usage | None) -> tuple[int, int, int, int, int]:
    """The five counts in the order make_usage() takes them; a missing key is 0."""
    if not tokens:
        return 0, 0, 0, 0, 0
    fields: Mapping[str, object] = tokens
    fresh, creation, read, output, calls = map(parse_count, map(fields.get, KEYS))
    return fresh, creation, read, output, calls


def add(*tokens: Usage | None) -> Usage:
    """The sum of usages, and separately of their subagents' parts; None counts as 0."""
    columns = zip(list_counts(None), *map(list_counts, tokens), strict=True)
    total = make_usage(*map(sum, columns))
    parts = [part for u in tokens if (part := _get_subagents(u))]
    if parts:
        total["subagent_tokens"] = add(*parts)
    return total


def add_counts(total: Usage, more: Usage) -> None:
    """Add the five counts of a usage, without its subagents', to a total."""
    sums: Any = total
    for key, count in zip(KEYS, list_counts(more), strict=True):
        sums[key] += count


def subtract(now: Usage | None, before: Usage | None) -> Usage:
    """The difference of two usages; no count is below 0, as a transcript may have been cut."""
    pairs = zip(list_counts(now), list_counts(before), strict=True)
    delta = make_usage(*(max(0, new - old) for new, old in pairs))
    if part := _get_subagents(now):
        delta["subagent_tokens"] = subtract(part, _get_subagents(before))
    return delta


def add_subagents(own: Usage | None, subagents: Iterable[Usage | None]) -> Usage | None:
    """own with the sum of its subagents' usages; None if there is no usage."""
    parts = [u for u in subagents if u]
    if own is None and not parts:
        return None
    total = add(own)
    if parts:
        total["subagent_tokens"] = add(*(flatten(u) for u in parts))
    return total


def flatten(tokens: Usage) -> Usage:
    """The usage with its subagents' part added to its own counts."""
    part, total = _get_subagents(tokens), make_usage(*list_counts(tokens))
    return add(total, flatten(part)) if part else total


def count_spent(stored: Any, agent: object) -> Usage:
    """The counts of a stored usage with its subagents'; zeros for a value that is none.

    Those of Gemini CLI count what was read from the cache as input, too: it is subtracted.
    """
    total = flatten(stored) if isinstance(stored, dict) else make_usage()  # type: ignore[arg-type]
    if agent == "Gemini CLI":
        total["input_tokens"] = max(0, total["input_tokens"] - total["cache_read_tokens"])
    return total


def _get_subagents(tokens: Usage | None) -> Usage | None:
    """The subagents' part; None if there is none, or stored data has no object there."""
    part = tokens.get("subagent_tokens") if tokens else None
    return part if isinstance(part, dict) else None
