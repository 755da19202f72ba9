"""A shell command that would throw away what another live session has not committed."""

from __future__ import annotations

import subprocess

import pytest

from tests.steps.rewind.going import Files, files, run
from tests.support.harness import Agent, Json, World

A, B = "11111111-aaaa-4a87-9186-848bdd83d62e", "22222222-bbbb-4a87-9186-848bdd83d62e"
TEXT = "line one\nline two\nby b\n"
COMMANDS = [
    "git stash",
    "git stash -u",
    "git reset --hard",
    "git checkout -- f.txt",
    "git checkout .",
    "git restore f.txt",
    "git clean -fd",
    "rm new.txt",
    "mv README.md f.txt",
    ": >f.txt",
    "truncate -s 0 f.txt",
    "sed -i s/two/2/ f.txt",
    "cp README.md f.txt",
    'rm "$PWD/f.txt"',
]


def two(world: World) -> tuple[Agent, Agent]:
    """Session b has written f.txt, which is tracked, and new.txt; session a is in its turn."""
    world.write("f.txt", "line one\nline two\n")
    world.commit("f.txt")
    a, b = (world.agent(sid, tools=True) for sid in (A, B))
    b.turn("work", {"f.txt": TEXT, "new.txt": "new\n"})
    a.prompt("tidy up")
    return a, b


def ask(a: Agent, command: str) -> tuple[int, str, Files]:
    """(status, what is said) of a call's start, and the files after it."""
    command = command.replace("$PWD", str(a.world.path))
    tool = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_9"}
    call = a.event("PreToolUse", **tool)  # type: ignore[arg-type]
    return call.status, call.said or call.stderr, files(a.world.path)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_person_is_told_whose_files_a_command_would_discard(world: World, command: str) -> None:
    a, b = two(world)
    status, said, _ = ask(a, command)
    assert status == 0
    assert "This command discards another session's work" in said
    assert f"Other session:  {b.sid[:8]}" in said
    assert ("new.txt" if command in ("git clean -fd", "rm new.txt") else "f.txt") in said


@pytest.mark.parametrize("command", COMMANDS[::3])
def test_deny_refuses_such_a_command(world: World, command: str) -> None:
    a, _ = two(world)
    world.git("config", "gitcp.guard", "deny")
    status, said, _ = ask(a, command)
    assert (status, "This command discards another session's work" in said) == (2, True)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git stash list",
        "rm other.txt",
        "rm ../f.txt",
        "git checkout -b x",
        "git clean -n",
        "sed -n 1p f.txt",
        "cd / && git reset --hard",
    ],
)
def test_nothing_is_said_of_a_command_that_leaves_their_files(world: World, command: str) -> None:
    a, _ = two(world)
    world.git("config", "gitcp.guard", "deny")
    assert ask(a, command)[:2] == (0, "")


@pytest.mark.parametrize("command", ["sed -i s/b/a/ f.txt", "echo a >f.txt", "truncate -s0 f.txt"])
def test_nothing_is_said_of_a_file_that_only_the_session_itself_has_open(
    world: World, command: str
) -> None:
    world.write("f.txt", TEXT)
    world.commit("f.txt")
    a, b = (world.agent(sid, tools=True) for sid in (A, B))
    b.turn("work", {"new.txt": "new\n"})
    a.turn("work", {"f.txt": f"{TEXT}by a\n"})
    a.prompt("go on")
    world.git("config", "gitcp.guard", "deny")
    assert ask(a, command)[:2] == (0, "")


@pytest.mark.parametrize(
    ("command", "lost"),
    [
        ("git reset --hard", "f.txt, new.txt"),
        ("git stash -- new.txt", "new.txt"),
        ("git clean -f", "README.md"),
        ("git clean -fX", ""),
    ],
)
def test_what_git_tracks_is_what_its_index_has(world: World, command: str, lost: str) -> None:
    a, b = two(world)
    b.write("README.md", TEXT)
    world.git("add", "new.txt")
    world.git("rm", "-q", "--cached", "README.md")
    files = f"Files:          {lost}" if lost else ""
    assert files in ask(a, command)[1]
    assert ("Files:" in ask(a, command)[1]) == bool(lost)


