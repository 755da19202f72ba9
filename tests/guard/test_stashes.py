"""Entries of `git stash` that another session or the person made."""

from __future__ import annotations

import json

import pytest

from gitcp.agents.transcripts.shell_words import find_taken_entries
from gitcp.text.short_ids import shorten_id
from tests.guard.test_discards import A, B
from tests.steps.rewind.going import done, run
from tests.support.harness import Agent, Call, Json, World

PILE = ["zero", "one", "two"]


@pytest.mark.parametrize(
    ("command", "taken"),
    [
        ("git stash pop", ["zero"]),
        ("git stash pop stash@{1}", ["one"]),
        ("git stash drop 2", ["two"]),
        ("git stash drop -q refs/stash@{1}", ["one"]),
        ("git stash branch topic", ["zero"]),
        ("git stash branch topic stash@{1}", ["one"]),
        ("git stash clear", PILE),
        ("git stash pop && git stash pop", ["zero", "one"]),
        ("sh -c 'git stash drop'", ["zero"]),
        ("git -C sub stash pop", ["zero"]),
        ("git stash; git pull; git stash pop", []),
        ("git stash push -m x -- a && git stash pop stash@{1}", ["zero"]),
        ("git stash && git stash clear", PILE),
        ("git stash apply", []),
        ("git stash list", []),
        ("git stash show -p stash@{1}", []),
        ("git stash drop 7", []),
        ("echo stash pop", []),
    ],
)
def test_a_command_takes_these_entries(command: str, taken: list[str]) -> None:
    assert find_taken_entries(command, PILE) == taken


@pytest.fixture
def a(world: World) -> Agent:
    for name in ("f.txt", "g.txt"):
        world.write(name, "one\n")
    world.commit()
    return world.agent(A, tools=True)


@pytest.fixture
def b(world: World, a: Agent) -> Agent:
    return world.agent(B, tools=True)


def sh(agent: Agent, command: str, call: str, runs: bool = True) -> tuple[Call, Call | None]:
    """A shell call of an agent: what is said at its start and at its end."""
    tool = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": call}
    first = agent.event("PreToolUse", "", **tool)
    if not runs:
        return first, None
    agent.world.git(*command.split()[1:])
    return first, agent.event("PostToolUse", "", **tool, tool_response={})


def both(world: World, a: Agent, b: Agent) -> tuple[str, str]:
    """Both sessions have stashed a file, b the last; the oids of their entries."""
    for agent, name in ((a, "f.txt"), (b, "g.txt")):
        agent.prompt(f"work on {name}")
        agent.write(name, f"by {agent.sid[:4]}\n")
        sh(agent, f"git stash push -q -- {name}", f"stash-{agent.sid[0]}")
        agent.stop()
        agent.prompt("go on")
    one, two = world.git("rev-parse", "stash@{1}", "stash@{0}").split()
    return one, two


@pytest.mark.parametrize("command", ["git stash pop", "git stash drop", "git stash clear"])
def test_another_s_entry_is_named_by_its_object(
    world: World, a: Agent, b: Agent, command: str
) -> None:
    one, two = both(world, a, b)
    said = sh(a, command, "toolu_9", runs=False)[0].said
    assert "This command takes another session's stash entry" in said
    assert f"{two[:12]} stash@{{0}}: WIP on main" in said
    assert f"git stash apply {one[:12]}" in said
    assert "Files:          g.txt" in said
    assert f"Other session:  {b.sid[:8]}" in said


def test_an_entry_taken_without_the_word_is_told_of_after_the_call(
    world: World, a: Agent, b: Agent
) -> None:
    _, two = both(world, a, b)
    world.git("config", "alias.back", "stash pop -q")
    first, second = sh(a, "git back", "toolu_9")
    assert first.said == "" and second
    assert "has taken another session's stash entry" in second.said
    assert two[:12] in second.said and "g.txt" in second.said
    assert world.read("g.txt") == f"by {b.sid[:4]}\n"
    assert run(world, "rewind", "--tool", "toolu_9").returncode == 0
    assert world.git("rev-parse", "stash@{0}") == two


