"""Hooks beside those of other tools, in whatever order they are installed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitcp.cmd.setup import disable, enable
from gitcp.git.repo import Repo
from gitcp.setup import git_hooks, hook_texts
from tests.setup import hook_tools
from tests.setup.hook_tools import LONG, Tool, commit, install, person
from tests.support.harness import World
from tests.support.installed import git, write
from tests.support.paths import TOP

pytestmark = pytest.mark.thorough


def links(world: World, name: str) -> bool:
    """Whether a commit is linked to the session that wrote its file."""
    world.agent(f"s-{name}").turn(f"make {name}", {f"{name}.txt": "x\n"})
    return len(world.commit(f"{name}.txt")) == 1


MOVED = [
    (hook_tools.pre_commit, "us tool", ["person"]),
    (hook_tools.entire, "tool us tool", ["entire", "person"]),
    (hook_tools.entire, "us tool us tool", ["entire", "person"]),
]
MENDED = [
    (hook_tools.pre_commit, "tool us tool us", ["person"]),
    (hook_tools.lefthook, "tool us tool us", []),
    (hook_tools.husky, "tool us tool us", ["husky"]),
    (hook_tools.entire, "tool us tool us", ["person"]),
]
LEFT = [
    (hook_tools.pre_commit, "tool us tool"),
    (hook_tools.lefthook, "us tool"),
    (hook_tools.husky, "tool us tool"),
    (hook_tools.entire, "us tool"),
]
if LONG:
    MOVED += [(hook_tools.pre_commit, "tool us tool", ["person"])]
    MENDED += [
        (hook_tools.lefthook, "us tool us", []),
        (hook_tools.husky, "us tool us", ["husky"]),
        (hook_tools.entire, "us tool us", ["person"]),
    ]
    LEFT += [
        (hook_tools.pre_commit, "us tool"),
        (hook_tools.lefthook, "tool us tool"),
        (hook_tools.entire, "tool us tool"),
    ]


@pytest.mark.parametrize(("tool", "order", "theirs"), MOVED)
def test_a_tool_that_moved_our_hook_aside_calls_every_link_once(
    repo: Path, tool: Tool, order: str, theirs: list[str]
) -> None:
    person(repo)
    install(repo, order, tool)
    world = World(repo, repo.parent / "home")
    assert commit(repo) == theirs
    assert links(world, "one")
    world.close()


@pytest.mark.usefixtures("older_git")
@pytest.mark.parametrize(("tool", "order", "theirs"), MENDED)
def test_enable_mends_what_another_tool_did_and_uninstalls_without_a_trace(
    repo: Path, tool: Tool, order: str, theirs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    person(repo)
    install(repo, order, tool)
    world = World(repo, repo.parent / "home")
    assert commit(repo) == theirs
    assert links(world, "one")
    world.close()
    capsys.readouterr()
    enable.run([])
    assert "nothing to do" in capsys.readouterr().out
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []
    commit(repo)


@pytest.mark.parametrize(("tool", "order"), LEFT)
def test_uninstalling_after_another_tool_came_leaves_nothing_of_ours(
    repo: Path, tool: Tool, order: str
) -> None:
    person(repo)
    install(repo, order, tool)
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []
    commit(repo)


def test_commits_keep_their_trailers_when_husky_writes_its_hooks_anew(repo: Path) -> None:
    install(repo, "tool us tool", hook_tools.husky_alone)
    world = World(repo, repo.parent / "home")
    assert links(world, "one")
    assert git("status", "--porcelain", "-uall").split() == ["??", ".husky/pre-commit"]
    assert "post-commit in" not in world.gitcp("status")
    world.close()
    assert commit(repo) == ["husky"]
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []


@pytest.mark.usefixtures("older_git")
def test_a_hook_of_the_person_s_that_husky_calls_gets_a_line_on_request(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = repo / ".husky/prepare-commit-msg"
    write(own, "echo mine >>.git/ran", 0o644)
    install(repo, "tool us", hook_tools.husky_alone)
    assert "'gitcp enable --force' adds a line to that" in capsys.readouterr().out
    assert own.read_text() == "echo mine >>.git/ran"
    enable.run(["--force"])
    hook_tools.husky_alone(repo)
    world = World(repo, repo.parent / "home", {"PATH": f"{TOP / 'bin'}:{os.environ['PATH']}"})
    assert links(world, "one")
    world.close()
    assert commit(repo) == ["husky", "mine"]
    disable.run(["--uninstall"])
    assert own.read_text() == "echo mine >>.git/ran"
    assert hook_tools.left_behind(repo) == []


@pytest.mark.usefixtures("older_git")
def test_what_husky_wrote_again_is_no_hook_that_was_kept_aside(repo: Path) -> None:
    install(repo, "tool us", hook_tools.husky)
    hook = repo / ".husky/_/post-commit"
    assert (repo / ".husky/_/post-commit.before-gitcp").read_text() != hook.read_text()
    hook_tools.husky(repo)
    world = World(repo, repo.parent / "home")
    said = world.gitcp("status")
    world.close()
    assert "post-commit in" in said and "kept aside" not in said


def test_what_lefthook_moved_aside_stays_though_it_is_installed_again_over_us(repo: Path) -> None:
    person(repo)
    theirs = (repo / ".git/hooks/post-commit").read_text()
    install(repo, "tool us tool us tool", hook_tools.lefthook)
    assert (repo / ".git/hooks/post-commit.old").read_text() == theirs
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []


def test_a_person_s_hook_is_called_through_whatever_moved_ours_and_is_back_at_the_end(
    repo: Path,
) -> None:
    person(repo)
    install(repo, "us tool", hook_tools.pre_commit)
    disable.run(["--uninstall"])
    assert commit(repo) == ["person"]
    hook_tools.run(repo, str(hook_tools.pypi("pre-commit")), "uninstall", "-t", "post-commit")
    assert "person" in (repo / ".git/hooks/post-commit").read_text()


UNINSTALLED = [
    (hook_tools.pre_commit, hook_tools.pre_commit_uninstall),
    (hook_tools.lefthook, hook_tools.lefthook_uninstall),
    (hook_tools.husky, hook_tools.husky_uninstall),
]


@pytest.mark.parametrize("order", ["tool us", *(["us tool us", "us tool"] if LONG else [])])
@pytest.mark.parametrize(("tool", "uninstall"), UNINSTALLED)
def test_a_tool_that_was_uninstalled_runs_no_more_and_the_rest_does(
    repo: Path, tool: Tool, uninstall: Tool, order: str
) -> None:
    person(repo)
    install(repo, order, tool)
    uninstall(repo)
    assert commit(repo) in ([], ["person"])
    world = World(repo, repo.parent / "home")
    here = Repo.find(str(repo))
    missing = git_hooks.list_missing(here, git_hooks.find_folder(here))
    said = world.gitcp("status")
    assert all(f"{hook} " in said or f"{hook}," in said for hook in missing)
    enable.run([])
    assert commit(repo) == ["person"] and links(world, "one")
    world.close()
    disable.run(["--uninstall"])
    assert hook_tools.left_behind(repo) == []
    assert commit(repo) == ["person"]
    left = [path.read_text() for path in (repo / ".git/hooks").iterdir()]
    assert not any(hook_texts.find_tool(text) for text in left)


def test_a_hook_that_commits_runs_our_hook_again_for_its_own_commit(repo: Path) -> None:
    write(
        repo / ".git/hooks/post-commit",
        "#!/bin/sh\necho theirs >>.git/ran\n"
        "[ -e .git/once ] || { : >.git/once; git commit -q --allow-empty -m inner; }\n",
    )
    enable.run([])
    assert commit(repo) == ["theirs", "theirs"]
    assert git("log", "-1", "--format=%s").strip() == "inner"


def test_a_hook_of_ours_that_chains_itself_ends(repo: Path) -> None:
    enable.run([])
    text = hook_texts.build_script(
        "post-commit", "/x", "/x", {"suffix": ".pre-entire", "shell": "", "mark": ""}
    )
    for name in ("post-commit", "post-commit.pre-entire"):
        write(repo / ".git/hooks" / name, text)
    assert commit(repo) == []
    enable.run([])
    assert not (repo / ".git/hooks/post-commit.pre-entire").exists()
