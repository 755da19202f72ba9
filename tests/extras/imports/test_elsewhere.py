"""The recipes of gitcp-remote-agents(7): what a job recorded elsewhere is known at home."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.text.short_ids import shorten_id
from tests.extras.imports.conftest import Yesterday
from tests.extras.imports.truth import git
from tests.support.harness import World
from tests.support.paths import TOP

JOB = """
git clone -q "$1" job && cd job
git config user.name Job && git config user.email job@example.com
gitcp enable --agent=claude-code --checkpoints=origin
gitcp run --prompt='Make it' -- sh -c 'echo "made in a job" >made.txt'
git add made.txt
git commit -q -m 'Make it in a job'
git push -q origin HEAD:job
"""


@pytest.fixture
def hub(past: Yesterday, tmp_path: Path) -> Path:
    """What the repository and its jobs push to."""
    path = tmp_path / "hub.git"
    git(tmp_path, "clone", "-q", "--bare", str(past.repo), str(path))
    past.git("remote", "add", "hub", str(path))
    return path


def ask(past: Yesterday) -> list[str]:
    """What is said at home of the file that a job made."""
    past.git("fetch", "-q", "hub")
    past.run("fetch", "hub")
    past.git("checkout", "-q", "hub/job")
    return [
        past.run("log", "-n", "1"),
        past.run("blame", "made.txt"),
        past.run("why", "made.txt:1"),
    ]


@pytest.mark.thorough
def test_a_job_in_a_container_without_a_home_or_a_network_is_known_at_home(
    past: Yesterday, hub: Path, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    sealed = ["unshare", "-rn"] if shutil.which("unshare") else []
    if sealed and subprocess.run([*sealed, "true"], capture_output=True, check=False).returncode:
        sealed = []  # where nobody may have a network of its own
    search = f"{TOP / 'bin'}:{Path(sys.executable).parent}:{os.defpath}"
    done = subprocess.run(
        [*sealed, "env", "-i", f"PATH={search}", "sh", "-ec", JOB, "job", str(hub)],
        cwd=empty,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    log, blame, why = ask(past)
    assert "Make it" in log
    assert "made in a job" in blame
    assert "Make it" in why


@pytest.mark.thorough
def test_an_agent_with_hooks_in_the_clone_of_a_job_is_known_at_home(
    past: Yesterday, hub: Path, tmp_path: Path
) -> None:
    past.run("enable", "--agent", "claude-code", "--shared")
    past.commit()
    past.git("push", "-q", "hub", "HEAD")
    clone = tmp_path / "job"
    git(tmp_path, "clone", "-q", str(hub), str(clone))
    job = World(clone, past.home)
    job.gitcp("enable")
    agent = job.agent("in-a-job")
    agent.turn("Make it elsewhere", {"made.txt": "made in a job\n"})
    job.git("add", "-A")
    job.git("commit", "-q", "-m", "work")
    job.git("push", "-q", "origin", "HEAD:job")
    job.gitcp("push", "--to", "origin")
    job.close()
    log, blame, why = ask(past)
    assert "Make it elsewhere" in log
    assert shorten_id("in-a-job") in blame
    assert "Make it elsewhere" in why
