"""What this process remembers between two calls: the one place for it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TABLES: dict[str, dict[Any, Any]] = {}


def get_table(name: str) -> dict[Any, Any]:
    """The table of that name, which is empty at first and lasts as long as the process."""
    return _TABLES.setdefault(name, {})


def forget() -> None:
    """Empty each table: what follows asks again, as a new process does."""
    for entries in _TABLES.values():
        entries.clear()
