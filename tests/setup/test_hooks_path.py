"""core.hooksPath in each of its forms: gitcp's hooks run, or `status` says which do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitcp.cmd.setup import disable, enable
from tests.support import gits
from tests.support.harness import World
from tests.support.installed import HOOKS, git, ours, write

PERSON = "[user]\n\tname = A U Thor\n\temail = author@example.com\n"
PASSES_ON = [
    'own=$(git rev-parse --git-common-dir)/hooks/${0##*/}\n[ ! -x "$own" ] || exec "$own" "$@"\n',
    'dir=$(git rev-parse --git-dir)\n[ ! -x "$dir/hooks/$(basename "$0")" ] || '
    '"$dir/hooks/$(basename "$0")" "$@"\n',
    '[ ! -x .git/hooks/${0##*/} ] || .git/hooks/${0##*/} "$@"\n',
]


@pytest.fixture(autouse=True)
def older_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """What git is, where hooks are files."""
    monkeypatch.setenv("PATH", gits.find_older())


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of hooks that the person's own configuration names for every repository."""
    folder = tmp_path / "home" / "all-hooks"
    config = tmp_path / "home" / "gitconfig"
    config.parent.mkdir(exist_ok=True)
    config.write_text(f"{PERSON}[core]\n\thooksPath = {folder}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    return folder


def pass_on(folder: Path, body: str = PASSES_ON[0], hooks: list[str] = HOOKS) -> None:
    for hook in hooks:
        write(folder / hook, f'#!/bin/sh\necho "{hook}" >>.git/ran\n{body}')


def is_linked(world: World, name: str) -> bool:
    world.agent(f"s-{name}").turn(f"make {name}", {f"{name}.txt": "x\n"})
    return len(world.commit(f"{name}.txt")) == 1


@pytest.mark.parametrize("body", PASSES_ON)
@pytest.mark.parametrize("first", ["us", "theirs"])
def test_hooks_that_pass_on_to_the_repository_s_own_run_ours(
    repo: Path, person: Path, body: str, first: str
) -> None:
    if first == "theirs":
        pass_on(person, body)
        enable.run([])
        assert ours(person) == []
    else:
        git("config", "core.hooksPath", ".git/hooks")
        enable.run([])
        git("config", "--unset", "core.hooksPath")
        pass_on(person, body)
    assert ours(repo / ".git/hooks") == HOOKS
    world = World(repo, repo.parent / "home")
    assert is_linked(world, "one") and "post-commit" in world.read(".git/ran")
    assert "call gitcp" not in world.gitcp("status")
    world.close()
    disable.run(["--uninstall"])
    assert ours(repo / ".git/hooks") == [] and (person / "post-commit").exists()


def test_a_hook_that_is_not_passed_on_is_named(repo: Path, person: Path) -> None:
    pass_on(person, hooks=[hook for hook in HOOKS if hook != "post-rewrite"])
    enable.run([])
    world = World(repo, repo.parent / "home")
    assert is_linked(world, "one")
    said = f"post-rewrite in '{person}' does not call gitcp"
    assert said in world.gitcp("status")
    world.close()


@pytest.mark.parametrize("body", ["", "# as .git/hooks/ has it\n", ": check\n"])
def test_hooks_of_the_person_that_pass_nothing_on_are_named(
    repo: Path, person: Path, body: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pass_on(person, body)
    enable.run([])
    assert "is outside the repository" in capsys.readouterr().out
    assert ours(repo / ".git/hooks") == []
    enable.run(["--force"])
    assert ours(person) == HOOKS
    world = World(repo, repo.parent / "home")
    assert is_linked(world, "one") and "post-commit" in world.read(".git/ran")
    world.close()


@pytest.mark.parametrize("place", ["repository", "person"])
def test_a_directory_of_some_branches_alone_is_named_until_it_has_ours(
    repo: Path, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "home" / "gitconfig"
    config.parent.mkdir(exist_ok=True)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    config.write_text(PERSON)
    near = repo / ".git" if place == "repository" else config.parent
    (near / "side").write_text("[core]\n\thooksPath = .side\n")
    scope = "--local" if place == "repository" else "--global"
    git("config", scope, "includeIf.onbranch:side/**.path", "side")
    enable.run([])
    world = World(repo, repo.parent / "home")
    assert f"on branches 'side/**' git runs '{repo}/.side'" in world.gitcp("status")
    assert is_linked(world, "one")
    git("switch", "-q", "-c", "side/one")
    said = world.gitcp("status")
    assert "in '.side'" in said.replace(f"{repo}/", "") and "on branches" not in said
    enable.run([])
    assert ours(repo / ".side") == HOOKS and is_linked(world, "two")
    git("switch", "-q", "main")
    assert ".side" not in world.gitcp("status") and is_linked(world, "three")
    world.close()
    disable.run(["--uninstall"])
    assert ours(repo / ".side") == ours(repo / ".git/hooks") == []


def test_what_was_enabled_on_such_a_branch_alone_is_named(repo: Path) -> None:
    (repo / ".git/side").write_text("[core]\n\thooksPath = .side\n")
    git("config", "includeIf.onbranch:side.path", "side")
    git("switch", "-q", "-c", "side")
    enable.run([])
    world = World(repo, repo.parent / "home")
    said = f"on other branches git runs '{repo}/.git/hooks'"
    assert said in world.gitcp("status")
    git("switch", "-q", "main")
    enable.run([])
    git("switch", "-q", "side")
    assert said not in world.gitcp("status")
    world.close()


def test_a_script_that_is_written_again_by_hand_is_named_and_called_once_enabled(
    repo: Path,
) -> None:
    own = repo / ".git/hooks/post-commit"
    write(own, "#!/bin/sh\necho one >>.git/ran\n")
    enable.run([])
    os.unlink(own)
    write(own, "#!/bin/sh\necho two >>.git/ran\n")
    world = World(repo, repo.parent / "home")
    assert "post-commit in" in world.gitcp("status")
    enable.run([])
    assert is_linked(world, "one") and world.read(".git/ran") == "two\n"
    world.close()
    disable.run(["--uninstall"])
    assert own.read_text() == "#!/bin/sh\necho two >>.git/ran\n"
