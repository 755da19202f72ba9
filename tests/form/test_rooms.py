"""The rooms of gitcp and the order between them."""

from __future__ import annotations

from collections import defaultdict

from tests.form.source import KNOWN, MODULES, imports, name, none, resolve

SHARED = ("install", "other", "reading")


def room(module: str) -> str:
    """The room that a module or a name of one is in, '' for one that is not of gitcp: a folder or a
    file of gitcp; in core, store, console and agents, where clients are one, of that folder."""
    whole = resolve(module)
    _, *parts = (*whole.split("."), "", "")
    if whole not in KNOWN or not parts[0]:
        return ""
    if parts[0] == "agents":
        return f"agents.{parts[1] if parts[1] in SHARED else 'clients'}" if parts[1] else "agents"
    return f"{parts[0]}.{parts[1]}" if parts[0] in ("core", "store", "console") else parts[0]


def test_rooms_have_an_order() -> None:
    """No room imports one that imports it, however far around, in functions and for types
    neither."""
    below: dict[str, dict[str, str]] = defaultdict(dict)
    for path in MODULES:
        for module in imports(path, types=True):
            if (used := room(module)) != (user := room(name(path))) and used and user:
                below[user].setdefault(used, f"{name(path)} imports {module}")
    while lowest := [user for user in below if not below.keys() & below[user].keys()]:
        for user in lowest:
            del below[user]
    none(line for uses in below.values() for used, line in uses.items() if used in below)