@pytest.mark.parametrize(
    ("script", "lost"),
    [
        ("find . -name '*.txt' -delete", ["f.txt", "new.txt"]),
        ("git reset -q --hard", ["f.txt"]),
        ("git mv f.txt g.txt; echo b >>new.txt; git stash -q; git stash pop -q", []),
    ],
)
@pytest.mark.parametrize("mode", ["warn", "deny"])
def test_a_call_that_has_discarded_files_is_told_so_whatever_its_words_are(
    world: World, script: str, lost: list[str], mode: str
) -> None:
    a, b = two(world)
    world.git("config", "gitcp.guard", mode)
    tool = {"tool_name": "Bash", "tool_input": {"command": "sh tidy"}, "tool_use_id": "toolu_9"}
    assert a.event("PreToolUse", **tool).status == 0  # type: ignore[arg-type]
    before = files(world.path)
    subprocess.run(["sh", "-c", script], cwd=world.path, check=True)
    call = a.event("PostToolUse", **tool, tool_response={})  # type: ignore[arg-type]
    assert call.status == (2 if lost and mode == "deny" else 0)
    said = call.said or call.stderr
    assert ("This command has discarded another session's work" in said) == bool(lost)
    assert not lost or f"Files:          {', '.join(lost)}" in said
    assert not lost or f"Other session:  {b.sid[:8]}" in said
    if lost:
        assert run(world, "rewind", "--tool", "toolu_9", "--", *lost).returncode == 0
        assert files(world.path) == before


def test_the_loss_of_a_call_without_an_id_leaves_its_end_as_it_is(world: World) -> None:
    """'gitcp rewind --tool' has nothing to name."""
    a, b = two(world)
    tool: Json = {"tool_name": "Bash", "tool_input": {"command": "sh tidy"}}
    a.event("PreToolUse", **tool)
    (world.path / b.state["files_touched"][0]).unlink()
    call = a.event("PostToolUse", **tool, tool_response={})
    assert (call.status, call.said, call.stderr) == (0, "", "")


def test_a_session_that_has_ended_or_died_or_committed_is_in_nobodys_way(world: World) -> None:
    a, b = two(world)
    world.kill(b)
    assert ask(a, "git reset --hard")[:2] == (0, "")


def test_what_a_session_committed_is_not_discarded(world: World) -> None:
    a, _ = two(world)
    world.commit()
    assert ask(a, "git reset --hard")[:2] == (0, "")


TAKING = [
    "git add -A",
    "git add .",
    "git add -u && git commit -m x",
    "git commit -am 'all of it'",
    "git -C $PWD add --all",
]


@pytest.mark.parametrize("command", TAKING)
def test_a_command_that_takes_anothers_work_is_told_how_to_stage_its_own(
    world: World, command: str
) -> None:
    a, b = two(world)
    status, said, _ = ask(a, command)
    assert status == 0
    assert "This command takes another session's work" in said
    assert "`gitcp stage --own && git commit`" in said
    assert f"Other session:  {b.sid[:8]}" in said
    assert "f.txt" in said
    assert ("new.txt" in said) == ("-A" in command or "--all" in command or " ." in command)


def test_deny_refuses_a_command_that_takes_anothers_work(world: World) -> None:
    a, _ = two(world)
    world.git("config", "gitcp.guard", "deny")
    status, said, _ = ask(a, "git add -A")
    assert (status, "This command takes another session's work" in said) == (2, True)


@pytest.mark.parametrize(
    "command",
    [
        "git add mine.txt",
        "git add src/",
        "git add -n .",
        "git commit -m 'add all'",
        "git commit -ma",
        "git commit --amend --no-edit",
        "gitcp stage --own && git commit -m mine",
    ],
)
def test_a_command_that_takes_only_its_own_is_let_through(world: World, command: str) -> None:
    a, _ = two(world)
    world.git("config", "gitcp.guard", "deny")
    status, said, _ = ask(a, command)
    assert (status, said) == (0, "")
