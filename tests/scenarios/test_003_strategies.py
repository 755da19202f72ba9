"""doc/behaviour.md "Strategies": what a save, a task and a commit make under each strategy."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.harness import V1, World


@pytest.fixture
def auto(world: World) -> World:
    world.git("config", "gitcp.strategy", "auto-commit")
    return world


def subjects(world: World) -> list[str]:
    return world.git("log", "--format=%s").splitlines()


def test_manual_commit_on_save_makes_a_temporary_checkpoint(world: World) -> None:
    before = subjects(world)
    world.agent("s1").turn("add a", {"a.txt": "a\n"})
    assert subjects(world) == before
    assert world.tree(world.branch()) == {"a.txt": "a\n"}
    assert V1 not in world.refs("refs/heads/entire")


def test_manual_commit_on_task_complete_makes_a_temporary_checkpoint(world: World) -> None:
    agent = world.agent("s1", tools=True)
    agent.prompt("delegate")
    task(agent.event, lambda: agent.write("a.txt", "a\n"))
    assert world.trailer(world.branch(), "Entire-Metadata-Task")[-1].endswith("/tasks/toolu_task")
    assert V1 not in world.refs("refs/heads/entire")


def test_manual_commit_on_user_commit_condenses(world: World) -> None:
    world.agent("s1").turn("add a", {"a.txt": "a\n"})
    [one] = world.commit("a.txt")
    assert list(world.committed(one)) == ["s1"]
    assert world.streams == []


@pytest.mark.parametrize("name", ["auto-commit", "dual"])
def test_auto_commit_on_save_makes_a_commit_and_a_committed_checkpoint(
    world: World, name: str
) -> None:
    world.git("config", "gitcp.strategy", name)
    world.write("mine.txt", "the person's, not to be committed\n")
    agent = world.agent("s1")
    agent.turn("Please add a", {"a.txt": "a\n", "src/app.py": None})
    assert subjects(world)[0] == "Add a"
    changed = world.git("show", "--format=", "--name-status", "HEAD").splitlines()
    assert changed == ["A\ta.txt", "D\tsrc/app.py"]
    [one] = world.ids("HEAD")
    told = world.committed(one)["s1"]
    assert (told["strategy"], told["files_touched"]) == ("auto-commit", ["a.txt", "src/app.py"])
    assert world.git("status", "--porcelain") == "?? mine.txt"
    assert (world.streams, agent.state["streams"], world.open()) == ([], [], [])


def test_auto_commit_on_task_complete_makes_a_committed_task_checkpoint(auto: World) -> None:
    agent = auto.agent("s1", tools=True)
    agent.prompt("delegate")
    task(agent.event, lambda: agent.write("a.txt", "a\n"))
    [one] = auto.ids("HEAD")
    told = auto.committed(one)["s1"]
    assert (told["is_task"], told["tool_use_id"]) == (True, "toolu_task")
    where = f"{V1}:{one[:2]}/{one[2:]}/tasks/toolu_task/checkpoint.json"
    assert '"tool_use_id": "toolu_task"' in auto.git("show", where)


def test_auto_commit_on_user_commit_does_nothing(auto: World) -> None:
    auto.agent("s1").turn("add a", {"a.txt": "a\n"})
    auto.write("mine.txt", "by hand\n")
    assert auto.commit("mine.txt") == []


def test_auto_commit_of_a_turn_without_changes_commits_nothing(auto: World) -> None:
    before = auto.head
    auto.agent("s1").turn("what is this?")
    assert auto.head == before


def test_auto_commit_leaves_what_the_person_staged_elsewhere_staged(auto: World) -> None:
    auto.write("README.md", "staged by the person\n")
    auto.git("add", "README.md")
    auto.agent("s1").turn("add a", {"a.txt": "a\n"})
    assert auto.git("show", "--format=", "--name-only", "HEAD") == "a.txt"
    assert auto.git("status", "--porcelain") == "M  README.md"


def test_auto_commit_refuses_in_the_middle_of_a_merge(auto: World) -> None:
    auto.git("switch", "-qc", "other")
    auto.write("README.md", "other\n")
    auto.git("commit", "-qam", "other")
    auto.git("switch", "-q", "main")
    auto.write("README.md", "main\n")
    auto.git("commit", "-qam", "main")
    auto.git("merge", "other", ok=False)
    before, agent = auto.head, auto.agent("s1")
    agent.prompt("add a")
    agent.write("a.txt", "a\n")
    assert "a merge is in progress" in agent.stop().said
    assert auto.head == before


def test_a_hook_of_the_person_that_refuses_leaves_index_and_head(auto: World) -> None:
    hook = auto.path / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    before, agent = auto.head, auto.agent("s1")
    agent.prompt("add a")
    agent.write("a.txt", "a\n")
    assert "not committed" in agent.stop().said
    assert auto.head == before
    assert auto.git("status", "--porcelain") == "?? a.txt"
    assert auto.tree(auto.branch()) == {"a.txt": "a\n"}


def test_auto_commit_signs_and_runs_the_persons_hooks(auto: World) -> None:
    hook = auto.path / ".git" / "hooks" / "commit-msg"
    hook.write_text(hook.read_text() + 'echo checked >>"$1"\n')
    auto.agent("s1").turn("add a", {"a.txt": "a\n"})
    assert "checked" in auto.git("log", "-1", "--format=%B")


def test_switching_to_auto_commit_takes_an_open_session_along(world: World) -> None:
    agent = world.agent("s1")
    agent.turn("add a", {"a.txt": "a\n"})
    world.git("config", "gitcp.strategy", "auto-commit")
    agent.turn("add b", {"b.txt": "b\n"})
    assert world.git("show", "--format=", "--name-only", "HEAD").split() == ["a.txt", "b.txt"]
    [one] = world.ids("HEAD")
    assert world.committed(one)["s1"]["files_touched"] == ["a.txt", "b.txt"]
    assert (world.streams, world.open()) == ([], [])


def test_switching_back_to_manual_commit_goes_on_with_checkpoints(auto: World) -> None:
    agent = auto.agent("s1")
    agent.turn("add a", {"a.txt": "a\n"})
    auto.git("config", "gitcp.strategy", "shadow")
    agent.turn("add b", {"b.txt": "b\n"})
    assert auto.tree(auto.branch()) == {"b.txt": "b\n"}
    assert len(auto.commit("b.txt")) == 1


def test_a_strategy_that_does_not_exist_is_the_default(world: World) -> None:
    world.git("config", "gitcp.strategy", "wild")
    agent = world.agent("s1")
    agent.prompt("add a")
    agent.write("a.txt", "a\n")
    agent.stop()
    assert world.tree(world.branch()) == {"a.txt": "a\n"}
    assert '"strategy":"manual-commit"' in world.gitcp("status", "--json")


@pytest.mark.parametrize(
    ("name", "present"), [("dual", "auto-commit"), ("shadow", "manual-commit")]
)
def test_the_legacy_name_of_a_strategy_is_taken_for_its_present_one(
    world: World, name: str, present: str
) -> None:
    world.gitcp("enable", f"--strategy={name}")
    assert world.git("config", "gitcp.strategy") == present


def task(event: object, work: object) -> None:
    """A subagent's call around work, as the client tells of it."""
    given = {"description": "part one", "subagent_type": "dev", "prompt": "do it"}
    tool = {"tool_name": "Task", "tool_use_id": "toolu_task", "tool_input": given}
    assert callable(event) and callable(work)
    event("PreToolUse", **tool)
    work()
    event("PostToolUse", **tool, tool_response={"agentId": "abc123", "status": "completed"})


def test_git_is_the_one_that_commits(auto: World) -> None:
    auto.agent("s1").turn("add a", {"a.txt": "a\n"})
    done = subprocess.run(["git", "fsck", "--strict"], cwd=auto.path, capture_output=True)
    assert done.returncode == 0
