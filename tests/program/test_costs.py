"""What each hook of a turn, and of its commit, asks of the system: gits it starts, files it opens.

On a slow file system, as Windows has it below Linux, that is what a person waits for.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.harness import World
from tests.support.paths import TOP

CODE = (str(TOP), sys.prefix, sys.base_prefix)  # what runs comes out of one file (test_bundle.py)
# Gits, and how often a file or a directory is opened, there or not.
MOST = {
    "UserPromptSubmit": (1, 60),
    "PreToolUse": (1, 25),
    "PostToolUse": (0, 40),
    "Stop": (2, 80),
    "prepare-commit-msg": (1, 45),
    "post-commit": (3, 85),
}
Counts = dict[str, tuple[list[str], list[str]]]


@pytest.fixture(scope="module")
def lists() -> Counts:
    """Filled by the one turn that all tests look at."""
    return {}


@pytest.fixture
def seen(world: World, lists: Counts) -> Counts:
    """Hook -> what it started, what it opened."""
    if not lists:
        agent = world.agent("s", tools=True)
        for n in range(4):
            agent.turn("warm up", {"a.txt": f"{n}\n"})
            world.commit("a.txt")
        trace = Path(world.env.setdefault("GITCP_TRACE", str(world.home / "trace")))
        agent.turn("Do part 5", {"a.txt": "two\n"})
        world.commit("a.txt")
        by_process: Counts = {}
        for line in trace.read_text().splitlines():
            _, pid, subject, detail = line.split(None, 3)
            if subject == "git:":
                by_process.setdefault(pid, ([], []))[0].append(detail)
            elif subject == "opens:":
                opened = [path for path in detail.split()[1:] if not path.startswith(CODE)]
                by_process.setdefault(pid, ([], []))[1].extend(opened)
        assert len(by_process) == len(MOST)
        lists.update(zip(MOST, by_process.values(), strict=True))
    return lists


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_starts_no_more_gits_than_it_did(seen: Counts, hook: str) -> None:
    assert len(seen[hook][0]) <= MOST[hook][0], seen[hook][0]


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_opens_no_more_files_than_it_did(seen: Counts, hook: str) -> None:
    assert len(seen[hook][1]) <= MOST[hook][1], "\n".join([str(len(seen[hook][1])), *seen[hook][1]])
