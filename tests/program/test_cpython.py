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
    if ours and name in ("_json", "_sre", "_signal", "_sha1", "_sha2", "_sha256"):
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


@pytest.mark.thorough
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


def test_no_pattern_is_stored_where_a_python_keeps_no_bytecode(tmp_path: Path) -> None:
    code = """
import sys
sys.path.insert(0, sys.argv[1])
sys.implementation.cache_tag = None
from gitcp.text import patterns
assert patterns.locate_patterns() == ""
patterns.COMPILED[b"a"] = True
patterns.save_patterns(lambda: None)
"""
    subprocess.run([sys.executable, "-I", "-c", code, str(TOP)], cwd=tmp_path, check=True)
    assert os.listdir(tmp_path) == ["home"]  # the tests' own
