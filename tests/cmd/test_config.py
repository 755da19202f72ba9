"""gitcp config: every key with what holds, and what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

from gitcp.git.config_table import KEYS
from tests.support import warm
from tests.support.checkpoints import git


def records(repo: Path, *args: str) -> dict[str, dict[str, str]]:
    done = warm.run("config", "--json", *args, cwd=repo)
    return {one["key"]: one for one in map(json.loads, done.stdout.splitlines())}


def test_every_key_is_listed_with_its_default_and_meaning(repo: Path) -> None:
    listed = records(repo)
    assert list(listed) == list(KEYS)
    assert listed["gitcp.streams"]["value"] == listed["gitcp.streams"]["default"] == "overlap"
    lines = warm.run("config", cwd=repo).stdout.splitlines()
    assert lines[:2] == [
        "gitcp.max-file-size = 10m  (default)",
        "    an untracked file larger than this is left out of checkpoints",
    ]


def test_what_is_set_has_its_file_and_line(repo: Path) -> None:
    warm.run("config", cwd=repo)
    config = repo / ".git" / "config"
    config.write_text(config.read_text() + "[gitcp]\n\tstreams = suffix\n")
    number = len(config.read_text().splitlines())
    assert warm.run("config", "gitcp.streams", cwd=repo).stdout.splitlines()[0] == (
        f"gitcp.streams = suffix  ({config}:{number}; default overlap)"
    )


def test_no_password_of_a_url_is_shown(repo: Path) -> None:
    git("config", "gitcp.remote", "https://me:hunter2@host.example/x.git", cwd=repo)
    git("config", "gitcp.stop.pipeline", "!curl https://me:hunter2@host.example/x | wc", cwd=repo)
    git("config", "gitcp.wrong", "https://me:hunter2@host.example/x.git", cwd=repo)
    for args in ([], ["--json"], ["--check"], ["--check", "--json"], ["gitcp.remote"]):
        done = warm.run("config", *args, cwd=repo)
        assert "hunter2" not in done.stdout + done.stderr, args
    assert records(repo)["gitcp.remote"]["value"] == "https://host.example/x.git"
    git("config", "gitcp.remote", "ssh://git@host.example/x.git", cwd=repo)
    assert records(repo)["gitcp.remote"]["value"] == "ssh://git@host.example/x.git"
    wrong = warm.run("config", "gitcp.streams", "https://me:hunter2@host.example", cwd=repo)
    assert wrong.returncode and "hunter2" not in wrong.stderr


def test_check_shows_what_is_wrong_alone_and_says_no(repo: Path) -> None:
    assert warm.run("config", "--check", cwd=repo).returncode == 0
    config = repo / ".git" / "config"
    config.write_text(config.read_text() + "[gitcp]\n\tstreams = foo\n\tgard = deny\n")
    done = warm.run("config", "--check", cwd=repo)
    number = len(config.read_text().splitlines())
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        f"{config}:{number - 1}: 'gitcp.streams = foo':"
        " must be overlap or suffix; the default holds: overlap",
        f"{config}:{number}: 'gitcp.gard = deny': no such key: did you mean 'gitcp.guard'?",
    ]
    assert records(repo)["gitcp.streams"]["value"] == "overlap"


def test_a_key_that_is_none_is_misuse_that_names_the_nearest(repo: Path) -> None:
    done = warm.run("config", "gitcp.gaurd", cwd=repo)
    assert done.returncode == 129 and "gitcp.guard" in done.stderr
    far = warm.run("config", "nonsense", cwd=repo)
    assert far.stderr.splitlines()[0] == "error: unknown key 'nonsense'"


def test_a_key_with_a_value_sets_it_in_this_repository(repo: Path) -> None:
    assert warm.run("config", "gitcp.streams", "suffix", cwd=repo).stdout == ""
    assert git("config", "--local", "gitcp.streams", cwd=repo) == "suffix"
    assert records(repo, "gitcp.streams")["gitcp.streams"]["value"] == "suffix"
    for pattern in ("one", "two"):
        assert warm.run("config", "gitcp.redact", pattern, cwd=repo).returncode == 0
    assert git("config", "--get-all", "gitcp.redact", cwd=repo) == "one\ntwo"


def test_a_value_that_a_key_cannot_have_is_refused_and_nothing_is_set(repo: Path) -> None:
    before = (repo / ".git" / "config").read_text()
    done = warm.run("config", "gitcp.streams", "foo", cwd=repo)
    assert (done.returncode, done.stderr) == (
        128,
        "fatal: 'gitcp.streams' cannot be 'foo': it must be overlap or suffix\n",
    )
    assert warm.run("config", "--json", "gitcp.streams", "suffix", cwd=repo).returncode == 129
    assert warm.run("config", "gitcp.streams", "gitcp.guard", "x", cwd=repo).returncode == 129
    assert (repo / ".git" / "config").read_text() == before


def test_a_pipeline_is_set_and_shown_like_any_key(repo: Path) -> None:
    key, stages = "gitcp.turn-end.pipeline", "update-session | finalize"
    assert warm.run("config", key, stages, cwd=repo).returncode == 0
    assert records(repo, key)[key]["value"] == stages
    refused = warm.run("config", key, "no-such-stage", cwd=repo)
    assert refused.returncode != 0 and "no-such-stage" in refused.stderr
    assert git("config", "--get-all", key, cwd=repo) == stages
