"""The rooms of gitcp and the order between them."""

from __future__ import annotations

from collections import defaultdict

from tests.form.source import MODULES, imports, name, none

SHARED = ("install", "other", "reading")
KNOWN = {*map(name, MODULES)}


def room(module: str) -> str:
    """The room that a module or a name of one is in, '' for any other: a folder or a file of
    gitcp/store; of gitcp/core and of gitcp/agents, where clients are one, with that name before
    it."""
    module = module if module in KNOWN else module.rpartition(".")[0]
    _, *parts = (*module.split("."), "", "")
    if parts[0] == "agents":
        return f"agents.{parts[1] if parts[1] in SHARED else 'clients'}" if parts[1] else "agents"
    if parts[0] == "core":
        return f"core.{parts[1]}"
    return parts[1] if parts[0] == "store" else ""


def test_rooms_have_an_order() -> None:
    """No room imports one that imports it, however far around, and late in a function neither."""
    below: dict[str, dict[str, str]] = defaultdict(dict)
    for path in MODULES:
        for module in imports(path):
            if (used := room(module)) != (user := room(name(path))) and used and user:
                below[user].setdefault(used, f"{name(path)} imports {module}")
    while lowest := [user for user in below if not below.keys() & below[user].keys()]:
        for user in lowest:
            del below[user]
    none(line for uses in below.values() for used, line in uses.items() if used in below)
