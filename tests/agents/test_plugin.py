"""The plugin for Claude Code: the skill of `gitcp enable --skills`, as the client takes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.clients.real import CLIENTS
from tests.support.paths import TOP

PLUGIN = TOP / "contrib" / "plugin"


def test_the_marketplace_names_the_plugin_where_it_is() -> None:
    market = json.loads((TOP / ".claude-plugin" / "marketplace.json").read_text())
    (entry,) = market["plugins"]
    assert (TOP / entry["source"]).resolve() == PLUGIN
    about = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    assert about["name"] == entry["name"] and about["description"] == entry["description"]


@pytest.mark.thorough
@pytest.mark.parametrize("words", [[str(TOP)], ["--profile", "directory", str(PLUGIN)]])
def test_the_real_client_accepts_it(words: list[str], tmp_path: Path) -> None:
    program = CLIENTS / "claude"
    if not program.exists():
        pytest.skip("no claude here: .ci/get-clients brings it")
    argv = [str(program), "plugin", "validate", *words]
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "Validation passed" in done.stdout, done.stdout + done.stderr
