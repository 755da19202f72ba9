"""The rooms of gitcp and the order between them."""

from __future__ import annotations

from collections import defaultdict

from tests.form.source import KNOWN, MODULES, imports, name, none, resolve

FOLDERS = {name(path) for path in MODULES if path.name == "__init__.py"}


def room(module: str) -> str:
    """The folder that a module or a name of one is in; a file directly in gitcp is a room of its
    own.  '' for one that is not of gitcp."""
    whole = resolve(module)
    if whole not in KNOWN:
        return ""
    folder = whole if whole in FOLDERS else whole.rpartition(".")[0]
    return ".".join(whole.split(".")[:2])


def test_rooms_have_an_order() -> None:
    """No folder imports one that imports it, however far around, in functions and for types
    neither."""
    below: dict[str, dict[str, str]] = defaultdict(dict)
    for path in MODULES:
        for module in imports(path, types=True):
            if (used := room(module)) != (user := room(name(path))) and used:
                below[user].setdefault(used, f"{name(path)} imports {module}")
    while lowest := [user for user in below if not below.keys() & below[user].keys()]:
        for user in lowest:
            del below[user]
    none(line for uses in below.values() for used, line in uses.items() if used in below)
