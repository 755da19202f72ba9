"""Recordings of real clients: what an import makes of their transcripts alone, held against what
was recorded as they went."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gitcp import agents
from tests.extras.imports.truth import Told, clone
from tests.support import warm
from tests.support.paths import TOP
from tests.support.recorded import Recorded

RECALL = {  # of what was recorded, what an import finds
    "claude-code/basic": "links 1 of 1, lines 3 of 3",
    "claude-code/edits": "links 2 of 2, lines 35 of 35",
    "claude-code/fork": "links 2 of 2, lines 4 of 4",
    "claude-code/resume": "links 2 of 2, lines 4 of 4",
    "claude-code/subagent": "links 2 of 2, lines 2 of 2",
    "claude-code/worktree": "links 1 of 1, lines 1 of 1",
    "cline/basic": "links 1 of 1, lines 0 of 1",
    "codex/basic": "links 1 of 1, lines 2 of 3",
    "codex/resume": "links 2 of 2, lines 2 of 4",
    "copilot/basic-resume": "links 2 of 2, lines 3 of 4",
    "factory-droid/basic": "links 1 of 1, lines 1 of 3",
    "gemini-cli/basic": "links 2 of 2, lines 4 of 5",
    "gemini-cli/resume": "links 2 of 2, lines 5 of 6",
    "kilo-code/basic-resume": "links 2 of 2, lines 3 of 4",
    "opencode/basic-resume": "links 2 of 2, lines 3 of 4",
    "pi/basic-resume": "links 2 of 2, lines 1 of 4",
    "qwen-code/basic-resume": "links 2 of 2, lines 2 of 3",
}
PAGE = TOP / "man" / "gitcp-import.1"


def _move_conversations(agent: str, home: Path, repo: Path) -> None:
    """Recordings have conversations where those of /repo lie."""
    tells = agents.get_client(agent).locate_sessions
    old, new = (Path(tells(str(home), at).removesuffix("/chats")) for at in ("/repo", str(repo)))
    for folder in old.parent.glob(f"{old.name}*") if old != new else ():
        folder.rename(new.with_name(new.name + folder.name.removeprefix(old.name)))
    for folder in (home / ".gemini" / "tmp").glob("*"):
        known = {"projects": {str(repo): folder.name}}
        (home / ".gemini" / "projects.json").write_text(json.dumps(known))


@pytest.mark.thorough
@pytest.mark.parametrize("name", list(RECALL))
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
    _move_conversations(agent, home, repo.path)
    true, there = Told(repo.path), clone(repo.path, tmp_path / "clone")
    done = warm.run("import", "--json", "--path", str(repo.path), cwd=there)
    assert done.returncode in (0, 1), done
    told = Told(there)
    print(f"{name}: {told.recall(true)}")
    assert told.links <= true.links
    assert told.lines <= true.lines
    assert told.recall(true) == RECALL[name]


def test_the_manual_tells_how_much_of_each_clients_recordings_an_import_finds() -> None:
    counts: dict[str, list[int]] = {}
    for name, recall in RECALL.items():
        agent = agents.get_client(name.partition("/")[0]).AGENT_TYPE
        numbers = map(int, re.findall(r"\d+", recall))
        counts[agent] = [a + b for a, b in zip(counts.get(agent, [0] * 4), numbers, strict=True)]
    rows = [(agent, f"{a} of {b}", f"{c} of {d}") for agent, (a, b, c, d) in counts.items()]
    row = r"^(\S.*?)  +(\d+ of \d+)  +(\d+ of \d+)$"
    assert re.findall(row, PAGE.read_text(), re.M) == rows
