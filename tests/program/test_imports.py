"""What each hook imports, opens and starts: all of it is paid for in each tool call, so nothing
creeps in.  On a slow file system, as Windows has it below Linux, files are what a person waits for.

A command imports at its top what it may need; a module of gitcp runs when it is first used.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gitcp import commands
from gitcp.git.repo import Repo
from gitcp.record import journal
from tests.support import counting, warm
from tests.support.harness import World
from tests.support.paths import TOP

if TYPE_CHECKING:
    from collections.abc import Sequence

# Modules of ours, packages included, that each hook of a turn in a file, and then a commit, takes;
# who needs one more finds one that is not needed, or has a reason to put in here.
MOST = {
    "UserPromptSubmit": 44,
    "PreToolUse": 31,
    "PostToolUse": 33,
    "Stop": 53,  # six find secrets in what was said
    "prepare-commit-msg": 38,
    "post-commit": 75,  # seven find where the lines of a file come from that has lost some
}
# Gits, and how often a file or a directory is opened, there or not; a commit's two hooks together
# at most 6 and 150.  All packs count as one file.
ASKS = {
    "UserPromptSubmit": (1, 45),
    "PreToolUse": (0, 20),
    "PostToolUse": (0, 26),
    "Stop": (2, 53),
    "prepare-commit-msg": (1, 23),
    "post-commit": (1, 52),
}
# How often a hook opens a private file, a ref or a lock that it has opened before, there or not.
AGAIN = {
    "UserPromptSubmit": 1,
    "PreToolUse": 0,
    "PostToolUse": 0,
    "Stop": 4,
    "prepare-commit-msg": 1,
    "post-commit": 8,
}
# How often a hook asks what a path in the repository is, without opening it.
LOOKS = {
    "UserPromptSubmit": 59,
    "PreToolUse": 24,
    "PostToolUse": 27,
    "Stop": 82,
    "prepare-commit-msg": 27,
    "post-commit": 90,
}
# How often a hook itself waits for the disk: two for a pack and its index, one for a state, which
# come before the refs that git syncs.
SYNCS = {
    "UserPromptSubmit": 1,
    "PreToolUse": 0,
    "PostToolUse": 2,
    "Stop": 3,
    "prepare-commit-msg": 0,
    "post-commit": 3,
}
# Python and the modules; the processes above a hook are the test's own.
AROUND = (str(TOP), sys.prefix, sys.base_prefix, "/proc/")
# Each costs a hook what several of ours do.
HEAVY = {"re", "enum", "json", "importlib", "collections", "functools", "contextlib", "hashlib"}
HEAVY |= {"typing", "dataclasses", "pathlib", "subprocess", "logging", "tempfile", "traceback"}
FOR_OPTIONS = 86  # modules of gitcp that run for a command's options; its work runs up to 180
# Each line of standard input is a command line, which runs in a process of its own.
_SCRIPT = """
import json, os, sys, types
sys.path.insert(0, {top!r})
from gitcp import __main__
for line in sys.stdin:
    ends = os.pipe()
    if not os.fork():
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        os.dup2(1, 2)
        sys.argv = json.loads(line)
        try:
            __main__.main()
        except SystemExit:
            pass
        ran = [n for n, m in sys.modules.items() if type(m) is types.ModuleType]
        os.write(ends[1], "\\n".join(n for n in ran if n.startswith("gitcp")).encode())
        os._exit(0)
    os.close(ends[1])
    with open(ends[0]) as answer:
        print(json.dumps(answer.read().split()), flush=True)
    os.wait()
