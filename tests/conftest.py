"""A sealed world for every test: no user's git, no user's home, the same dates."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

DATE = "1112354055 +0200"  # git's own test date: object names come out the same
SEALED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "A U Thor",
    "GIT_AUTHOR_EMAIL": "author@example.com",
    "GIT_COMMITTER_NAME": "C O Mitter",
    "GIT_COMMITTER_EMAIL": "c@example.com",
    "GIT_AUTHOR_DATE": DATE,
    "GIT_COMMITTER_DATE": DATE,
    "GIT_EDITOR": "false",
    "LC_ALL": "C",
    "TZ": "UTC",
}
# What an agent puts into the environment of the hooks it runs must not leak in from outside.
AGENTS = ("CLAUDE", "CODEX", "GEMINI")


@pytest.fixture(autouse=True)
def sealed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the user's git or agent: not the environment, not the configuration."""
    # A command run in this process makes SIGPIPE deadly, as a command should: not for pytest.
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    for name in [n for n in os.environ if n.startswith(("GIT_", "GITCP_", *AGENTS))]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    for name, value in {**SEALED, "HOME": str(home), "TMPDIR": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits, made once; copying it is cheaper than running git."""
    path = tmp_path_factory.mktemp("template")
    env = {"PATH": os.environ["PATH"], "HOME": str(path), **SEALED}

    def git(*args: str) -> None:
        subprocess.run(["git", *args], cwd=path, env=env, check=True)

    git("init", "-q", "-b", "main", "--template=")
    (path / "README.md").write_text("line one\nline two\nline three\n")
    (path / "src").mkdir()
    (path / "src" / "app.py").write_text("print('app')\n")
    git("add", ".")
    git("commit", "-q", "-m", "initial")
    (path / "src" / "lib.py").write_text("def lib():\n    return 1\n")
    git("add", ".")
    git("commit", "-q", "-m", "add lib")
    return path


@pytest.fixture
def repo(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh copy of the template; the current directory of the test."""
    path = Path(shutil.copytree(template, tmp_path / "repo"))
    monkeypatch.chdir(path)
    return path
