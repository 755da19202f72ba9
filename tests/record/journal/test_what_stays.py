"""What a checkpoint says of lines that were put away, extended, reformatted, or ignored."""

from __future__ import annotations

from typing import Any

import pytest

from tests.record.journal.lines import ranges, shares, text
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World
from tests.support.linking import ids, own, sessions, sound, touched


@pytest.mark.parametrize("turn", ["same", "later"])
@pytest.mark.parametrize("path", ["new.txt", "README.md"])
def test_what_the_agent_stashed_links_when_the_person_pops_it(
    world: World, a: Agent, turn: str, path: str
) -> None:
    a.prompt("write and stash")
    edit(a, path, text(1, 2))
    if turn == "later":
        a.stop()
        a.prompt("stash it")
    run(a, "git stash -u -q")
    a.stop()
    world.git("stash", "pop", "-q")
    [one] = world.commit(path)
    assert touched(world, one, a.sid) == [path]
    assert shares(world) == {a.sid: 2}
    assert "done" in sessions(world, one)[a.sid]["transcript"]
    sound(world)


def test_what_a_stash_gives_back_beside_new_work_keeps_its_authors(world: World) -> None:
    a = world.agent("session-a", tools=True)
    a.turn("three lines", {"f": text(1, 2, 3)})
    world.git("stash", "-u", "-q")
    world.write("other", "meanwhile\n")
    world.git("add", "other")
    world.git("commit", "-qm", "meanwhile")
    world.git("stash", "pop", "-q")
    world.write("f", text(0, 1, 2, 3))
    a.turn("one more", {"g": text(9)})
    world.commit()
    turn = ranges(world, "f")[1][2]
    assert [[r[0], r[1], r[2]] for r in ranges(world, "f")] == [[1, 1, "person"], [2, 4, turn]]
    assert turn not in ("person", "unknown")


@pytest.mark.thorough
def test_an_amend_that_extends_a_checkpoint_counts_both_halves(world: World, a: Agent) -> None:
    a.prompt("write, commit, amend")
    first = a.state["turn_id"]
    edit(a, "a.py", text(*range(5)))
    run(a, "git add -A && git commit -q -m one")
    edit(a, "a.py", text(*range(11)))
    run(a, "git commit -q -a --amend --no-edit")
    a.stop()
    [one] = ids(world)
    told = sessions(world, one)[a.sid]
    assert told["initial_attribution"]["agent_lines"] == 11
    assert told["initial_attribution"]["total_committed"] == 11
    assert told["files"]["a.py"]["turns"] == [first]
    assert told["token_usage_delta"] == told["token_usage"], "nothing else was spent"
    sound(world)


def test_an_amend_with_the_rest_keeps_the_first_prompt(world: World, a: Agent) -> None:
    a.turn("the first prompt", {"a.py": text(1, 2, 3), "b.py": text(4, 5)})
    [one] = world.commit("a.py")
    a.turn("the second prompt", {"b.py": text(4, 5, 6)})
    world.git("add", "b.py")
    world.git("commit", "-q", "--amend", "--no-edit")
    assert ids(world) == [one]
    told = sessions(world, one)[a.sid]
    assert told["initial_attribution"]["agent_lines"] == 6
    assert sorted(told["files"]) == ["a.py", "b.py"]
    shown = world.gitcp("show", one)
    assert "the first prompt" in shown and "the second prompt" in shown
    assert told["token_usage_delta"] == told["token_usage"]


def test_lines_that_are_not_staged_are_not_removed(world: World, a: Agent) -> None:
    a.turn("a hundred lines", {"f.txt": "".join(f"line number {n}\n" for n in range(100))})
    world.write("f.txt", "".join(f"line number {n}\n" for n in range(50)))
    world.git("add", "f.txt")
    world.write("f.txt", "".join(f"line number {n}\n" for n in range(100)))
    world.git("commit", "-q", "-m", "half")
    [one] = ids(world)
    told = sessions(world, one)[a.sid]["initial_attribution"]
    assert (told["agent_lines"], told["human_removed"], told["total_committed"]) == (50, 0, 50)
    assert shares(world) == {a.sid: 50}


