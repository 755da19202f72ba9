"""The global tables of this process, all in one place."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TABLES: dict[str, dict[Any, Any]] = {}


def get_table(name: str) -> dict[Any, Any]:
    """The table of that name, which lasts as long as the process."""
    return _TABLES.setdefault(name, {})


def forget() -> None:
    """Empty all tables, as in a new process."""
    for entries in _TABLES.values():
        entries.clear()