"""


class Hook(NamedTuple):
    """What the process of a hook took."""

    modules: set[str]
    opened: list[str]
    looked: list[str]
    synced: list[str]
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
        if warm.IS_COLD:
            time.sleep(2.1)  # what git says is kept of files that are older
        for n in range(4):
            agent.turn("warm up", {"a.txt": f"{n}\n"})
            world.commit("a.txt")
        monkeypatch.setattr(journal, "_UNCHECKED", 0)  # no hook of the turn notes what it checked
        journal.read_journal(Repo.find(str(world.path)))
        trace = counting.count_hooks(world, monkeypatch)
        moment = 0.12  # seconds; what is younger is read again, and so is a file as old as a look
        time.sleep(moment)
        agent.prompt("Do part 5")
        agent.write("a.txt", "two\n")
        time.sleep(moment)
        agent.stop()
        time.sleep(moment)
        world.commit("a.txt")
        hooks, inside = dict[str, Hook](), f"{world.path}/"
        for line in trace.read_text().splitlines():
            _, pid, subject, detail = line.split(None, 3)
            hook, words = hooks.setdefault(pid, Hook(set(), [], [], [], [])), detail.split()
            if subject == "imports:":
                hook.modules.update(words)
            elif subject == "opens:":
                hook.opened.extend(path for path in words[1:] if not path.startswith(AROUND))
            elif subject == "looks:":
                hook.looked.extend(path for path in words[1:] if path.startswith(inside))
            elif subject == "syncs:":
                hook.synced.extend(words[1:])
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


@pytest.mark.parametrize("hook", AGAIN)
def test_a_hook_opens_nothing_more_again_than_it_did(seen: dict[str, Hook], hook: str) -> None:
    counts = Counter(
        path.partition("/.git/")[2]
        for path in seen[hook].opened
        if "/.git/" in path and "/.git/objects" not in path and not path.endswith("_EDITMSG")
    )
    again = {path: count - 1 for path, count in counts.items() if count > 1}
    assert sum(again.values()) <= AGAIN[hook], again


@pytest.mark.parametrize("hook", LOOKS)
def test_a_hook_looks_at_no_more_paths_than_it_did(seen: dict[str, Hook], hook: str) -> None:
    looked = seen[hook].looked
    assert len(looked) <= LOOKS[hook], "\n".join([str(len(looked)), *looked])


@pytest.mark.parametrize("hook", SYNCS)
def test_a_hook_waits_for_the_disk_no_more_often_than_it_did(
    seen: dict[str, Hook], hook: str
) -> None:
    synced = seen[hook].synced
    assert len(synced) == SYNCS[hook], "\n".join([str(len(synced)), *synced])


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_imports_no_more_of_ours_than_it_did(seen: dict[str, Hook], hook: str) -> None:
    ours = sorted(name for name in seen[hook].modules if name.partition(".")[0] == "gitcp")
    assert len(ours) <= MOST[hook], "\n".join([str(len(ours)), *ours])


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_imports_nothing_heavy(seen: dict[str, Hook], hook: str) -> None:
    assert sorted(seen[hook].modules & HEAVY) == []


@pytest.mark.parametrize("hook", MOST)
def test_a_hook_imports_of_the_installed_packages_those_of_the_record_and_the_lock(
    seen: dict[str, Hook], hook: str
) -> None:
    foreign = {name.partition(".")[0] for name in seen[hook].modules} - sys.stdlib_module_names
    assert foreign - {"gitcp", "__main__"} <= {"orjson", "filelock"}


@pytest.mark.parametrize("hook", ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"])
def test_a_turns_hook_imports_no_bisect(seen: dict[str, Hook], hook: str) -> None:
    assert "bisect" not in seen[hook].modules


def test_a_tools_hook_imports_neither_snapshots_nor_checkpoints(
    seen: dict[str, Hook],
) -> None:
    rooms = (
        "gitcp.record.stream",
        "gitcp.checkpoints",
        "gitcp.store.link",
        "gitcp.checkpoints.redact",
    )
    for hook in ("PreToolUse", "PostToolUse"):
        assert not [name for name in seen[hook].modules if name.startswith(rooms)]
        assert "gitcp.record.snapshot.scan" not in seen[hook].modules
        assert "select" not in seen[hook].modules  # no git runs


def test_these_are_the_names_of_modules() -> None:
    assert sys.stdlib_module_names >= HEAVY


def run_each(command_lines: Sequence[Sequence[str]], cwd: str = "/") -> list[list[str]]:
    """The modules of gitcp that each command line runs."""
    code = _SCRIPT.format(top=str(TOP))
    asked = "".join(json.dumps(words) + "\n" for words in command_lines)
    argv = [sys.executable, "-c", code]
    out = subprocess.run(argv, input=asked, capture_output=True, text=True, check=True, cwd=cwd)
    return [json.loads(line) for line in out.stdout.splitlines()]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "form",
    [["gitcp-{}", "-h"], ["gitcp-{}", "--no-such"], ["gitcp", "completion", "--words", "{}", "-"]],
    ids=["help", "usage", "completion"],
)
def test_the_options_of_a_command_cost_none_of_what_it_does(form: list[str]) -> None:
    names = [name for name in commands.NAMES if name not in ("hook", "blame")]
    ran = run_each([[word.format(name) for word in form] for name in names])
    assert len(ran) == len(names)
    many = {
        n: len(ran) for n, ran in zip(names, ran, strict=True) if not 10 < len(ran) <= FOR_OPTIONS
    }
    assert not many


def test_a_list_of_sessions_runs_nothing_of_points_and_blame(world: World) -> None:
    world.agent("s").turn("Write a", {"a.txt": "1\n"})
    [ran] = run_each([["gitcp-sessions"]], str(world.path))
    assert "gitcp.extras.reports.activities" in ran
    rooms = ("gitcp.steps.back.points", "gitcp.lines.blame")
    assert not [name for name in ran if name.startswith(rooms)]
