"""Who wrote it: recorded by the hooks that are installed, not guessed afterwards."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from gitcp.text.short_ids import shorten_id
from tests.record.journal.lines import ranges, shares, text
from tests.support.clients import matchers
from tests.support.clients.calls import begin, edit, end, result, run
from tests.support.clients.process import start_sleeper
from tests.support.harness import Agent, World
from tests.support.linking import ids, sessions, sound, touched
from tests.support.terminal import talk

# 1. A call without its end.


@pytest.mark.parametrize("how", ["Esc", "kill"])
def test_after_a_shell_call_that_never_ended_the_persons_work_is_the_persons(
    world: World, a: Agent, b: Agent, how: str
) -> None:
    a.prompt("run it")
    call = begin(a, "Bash", command="./build >built.txt")
    world.write("built.txt", "what the command itself wrote\n")
    if how == "Esc":
        result(a, call, "[Request interrupted by user for tool use]")
    else:
        world.kill(a)
    world.write("mine.txt", "written by hand afterwards\n")
    b.prompt("another session comes")
    b.stop()
    for number in range(3):
        world.write("mine.txt", f"written by hand, number {number}\n")
        assert world.commit("mine.txt") == []
    if how == "Esc":
        a.prompt("go on")
        world.write("hand.txt", "made by hand in the new turn\n")
        a.stop()
        assert world.commit("hand.txt") == []
        world.commit("built.txt")
        assert shares(world) == {a.sid: 1}
    sound(world)


def test_a_shell_that_died_with_its_agent_wrote_what_it_names(world: World, a: Agent) -> None:
    a.prompt("run it")
    begin(a, "Bash", command="./build >built.txt")
    world.write("built.txt", "what the command itself wrote\n")
    world.kill(a)
    world.write("mine.txt", "written by hand afterwards\n")
    assert world.commit("mine.txt") == []
    assert len(world.commit("built.txt")) == 1


def test_a_shell_call_that_stop_closes_is_over_with_it(world: World, a: Agent) -> None:
    world.env["CLAUDE_CODE_SESSION_ID"] = a.sid  # as its client gives it to every hook
    a.prompt("run it")
    begin(a, "Bash", command="./build >built.txt")
    world.write("built.txt", "what the command itself wrote\n")
    a.stop()
    del world.env["CLAUDE_CODE_SESSION_ID"]
    world.write("mine.txt", "written by hand afterwards\n")
    assert world.commit("mine.txt") == []
    assert len(world.commit("built.txt")) == 1
    sound(world)


@pytest.mark.thorough
def test_a_shell_call_whose_start_was_not_heard_has_what_it_wrote(world: World, a: Agent) -> None:
    world.write("before.txt", "there before the turn began\n")
    a.prompt("run it")
    run(a, "echo the first one >first.txt")
    world.write("second.txt", "what the command itself wrote\n")
    call = {"tool_input": {"command": "make"}, "tool_use_id": "toolu_lost", "tool": "Bash"}
    end(a, call)
    world.write("mine.txt", "written by hand afterwards\n")
    a.stop()
    assert a.state["files_touched"] == ["first.txt", "second.txt"]
    assert world.commit("mine.txt", "before.txt") == []
    sound(world)


def test_what_a_call_wrote_is_its_own_though_its_hook_comes_late(
    world: World, a: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = matchers.commands
    a.prompt("run it")
    call = begin(a, "Bash", command="make")
    world.write("made.txt", "what the command itself wrote\n")
    busy = lambda *args: [f"sleep 0.2; {command}" for command in hooks(*args)]  # noqa: E731
    monkeypatch.setattr(matchers, "commands", busy)
    end(a, call, duration_ms=5)
    a.stop()
    assert len(world.commit("made.txt")) == 1


# 2. Deletions.


@pytest.mark.parametrize("who", ["session-b", "person"])
def test_a_deletion_is_not_of_the_session_that_ran_ls(
    world: World, a: Agent, b: Agent, who: str
) -> None:
    a.prompt("look round")
    run(a, "ls")
    if who == "person":
        os.unlink(world.path / "src/lib.py")
    else:
        b.prompt("tidy up")
        run(b, "rm src/lib.py")
        b.stop()
    a.stop()
    made = world.commit("src/lib.py")
    linked = sessions(world, made[0]) if made else {}
    assert list(linked) == ([who] if who != "person" else [])
    if who != "person":
        told = linked[who]["initial_attribution"]["lines_removed"]
        assert told == {"agent": 2, "others": 0, "person": 0, "unknown": 0}


# 3. The person's file, committed by the agent.


@pytest.mark.thorough
def test_the_persons_file_that_the_agent_commits_stays_the_persons(world: World, a: Agent) -> None:
    world.write("mine.txt", text(1, 2, 3))
    a.prompt("commit everything")
    run(a, "git add -A && git commit -q -m all")
    [one] = ids(world)
    assert touched(world, one, a.sid) == []
    assert sessions(world, one)[a.sid]["files"] == {}
    assert shares(world) == {"person": 3}
    world.write("more.txt", text(4, 5))
    edit(a, "a.py", text(6))
    run(a, "git add -A && git commit -q -m again")
    [two] = ids(world)
    assert touched(world, two, a.sid) == ["a.py"]
    assert shares(world) == {a.sid: 1, "person": 2}
    sound(world)


# 4. Several hands in one file.


def test_two_sessions_in_one_file_have_six_and_three_lines(
    world: World, a: Agent, b: Agent
) -> None:
    a.prompt("six lines")
    b.prompt("three lines")
    edit(a, "f.txt", text(*range(6)))
    edit(b, "f.txt", text(*range(9)))
    a.stop()
    b.stop()
    [one] = world.commit("f.txt")
    assert shares(world) == {a.sid: 6, b.sid: 3}
    told = {sid: m["initial_attribution"] for sid, m in sessions(world, one).items()}
    assert [told[s.sid]["agent_lines"] for s in (a, b)] == [6, 3]
    assert [told[s.sid]["total_committed"] for s in (a, b)] == [9, 9]
    assert [r[:2] for r in ranges(world, "f.txt")] == [[1, 6]]
    assert [r[:2] for r in ranges(world, "f.txt", b.sid)] == [[7, 9]]


@pytest.mark.parametrize("when", ["before the turn", "between the turns"])
def test_a_persons_line_in_the_agents_file_is_the_persons(
    world: World, a: Agent, when: str
) -> None:
    if when == "between the turns":
        a.turn("nothing yet")
    world.write("f.txt", text(0))
    a.prompt("four lines")
    edit(a, "f.txt", text(0, 1, 2, 3, 4))
    a.stop()
    [one] = world.commit("f.txt")
    assert shares(world) == {a.sid: 4, "person": 1}
    told = sessions(world, one)[a.sid]["initial_attribution"]
    assert (told["agent_lines"], told["human_added"], told["total_committed"]) == (4, 1, 5)
    turn = a.state["turn_id"]
    assert [r[:3] for r in ranges(world, "f.txt")] == [[1, 1, "person"], [2, 5, turn]]


# 5. What no tool event names.


@pytest.mark.parametrize("way", ["notified", "cmd &"])
def test_what_a_background_shell_writes_after_stop_is_the_sessions(
    world: World, a: Agent, child: list[subprocess.Popen[bytes]], way: str
) -> None:
    a.prompt("build in the background")
    command = "./build -o built.txt" + ("" if way == "notified" else " &")
    call = begin(a, "Bash", command=command)
    env = {**os.environ, "CLAUDE_CODE_SESSION_ID": a.sid}
    child.append(start_sleeper(world.path, env))
    response = {"backgroundTaskId": "bash_1"} if way == "notified" else {"stdout": ""}
    end(a, call, response)
    a.event("Stop", stop_hook_active=False)
    world.write("built.txt", text(1, 2))
    world.write("README.md", world.read("README.md") + "by hand, meanwhile\n")
    world.commit("built.txt")
    assert shares(world) == {a.sid: 2}
    assert world.commit("README.md") == [], "an old path that the call does not name"
    child[0].kill()
    child[0].wait()
    a.turn("anything else")
    world.write("later.txt", text(3))
    assert world.commit("later.txt") == []


def test_what_an_mcp_tool_writes_is_the_sessions(world: World, a: Agent) -> None:
    a.prompt("generate")
    run(a, "ls")
    call = begin(a, "mcp__gen__make", name="x")
    world.write("generated.txt", text(1, 2, 3))
    end(a, call)
    world.write("mine.txt", text(4))
    a.stop()
    world.commit("generated.txt", "mine.txt")
    assert shares(world) == {a.sid: 3, "person": 1}


def test_a_write_of_which_only_the_transcript_tells_is_the_sessions(world: World, a: Agent) -> None:
    a.prompt("write")
    run(a, "ls")
    a.write("a.py", text(1, 2))
    world.write("mine.txt", text(3))
    a.stop()
    world.commit("a.py", "mine.txt")
    assert shares(world) == {a.sid: 2, "person": 1}


@pytest.mark.parametrize("asked", ["nothing", "to read"])
def test_what_the_person_writes_while_a_session_only_answers_is_the_persons(
    world: World, a: Agent, asked: str
) -> None:
    a.prompt("explain it")
    if asked == "to read":
        given = {"file_path": str(world.path / "README.md")}
        a.answer([{"type": "tool_use", "id": "toolu_1", "name": "Read", "input": given}])
    world.write("README.md", world.read("README.md") + text(1))
    a.stop()
    assert world.commit("README.md") == []
    sound(world)


# 6. Two shells at once.


def test_of_two_shells_the_one_that_names_the_path_wrote_it(
    world: World, a: Agent, b: Agent
) -> None:
    a.prompt("one")
    b.prompt("two")
    first = begin(a, "Bash", command="./gen one.txt")
    second = begin(b, "Bash", command="./gen two.txt")
    world.write("one.txt", text(1))
    world.write("two.txt", text(2, 3))
    world.write("three.txt", text(4))
    end(a, first)
    end(b, second)
    a.stop()
    b.stop()
    [one] = world.commit("one.txt", "two.txt", "three.txt")
    assert {sid: m["files_touched"] for sid, m in sessions(world, one).items()} == {
        a.sid: ["one.txt"],
        b.sid: ["three.txt", "two.txt"],
    }
    journal = (world.path / ".git/gitcp/journal").read_text().splitlines()
    shared = [edit["path"] for line in journal if (edit := json.loads(line)).get("shared")]
    assert shared == ["three.txt"], "nobody can tell: it counts once"


def test_of_two_shells_that_append_to_one_new_file_each_has_the_line_that_its_command_says(
    world: World, a: Agent, b: Agent
) -> None:
    said = {a.sid: "what the first says\n", b.sid: "what the second says\n"}
    for agent in (a, b):
        agent.prompt("append a line")
    calls = [begin(x, "Bash", command=f"echo '{said[x.sid].strip()}' >> new.txt") for x in (a, b)]
    for agent, call in zip((a, b), calls, strict=True):
        with (world.path / "new.txt").open("a") as f:
            f.write(said[agent.sid])
        end(agent, call)
    world.commit("new.txt")
    assert shares(world) == {a.sid: 1, b.sid: 1}


@pytest.mark.thorough
def test_show_and_log_print_lines_that_add_up(
    world: World, a: Agent, b: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    a.prompt("six lines")
    edit(a, "f.txt", text(*range(6)))
    a.stop()
    world.write("f.txt", text(*range(7)))
    b.prompt("two more")
    edit(b, "f.txt", text(*range(9)))
    b.stop()
    [one] = world.commit("f.txt")
    shown = [x for x in world.gitcp("show", one).splitlines() if x.startswith("lines: ")]
    assert shown == ["lines: 8 by Claude Code, 1 by A U Thor"]
    lines = json.loads(world.gitcp("log", "-1", "--json"))["lines"]
    assert lines["sessions"] == {a.sid: 6, b.sid: 2} and lines["added"]["person"] == 1
    monkeypatch.setenv("GIT_PAGER", "cat")
    rows = talk(world, ["log", "-1"]).splitlines()
    assert rows[0].endswith("  +9 -0")
    assert [row.split()[0] for row in rows[1:]] == [shorten_id(a.sid), shorten_id(b.sid)]


def test_status_names_an_active_session_whose_agent_is_dead(world: World, a: Agent) -> None:
    a.prompt("work")
    assert "working" in world.gitcp("status")
    world.kill(a)
    said = world.gitcp("status")
    assert "working" not in said and "stopped in a prompt" in said
    assert f"session {shorten_id(a.sid)} stopped within a prompt: 'gitcp doctor --fix'" in said
    assert "stopped in a prompt" in world.gitcp("sessions")


def test_status_and_sessions_say_alike_that_an_idle_agent_has_ended(world: World, a: Agent) -> None:
    a.turn("work", {"f.txt": "1\n"})
    assert "waiting" in world.gitcp("status") and "waiting" in world.gitcp("sessions")
    world.kill(a)
    for screen in (world.gitcp("status"), world.gitcp("sessions")):
        assert "waiting" not in screen and shorten_id(a.sid) in screen and "f.txt" in screen
