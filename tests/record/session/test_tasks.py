"""Tasks: subagents and lists of todos, on the stream while they run and on v1 with the commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.record.session.subagents import Task, committed, todos
from tests.support.harness import Agent, World
from tests.support.linking import ids, own, sound
from tests.support.recorded import Recorded

ALPHA = "def alpha():\n    return 'alpha'\n"
BETA = "def beta():\n    return 'beta'\n"


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("session-a", tools=True)


def list_kept(world: World, sid: str = "session-a") -> dict[str, str]:
    """The task files of a session on its stream: path below tasks/ -> content."""
    at = f"{world.branch()}:.entire/metadata/{sid}/tasks"
    names = world.git("ls-tree", "-r", "--name-only", at, ok=False).splitlines()
    return {name: world.git("show", f"{at}/{name}") for name in names}


def subjects(world: World) -> list[str]:
    return world.git("log", "--reverse", "--format=%s", world.branch()).splitlines()


@pytest.mark.parametrize("tool", ["Task", "Agent"])
def test_a_task_that_ends_with_changes_has_a_checkpoint(world: World, a: Agent, tool: str) -> None:
    a.prompt("delegate")
    task = Task(a, "alpha", tool).start()
    task.transcript.write_text('{"type":"user","message":{"content":"go"}}\n')
    task.write("alpha.py", ALPHA)
    assert world.streams == [], "nothing before it ends"
    task.end()
    assert subjects(world) == ["Completed 'dev' agent: do alpha (toolu_alpha)"]
    assert world.tree(world.branch()) == {"alpha.py": ALPHA}
    tip = world.git("log", "-1", "--format=%B", world.branch()).splitlines()
    assert "Entire-Metadata-Task: .entire/metadata/session-a/tasks/toolu_alpha" in tip
    files = list_kept(world)
    assert sorted(files) == ["toolu_alpha/agent-agentalpha.jsonl", "toolu_alpha/checkpoint.json"]
    told = json.loads(files["toolu_alpha/checkpoint.json"])
    assert told == {
        "session_id": "session-a",
        "tool_use_id": "toolu_alpha",
        "checkpoint_uuid": "",
        "agent_id": "agentalpha",
    }
    a.stop()
    [one] = world.commit("alpha.py")
    assert sorted(committed(world, one)) == sorted(files)
    assert "tasks" not in a.state or a.state["tasks"] == {}
    sound(world)


def test_a_task_without_changes_has_none(world: World, a: Agent) -> None:
    a.prompt("explore")
    Task(a, "alpha").start().end()
    a.stop()
    assert world.streams == []


def test_parallel_tasks_are_told_apart(world: World, a: Agent) -> None:
    a.prompt("delegate twice")
    alpha, beta = Task(a, "alpha").start(), Task(a, "beta").start()
    beta.write("beta.py", BETA)
    alpha.write("alpha.py", ALPHA)
    beta.end()
    alpha.write("alpha.py", ALPHA + "# more\n")
    alpha.end()
    assert subjects(world) == [
        "Completed 'dev' agent: do beta (toolu_beta)",
        "Completed 'dev' agent: do alpha (toolu_alpha)",
    ]
    agents = {json.loads(text)["agent_id"] for text in list_kept(world).values()}
    assert agents == {"agentalpha", "agentbeta"}
    a.stop()
    [one] = world.commit("alpha.py", "beta.py")
    assert sorted(committed(world, one)) == [
        "toolu_alpha/checkpoint.json",
        "toolu_beta/checkpoint.json",
    ]


def test_nested_tasks_are_each_a_task(world: World, a: Agent) -> None:
    a.prompt("delegate deeply")
    outer = Task(a, "outer").start()
    outer.write("outer.py", ALPHA)
    inner = Task(a, "inner", inside=outer.agent).start()
    inner.write("inner.py", BETA)
    inner.end()
    outer.write("outer.py", ALPHA + "# more\n")
    outer.end()
    assert [s.rpartition("(")[2] for s in subjects(world)] == ["toolu_inner)", "toolu_outer)"]
    a.stop()
    [one] = world.commit("outer.py", "inner.py")
    assert len(committed(world, one)) == 2
    sound(world)


def test_a_background_task_ends_when_it_says_so(world: World, a: Agent) -> None:
    a.prompt("delegate and go on")
    task = Task(a, "alpha").start()
    a.event("PostToolUse", **task.call, tool_response={"isAsync": True, "agentId": task.agent})
    task.write("alpha.py", ALPHA)
    assert world.streams == []
    a.event("SubagentStop", agent_id=task.agent, agent_type="dev")
    assert subjects(world) == ["Completed 'dev' agent: do alpha (toolu_alpha)"]


def test_todos_are_numbered_in_their_order(world: World, a: Agent) -> None:
    a.prompt("delegate")
    task = Task(a, "alpha").start()
    for number in range(1, 4):
        task.write("alpha.py", ALPHA + "# more\n" * number)
        task.todos(*(f"step {n}" for n in range(1, number + 1)), left="the rest")
    task.todos("step 4")
    files = list_kept(world)
    names = [f"toolu_alpha/checkpoints/{n:03d}-toolu_alpha.json" for n in (1, 2, 3)]
    assert sorted(files) == names, "the fourth came without changes"
    assert subjects(world) == [f"step {n} (toolu_alpha)" for n in (1, 2, 3)]
    last = json.loads(files[names[2]])
    assert [t["content"] for t in last["data"]["todos"]][:3] == ["step 1", "step 2", "step 3"]
    assert last["type"] == "todo" and last["tool_use_id"].startswith("toolu_todo")
    task.end()
    a.stop()
    [one] = world.commit("alpha.py")
    assert set(names) <= set(committed(world, one))


def test_todos_of_the_main_agent_are_checkpoints_too(world: World, a: Agent) -> None:
    a.prompt("plan")
    a.write("plan.py", ALPHA)
    todos(a, "plan it", left="do it")
    assert len(subjects(world)) == 1
    a.stop()
    [one] = world.commit("plan.py")
    [name] = committed(world, one)
    assert name.endswith(".json") and "/checkpoints/001-" in name


def test_a_task_that_committed_its_work_is_on_v1(world: World, a: Agent) -> None:
    a.prompt("delegate")
    task = Task(a, "alpha").start()
    task.write("alpha.py", ALPHA)
    own(a, "add", "alpha.py")
    own(a, "commit", "-q", "-m", "by the subagent")
    [one] = ids(world)
    task.end()
    assert list(committed(world, one)) == ["toolu_alpha/checkpoint.json"]
    a.stop()
    assert list(committed(world, one)) == ["toolu_alpha/checkpoint.json"]
    assert world.committed(one)["session-a"]["files_touched"] == ["alpha.py"]
    sound(world)


def test_the_tokens_of_subagents_are_counted_beside_the_sessions(world: World, a: Agent) -> None:
    a.prompt("delegate")
    task = Task(a, "alpha").start()
    usage = {"input_tokens": 100, "output_tokens": 20}
    message = {"id": "msg_sub", "role": "assistant", "usage": usage, "content": []}
    line = json.dumps({"type": "assistant", "uuid": "s1", "message": message})
    task.transcript.write_text(f"{line}\n{line}\n")  # one message on two lines counts once
    task.write("alpha.py", ALPHA)
    a.answer([{"type": "tool_use", "id": task.id, "name": "Agent", "input": {}}])
    result = {"type": "tool_result", "tool_use_id": task.id, "content": f"agentId: {task.agent}"}
    a.say(
        {
            "type": "user",
            "message": {"role": "user", "content": [result]},
            "toolUseResult": {"agentId": task.agent},
        }
    )
    task.end()
    a.stop()
    [one] = world.commit("alpha.py")
    told = world.committed(one)["session-a"]["token_usage"]
    assert told["subagent_tokens"]["input_tokens"] == 100
    assert told["subagent_tokens"]["output_tokens"] == 20
    assert told["subagent_tokens"]["api_call_count"] == 1
    assert told["input_tokens"] == 10 and told["api_call_count"] == 2


def test_the_recorded_client_s_parallel_subagents(tmp_path: Path) -> None:
    repo = Recorded(tmp_path, "claude-code", "subagent")
    repo.play()
    alpha = repo.checkpoint()
    assert alpha, "the subagent's own commit"
    root = json.loads(repo.stored(alpha, "metadata.json"))
    assert root["files_touched"] == ["sub_alpha.txt"]
    repo.git("add", "-A")
    repo.git("commit", "-q", "-m", "beta")
    beta = repo.checkpoint()
    assert json.loads(repo.stored(beta, "metadata.json"))["files_touched"] == ["sub_beta.txt"]
    listing = repo.git("ls-tree", "-r", "--name-only", "entire/checkpoints/v1").splitlines()
    ended = {
        json.loads(repo.git("show", f"entire/checkpoints/v1:{path}"))["agent_id"]
        for path in listing
        if path.endswith("/checkpoint.json")
    }
    assert ended == {"ad39abccf79166956", "ac86c8dc02668f0fb"}


def test_why_tells_the_task_of_the_subagent_that_wrote_a_line(world: World, a: Agent) -> None:
    a.prompt("delegate")
    task = Task(a, "alpha").start()
    task.write("alpha.py", ALPHA)
    edit = {"type": "tool_use", "id": "toolu_walph", "name": "Write", "input": {"content": ALPHA}}
    talk = (("user", "go"), ("assistant", "Alpha it is."), ("assistant", [edit]))
    task.transcript.write_text(
        "".join(
            json.dumps({"type": r, "isSidechain": True, "message": {"role": r, "content": c}})
            + "\n"
            for r, c in talk
        )
    )
    task.end()
    call = {"type": "tool_use", "id": task.id, "name": "Agent", "input": task.call["tool_input"]}
    a.answer([call])
    a.stop()
    world.commit()
    shown = world.gitcp("why", "alpha.py:1").splitlines()
    at = shown.index("task: do alpha")
    assert shown[at + 1 : at + 3] == ["      go", "said: Alpha it is."]
    assert "      1 +def alpha():" in shown
    origin = json.loads(world.gitcp("why", "--json", "alpha.py:1"))
    assert origin["call"]["task"] == {"tool_use_id": task.id, "given": task.call["tool_input"]}
