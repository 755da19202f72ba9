"""Hooks beside those of other tools, in whatever order they are installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.cmd import disable, enable
from gitcp.core.setup.hook_scripts import TOOLS
from tests.setup import hook_tools
from tests.support import warm
from tests.support.harness import World
from tests.support.installed import git, write

Tool = Callable[[Path], None]
US = "us"


def install(repo: Path, order: str, tool: Tool) -> None:
    """Carry out an order such as 'tool us tool'."""
    for step in order.split():
        if step == US:
            enable.run([])
        else:
            tool(repo)


def commit(repo: Path) -> list[str]:
    """Commit with a limit of time; what hooks that are not ours have written about it."""
    ran = repo / ".git" / "ran"
    ran.unlink(missing_ok=True)
    argv = ["git", "commit", "-q", "--allow-empty", "-m", "x"]
    done = subprocess.run(argv, cwd=repo, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return ran.read_text().split() if ran.exists() else []


def links(world: World, name: str) -> bool:
    """Whether a commit is linked to the session that wrote its file."""
    world.agent(f"s-{name}").turn(f"make {name}", {f"{name}.txt": "x\n"})
    return len(world.commit(f"{name}.txt")) == 1


def person(repo: Path) -> None:
    write(repo / ".git/hooks/post-commit", "#!/bin/sh\necho person >>.git/ran\n")


LONG = pytest.mark.skipif(
    not os.environ.get("LONG") and not os.environ.get("CI"), reason="a long form: LONG=1 runs it"
)
ORDERS = [
    (hook_tools.pre_commit, "us tool", ["person"]),
    pytest.param(hook_tools.pre_commit, "tool us tool", ["person"], marks=LONG),
    (hook_tools.entire, "tool us tool", ["entire", "person"]),
    (hook_tools.entire, "us tool us tool", ["entire", "person"]),
]


@pytest.mark.parametrize(("tool", "order", "theirs"), ORDERS)
def test_a_tool_that_moved_our_hook_aside_calls_every_link_once(
    repo: Path, tool: Tool, order: str, theirs: list[str]
) -> None:
    person(repo)
    install(repo, order, tool)
    world = World(repo, repo.parent / "home")
    assert commit(repo) == theirs
    assert links(world, "one")
    world.close()


@pytest.mark.parametrize(
    ("tool", "order", "theirs"),
    [
        (hook_tools.pre_commit, "tool us tool us", ["person"]),
        pytest.param(hook_tools.lefthook, "us tool us", [], marks=LONG),
        (hook_tools.lefthook, "tool us tool us", []),
        pytest.param(hook_tools.husky, "us tool us", ["husky"], marks=LONG),
        (hook_tools.husky, "tool us tool us", ["husky"]),
        pytest.param(hook_tools.entire, "us tool us", ["person"], marks=LONG),
        (hook_tools.entire, "tool us tool us", ["person"]),
    ],
)
def test_enable_mends_what_another_tool_did_and_uninstalls_without_a_trace(
    repo: Path, tool: Tool, order: str, theirs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    person(repo)
    install(repo, order, tool)
    world = World(repo, repo.parent / "home")
    assert commit(repo) == theirs
    assert links(world, "one")
    world.close()
    capsys.readouterr()
    enable.run([])
    assert "nothing to do" in capsys.readouterr().out
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []
    commit(repo)


@pytest.mark.parametrize(
    ("tool", "order"),
    [
        (hook_tools.pre_commit, "tool us tool"),
        pytest.param(hook_tools.pre_commit, "us tool", marks=LONG),
        (hook_tools.lefthook, "us tool"),
        pytest.param(hook_tools.lefthook, "tool us tool", marks=LONG),
        (hook_tools.husky, "tool us tool"),
        pytest.param(hook_tools.entire, "tool us tool", marks=LONG),
        (hook_tools.entire, "us tool"),
    ],
)
def test_uninstalling_after_another_tool_came_leaves_nothing_of_ours(
    repo: Path, tool: Tool, order: str
) -> None:
    person(repo)
    install(repo, order, tool)
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []
    commit(repo)


def test_what_lefthook_moved_aside_stays_though_it_is_installed_again_over_us(repo: Path) -> None:
    person(repo)
    theirs = (repo / ".git/hooks/post-commit").read_text()
    install(repo, "tool us tool us tool", hook_tools.lefthook)
    assert (repo / ".git/hooks/post-commit.old").read_text() == theirs
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []


def test_a_person_s_hook_is_called_through_whatever_moved_ours_and_is_back_at_the_end(
    repo: Path,
) -> None:
    person(repo)
    install(repo, "us tool", hook_tools.pre_commit)
    disable.run(["--uninstall"])
    assert commit(repo) == ["person"]
    hook_tools.run(repo, str(hook_tools.pypi("pre-commit")), "uninstall", "-t", "post-commit")
    assert "person" in (repo / ".git/hooks/post-commit").read_text()


PRE_COMMIT, LEFTHOOK = (f"#!/bin/sh\n{sign}\n" for sign in (TOOLS[0], f": {TOOLS[2]}"))


def test_a_person_s_hook_that_nothing_calls_any_more_stays_and_is_told(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person(repo)
    enable.run([])
    hook = repo / ".git/hooks/post-commit"
    write(hook, LEFTHOOK)  # in place of ours, as when another tool has moved that aside before
    enable.run([])
    kept = f"{hook}.before-gitcp.1"
    assert f"'{kept}' was kept aside" in warm.run("status").stdout
    capsys.readouterr()
    disable.run(["--uninstall"])
    assert f"left '{kept}': it was kept aside" in capsys.readouterr().out
    assert "person" in Path(kept).read_text() and hook.read_text() == LEFTHOOK


def test_copies_that_two_tools_made_of_each_other_s_hooks_go_with_ours(repo: Path) -> None:
    enable.run([])
    hook = repo / ".git/hooks/post-commit"
    own = hook.read_text()
    beside = {"": PRE_COMMIT, ".old": PRE_COMMIT, ".legacy": LEFTHOOK, ".before-gitcp": LEFTHOOK}
    for suffix, text in beside.items():
        write(Path(f"{hook}{suffix}"), text)
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []
    assert {s: Path(f"{hook}{s}").exists() for s in beside} == {
        "": True, ".old": True, ".legacy": True, ".before-gitcp": False,
    }  # fmt: skip
    beside = {"": LEFTHOOK, ".old": PRE_COMMIT, ".legacy": own, ".before-gitcp": PRE_COMMIT}
    for suffix, text in beside.items():
        write(Path(f"{hook}{suffix}"), text)
    enable.run([])
    assert not Path(f"{hook}.legacy").exists()  # pre-commit refuses to run as its own former hook
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == [] and hook.read_text() == LEFTHOOK


@LONG
@pytest.mark.parametrize("order", ["us one two us two one", "us two one us one two"])
def test_two_tools_over_us_in_turns_leave_nothing_of_ours(repo: Path, order: str) -> None:
    tools = {"one": hook_tools.pre_commit, "two": hook_tools.lefthook}
    for step in order.split():
        install(repo, US if step == US else "tool", tools.get(step, hook_tools.lefthook))
        commit(repo)
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []
    commit(repo)


def test_a_hook_that_commits_runs_our_hook_again_for_its_own_commit(repo: Path) -> None:
    write(
        repo / ".git/hooks/post-commit",
        "#!/bin/sh\necho theirs >>.git/ran\n"
        "[ -e .git/once ] || { : >.git/once; git commit -q --allow-empty -m inner; }\n",
    )
    enable.run([])
    assert commit(repo) == ["theirs", "theirs"]
    assert git("log", "-1", "--format=%s").strip() == "inner"


def test_a_hook_of_ours_that_chains_itself_ends(repo: Path) -> None:
    from gitcp.core.setup import hook_scripts

    enable.run([])
    text = hook_scripts.script(
        "post-commit", "/x", "/x", {"suffix": ".pre-entire", "shell": "", "lefthook": False}
    )
    for name in ("post-commit", "post-commit.pre-entire"):
        write(repo / ".git/hooks" / name, text)
    assert commit(repo) == []
    enable.run([])
    assert not (repo / ".git/hooks/post-commit.pre-entire").exists()
