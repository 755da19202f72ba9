"""Hooks of ours that several other tools moved, copied and replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitcp.cmd.setup import disable, enable
from gitcp.setup import hook_texts
from tests.setup import hook_tools
from tests.setup.hook_tools import LONG, commit, install, person
from tests.support import warm
from tests.support.installed import write

PRE_COMMIT, LEFTHOOK = (f"#!/bin/sh\n{sign}\n" for sign in (hook_texts.TOOLS[0], ": call_lefthook"))


@pytest.mark.usefixtures("older_git")
def test_a_person_s_hook_that_nothing_calls_any_more_stays_and_is_told(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person(repo)
    enable.run([])
    hook = repo / ".git/hooks/post-commit"
    write(hook, LEFTHOOK)  # in place of ours, as when another tool has moved that aside before
    enable.run([])
    kept = f"{hook}.before-gitcp.1"
    assert f"'{kept}' was moved aside" in warm.run("status").stdout
    assert f"'{kept}' was moved aside" in capsys.readouterr().out
    disable.run(["--uninstall"])
    assert f"left '{kept}': it was moved aside" in capsys.readouterr().out
    assert "person" in Path(kept).read_text() and hook.read_text() == LEFTHOOK


@pytest.mark.usefixtures("older_git")
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


@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize("theirs", ["#!/bin/sh\necho person >>.git/ran\n", LEFTHOOK])
def test_uninstalling_puts_back_the_hook_that_a_moved_script_of_gitcp_calls(
    repo: Path, theirs: str
) -> None:
    hook = repo / ".git/hooks/post-commit"
    for suffix in (".legacy", ".old"):
        write(Path(f"{hook}{suffix}"), theirs)
    write(hook, PRE_COMMIT)
    enable.run([])
    Path(f"{hook}.legacy.before-gitcp").rename(f"{hook}.before-gitcp")
    write(Path(f"{hook}.legacy"), hook_texts.build_script("post-commit", "/py", "/entry.py"))
    disable.run(["--uninstall"])
    assert Path(f"{hook}.legacy").read_text() == Path(f"{hook}.old").read_text() == theirs
    assert hook_tools.left_behind(repo) == [] and hook.read_text() == PRE_COMMIT


ORDERS = ["us one two us two one", "us two one us one two", "one us two two us one"]


@pytest.mark.parametrize("order", ORDERS if LONG else ORDERS[-1:])
@pytest.mark.thorough
def test_two_tools_over_us_in_turns_leave_nothing_of_ours(repo: Path, order: str) -> None:
    tools = {"one": hook_tools.pre_commit, "two": hook_tools.lefthook}
    ran: list[str] = []
    for step in order.split():
        install(repo, step, tools.get(step, hook_tools.pre_commit))
        ran = commit(repo)
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []
    assert commit(repo) == ran
