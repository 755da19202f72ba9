"""What the process of a hook runs through: the files of gitcp that it enters, and the calls from
one package of the drawing (tests/form/layers.py) into another.

profile_hooks() has the hooks of a world run this file in the place of Python.  As their program it
imports nothing before the hook has ended.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from types import CodeType, FrameType, ModuleType

    import pytest

    from tests.support.harness import Call, World

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INSIDE = os.path.join(TOP, "gitcp", "")


class Crossings:
    """Calls from package to package, counted while Python runs with note() as its profiler."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.depth = 0  # the most packages that were open, one in the other
        # (the code that calls, the code that it calls): how often, into another package; and of
        # these those back into a package that is open below.
        self._calls: dict[tuple[CodeType, CodeType], int] = {}
        self._returns: dict[tuple[CodeType, CodeType], int] = {}
        self._packages: dict[CodeType, str] = {}

    def note(self, frame: FrameType, event: str, _: object) -> None:
        """Count a call."""
        code = frame.f_code
        package = self._find_package(code)
        if event != "call" or not package or code.co_name == "<module>":
            return
        self.files.add(code.co_filename)
        callers = self._list_open(frame.f_back)
        if not callers:
            return
        rooms = [package]
        for caller in callers:
            room = self._packages[caller]
            if room != rooms[-1]:
                rooms.append(room)
        self.depth = max(self.depth, len(rooms))
        way = (callers[0], code)
        if self._packages[callers[0]] == package:
            return
        self._calls[way] = self._calls.get(way, 0) + 1
        if package in rooms[1:]:
            self._returns[way] = self._returns.get(way, 0) + 1

    def name_calls(self, values: Iterable[CodeType]) -> dict[str, int]:
        """`package function > package function`: how often.  values: the code of properties, which
        is no call to who reads them."""
        return self._name_ways(self._calls, frozenset(values))

    def name_returns(self, values: Iterable[CodeType]) -> dict[str, int]:
        """Those of name_calls() into a package that is open below."""
        return self._name_ways(self._returns, frozenset(values))

    def _name_ways(
        self, ways: Mapping[tuple[CodeType, CodeType], int], values: frozenset[CodeType]
    ) -> dict[str, int]:
        found: dict[str, int] = {}
        for (caller, code), count in ways.items():
            if code not in values:
                ends = [f"{self._packages[end]} {end.co_name}" for end in (caller, code)]
                name = " > ".join(ends)
                found[name] = found.get(name, 0) + count
        return found

    def _list_open(self, frame: FrameType | None) -> list[CodeType]:
        """The code of gitcp's calls that are open, the innermost first; none while a module is
        imported, whose own calls are no part of an event's way."""
        found: list[CodeType] = []
        while frame is not None:
            code = frame.f_code
            if self._find_package(code):
                if code.co_name == "<module>":
                    return []
                found.append(code)
            frame = frame.f_back
        return found

    def _find_package(self, code: CodeType) -> str:
        """The package, or top file, whose code this is; '' for what is not gitcp's."""
        package = self._packages.get(code)
        if package is None:
            package = ""
            if code.co_filename.startswith(_INSIDE):
                package = code.co_filename[len(_INSIDE) :].removesuffix(".py").partition("/")[0]
            self._packages[code] = package
        return package


def profile_hooks(world: World, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have each hook write what it ran through, as JSON, into a file of the folder that this
    returns, whose name is the hook's."""
    import re
    import shlex
    import subprocess

    from tests.support import harness
    from tests.support.paths import ENTRY

    found, program = world.home / "ran", world.home / "profiling-python"
    found.mkdir()
    profiling = shlex.join([sys.executable, "-I", "-S", __file__, str(found)])
    program.write_text(f'#!/bin/sh\nexec {profiling} "$@"\n')
    program.chmod(0o755)
    for hook in (world.path / ".git/hooks").iterdir():
        hook.write_text(re.sub("(?m)^py='[^']*'", f"py='{program}'", hook.read_text()))

    def run_hook(
        _: World, args: list[str], cwd: Path, env: Mapping[str, str], payload: bytes
    ) -> Call:
        argv = [str(program), str(ENTRY), *args]
        done = subprocess.run(argv, cwd=cwd, env=dict(env), input=payload, capture_output=True)
        return harness.Call(done.returncode, done.stdout.decode(), done.stderr.decode())

    monkeypatch.setattr(harness.World, "run_hook", run_hook)
    return found


def run_profiled(found: str, args: list[str]) -> int:
    """Run gitcp-hook with these arguments, `claude-code <hook>` or `<hook> …`; write what it ran
    through."""
    sys.path.append(TOP)
    sys.argv = ["entry.py", *args]

    from gitcp import hook

    crossings = Crossings()
    sys.setprofile(crossings.note)
    try:
        status = hook.main()
    finally:
        sys.setprofile(None)

    import json

    # One that lazy_modules stands for has not run.
    loaded = [module for module in list(sys.modules.values()) if type(module) is type(os)]
    ours = [
        module for module in loaded if (getattr(module, "__file__", "") or "").startswith(_INSIDE)
    ]
    values = list_properties(ours)
    took = {
        "modules": sorted({str(module.__file__) for module in ours}),
        "files": sorted(crossings.files),
        "calls": crossings.name_calls(values),
        "returns": crossings.name_returns(values),
        "depth": crossings.depth,
    }
    name = args[1] if args[0] == "claude-code" else args[0]
    with open(os.path.join(found, name), "w") as f:
        json.dump(took, f)
    return status


def list_properties(modules: Iterable[ModuleType]) -> list[CodeType]:
    """The code of the properties of the modules' classes."""
    found = []
    for module in modules:
        classes = [value for value in vars(module).values() if isinstance(value, type)]
        for cls in classes:
            for value in vars(cls).values():
                if isinstance(value, property) and value.fget is not None:
                    found.append(value.fget.__code__)
    return found


if __name__ == "__main__":
    rest = sys.argv[2:]
    while not rest.pop(0).endswith("entry.py"):
        pass  # the options of Python
    sys.exit(run_profiled(sys.argv[1], rest))
