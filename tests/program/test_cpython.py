"""Hooks on a Python that has not the parts of CPython that they take: all of it works, later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.harness import World
from tests.support.paths import ENTRY, TOP

# Our modules find none of the parts, and no place for bytecode; the standard library has its own.
PLAIN = """
import builtins, runpy, sys
usual = builtins.__import__
def without(name, *more, **named):
    ours = sys._getframe(1).f_globals["__name__"].startswith("gitcp")
    if ours and name in ("_json", "_sre", "_signal", "_frozen_importlib_external"):
        raise ImportError(name)
    return usual(name, *more, **named)
builtins.__import__ = without
sys.implementation.cache_tag = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture
def plain(tmp_path: Path) -> list[str]:
    """A command that runs a program of ours on such a Python."""
    script = tmp_path / "plain.py"
    script.write_text(PLAIN)
    return [sys.executable, "-I", "-S", str(script)]


def test_a_turn_and_its_commit_are_recorded_on_a_python_without_its_inner_parts(
    world: World, plain: list[str]
) -> None:
    hooks = world.home / "plain-hooks"
    hooks.mkdir()
    for name in ("prepare-commit-msg", "post-commit"):
        words = " ".join([*plain, str(ENTRY), name])
        (hooks / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (hooks / name).chmod(0o755)

    def hear(event: str, **more: object) -> None:
        payload = {"session_id": "s", "cwd": str(world.path), "hook_event_name": event, **more}
        done = subprocess.run(
            [*plain, str(ENTRY), "claude-code", event],
            input=json.dumps(payload).encode(),
            cwd=world.path,
            env={**os.environ, **world.env},
            capture_output=True,
        )
        assert (done.returncode, done.stderr) == (0, b"")

    written = {"tool_name": "Write", "tool_use_id": "t1", "tool_input": {"file_path": "a.txt"}}
    hear("UserPromptSubmit", prompt="Write key AKIAIOSFODNN7EXAMPLE into a.txt")
    hear("PreToolUse", **written)
    (world.path / "a.txt").write_text("one\n")
    hear("PostToolUse", **written)
    hear("Stop")
    world.git("add", "a.txt")
    world.git("-c", f"core.hooksPath={hooks}", "commit", "-q", "-m", "Add a")
    assert "Entire-Checkpoint: " in world.git("log", "-1", "--format=%B")
    assert world.git("rev-parse", "--verify", "-q", "entire/checkpoints/v1")


def test_a_module_in_c_is_found_where_python_finds_it_and_no_other_module_is() -> None:
    _run_isolated("""
import sys
sys.path.insert(0, sys.argv[1])
from gitcp.start import cpython
from importlib.machinery import PathFinder
names = ["_json", "_bisect", "fcntl", "zlib", "math", "os", "json", "gitcp", "time", "no_module"]
for name in names:
    found, usual = cpython.find_extension(name), PathFinder.find_spec(name)
    built_in = name in sys.builtin_module_names
    if not built_in and usual and "lib-dynload" in usual.origin:
        assert (found.origin, type(found.loader)) == (usual.origin, type(usual.loader)), name
    else:
        assert found is None, name
""")


def test_nothing_is_read_or_written_where_a_python_keeps_no_bytecode(tmp_path: Path) -> None:
    code = """
import sys
sys.path.insert(0, sys.argv[1])
sys.implementation.cache_tag = None
from gitcp.start import bundle, cpython
assert cpython.get_path("hooks") == ""
bundle.use()
import gitcp.errors
bundle.complete()
"""
    subprocess.run([sys.executable, "-I", "-c", code, str(TOP)], cwd=tmp_path, check=True)
    assert os.listdir(tmp_path) == ["home"]  # the tests' own


def _run_isolated(code: str) -> None:
    argv = [sys.executable, "-I", "-S", "-c", code, str(TOP)]
    subprocess.run(argv, check=True, env={**os.environ, "GIVEN": "1"})


@pytest.mark.parametrize(
    "asked",
    ["sorted(os.environ.items())", "os.environ.pop('GIVEN')", "[*os.environ.values()]"],
)
def test_the_environment_of_a_hook_becomes_a_mapping_when_more_is_asked_of_it(asked: str) -> None:
    _run_isolated(f"""
import sys
sys.path.insert(0, sys.argv[1])
from gitcp import start
start.import_os()
import os
assert "_collections_abc" not in sys.modules, "what it saves"
assert os.environ.get("GIVEN") == "1" and "GIVEN" in os.environ
assert os.environ.get("WANTED", "3") == "3" and "WANTED" not in os.environ
assert {{**os.environ, "OF_GIT": "2"}} == os.environ | {{"OF_GIT": "2"}}
os.environ["EMPTY"] = ""
assert "EMPTY" in os.environ
assert not hasattr(os.environ, "unheard") and not isinstance(1, os.PathLike)
usual = {{**os.environ}}
assert {asked} == {asked.replace("os.environ", "usual")}
from collections.abc import MutableMapping
assert isinstance(os.environ, MutableMapping)
""")


def test_an_os_that_needs_more_of_its_classes_is_imported_with_all_of_them() -> None:
    _run_isolated("""
import builtins, sys
sys.path.insert(0, sys.argv[1])
from gitcp import start
usual = builtins.__import__
def wanting(name, space=None, *more):
    if name == "_collections_abc" and space["__name__"] == "os":
        usual(name, space, *more).Hashable
    return usual(name, space, *more)
builtins.__import__ = wanting
start.import_os()
import os
from collections.abc import Hashable, MutableMapping
assert isinstance(os.environ, MutableMapping)
""")
