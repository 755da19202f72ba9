"""gitcp check: a range held against the rules of the branch that it is merged into."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.harness import V1, World
from tests.support.warm import run

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
RULES = """[check]
max-unknown = 0
need-checkpoints = true
no-secrets = true
"""


def check(world: World, *args: str) -> tuple[int, dict[str, Any]]:
    done = run("check", "--json", *args, cwd=world.path)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.fixture
def change(world: World) -> World:
    """A branch `topic` off main, which has rules, with one linked commit."""
    world.write(".gitcp.toml", RULES)
    world.commit(".gitcp.toml")
    world.git("switch", "-q", "-c", "topic")
    world.agent("s1", tools=True).turn("write", {"one.py": "1\n2\n"})
    world.commit("one.py")
    return world


def test_a_change_that_keeps_the_rules_passes(change: World) -> None:
    status, record = check(change, "main..topic")
    assert (status, record["verdict"], record["reasons"]) == (0, "passes", [])
    assert (record["commits"], record["linked"], record["added"]["agent"]) == (1, 1, 2)
    assert run("check", "main..", cwd=change.path).stdout == "passes: 1 commit, 3 rules of 'main'\n"


def test_a_change_cannot_relax_its_own_rules(change: World) -> None:
    change.write(".gitcp.toml", "[check]\n")
    change.write("mine.py", f"token = '{TOKEN}'\n")
    change.commit(".gitcp.toml", "mine.py")
    status, record = check(change, "main..topic")
    assert status == 1
    assert [reason["rule"] for reason in record["reasons"]] == ["no-secrets"]
    assert "'mine.py'" in record["reasons"][0]["reason"]
    assert check(change, "--rules=topic", "main..topic")[0] == 0


def test_a_commit_that_names_an_agent_or_a_checkpoint_needs_one_that_is_here(change: World) -> None:
    change.write("two.py", "2\n")
    change.git("add", "two.py")
    attested = "two\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
    change.git("commit", "-q", "--no-verify", "-m", attested)
    status, record = check(change, "main..topic")
    (reason,) = [r for r in record["reasons"] if r["rule"] == "need-checkpoints"]
    assert (status, reason["commit"]) == (1, change.git("rev-parse", "HEAD"))
    assert "names Claude Code and has no checkpoint" in reason["reason"]
    change.git("update-ref", "-d", V1)
    done = run("check", "main..topic~1", cwd=change.path)
    assert done.returncode == 1 and "it is not stored here" in done.stdout, done


def test_a_checkpoint_without_a_signature_breaks_the_rule_that_asks_for_one(change: World) -> None:
    change.git("switch", "-q", "main")
    change.write(".gitcp.toml", "[check]\nneed-signatures = true\n")
    change.commit(".gitcp.toml")
    status, record = check(change, "main..topic")
    assert (status, [r["rule"] for r in record["reasons"]]) == (1, ["need-signatures"])


def test_a_secret_in_a_checkpoint_is_found_by_the_rules_of_today(change: World) -> None:
    assert check(change, "main..topic")[0] == 0
    change.git("config", "gitcp.redact", "wr.te")  # the prompt
    status, record = check(change, "main..topic")
    assert status == 1
    assert all(r["rule"] == "no-secrets" for r in record["reasons"])
    assert any("checkpoint " in r["reason"] for r in record["reasons"])


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["topic"], 128, "give a range such as main..HEAD"),
        (["nowhere..topic"], 128, "no such revision: 'nowhere'"),
        (["main...topic"], 0, "passes"),
        (["--rules=main~1", "main..topic"], 0, "nothing to check: 'main~1' has no rules"),
        (["--rules=broken", "main..topic"], 128, "'.gitcp.toml' of 'broken' is not TOML"),
    ],
)
def test_the_rules_are_those_of_the_branch_that_the_range_begins_with(
    change: World, args: list[str], status: int, words: str
) -> None:
    change.git("switch", "-q", "-c", "broken", "main")
    change.write(".gitcp.toml", "[check")
    change.commit(".gitcp.toml")
    change.git("switch", "-q", "topic")
    done = run("check", *args, cwd=change.path)
    assert done.returncode == status, done
    assert words in done.stdout + done.stderr
