"""gitcp-clean and gitcp-list-orphans: what they print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.cmd.care import clean
from gitcp.errors import UsageError
from tests.support.checkpoints import git, unbundle
from tests.support.paths import TOP
from tests.support.stages import bind_stage

STREAM = "refs/heads/entire/fe63eef-e3b0c4"
AGED = (1e9, 1e9)  # September 2001


@pytest.fixture
def orphaned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data of the original program whose state is gone, and a scratch file."""
    unbundle("finalize", tmp_path / "r")
    scratch = tmp_path / "r/.git/gitcp/tmp/1-2"
    scratch.parent.mkdir(parents=True)
    scratch.write_text("")
    os.utime(scratch, AGED)
    monkeypatch.chdir(tmp_path / "r")
    return scratch


def test_a_dry_run_shows_the_groups_and_how_to_go_on(
    orphaned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clean.run([]) == 0
    assert capsys.readouterr().out == (
        "Found 1 orphaned item:\n\nScratch files (1):\n"
        f"  {orphaned}  nothing has touched it for an hour\n\n"
        f"Kept until it is old (1):\n  {STREAM}  no state names it; 0 days old\n\n"
        "Run with --force to delete these items.\n"
    )
    assert orphaned.exists()


def test_a_dry_run_deletes_nothing_even_with_force(
    orphaned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clean.run(["-n", "--force", "--older-than=0"]) == 0
    assert "Found 2 orphaned items:" in capsys.readouterr().out
    assert orphaned.exists() and git("rev-parse", "--verify", STREAM)
    assert clean.run(["-n", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["deleted"] is False


def test_force_deletes_and_says_what(orphaned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert clean.run(["--force", "--older-than=0"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"Deleted 2 items:\n\nStreams without a session (1):\n  {STREAM}  ")
    assert not orphaned.exists()
    assert git("for-each-ref", STREAM) == ""
    assert clean.run([]) == 0
    assert capsys.readouterr().out == "No orphaned items to clean up.\n"


def test_records_tell_what_was_deleted(
    orphaned: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def cleaned(*argv: str) -> list[tuple[str, bool]]:
        assert clean.run(["--json", *argv]) == 0
        lines = capfdbinary.readouterr().out.splitlines()
        return [(r["kind"], r["deleted"]) for r in map(json.loads, lines)]

    assert cleaned() == [("leftover", False), ("orphan-stream", False)]
    assert cleaned("-f") == [("leftover", True), ("orphan-stream", False)]


def test_list_orphans_is_a_source_of_findings(orphaned: Path) -> None:
    found = list(bind_stage("list-orphans", [])(()))
    assert [(r["type"], r["kind"], r["settled"]) for r in found] == [
        ("finding", "orphan-stream", False),
        ("finding", "leftover", True),
    ]
    assert found[0]["oid"] == git("rev-parse", STREAM)
    assert all(r["settled"] for r in bind_stage("list-orphans", ["--older-than=0"])(()))


@pytest.mark.parametrize("value", ["-1", "x", "1.5", ""])
def test_an_age_is_a_number_of_days(value: str) -> None:
    with pytest.raises(UsageError, match="--older-than"):
        bind_stage("list-orphans", [f"--older-than={value}"])


def test_the_number_of_git_processes_does_not_grow(tmp_path: Path) -> None:
    repo = unbundle("v1-sample", tmp_path / "r")
    tip = git("rev-parse", "entire/checkpoints/v1", cwd=repo.top)
    message = "x\n\nEntire-Session: gone"
    oid = git("commit-tree", f"{tip}^{{tree}}", "-m", message, cwd=repo.top)
    rows = [f"create refs/gitcp/archive/{n:07x}-e3b0c4/1 {oid}\n" for n in range(100)]
    git("update-ref", "--stdin", cwd=repo.top, stdin="".join(rows))
    command = [sys.executable, str(TOP / "bin/gitcp-clean"), "--force", "--older-than=0"]
    env = {**os.environ, "GITCP_TRACE": str(tmp_path / "trace")}
    done = subprocess.run(command, cwd=repo.top, env=env, check=True, capture_output=True)
    assert done.stdout.startswith(b"Deleted 100 items:")
    assert (tmp_path / "trace").read_text().count(" ms)") <= 7
