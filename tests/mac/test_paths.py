"""Where names differ by more than case and normal form, a path is the one that git tracks."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from tests.support.harness import Agent, Json, World

NFD = unicodedata.normalize("NFD", "café.txt")
NFC = unicodedata.normalize("NFC", NFD)


@pytest.fixture
def disk(world: World) -> World:
    """A world as `git init` on a Mac makes one."""
    world.git("config", "core.ignorecase", "true")
    world.git("config", "core.precomposeunicode", "true")
    world.git("config", "gitcp.hook-timeout", "600")  # a program plays the disk
    return world


def test_this_is_a_disk_like_a_macs(tmp_path: Path) -> None:
    (tmp_path / NFC).write_text("one")
    assert (tmp_path / NFD.upper()).read_text() == "one"


@pytest.mark.parametrize(
    ("spelling", "tracked"),
    [
        ("readme.md", "README.md"),
        ("SRC/APP.py", "src/app.py"),
        ("SRC/new.txt", "src/new.txt"),
        (NFD, NFC),
        ("../REPO/README.MD", "README.md"),
    ],
)
@pytest.mark.parametrize("tools", [True, False])
def test_what_a_tool_writes_under_another_name_of_a_file_is_linked(
    disk: World, spelling: str, tracked: str, tools: bool
) -> None:
    if tracked == NFC:
        disk.write(NFC, "of the person\n")
        disk.commit(NFC)
    agent = disk.agent("s", tools=tools)
    agent.turn("write", {spelling: "of the agent\n"})
    ids = disk.commit(tracked)
    assert ids
    assert disk.committed(ids[0])["s"]["files_touched"] == [tracked]


def _begin(agent: Agent, path: str, call: str, said: str = "") -> None:
    given: Json = {"file_path": str(agent.cwd / path), "content": ""}
    event = agent.event("PreToolUse", tool_name="Write", tool_input=given, tool_use_id=call)
    assert said in event.stderr


@pytest.mark.parametrize("spelling", ["readme.md", "../Repo/README.md"])
def test_the_guard_sees_two_names_of_one_file(disk: World, spelling: str) -> None:
    disk.git("config", "gitcp.guard", "deny")
    disk.git("config", "gitcp.guard-wait", "0")
    first, second = disk.agent("s1"), disk.agent("s2")
    first.prompt("begin")
    second.prompt("begin too")
    _begin(first, "README.md", "t1")
    _begin(second, spelling, "t2", "Another session is editing")


def _rename_in_case_only(disk: World, agent: Agent) -> None:
    agent.prompt("rename it")
    tool: Json = {"tool_name": "Bash", "tool_use_id": "toolu_rename"}
    tool["tool_input"] = {"command": "git mv README.md Readme.md"}
    agent.event("PreToolUse", **tool)
    disk.git("mv", "README.md", "Readme.md")
    agent.event("PostToolUse", **tool, tool_response={})
    agent.stop()


def test_a_rename_in_case_only_is_a_rename(disk: World) -> None:
    _rename_in_case_only(disk, disk.agent("s", tools=True))
    stream = disk.branch()
    assert disk.tree(stream) == {"README.md": "", "Readme.md": disk.read("Readme.md")}
    assert disk.commit()
    assert "file" not in disk.gitcp("status")


def test_a_rewind_brings_back_the_case_of_a_name(disk: World) -> None:
    agent = disk.agent("s", tools=True)
    agent.turn("first", {"a.txt": "one\n"})
    _rename_in_case_only(disk, agent)
    disk.gitcp("rewind", "--to", "toolu_rename", "--force")
    assert "README.md" in os.listdir(disk.path)
    disk.gitcp("undo")
    assert "Readme.md" in os.listdir(disk.path)


def test_the_guard_sees_what_a_command_throws_away_under_another_name(disk: World) -> None:
    disk.write(NFC, "of the person\n")
    disk.commit(NFC)
    disk.git("config", "gitcp.guard", "deny")
    disk.git("config", "gitcp.guard-wait", "0")
    first, second = disk.agent("s1", tools=True), disk.agent("s2")
    first.prompt("begin")
    for path in ("README.md", "src/app.py", NFC):
        first.write(path, "of the first\n")
    second.cwd = disk.path.parent / "REPO"
    second.prompt("begin too")
    for number, command in enumerate(
        (
            "rm readme.md",
            "cd SRC && rm App.py",
            "git checkout -- SRC/APP.PY",
            f"rm {second.cwd}/../Repo/Src/app.py",
            f"echo >{NFD.upper()}",
        )
    ):
        tool: Json = {"tool_input": {"command": command}, "tool_use_id": f"t{number}"}
        event = second.event("PreToolUse", tool_name="Bash", **tool)
        assert "discards another session's work" in event.stderr, command


def test_a_command_that_names_a_file_in_another_case_wrote_it(disk: World) -> None:
    """Of two commands that run at once."""
    first, second = disk.agent("s1", tools=True), disk.agent("s2", tools=True)
    calls = []
    for agent, command in ((first, "fmt ReadMe.MD"), (second, "make")):
        agent.prompt(command)
        tool: Json = {"tool_name": "Bash", "tool_use_id": f"t-{agent.sid}"}
        tool["tool_input"] = {"command": command}
        agent.event("PreToolUse", **tool)
        calls.append((agent, tool))
    disk.write("README.md", "formatted\n")
    for agent, tool in calls:
        agent.event("PostToolUse", **tool, tool_response={})
        agent.stop()
    ids = disk.commit("README.md")
    assert [sorted(disk.committed(one)) for one in ids] == [["s1"]]