def test_an_entry_made_without_the_word_is_the_session_s(world: World, a: Agent, b: Agent) -> None:
    world.git("config", "alias.save", "stash push -q")
    a.prompt("work")
    a.write("f.txt", "by a\n")
    sh(a, "git save", "toolu_1")
    b.prompt("look")
    said = sh(b, "git stash pop", "toolu_2", runs=False)[0].said
    assert "takes another session's stash entry" in said
    call: Json = {
        "tool_name": "Bash",
        "tool_input": {"command": "sleep 9"},
        "tool_use_id": "toolu_3",
    }
    b.event("PreToolUse", **call)
    world.git("stash", "push", "-q", "-m", "by hand", "--", "g.txt", ok=False)
    assert b.event("PostToolUse", **call, tool_response={}).said == ""


def test_deny_refuses_to_take_another_s_entry(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    world.git("config", "gitcp.guard", "deny")
    assert sh(a, "git stash pop", "toolu_9", runs=False)[0].status == 2
    assert sh(b, "git stash pop", "toolu_9")[0].status == 0


def test_a_session_takes_its_own_entry_without_a_word(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    assert sh(a, "git stash pop -q stash@{1}", "toolu_9")[0].said == ""
    assert sh(b, "git stash pop -q", "toolu_9")[0].said == ""
    assert world.read("f.txt") == f"by {a.sid[:4]}\n"


def test_the_person_s_entry_is_theirs(world: World, a: Agent) -> None:
    world.write("f.txt", "by hand\n")
    world.git("stash", "-q")
    a.prompt("go on")
    said = sh(a, "git stash drop", "toolu_9", runs=False)[0].said
    assert "This command takes the person's stash entry" in said
    assert "Other session" not in said


def test_the_entry_of_a_session_that_has_ended_is_free(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    b.end()
    assert sh(a, "git stash pop -q", "toolu_9")[0].said == ""


@pytest.mark.parametrize("command", ["pop -q", "drop -q", "clear"])
def test_one_command_brings_the_entry_and_the_files_back(
    world: World, a: Agent, b: Agent, command: str
) -> None:
    one, two = both(world, a, b)
    ended = sh(a, f"git stash {command}", "toolu_9")[1]
    assert ended
    assert "This command has taken another session's stash entry" in ended.said
    assert "gitcp rewind --tool toolu_9" in ended.said
    assert run(world, "rewind", "--tool", "toolu_9").returncode == 0
    assert {one, two} == {*world.git("log", "-g", "--format=%H", "refs/stash").split()}
    assert (world.read("f.txt"), world.read("g.txt")) == ("one\n", "one\n")
    assert run(world, "undo").returncode == 0
    left = world.git("stash", "list", "--format=%H").split()
    assert left == ([] if command == "clear" else [one])


def test_status_lists_the_entries_with_session_prompt_and_files(
    world: World, a: Agent, b: Agent
) -> None:
    one, two = both(world, a, b)
    world.write("f.txt", "by hand\n")
    world.git("stash", "-q", "-m", "mine")
    out = done(world, "status")
    rows = [" ".join(line.split()) for line in out.partition("in the stash\n")[2].splitlines()]
    newest = world.git("rev-parse", "stash@{0}")
    assert rows[:2] == [
        f"{newest[:8]} stash@{{0}} by hand f.txt",
        f"work of {shorten_id(a.sid)}",
    ]
    assert rows[2:4] == [
        f"{two[:8]} stash@{{1}} {shorten_id(b.sid)} > work on g.txt",
        f"g.txt work of {shorten_id(b.sid)}",
    ]
    about = json.loads(done(world, "status", "--json").splitlines()[0])
    assert [(s["oid"], s["session_id"]) for s in about["stashes"]][1:] == [
        (two, b.sid),
        (one, a.sid),
    ]


def test_a_stash_of_others_work_is_told_to_name_its_paths(world: World, a: Agent, b: Agent) -> None:
    b.turn("work", {"g.txt": "by b\n"})
    a.prompt("go on")
    said = sh(a, "git stash", "toolu_9", runs=False)[0].said
    assert "`git stash push -- <files>`" in said
