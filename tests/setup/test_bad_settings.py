"""A bad setting stops nothing: the default holds, and it is said before anything fails."""

from __future__ import annotations

import json

import pytest

from tests.support import warm
from tests.support.harness import World

BAD = [
    ("gitcp.max-file-size", "ten"),
    ("gitcp.max-untracked-size", "-1"),
    ("gitcp.redact", "(x"),
    ("gitcp.redact-allow", "["),
    ("gitcp.hook-timeout", "abc"),
    ("gitcp.git-timeout", "0"),
    ("gitcp.streams", "foo"),
    ("gitcp.suffix-match", "foo"),
    ("gitcp.strategy", "wild"),
    ("gitcp.guard", "on"),
    ("gitcp.guard-wait", "long"),
    ("gitcp.link", "perhaps"),
    ("gitcp.look-budget", "x"),
    ("gitcp.loss-budget", "soon"),
    ("gitcp.max-transcript-size", "x"),
    ("gitcp.enable-multisession-warning", "x"),
    ("gitcp.archive-expire", "soon"),
    ("gitcp.turn-start.pipeline", "update-sesion"),
    ("gitcp.turn-end.pipeline", "write-chekpoint | update-session"),
    ("gitcp.turn-end.pipeline", "write-checkpoint --no-such-option"),
    ("gitcp.prepare-commit-msg.pipeline", "match-commit | write-trailr"),
    ("gitcp.post-commit.pipeline", "match-commit 'x"),
    ("gitcp.maxfilesize", "3"),
    ("turnend.pipeline", "x"),
]


@pytest.mark.parametrize(("key", "value"), BAD, ids=lambda word: word[:40])
def test_with_a_bad_setting_a_turn_is_recorded_and_its_commit_linked(
    world: World, key: str, value: str
) -> None:
    world.git("config", key, value)
    agent = world.agent("s-one", tools=True)
    said = agent.start().said
    if "--no-such-option" not in value:  # which only the stage itself knows
        assert f"'{key} = {value}' in {world.path}/.git/config:" in said
    agent.prompt("write a file", warns="built-in pipeline ran|^$")
    agent.write("a.py", "a = 1\n")
    agent.stop(warns="built-in pipeline ran|^$")
    world.git("add", "a.py")
    world.git("commit", "-q", "-m", "a", warns="built-in pipeline ran")
    [checkpoint] = world.ids("HEAD")
    at = f"entire/checkpoints/v1:{checkpoint[:2]}/{checkpoint[2:]}/0/metadata.json"
    assert "a.py" in json.loads(world.git("show", at))["files"]


def test_status_and_doctor_name_key_value_file_and_line(world: World) -> None:
    world.git("config", "gitcp.guard", "on")
    place = f"'gitcp.guard = on' in {world.path}/.git/config:"
    assert place in world.gitcp("status")
    done = warm.run("doctor", cwd=world.path)
    assert done.returncode == 1 and place in done.stdout


def test_several_bad_settings_are_one_line_at_the_start(world: World) -> None:
    world.git("config", "gitcp.guard", "on")
    world.git("config", "gitcp.streams", "foo")
    said = world.agent("s-one").start().said.splitlines()
    assert len(said) == 2 and "1 more: 'gitcp config --check' shows them" in said[1]


def test_texts_are_withheld_while_a_rule_cannot_be_read_and_stored_when_it_can(
    world: World,
) -> None:
    world.git("config", "gitcp.redact", "(hunter")
    agent = world.agent("s-one")
    agent.turn("the word is hunter2", {"a.py": "a = 1\n"})
    [checkpoint] = world.commit()
    refs = world.refs("refs")
    assert world.git("grep", "-l", "hunter2", *refs, ok=False) == ""
    world.git("config", "gitcp.redact", "hunter\\d")
    agent.stop()
    stored = world.committed(checkpoint)["s-one"]["transcript"]
    assert "the word is" in stored and "hunter2" not in stored
