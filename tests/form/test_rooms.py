"""The rooms of gitcp and the order between them."""

from __future__ import annotations

from collections import defaultdict

from tests.form.source import MODULES, imports, name
from tests.support.paths import TOP

SHARED = ("exchange", "install", "reading")
# Rooms that import each other still.  The list only gets shorter: at its end the rooms have an
# order.
BOTH_WAYS = {
    ("auto", "journal"),
    ("git", "pack"),
    ("git", "v1"),
    ("lines", "link"),
}


def room(module: str) -> str:
    """The room that a module is in, '' for any other: a folder of gitcp/store; of gitcp/core and
    of gitcp/agents, where clients are one, with that name before it."""
    _, *parts = (*module.split("."), "", "")
    if parts[0] == "agents":
        return f"agents.{parts[1] if parts[1] in SHARED else 'clients'}"
    if parts[0] == "core" and (TOP / "gitcp" / "core" / parts[1]).is_dir():
        return f"core.{parts[1]}"
    return parts[1] if parts[0] == "store" else ""


def test_no_more_rooms_import_each_other_than_are_listed() -> None:
    used: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        used[room(name(path))] |= {room(module) for module in imports(path)} - {""}
    both = {
        (one, other)
        for one in used
        for other in used[one]
        if one and one < other and one in used.get(other, ())
    }
    assert both == BOTH_WAYS, "a pair that is gone is to be taken out of the list"
