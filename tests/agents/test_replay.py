"""A replayed recording leaves the repository as the real agent left it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.clients.clock import TIMES
from tests.support.replay import RECORDINGS, Replay, initial

SCENARIOS = sorted(
    f"{path.parent.parent.name}/{path.parent.name}"
    for path in RECORDINGS.rglob("meta.json")
    if "log" in json.loads(path.read_text())
)


def said(repo: Path, *args: str) -> list[str]:
    return subprocess.check_output(["git", *args], cwd=repo, text=True).splitlines()


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_files_and_commits_are_those_of_the_recording(scenario: str, tmp_path: Path) -> None:
    repo, home = tmp_path / "repo", tmp_path / "home"
    repo.mkdir()
    initial(repo)
    agent, _, name = scenario.partition("/")
    played = Replay(agent, name, repo, home, python="true")  # no hook of ours
    calls = played.run()

    meta = json.loads((RECORDINGS / scenario / "meta.json").read_text())
    made = said(repo, "log", "--format=%s", "--stat=80")
    assert made[: made.index("initial")] == meta["log"][: meta["log"].index("initial")]
    assert said(repo, "status", "--porcelain", "-uall") == [x for x in meta["status"] if x]
    assert calls[-1].event == "SessionEnd"
    for path, lines in played.transcripts().items():
        text, recorded = Path(path).read_text(), "".join(lines)
        assert len(text) <= len(recorded) and (text or not lines)
        assert TIMES.sub("", recorded[: len(text)]) == TIMES.sub("", text)