def test_a_persons_formatter_leaves_the_lines_the_agents(world: World, a: Agent) -> None:
    a.turn("three lines", {"f.py": "if ready:\n  first_step( 1 )\n  second_step( 2 )\n"})
    by_hand = "by_hand(3)\n"
    world.write("f.py", f"if ready:\n    first_step(1)\n    second_step(2)\n{by_hand}")
    world.commit("f.py")
    assert shares(world) == {a.sid: 3, "person": 1}


def test_line_ends_that_git_changes_leave_the_lines_the_agents(world: World, a: Agent) -> None:
    world.git("config", "core.autocrlf", "true")
    world.git("config", "core.safecrlf", "false")
    a.turn("three lines", {"f.txt": "one line\r\ntwo lines\r\nthree lines\r\n"})
    world.write("f.txt", "one line\ntwo lines\nthree lines\nfour by hand\n")
    world.commit("f.txt")
    assert shares(world) == {a.sid: 3, "person": 1}


def test_an_ignored_file_that_is_added_by_force_is_linked(world: World, a: Agent) -> None:
    world.write(".gitignore", "*.env\n")
    world.commit(".gitignore")
    a.prompt("write the environment")
    edit(a, "local.env", text(1, 2))
    a.stop()
    blob = world.git("hash-object", "local.env")
    assert world.git("cat-file", "-t", blob, ok=False) == "", "its content is not stored"
    world.git("add", "-f", "local.env")
    world.git("commit", "-q", "-m", "with it")
    [one] = ids(world)
    assert touched(world, one, a.sid) == ["local.env"]
    assert shares(world) == {a.sid: 2}
    own(a, "status", "--short")


def test_a_tracked_file_that_a_pattern_names_is_not_ignored(world: World, a: Agent) -> None:
    world.write("kept.env", "tracked\n")
    world.commit("kept.env")
    world.write(".gitignore", "*.env\n")
    world.commit(".gitignore")
    a.prompt("change the environment")
    edit(a, "kept.env", text(1, 2))

    blob = world.git("hash-object", "kept.env")
    assert world.git("cat-file", "-t", blob) == "blob", "its content is stored as of any other"


def test_a_task_goes_to_the_session_and_the_commit_that_have_its_work(
    world: World, a: Agent, b: Agent
) -> None:
    world.git("config", "gitcp.guard", "warn")
    for agent, names in ((a, ("one", "two")), (b, ("three",))):
        agent.prompt("with subagents")
        for name in names:
            task: dict[str, Any] = {"tool_use_id": f"task_{name}", "tool_name": "Task"}
            task["tool_input"] = {"subagent_type": "worker", "description": name, "prompt": "do"}
            agent.event("PreToolUse", **task)
            work: dict[str, Any] = {"tool_use_id": f"w_{name}", "tool_name": "Write"}
            work["tool_input"] = {"file_path": str(world.path / f"{name}.txt")}
            agent.event("PreToolUse", agent_id=f"agent{name}", **work)
            world.write(f"{name}.txt", text(1, 2))
            agent.event("PostToolUse", agent_id=f"agent{name}", **work, tool_response={})
            agent.event("PostToolUse", **task, tool_response={"agentId": f"agent{name}"})
        agent.stop()
    [one] = world.commit("one.txt", "three.txt")
    told = {sid: m.get("tasks") for sid, m in sessions(world, one).items()}
    assert told == {a.sid: ["task_one"], b.sid: ["task_three"]}
    shown = world.gitcp("show", "-v", one)
    assert shown.count("task_one/checkpoint.json") == 1
    assert shown.count("task_three/checkpoint.json") == 1
    [two] = world.commit("two.txt")
    assert sessions(world, two)[a.sid]["tasks"] == ["task_two"]


