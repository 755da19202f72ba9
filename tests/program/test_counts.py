"""How much of gitcp a prompt and a Stop load and run through.

A file is entered when a function of it runs, and so is its package.  These counts depend on no load
of the machine; bench/README.md names what they are compared with.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.harness import Call, World
from tests.support.paths import TOP

# Modules that are loaded, files entered, packages entered, at most.
MOST = {
    "UserPromptSubmit": (44, 41, 10),
    "Stop": (53, 50, 12),
}
_SCRIPT = """
import sys
sys.path.insert(0, {top!r})
from gitcp import hook
entered = set()
def note(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>":
        entered.add(code.co_filename)
sys.argv = ["entry.py", *sys.argv[2:]]
sys.setprofile(note)
try:
    status = hook.main()
finally:
    sys.setprofile(None)
    import json, types
    modules = [m.__file__ for m in list(sys.modules.values()) if type(m) is types.ModuleType
               and m.__name__.startswith("gitcp") and getattr(m, "__file__", None)]
    with open({to!r}, "w") as f:
        json.dump([modules, sorted(entered)], f)
sys.exit(status)
"""


class Count(NamedTuple):
    """What a hook took of gitcp."""

    modules: int
    files: int
    packages: int


def count(loaded: list[str], entered: list[str]) -> Count:
    """The counts of the files of the modules that were loaded, and of those entered."""
    inside = f"{TOP}/gitcp/"
    ours = [path for path in set(loaded) if path.startswith(inside)]
    files = [path.removeprefix(inside) for path in entered if path.startswith(inside)]
    packages = {path.removesuffix(".py").partition("/")[0] for path in files}
    return Count(len(ours), len(set(files)), len(packages))


@pytest.fixture
def counts(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Count]:
    """What the hooks of a turn took, the fifth of a session in whose files commits were made."""
    agent = world.agent("s", tools=True)
    for n in range(4):
        agent.turn("warm up", {"a.txt": f"{n}\n"})
        world.commit("a.txt")
    found = {}

    def run_counted(
        _: World, args: list[str], cwd: Path, env: Mapping[str, str], payload: bytes
    ) -> Call:
        to = tmp_path / "counted"
        argv = [sys.executable, "-S", "-c", _SCRIPT.format(top=str(TOP), to=str(to)), "", *args]
        done = subprocess.run(argv, cwd=cwd, env=dict(env), input=payload, capture_output=True)
        found[args[-1]] = count(*json.loads(to.read_text()))
        return Call(done.returncode, done.stdout.decode(), done.stderr.decode())

    monkeypatch.setattr(World, "run_hook", run_counted)
    agent.turn("Do part 5", {"a.txt": "five\n"})
    return found


def test_a_turn_loads_and_enters_no_more_of_gitcp_than_it_did(counts: dict[str, Count]) -> None:
    over = {hook: counts[hook] for hook in MOST if any(map(int.__gt__, counts[hook], MOST[hook]))}
    assert not over
