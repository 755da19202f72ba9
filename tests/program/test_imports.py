"""What each hook imports: every module is paid for in each tool call, so none creeps in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.harness import World

# Modules of ours, packages included, that each hook of a turn in a file, and then a commit, takes;
# who needs one more finds one that is not needed, or has a reason to put in here.
MOST = {
    "UserPromptSubmit": 130,
    "PreToolUse": 81,
    "PostToolUse": 82,
    "Stop": 129,
    "prepare-commit-msg": 81,
    "post-commit": 146,
}
# Each costs a hook what several of ours do.
HEAVY = {"re", "enum", "json", "importlib", "collections", "functools", "contextlib", "hashlib"}
HEAVY |= {"typing", "dataclasses", "pathlib", "subprocess", "logging", "tempfile", "traceback"}


@pytest.fixture(scope="module")
def lists() -> dict[str, set[str]]:
    """Filled by the one turn that all tests look at."""
    return {}


@pytest.fixture
def imported(world: World, lists: dict[str, set[str]]) -> dict[str, set[str]]:
    """Hook -> the modules that it had when it ended."""
    if not lists:
        agent = world.agent("s", tools=True)
        agent.turn("warm up", {"a.txt": "one\n"})
        world.commit("a.txt")
        trace = Path(world.env.setdefault("GITCP_TRACE", str(world.home / "trace")))
        agent.turn("Do part 2", {"a.txt": "two\n"})
        world.commit("a.txt")
        notes = [line.partition(" imports: ") for line in trace.read_text().splitlines()]
        modules = [set(words.split()) for _, mark, words in notes if mark]
        assert len(modules) == len(MOST)
        lists.update(zip(MOST, modules, strict=True))
    return lists


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_imports_no_more_of_ours_than_it_did(
    imported: dict[str, set[str]], hook: str
) -> None:
    ours = sorted(name for name in imported[hook] if name.partition(".")[0] == "gitcp")
    assert len(ours) <= MOST[hook], "\n".join([str(len(ours)), *ours])


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_imports_nothing_heavy(imported: dict[str, set[str]], hook: str) -> None:
    assert sorted(imported[hook] & HEAVY) == []


def test_a_tools_hook_imports_neither_snapshots_nor_checkpoints(
    imported: dict[str, set[str]],
) -> None:
    rooms = ("gitcp.store.stream", "gitcp.store.v1", "gitcp.store.link", "gitcp.core.redact")
    for hook in ("PreToolUse", "PostToolUse"):
        assert not [name for name in imported[hook] if name.startswith(rooms)]
        assert "gitcp.store.snapshot.snapshot" not in imported[hook]


def test_these_are_the_names_of_modules() -> None:
    assert sys.stdlib_module_names >= HEAVY
