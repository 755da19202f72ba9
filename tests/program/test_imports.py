"""What each hook imports, opens and starts: all of it is paid for in each tool call, so nothing
creeps in.  On a slow file system, as Windows has it below Linux, files are what a person waits for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from gitcp.repo import Repo
from gitcp.store.journal import journal
from tests.support.harness import World
from tests.support.paths import TOP

# Modules of ours, packages included, that each hook of a turn in a file, and then a commit, takes;
# who needs one more finds one that is not needed, or has a reason to put in here.
MOST = {
    "UserPromptSubmit": 118,
    "PreToolUse": 80,
    "PostToolUse": 83,
    "Stop": 127,
    "prepare-commit-msg": 81,
    "post-commit": 140,
}
# Gits, and how often a file or a directory is opened, there or not; a commit's two hooks together
# at most 6 and 150.  All packs count as one file.
ASKS = {
    "UserPromptSubmit": (1, 58),
    "PreToolUse": (0, 21),
    "PostToolUse": (0, 37),
    "Stop": (2, 71),
    "prepare-commit-msg": (1, 25),
    "post-commit": (2, 75),
}
# How often a hook asks what a path in the repository is, without opening it.
LOOKS = {
    "UserPromptSubmit": 39,
    "PreToolUse": 22,
    "PostToolUse": 24,
    "Stop": 62,
    "prepare-commit-msg": 19,
    "post-commit": 58,
}
# What runs comes out of one file (test_bundle.py); the processes above a hook are the test's own.
AROUND = (str(TOP), sys.prefix, sys.base_prefix, "/proc/")
# Each costs a hook what several of ours do.
HEAVY = {"re", "enum", "json", "importlib", "collections", "functools", "contextlib", "hashlib"}
HEAVY |= {"typing", "dataclasses", "pathlib", "subprocess", "logging", "tempfile", "traceback"}


class Hook(NamedTuple):
    """What the process of a hook took."""

    modules: set[str]
    opened: list[str]
    looked: list[str]
    gits: list[str]


@pytest.fixture(scope="module")
def lists() -> dict[str, Hook]:
    """Filled by the one turn that all tests look at."""
    return {}


@pytest.fixture
def seen(world: World, lists: dict[str, Hook], monkeypatch: pytest.MonkeyPatch) -> dict[str, Hook]:
    """What each hook of a turn and of its commit took."""
    if not lists:
        agent = world.agent("s", tools=True)
        for n in range(4):
            agent.turn("warm up", {"a.txt": f"{n}\n"})
            world.commit("a.txt")
        monkeypatch.setattr(journal, "_UNCHECKED", 0)  # no hook of the turn notes what it checked
        journal.read(Repo.find(str(world.path)))
        trace = Path(world.env.setdefault("GITCP_TRACE", str(world.home / "trace")))
        agent.turn("Do part 5", {"a.txt": "two\n"})
        world.commit("a.txt")
        hooks, inside = dict[str, Hook](), f"{world.path}/"
        for line in trace.read_text().splitlines():
            _, pid, subject, detail = line.split(None, 3)
            hook, words = hooks.setdefault(pid, Hook(set(), [], [], [])), detail.split()
            if subject == "imports:":
                hook.modules.update(words)
            elif subject == "opens:":
                hook.opened.extend(path for path in words[1:] if not path.startswith(AROUND))
            elif subject == "looks:":
                hook.looked.extend(path for path in words[1:] if path.startswith(inside))
            elif subject == "git:":
                hook.gits.append(detail)
        assert len(hooks) == len(MOST)
        assert all(hook.modules for hook in hooks.values())
        lists.update(zip(MOST, hooks.values(), strict=True))
    return lists


@pytest.mark.parametrize("hook", ASKS)
def test_a_hook_starts_no_more_gits_than_it_did(seen: dict[str, Hook], hook: str) -> None:
    assert len(seen[hook].gits) <= ASKS[hook][0], seen[hook].gits


@pytest.mark.parametrize("hook", ASKS)
def test_a_hook_opens_no_more_files_than_it_did(seen: dict[str, Hook], hook: str) -> None:
    packs = [path for path in seen[hook].opened if path.endswith(".pack")]
    # Which of several packs has an object is tried in the order of their names, which are random.
    opened = [path for path in seen[hook].opened if path not in packs[1:]]
    assert len(opened) <= ASKS[hook][1], "\n".join([str(len(opened)), *opened])


@pytest.mark.parametrize("hook", LOOKS)
def test_a_hook_looks_at_no_more_paths_than_it_did(seen: dict[str, Hook], hook: str) -> None:
    looked = seen[hook].looked
    assert len(looked) <= LOOKS[hook], "\n".join([str(len(looked)), *looked])


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_imports_no_more_of_ours_than_it_did(seen: dict[str, Hook], hook: str) -> None:
    ours = sorted(name for name in seen[hook].modules if name.partition(".")[0] == "gitcp")
    assert len(ours) <= MOST[hook], "\n".join([str(len(ours)), *ours])


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_imports_nothing_heavy(seen: dict[str, Hook], hook: str) -> None:
    assert sorted(seen[hook].modules & HEAVY) == []


@pytest.mark.parametrize("hook", ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"])
def test_a_turns_hook_imports_no_bisect(seen: dict[str, Hook], hook: str) -> None:
    assert "bisect" not in seen[hook].modules


def test_a_tools_hook_imports_neither_snapshots_nor_checkpoints(
    seen: dict[str, Hook],
) -> None:
    rooms = ("gitcp.store.stream", "gitcp.store.v1", "gitcp.store.link", "gitcp.core.redact")
    for hook in ("PreToolUse", "PostToolUse"):
        assert not [name for name in seen[hook].modules if name.startswith(rooms)]
        assert "gitcp.store.snapshot.snapshot" not in seen[hook].modules
        assert "select" not in seen[hook].modules  # no git runs


def test_these_are_the_names_of_modules() -> None:
    assert sys.stdlib_module_names >= HEAVY