def test_with_the_guards_deny_each_edit_is_a_commit_of_the_sessions_ref(
    world: World, a: Agent
) -> None:
    world.git("config", "gitcp.guard", "deny")
    a.prompt("two edits")
    edit(a, "a.py", text(1))
    edit(a, "a.py", text(1, 2))
    subjects = world.git("log", "--format=%s", f"refs/gitcp/edits/{a.sid}").splitlines()
    begun = f"Where the edits of {a.sid} begin"
    assert subjects == ["Write 'a.py'", "Write 'a.py'", begun]


def test_the_second_commit_of_a_turn_shows_the_turns_prompt(world: World, a: Agent) -> None:
    a.prompt("commit each on its own")
    for path in ("a.py", "b.py"):
        edit(a, path, text(1))
        run(a, f"git add {path} && git commit -q -m {path}")
    a.stop()
    first, second = (world.gitcp("show", commit) for commit in ("HEAD~", "HEAD"))
    assert "commit each on its own" in first and "commit each on its own" in second
    assert world.gitcp("log", "-2").count("commit each on its own") == 2


WENT_OVER = {
    "adds lines": (text(1, 2, 3) + "by hand\n", True),
    "formats it": (text(1, 2, 3).replace(" ", "   "), True),
    "changes a line": (text(1, 2) + "by hand\n", False),
    "takes a line out": (text(1, 2), False),
}


@pytest.mark.parametrize("how", WENT_OVER)
def test_a_commit_with_all_lines_settles_a_file_that_a_person_went_over(
    world: World, a: Agent, how: str
) -> None:
    now, settled = WENT_OVER[how]
    a.turn("write", {"new.txt": text(1, 2, 3)})
    world.write("new.txt", now)
    assert len(world.commit()) == 1
    assert (world.open() == []) == settled
    assert (world.archives == []) == settled
    assert "new.txt" not in world.gitcp("sessions", "-a")
    sound(world)


def test_lines_that_a_commit_left_out_are_uncommitted_only_where_the_worktree_has_them(
    world: World, a: Agent
) -> None:
    a.turn("write", {"new.txt": text(1, 2, 3)})
    world.write("new.txt", text(1, 2))
    world.write("other.txt", "mine\n")
    assert len(world.commit("new.txt")) == 1
    assert "new.txt" not in world.gitcp("sessions", "-a")
    world.git("stash", "push", "-q", "-u", "other.txt")
    assert "new.txt" not in world.gitcp("sessions")
    world.git("stash", "pop", "-q")
    world.write("new.txt", text(1, 2, 3))
    a.prompt("a question")
    assert "new.txt" in world.gitcp("sessions"), "they are back"
    assert len(world.commit("new.txt")) == 1 and world.open() == [a.sid]


def test_a_commit_made_again_has_its_checkpoint_alone_whatever_a_person_changed(
    world: World, a: Agent
) -> None:
    a.turn("write", {"new.txt": text(1, 2, 3)})
    world.write("new.txt", text(1, 2) + "by hand\n")
    [one] = world.commit()
    world.git("reset", "-q", "--soft", "HEAD~")
    assert world.commit() == [one]


def test_the_rest_of_a_file_that_was_put_back_after_a_commit_of_part_links_nothing(
    world: World, a: Agent
) -> None:
    world.write("old.txt", text(1, 2))
    world.commit()
    a.turn("write", {"old.txt": text(1, 2, 3, 4)})
    world.write("old.txt", text(1, 2, 3))
    world.git("add", "old.txt")
    world.write("old.txt", text(1, 2, 3, 4))
    world.git("commit", "-q", "-m", "part of it")
    world.git("checkout", "-q", "old.txt")
    a.turn("only look")
    world.write("old.txt", text(1, 2, 3) + "by hand\n")
    assert world.commit() == []
