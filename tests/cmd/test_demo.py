"""gitcp demo: its story holds, and nothing of the person's is touched."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.steps.rewind.going import files
from tests.support.paths import TOP

COMMAND = [sys.executable, str(TOP / "bin" / "gitcp"), "demo"]  # a process of its own


def run_at_terminal(cwd: Path, env: dict[str, str]) -> tuple[int, str, str]:
    """The status, and what is written at a terminal and on standard error."""
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as shown:
        done = subprocess.Popen(COMMAND, cwd=cwd, env=env, stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # EIO: no process has the other side any more
            while part := shown.read(4096):
                text += part
        _, said = done.communicate()
    return done.returncode, text.decode(), said.decode()


def run(cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(COMMAND, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.thorough
def test_the_story_holds_and_leaves_nothing_of_the_persons_otherwise(
    repo: Path, tmp_path: Path
) -> None:
    home, scratch = tmp_path / "home", tmp_path / 'it\'s a "place" $HOME'
    for folder in (home, scratch):
        folder.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {home}\n[commit]\n\tgpgSign = true\n[gitcp]\n\tlink = none\n"
    )
    (repo / ".git" / "gitcp-sentinel").touch()
    before = files(home), files(repo), files(repo / ".git")
    env = {**os.environ, "HOME": str(home), "TMPDIR": str(scratch), "GIT_DIR": str(repo / ".git")}
    env |= {"GITCP_SESSION_ID": "s1", "CLAUDE_CONFIG_DIR": str(home), "TERM": "xterm"}
    status, shown, said = run_at_terminal(repo, env)
    assert (status, said) == (0, "")
    for part in (
        "> Tidy up",
        "  Bash: rm -rf src tests",
        "created 3. 'gitcp undo' takes it back",
        "Entire-Checkpoint",
    ):
        assert part in shown
    assert "\x1b[1m$ gitcp why src/words.py:13\x1b[0m" in shown
    assert (files(home), files(repo), files(repo / ".git")) == before
    assert list(scratch.iterdir()) == []


def test_it_ends_where_a_step_does_not_do_what_it_should(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "cat"):
        (programs / name).symlink_to(f"/bin/{name}")
    python = next(p for p in os.get_exec_path() if (Path(p) / "python3").exists())
    (programs / "python3").symlink_to(Path(python) / "python3")
    done = run(tmp_path, {**os.environ, "PATH": str(programs), "TMPDIR": str(tmp_path)})
    assert done.returncode == 128
    assert done.stderr.startswith("fatal: 'git init ") and "127" in done.stderr
    assert not list(tmp_path.glob("gitcp-demo-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGPIPE])
def test_nothing_is_left_where_it_is_ended(tmp_path: Path, number: int) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(COMMAND, env=env, stdout=subprocess.PIPE, start_new_session=True) as told:
        assert told.stdout and told.stdout.readline()
        if number == signal.SIGPIPE:
            told.stdout.close()
        else:
            os.killpg(told.pid, number)
    assert told.returncode in (-number, 128 + number)
    assert not list(tmp_path.glob("gitcp-demo-*"))


@pytest.mark.parametrize("file", ["events.jsonl", "transcript.jsonl"])
def test_what_is_played_is_small(file: str) -> None:
    assert (TOP / "gitcp" / "demo" / file).stat().st_size < 40_000
