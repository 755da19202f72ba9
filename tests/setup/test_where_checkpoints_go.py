"""Where checkpoints go is named at `enable`: a repository of its own, and no file that git tracks
decides it unasked."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.harness import V1, World
from tests.support.paths import BIN
from tests.support.terminal import talk

PROPOSED = "https://github.com/team/app-checkpoints.git"
QUESTION = "Where are prompts and transcripts of commits sent"
SETTINGS = Path(".entire/settings.json")
LOCAL = Path(".entire/settings.local.json")


def proposes(world: World, repo: str = "team/app-checkpoints", path: Path = SETTINGS) -> None:
    remote = {"provider": "github", "repo": repo}
    given = {"strategy_options": {"checkpoint_remote": remote}}
    world.write(str(path), json.dumps(given))
    if path == SETTINGS:
        world.git("add", "-f", str(path))
        world.git("commit", "-q", "-m", "Where checkpoints go")


def destination(world: World) -> str:
    """What gets checkpoints at each push, or `none`; else the last place that was agreed to."""
    own = world.git("config", "gitcp.remote", ok=False)
    return own or world.git("config", "gitcp.place", ok=False)


def enable(world: World, *args: str) -> str:
    return world.gitcp("enable", *args)


@pytest.mark.parametrize("where", ["none", "origin", "https://example.com/private.git"])
def test_enable_takes_where_checkpoints_go(world: World, where: str) -> None:
    bare = world.remote("origin")
    enable(world, "--checkpoints", where)
    assert destination(world) == (str(bare) if where == "origin" else where)


def test_what_is_neither_a_remote_nor_a_url_is_refused(world: World) -> None:
    command = [str(BIN / "gitcp-enable"), "--checkpoints", "upstream"]
    done = subprocess.run(command, cwd=world.path, capture_output=True, text=True, check=False)
    assert done.returncode == 128
    assert "neither a remote nor a URL: 'upstream'" in done.stderr
    assert destination(world) == ""


def test_a_repository_of_its_own_serves_a_colleague_and_a_machine(
    world: World, tmp_path: Path
) -> None:
    code, private = world.remote("origin"), world.remote("private")
    world.git("remote", "remove", "private")
    enable(world, "--checkpoints", str(private))
    world.agent("s-one").turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    world.git("push", "-q", "origin", "main")
    assert world.git("for-each-ref", "refs/heads/entire", cwd=code) == ""
    assert world.git("rev-parse", V1, cwd=private) == world.git("rev-parse", V1)
    for name in ("colleague", "machine"):
        world.git("clone", "-q", str(code), str(tmp_path / name))
    colleague = World(tmp_path / "colleague", world.home, world.env)
    enable(colleague, "--checkpoints", str(private))
    assert "write one" in colleague.gitcp("show", "HEAD")
    colleague.agent("s-two").turn("write two", {"two.py": "two\n"})
    colleague.commit("two.py")
    colleague.git("push", "-q", "origin", "main")
    colleague.close()
    machine = World(tmp_path / "machine", world.home, world.env)
    machine.git("pull", "-q", "origin", "main")
    machine.gitcp("fetch", str(private))
    told = machine.gitcp("log")
    assert "write one" in told and "write two" in told


def test_at_a_terminal_enable_asks_once(world: World) -> None:
    world.remote("origin")
    seen = talk(world, ["enable"], ("which one?", "\n"))
    assert QUESTION in seen and "only here" in seen and "to 'origin'" in seen
    assert destination(world) == "none"
    assert QUESTION not in talk(world, ["enable"])


@pytest.mark.parametrize(
    ("typed", "where"),
    [
        ([("which one?", "3\n"), ("which one?", "\n")], "origin"),
        (
            [("which one?", "2\n"), ("its URL:", "ssh://host/Private.git\n")],
            "ssh://host/Private.git",
        ),
        ([("which one?", "2\n"), ("its URL:", "\n")], ""),
    ],
)
def test_the_answer_is_the_destination(
    world: World, typed: list[tuple[str, str]], where: str
) -> None:
    bare = world.remote("origin")
    talk(world, ["enable"], *typed)
    assert destination(world) == (str(bare) if where == "origin" else where)


def test_what_goes_with_the_code_can_be_refs(world: World) -> None:
    bare = world.remote("origin")
    seen = talk(world, ["enable"], ("which one?", "3\n"), ("How are they stored?", "2\n"))
    assert "on a branch, 'entire/checkpoints/v1'" in seen and "as refs" in seen
    world.agent("s-one").turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    world.git("push", "-q", "origin", "main")
    sent = world.git("for-each-ref", "--format=%(refname)", cwd=bare).splitlines()
    assert "refs/heads/entire/checkpoints/v1" not in sent
    assert any(ref.startswith("refs/entire/checkpoints/") for ref in sent)


def test_how_checkpoints_are_stored_is_not_asked_where_there_are_some(
    world: World, tmp_path: Path
) -> None:
    bare = world.share()
    world.agent("s-one").turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    world.git("push", "-q", "origin", "main")
    world.git("clone", "-q", str(bare), str(tmp_path / "colleague"))
    colleague = World(tmp_path / "colleague", world.home, world.env)
    seen = talk(colleague, ["enable"], ("which one?", "3\n"))
    assert "How are they stored?" not in seen and destination(colleague) == str(bare)


def test_what_a_tracked_file_proposes_is_not_obeyed_unasked(world: World) -> None:
    proposes(world)
    assert f"gitcp enable --checkpoints {PROPOSED}" in enable(world)
    assert destination(world) == ""


def test_a_proposal_is_asked_about_once_and_again_when_it_changes(world: World) -> None:
    proposes(world)
    seen = talk(world, ["enable"], ("which one?", "\n"))
    assert f"'{PROPOSED}', as '{SETTINGS}' proposes" in seen
    assert destination(world) == "none"
    assert QUESTION not in talk(world, ["enable"]) and PROPOSED not in enable(world)
    proposes(world, "mallory/app")
    seen = talk(world, ["enable"], ("which one?", "\n"))
    assert "mallory/app" in seen and "as now" in seen
    assert destination(world) == "none"
    proposes(world)
    assert QUESTION not in talk(world, ["enable"])


def test_a_proposal_that_is_taken_is_the_destination(world: World) -> None:
    proposes(world)
    talk(world, ["enable"], ("which one?", "3\n"))
    assert destination(world) == PROPOSED
    assert QUESTION not in talk(world, ["enable"])


def test_a_pulled_commit_redirects_nothing(world: World) -> None:
    bare = world.share()
    world.agent("s-one").turn("write one", {"one.py": "one\n"})
    world.commit("one.py")
    proposes(world, "mallory/app")
    enable(world)
    world.git("push", "-q", "origin", "main")
    assert world.git("rev-parse", V1, cwd=bare) == world.git("rev-parse", V1)
    assert destination(world) == str(bare)


def test_what_an_untracked_file_says_is_the_persons_own(world: World) -> None:
    proposes(world, path=LOCAL)
    enable(world)
    assert destination(world) == PROPOSED


@pytest.mark.parametrize("way", ["link", "submodule", "case"])
def test_what_comes_by_a_tracked_link_or_submodule_is_not_the_persons_own(
    world: World, tmp_path: Path, way: str
) -> None:
    given = World(tmp_path / "given", world.home, world.env)
    given.path.mkdir()
    given.git("init", "-q")
    proposes(given, path=Path("settings.json"))
    if way == "link":
        (world.path / ".entire").symlink_to(given.path)
        world.git("add", "-f", ".entire")
    elif way == "case":
        proposes(world, path=Path(".entire/Settings.json"))
        world.git("add", "-f", ".entire/Settings.json")
        (world.path / ".entire/Settings.json").rename(world.path / SETTINGS)
    else:
        given.git("add", "-A")
        given.git("commit", "-q", "-m", "settings")
        source = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", "-f")
        world.git(*source, str(given.path), ".entire")
    world.git("commit", "-q", "-m", "Where checkpoints go")
    assert f"gitcp enable --checkpoints {PROPOSED}" in enable(world)
    assert destination(world) == ""


@pytest.mark.parametrize("repo", ["../x", "a", "-a/b", "a/b c", "a/b;rm", "", "a/../../b"])
def test_a_strange_repository_is_no_proposal(world: World, repo: str) -> None:
    proposes(world, repo)
    assert "proposes" not in enable(world)


def test_enable_makes_no_network_call(world: World, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    proposes(world)
    command = [str(BIN / "gitcp-enable"), "--checkpoints", PROPOSED]
    env = {**os.environ, "GIT_TRACE2_EVENT": str(trace)}
    subprocess.run(command, cwd=world.path, env=env, check=True, capture_output=True)
    started = [json.loads(line) for line in trace.read_text().splitlines()]
    words = {word for event in started for word in event.get("argv", ())}
    assert words and not words & {"fetch", "push", "ls-remote", "remote-https", "fetch-pack"}
