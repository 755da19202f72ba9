"""The warning of doc/scenarios.md "000 Overlap": opt-in, its text, the older setting."""

from __future__ import annotations

import json

import pytest

from tests.support.harness import REFUSED, Agent, World

README = "line one\nline two\nline three\n"
ONE = """\
Warning: An existing session has uncommitted work on this branch.

Session ID: session-a
Checkpoints: 2 uncommitted
Files touched: README.md, src/a.py

Starting a new session will merge with the existing session.
- If files overlap: Continue on same shadow branch
- If no overlap: Reset shadow branch (old session data will be archived)

Options:
1. Cancel and commit existing work first
2. Continue (merge sessions): submit the prompt again
"""


@pytest.fixture
def a(world: World) -> Agent:
    found = world.agent("session-a")
    found.turn("one", {"README.md": README + "four\n"})
    found.turn("two", {"src/a.py": "a = 1\n"})
    return found


def test_by_default_one_line_at_the_start_and_no_refusal(world: World, a: Agent, b: Agent) -> None:
    said = b.start().said.splitlines()
    assert said[1:] == ["1 other conversation has uncommitted work here; see 'gitcp status'."]
    assert b.prompt("hello").status == 0


def test_the_first_prompt_is_refused_once_with_the_text_of_the_seed(
    world: World, a: Agent, b: Agent
) -> None:
    world.git("config", "gitcp.enable-multisession-warning", "true")
    refs = world.refs("refs/")
    done = b.prompt("hello")
    assert (done.status, done.stderr) == (REFUSED, ONE)
    assert world.refs("refs/") == refs and world.open() == ["session-a"]
    assert "verdict" not in b.state and not b.state["turns"]
    assert b.prompt("hello", again=True).status == REFUSED, "two settings name the hook"
    assert b.prompt("hello").status == 0
    assert b.verdict == "continue", "the normal detection proceeds"
    b.write("src/b.py", "b = 1\n")
    b.stop()
    assert b.prompt("and on").status == 0
    assert a.prompt("me too").status == 0, "in the midst of its work"


def test_a_session_in_the_midst_of_its_life_is_never_refused(
    world: World, a: Agent, b: Agent
) -> None:
    b.turn("quiet", {"src/b.py": "b = 1\n"})
    world.commit("src/b.py")
    world.git("config", "gitcp.enable-multisession-warning", "true")
    assert b.prompt("without work, not new").status == 0
    b.stop()
    b.start("compact")
    assert b.prompt("compacted").status == 0
    b.stop()
    b.end()
    b.start("resume")
    assert b.prompt("resumed").status == REFUSED
    assert b.prompt("resumed").status == 0


def test_with_a_setting_that_is_no_boolean_recording_goes_on(
    world: World, a: Agent, b: Agent
) -> None:
    world.git("config", "gitcp.enable-multisession-warning", "perhaps")
    assert "'gitcp.enable-multisession-warning = perhaps'" in b.start().said
    assert b.prompt("hello").status == 0
    b.write("src/b.py", "b = 1\n")
    b.stop()
    assert b.state["files_touched"] == ["src/b.py"]


def test_another_set_of_sessions_is_told_of_again(world: World, a: Agent, b: Agent) -> None:
    world.git("config", "gitcp.enable-multisession-warning", "true")
    b.prompt("hello")
    b.turn("hello", {"src/b.py": "b = 1\n"})
    c = world.agent("session-c")
    done = c.prompt("hello")
    assert done.status == REFUSED
    assert done.stderr.startswith("Warning: Existing session(s) with uncommitted work:\n")
    assert [line for line in done.stderr.splitlines() if line.startswith("Session ID: ")] == [
        "Session ID: session-a",
        "Session ID: session-b",
    ]
    c.prompt("hello")
    c.write("src/c.py", "c = 1\n")
    c.stop()
    assert b.prompt("more").status == 0, "in the midst of its work"


def test_a_refused_prompt_of_a_moving_session_does_not_move_it(world: World, a: Agent) -> None:
    world.git("config", "gitcp.enable-multisession-warning", "true")
    other = world.path.parent / "other"
    world.git("worktree", "add", "-q", "--detach", str(other))
    there = world.agent("session-b", cwd=other)
    there.turn("there", {"src/b.py": "b = 1\n"})
    there.cwd = world.path
    assert there.prompt("here").status == REFUSED
    assert there.state["worktree_path"] == str(other)
    assert "moves from" in there.prompt("here").said


def test_no_warning_of_committed_work_other_bases_or_other_worktrees(
    world: World, a: Agent, b: Agent
) -> None:
    world.git("config", "gitcp.enable-multisession-warning", "true")
    other = world.path.parent / "other"
    world.git("worktree", "add", "-q", "--detach", str(other))
    assert world.agent("session-w", cwd=other).prompt("hello").status == 0
    world.commit()
    assert b.prompt("hello").status == 0


def test_what_a_commit_carried_to_this_base_is_warned_of(world: World, a: Agent) -> None:
    c = world.agent("session-c")
    c.turn("beside", {"src/c.py": "c = 1\n"})
    world.git("config", "gitcp.enable-multisession-warning", "true")
    world.commit("src/c.py")
    done = world.agent("session-b").prompt("hello")
    assert "Session ID: session-a" in done.stderr


@pytest.mark.parametrize(
    ("old", "warned"), [(None, False), (True, False), (False, True)], ids=["not set", "on", "off"]
)
@pytest.mark.parametrize("where", ["git config", "settings.json", "strategy_options"])
def test_the_old_inverted_setting_is_migrated_by_the_table(
    world: World, a: Agent, b: Agent, old: bool | None, warned: bool, where: str
) -> None:
    key = "disable-multisession-warning"
    if old is None:
        pass
    elif where == "git config":
        world.git("config", f"gitcp.{key}", str(old).lower())
    else:
        settings = {key: old} if where == "settings.json" else {"strategy_options": {key: old}}
        world.write(".entire/settings.json", json.dumps(settings))
    assert (b.prompt("hello").status == REFUSED) is warned
    new = world.git("config", "--get", "gitcp.enable-multisession-warning", ok=False)
    assert new == ("" if old is None else str(warned).lower())
    assert world.git("config", "--get", f"gitcp.{key}", ok=False) == ""
