"""How much of gitcp a turn and its commit load and run through, and how straight their ways are.

A file is entered when a function of it runs, and so is its package.  A way crosses from one package
of the drawing into another by a call; to read an attribute of a value is none.  These counts depend
on no load of the machine; bench/README.md names what they are compared with.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.support import crossing
from tests.support.paths import TOP

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.harness import World

# Modules that are loaded, files entered, packages entered, at most.
MOST = {
    "UserPromptSubmit": (44, 41, 10),
    "Stop": (53, 50, 9),
}
# Calls from one package into another, at most: those into git and text, which all use, and others;
# calls back into a package that is open below (post-commit: what moves refs under a lock is called
# by it); packages that are open, one in the other.
WAYS = {
    "Stop": (340, 55, 5, 8),
    "post-commit": (335, 80, 26, 8),
}
_FOR_ALL = ("git", "text")


class Ways:
    """What a hook ran through.  calls: `package function > package function`, how often; returns:
    those of them into a package that is open below."""

    def __init__(self, file: Path) -> None:
        took = json.loads(file.read_text())
        inside = f"{TOP}/gitcp/"
        self.modules = len(took["modules"])
        self.files = [path.removeprefix(inside) for path in took["files"]]
        self.calls: dict[str, int] = took["calls"]
        self.returns: dict[str, int] = took["returns"]
        self.depth: int = took["depth"]

    def list_loaded(self) -> list[int]:
        """How many modules, files and packages, as in MOST."""
        packages = {path.removesuffix(".py").partition("/")[0] for path in self.files}
        return [self.modules, len(self.files), len(packages)]

    def list_crossings(self) -> list[int]:
        """The counts of WAYS."""
        to_all = 0
        for way, count in self.calls.items():
            if way.partition(" > ")[2].partition(" ")[0] in _FOR_ALL:
                to_all += count
        others = sum(self.calls.values()) - to_all
        return [to_all, others, sum(self.returns.values()), self.depth]

    def tell(self) -> str:
        """The pairs of packages, and the calls, that count most; and all returns."""
        pairs = Counter[str]()
        for way, count in self.calls.items():
            caller, _, called = way.partition(" > ")
            pairs[f"{caller.split()[0]} > {called.split()[0]}"] += count
        lines = [f"{count:4} {pair}" for pair, count in pairs.most_common(15)]
        lines += [f"{count:4} {way}" for way, count in Counter(self.calls).most_common(25)]
        lines += [f"{count:4} {way}, open below" for way, count in self.returns.items()]
        return "\n".join(["", *lines])


@pytest.fixture(scope="module")
def lists() -> dict[str, Ways]:
    """Filled by the one session that all tests look at."""
    return {}


@pytest.fixture
def ways(world: World, lists: dict[str, Ways], monkeypatch: pytest.MonkeyPatch) -> dict[str, Ways]:
    """What the hooks of a turn and of its commit ran through, the fifth of a session in whose file
    commits were made."""
    if not lists:
        agent = world.agent("s", tools=True)
        for n in range(5):
            if n == 3:  # the first of these keeps what it has compiled
                found = crossing.profile_hooks(world, monkeypatch)
            agent.turn("Do this part", {"a.txt": f"{n}\n"})
            world.commit("a.txt")
        lists |= {file.name: Ways(file) for file in found.iterdir()}
    return lists


@pytest.mark.parametrize("hook", MOST)
def test_a_turn_loads_and_enters_no_more_of_gitcp_than_it_did(
    ways: dict[str, Ways], hook: str
) -> None:
    loaded = ways[hook].list_loaded()
    assert not any(map(int.__gt__, loaded, MOST[hook])), loaded


@pytest.mark.parametrize("hook", WAYS)
def test_a_hook_goes_straight_through_the_packages(ways: dict[str, Ways], hook: str) -> None:
    crossings = ways[hook].list_crossings()
    assert not any(map(int.__gt__, crossings, WAYS[hook])), f"{crossings}{ways[hook].tell()}"
