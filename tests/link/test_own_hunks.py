"""A commit of the person's own hunks of a file is not the session's that changed other places."""

from __future__ import annotations

import pytest

from tests.support.harness import World
from tests.support.linking import BARE, ids, noted, shell, sound

LINES = [f"line_{n} = {n}\n" for n in range(40)]
BASE = "".join(LINES)


def change(text: str, **lines: str) -> str:
    """A text with other words in the place of some of its lines: line_3="x"."""
    for name, words in lines.items():
        number = name.partition("_")[2]
        text = text.replace(f"{name} = {number}\n", words)
    return text


AGENT = change(BASE, line_3="line_3 = the agent wrote this\n")
BOTH = change(AGENT, line_30="line_30 = the person wrote this\n")
OWN = change(BASE, line_30="line_30 = the person wrote this\n")


@pytest.fixture
def base(world: World) -> str:
    world.write("a.py", BASE)
    world.commit()
    return world.head


def stage(world: World, text: str) -> None:
    """Stage a content that the worktree need not have, as `add -p` does."""
    path = world.home / "staged"
    path.write_text(text)
    oid = world.git("hash-object", "-w", str(path))
    world.git("update-index", "--cacheinfo", f"100644,{oid},a.py")


HOOKS = {"with hooks": ("git",), "without": ("git", *BARE)}


def make(world: World, how: str) -> list[str]:
    """Commit what is staged; the ids."""
    shell(world, " ".join([*HOOKS[how], "commit", "-qm", "x"]))
    if how == "without":
        world.agent("session-later").start()
    return ids(world) + noted(world)


@pytest.mark.parametrize("tools", [False, True])
def test_the_persons_hunk_alone_is_not_the_sessions_and_the_sessions_is(
    world: World, base: str, tools: bool
) -> None:
    a = world.agent("session-a", tools=tools)
    a.turn("change it", {"a.py": AGENT})
    world.write("a.py", BOTH)
    stage(world, OWN)
    assert make(world, "with hooks") == []
    assert a.state["files_touched"] == ["a.py"]
    [one] = world.commit("a.py")
    assert world.committed(one)["session-a"]["files_touched"] == ["a.py"]
    sound(world)


def test_the_persons_hunk_is_not_the_sessions_whose_change_was_thrown_away(
    world: World, base: str
) -> None:
    world.agent("session-a").turn("change it", {"a.py": AGENT})
    world.write("a.py", OWN)
    assert world.commit("a.py") == []
    sound(world)


def test_the_persons_hunk_between_two_edits_of_the_session_is_the_persons(
    world: World, base: str
) -> None:
    a = world.agent("session-a", tools=True)
    a.turn("change it", {"a.py": AGENT})
    world.write("a.py", BOTH)
    a.turn("and more", {"a.py": change(BOTH, line_10="line_10 = the agent again\n")})
    stage(world, OWN)
    assert make(world, "with hooks") == []
    stage(world, change(OWN, line_10="line_10 = the agent again\n"))
    assert len(make(world, "with hooks")) == 1
    sound(world)


def test_lines_that_the_person_put_above_move_no_place(world: World, base: str) -> None:
    world.write("a.py", "# a head\n" * 9 + BASE)
    a = world.agent("session-a", tools=True)
    a.turn("change it", {"a.py": "# a head\n" * 9 + AGENT})
    stage(world, "# a head\n" * 9 + BASE)
    assert make(world, "with hooks") == []
    world.write("a.py", "# a head\n" * 9 + change(BASE, line_3="line_3 = reworded by hand\n"))
    assert len(world.commit("a.py")) == 1, "the place is where the lines around it are"
    sound(world)


REWORDED = {
    "a changed line": (AGENT, change(BASE, line_3="line_3 = reworded\n")),
    "a new line": (
        BASE.replace("line_8 = 8\n", "line_8 = 8\nthe agent's new line\n"),
        BASE.replace("line_8 = 8\n", "line_8 = 8\nthe person's words\n"),
    ),
    "the last line": (BASE + "the agent's\n", BASE + "the person's\n"),
    "a line that it removed": (change(BASE, line_5=""), change(BASE, line_5="the person's\n")),
    "white space of its line": (
        AGENT,
        AGENT.replace("line_3 = the agent", "    line_3 = the agent"),
    ),
}


@pytest.mark.parametrize("name", REWORDED)
def test_a_line_of_the_session_that_the_person_reworded_is_the_sessions(
    world: World, base: str, name: str
) -> None:
    written, reworded = REWORDED[name]
    world.agent("session-a").turn("change it", {"a.py": written})
    world.write("a.py", reworded)
    assert len(world.commit("a.py")) == 1
    sound(world)


def test_a_mode_that_the_session_changed_is_its_own_in_a_commit_of_other_hunks(
    world: World, base: str
) -> None:
    a = world.agent("session-a", tools=True)
    a.prompt("change it")
    a.write("a.py", AGENT)
    given = {"command": "chmod +x a.py"}
    a.event("PreToolUse", tool_name="Bash", tool_input=given, tool_use_id="toolu_x")
    (world.path / "a.py").chmod(0o755)
    a.event("PostToolUse", tool_name="Bash", tool_input=given, tool_use_id="toolu_x")
    a.stop()
    world.write("a.py", OWN)
    (world.path / "a.py").chmod(0o755)
    assert len(world.commit("a.py")) == 1
    sound(world)


def test_the_agents_own_commit_of_the_persons_hunk_is_its_commit(world: World, base: str) -> None:
    a = world.agent("session-a")
    a.prompt("commit what I did")
    a.write("a.py", AGENT)
    world.write("a.py", OWN)
    world.env["CLAUDE_CODE_SESSION_ID"] = "session-a"
    assert len(world.commit("a.py")) == 1
    sound(world)
