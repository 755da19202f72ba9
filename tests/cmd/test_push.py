"""push-checkpoints and fetch-checkpoints: as commands, and in the pre-push hook."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gitcp.errors import Error
from tests.support.checkpoints import V1, git
from tests.support.paths import BIN
from tests.support.stages import bind_stage


def make_event(bare: Path) -> dict[str, object]:
    return {"type": "event", "event": "pre-push", "args": ["origin", str(bare)], "stdin": []}


@pytest.fixture
def bare(repo: Path, tmp_path: Path) -> Path:
    path = tmp_path / "bare.git"
    git("clone", "-q", "--bare", str(repo), str(path))
    git("remote", "add", "origin", str(path))
    git("config", "gitcp.place", str(path))
    list(bind_stage("write-committed", [])([{"type": "session", "session_id": "s"}]))
    return path


def run(line: str) -> tuple[int, str, str]:
    env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(line.split(), env=env, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", ["gitcp-push", "gitcp push", "gitcp-push-checkpoints origin"])
def test_a_push_says_how_many_checkpoints_it_sent(bare: Path, name: str) -> None:
    oid = git("rev-parse", V1)
    assert run(name) == (0, "sent 1 checkpoint to 'origin'\n", "")
    assert run(name) == (0, "'origin' has every checkpoint\n", "")
    assert git("rev-parse", V1, cwd=bare) == oid
    assert run(f"{name} --json")[1].startswith('{"type":"ref","ref":"' + V1)


def test_a_fetch_says_how_many_checkpoints_are_new_here(bare: Path, tmp_path: Path) -> None:
    run("gitcp-push")
    oid = git("rev-parse", V1)
    git("update-ref", "-d", V1)
    assert run("gitcp-fetch") == (0, "1 checkpoint fetched\n", "")
    assert run("gitcp-fetch") == (0, "no new checkpoints\n", "")
    assert list(bind_stage("fetch-checkpoints", [])(())) == [{"type": "ref", "ref": V1, "oid": oid}]


def test_the_hook_sends_to_the_destination_alone(bare: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.git"
    git("init", "-q", "--bare", str(other))
    there = {**make_event(bare), "args": [str(other), str(other)]}
    record, said = bind_stage("push-checkpoints", [])([there])
    assert record == there and f"'{other}'" in str(said["message"])
    event = make_event(bare)
    assert list(bind_stage("push-checkpoints", [])([event])) == [event]
    assert git("for-each-ref", cwd=other) == ""
    assert git("for-each-ref", "--format=%(refname)", V1, cwd=bare) == V1


def test_the_hook_obeys_the_configuration(bare: Path) -> None:
    git("config", "gitcp.push", "false")
    list(bind_stage("push-checkpoints", [])([make_event(bare)]))
    assert git("for-each-ref", V1, cwd=bare) == ""
    assert run("gitcp-push")[0] == 0  # asked for by hand it is done


def test_events_that_are_no_push_pass_by(bare: Path) -> None:
    event = {"type": "event", "event": "post-commit", "args": ["origin"]}
    assert list(bind_stage("push-checkpoints", [])([event])) == [event]
    assert git("for-each-ref", V1, cwd=bare) == ""


def test_a_remote_that_is_gone_is_an_error_of_one_line(bare: Path) -> None:
    bare.rename(bare.parent / "elsewhere")
    status, out, err = run("gitcp-push")
    assert (status, out) == (128, "")
    assert err.startswith("fatal: 'origin': ")
    assert err.count("\n") == 1
    with pytest.raises(Error, match="'origin': "):
        list(bind_stage("push-checkpoints", [])([make_event(bare)]))


@pytest.mark.parametrize(
    ("remotes", "config", "usual"),
    [
        ([], {}, "<remote>"),
        (["a", "b"], {}, "<remote>"),
        (["a", "origin"], {}, "origin"),
        (["a"], {}, "a"),
        (["a", "b"], {"branch.main.remote": "b"}, "b"),
        (["a", "b"], {"branch.main.remote": "b", "remote.pushDefault": "a"}, "a"),
    ],
)
def test_the_remote_that_git_would_take_is_advised_and_not_taken(
    bare: Path, remotes: list[str], config: dict[str, str], usual: str
) -> None:
    git("config", "--unset", "gitcp.place")
    git("remote", "remove", "origin")
    for name in remotes:
        git("remote", "add", name, str(bare))
    for key, value in config.items():
        git("config", key, value)
    says = f"fatal: no destination is set for checkpoints; 'gitcp push --to {usual}' sets one\n"
    assert run("gitcp-push") == (128, "", says)
    assert git("for-each-ref", V1, cwd=bare) == ""


def test_without_checkpoints_there_is_nothing_to_push(repo: Path) -> None:
    git("init", "-q", "--bare", "there.git")
    git("remote", "add", "origin", str(repo / "there.git"))
    git("config", "gitcp.place", str(repo / "there.git"))
    assert run("gitcp-push") == (0, "nothing to push: there are no checkpoints\n", "")
    assert run("gitcp-fetch") == (0, "nothing to fetch: there are no checkpoints\n", "")


@pytest.mark.parametrize("command", ["gitcp-push", "gitcp-fetch"])
def test_a_remote_that_is_none_is_said_once_also_where_there_is_nothing_to_share(
    repo: Path, command: str
) -> None:
    says = "fatal: 'nowhere' does not appear to be a git repository\n"
    assert run(f"{command} nowhere") == (128, "", says)
