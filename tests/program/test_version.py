"""gitcp --version: the line for people, and the record that a report of a fault begins with."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from gitcp import VERSION
from tests.support.checkpoints import git
from tests.support.paths import BIN, TOP
from tests.support.record_schema import list_faults


def run(cwd: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, str(BIN / "gitcp"), *args]
    return subprocess.run(argv, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True)


def read(cwd: Path, **env: str) -> Any:
    done = run(cwd, "--version", "--json", **env)
    assert not list(list_faults(done.stdout)), done.stderr
    return json.loads(done.stdout)


def test_a_line_names_the_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"gitcp {VERSION}\n"
    assert run(tmp_path, "--version", "--yaml").returncode == 129


def test_a_record_names_all_that_a_fault_may_lie_in(repo: Path) -> None:
    told = read(repo)
    assert (told["gitcp"], told["python"]) == (VERSION, platform.python_version())
    assert f"git version {told['git']}" == git("version", cwd=repo)
    assert told["packages"]["filelock"] and "pytest" not in told["packages"]
    assert told["store"] == "branch"
    git("config", "gitcp.store", "refs", cwd=repo)
    assert read(repo)["store"] == "refs"
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=TOP, capture_output=True, text=True)
    assert told["commit"] == (head.stdout.strip() if (TOP / ".git").exists() else "")


def test_it_is_told_without_git_and_outside_a_repository(tmp_path: Path) -> None:
    told = read(tmp_path, PATH=str(tmp_path))
    assert (told["git"], told["store"], told["gitcp"]) == ("", "", VERSION)
