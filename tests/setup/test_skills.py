"""enable --skills: agents are told when to ask, and nothing of it is left when it is taken out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitcp.setup import skill
from tests.support.clients.real import Client
from tests.support.harness import World
from tests.support.warm import run

PATHS = [f"{folder}/{skill.NAME}" for folder in skill.FOLDERS]


def tree(top: Path) -> dict[str, bytes | None]:
    """Every file and directory of a worktree but git's."""
    inside = (path for path in sorted(top.rglob("*")) if ".git" not in path.relative_to(top).parts)
    return {str(path): path.read_bytes() if path.is_file() else None for path in inside}


def test_a_skill_is_written_is_no_change_to_git_and_goes_byte_for_byte(world: World) -> None:
    mine = world.path / ".claude" / "skills" / "mine" / "SKILL.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    status, before = world.git("status", "--porcelain"), tree(world.path)
    world.gitcp("enable", "--skills")
    for path in PATHS:
        assert (world.path / path).read_text() == skill.TEXT
    assert world.git("status", "--porcelain") == status
    assert "nothing to do" in world.gitcp("enable", "--skills")
    world.gitcp("disable", "--uninstall")
    after = tree(world.path)
    assert {path: data for path, data in after.items() if "settings" not in path} == {
        path: data for path, data in before.items() if "settings" not in path
    }


def test_a_shared_skill_is_for_everybody_who_clones(world: World) -> None:
    world.gitcp("enable", "--skills", "--shared")
    added = world.git("add", "--dry-run", ".claude/skills", ".agents")
    assert added.splitlines() == [f"add '{path}'" for path in sorted(PATHS)]


def test_a_skill_of_the_person_stays_and_is_said_to(world: World) -> None:
    theirs = world.path / PATHS[0]
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs\n")
    said = world.gitcp("enable", "--skills")
    assert f"'{theirs}' is not as gitcp wrote it and stays" in said
    assert theirs.read_text() == "theirs\n"
    world.gitcp("enable", "--skills", "--force")
    assert theirs.read_text() == skill.TEXT
    world.gitcp("disable", "--uninstall")
    assert theirs.read_text() == "theirs\n"


def test_a_skill_that_was_changed_since_stays_when_gitcp_goes(world: World) -> None:
    world.gitcp("enable", "--skills")
    changed = world.path / PATHS[1]
    changed.write_text(skill.TEXT + "more\n")
    world.gitcp("disable", "--uninstall")
    assert changed.read_text() == skill.TEXT + "more\n"
    assert not (world.path / PATHS[0]).exists()


def test_a_skill_for_the_person_is_written_into_the_home(world: World) -> None:
    world.gitcp("enable", "--skills", "--user")
    assert (world.home / PATHS[0]).read_text() == skill.TEXT
    assert not (world.path / PATHS[0]).exists()


def test_a_skill_for_the_person_is_where_the_variable_of_its_client_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = world.home / "moved"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(moved))
    monkeypatch.setenv("CODEX_HOME", str(world.home / "codex"))  # it reads .agents all the same
    world.gitcp("enable", "--skills", "--user")
    assert (moved / "skills" / skill.NAME).read_text() == skill.TEXT
    assert (world.home / ".agents" / "skills" / skill.NAME).read_text() == skill.TEXT
    assert not (world.home / PATHS[0]).exists()
    world.gitcp("disable", "--uninstall", "--user")
    assert not (moved / "skills" / skill.NAME).exists()


@pytest.mark.parametrize(
    "line",
    [line for line in skill.TEXT.splitlines() if "`gitcp " in line],
    ids=lambda _: "line",
)
def test_each_command_of_the_skill_is_one_that_there_is(world: World, line: str) -> None:
    import re

    for command in re.findall(r"`gitcp ([a-z]+)([^`]*)`", line):
        name, rest = command
        options = [word for word in rest.split() if word.startswith("--") and len(word) > 2]
        text = run(name, "-h", cwd=world.path).stdout
        assert all(option in text for option in options), command


@pytest.mark.thorough
def test_the_real_claude_code_is_told_of_the_skill(world: World) -> None:
    world.gitcp("enable", "--skills")
    client = Client("claude", world.path, world.home, [("understood", "", None)])
    try:
        client.run("hello")
        sent = json.dumps(client.model.asked)
    finally:
        client.model.close()
    assert "Ask why a line of this repository is there" in sent


def test_the_skill_is_yaml_with_a_name_and_a_short_description() -> None:
    head = skill.TEXT.split("---\n")[1]
    assert head.startswith("name: gitcp\ndescription: >-\n")
    assert len(" ".join(head.partition(">-")[2].split())) < 1024
