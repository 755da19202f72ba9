"""Recordings of real clients: what an import makes of their transcripts alone, held against what
was recorded as they went."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.imports.truth import Told, clone
from tests.support import warm
from tests.support.recorded import Recorded

RECORDINGS = """claude-code/subagent claude-code/fork codex/basic
claude-code/basic gemini-cli/resume qwen-code/basic-resume copilot/basic-resume
opencode/basic-resume""".split()


def _move_conversations(home: Path, repo: Path) -> None:
    """Recordings have conversations where those of /repo lie."""
    slug = re.sub("[^a-zA-Z0-9]", "-", str(repo))
    for old, new in {
        ".claude/projects/-repo": f".claude/projects/{slug}",
        ".qwen/projects/-repo": f".qwen/projects/{slug}",
        ".gemini/tmp/rec-gemini-resume": f".gemini/tmp/{repo.name}",
    }.items():
        if (home / old).exists():
            (home / old).rename(home / new)


@pytest.mark.parametrize("name", RECORDINGS)
def test_an_import_says_nothing_that_was_not_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, _, scenario = name.partition("/")
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    repo = Recorded(tmp_path, agent, scenario)
    repo.git("config", "gitcp.link", "note")
    repo.play()
    repo.git("add", "-A")
    repo.git("commit", "-q", "--allow-empty", "-m", "what is left")
    _move_conversations(home, repo.path)
    true, there = Told(repo.path), clone(repo.path, tmp_path / "clone")
    done = warm.run("import", "--json", "--path", str(repo.path), cwd=there)
    assert done.returncode in (0, 1), done
    told = Told(there)
    print(f"{name}: {told.recall(true)}")
    assert set() < told.links <= true.links
    assert set() < told.lines <= true.lines
