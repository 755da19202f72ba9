"""gitcp-check-store and gitcp-fsck: what they print, and the status they exit with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitcp.cmd.care import fsck
from tests.support.checkpoints import git, unbundle

CHECKPOINT = "\n  bde5096363d6: its directories are 0 2\n"


def test_notes_are_no_failure_and_quiet_leaves_them_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unbundle("v1-sample", tmp_path / "r")
    monkeypatch.chdir(tmp_path / "r")
    assert fsck.run([]) == 0
    said = capsys.readouterr().out
    assert CHECKPOINT in said and " (bad-number)\n" in said
    assert {line[:5] for line in said.splitlines() if line[:1].strip()} <= {"note:", "'gitc"}
    assert fsck.run(["-q"]) == 0
    assert capsys.readouterr().out == ""


def test_a_finding_is_a_line_or_a_record_and_status_1(
    repo: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    git("branch", "entire/1234567-e3b0c4")
    ref, reason = "refs/heads/entire/1234567-e3b0c4", "it is not a stream of checkpoints"
    assert fsck.run([]) == 1
    lines = [
        "warning: a branch has the name of a stream, and no checkpoints (not-a-stream)",
        f"  {ref}: {reason}: never touched",
        "  rename it, or delete it, if it is not yours",
    ]
    assert capfdbinary.readouterr().out.decode().splitlines() == lines
    assert fsck.run(["--json"]) == 1
    found = json.loads(capfdbinary.readouterr().out)
    assert (found["type"], found["kind"], found["subject"]) == ("finding", "not-a-stream", ref)


@pytest.mark.parametrize("fix", ["--fix", "--repair"])
def test_what_was_repaired_is_no_failure(
    repo: Path, capsys: pytest.CaptureFixture[str], fix: str
) -> None:
    marker = repo / ".git/gitcp/open/s-one"
    marker.parent.mkdir(parents=True)
    marker.write_text("{")
    assert fsck.run([]) == 1
    assert fsck.run([fix]) == 0
    assert "moved what could not be read to '" in capsys.readouterr().out
    assert fsck.run([]) == 0
    assert not marker.exists()
