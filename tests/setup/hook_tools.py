"""Other programs that install hooks: the real ones, installed once, and a stand-in for one.

They are kept in build/tools, so that only the first run fetches them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from gitcp.cmd.setup import enable
from tests.support.installed import HOOKS, write
from tests.support.paths import TOP

ROOT = TOP / "build" / "tools"
# Without scripts: a package's own would install hooks into the repository around ROOT.
_NPM = "npm install --ignore-scripts --no-audit --no-fund --loglevel=error --prefix".split()
_OUTSIDE = dict(os.environ)  # before a test is sealed: how packages are reached

Tool = Callable[[Path], None]
US = "us"
LONG = bool(os.environ.get("LONG"))


def npm(name: str) -> Path:
    """The program of a package of npm; skips where it cannot be had."""
    program = ROOT / name / "node_modules" / ".bin" / name
    _install(program, [*_NPM, str(ROOT / name), name])
    return program


def pypi(name: str) -> Path:
    """The program of a package of PyPI, in an environment of its own; skips as npm() does."""
    python = ROOT / name / "bin" / "python"
    program = python.with_name(name)
    _install(program, [sys.executable, "-m", "venv", str(ROOT / name)],
             [str(python), "-m", "pip", "install", "-q", name])  # fmt: skip
    return program


def _install(program: Path, *commands: list[str]) -> None:
    ROOT.mkdir(parents=True, exist_ok=True)
    with FileLock(ROOT / ".lock"):
        for command in () if program.exists() else commands:
            try:
                subprocess.run(command, env=_OUTSIDE, check=True, capture_output=True, timeout=120)
            except (OSError, subprocess.SubprocessError) as e:
                pytest.skip(f"{program.name} cannot be installed here: {e}")


def pre_commit(repo: Path) -> None:
    """`pre-commit install` for every hook that is ours too."""
    write(repo / ".pre-commit-config.yaml", "repos: []\n", 0o644)
    kinds = [f"--hook-type={hook}" for hook in HOOKS]
    run(repo, str(pypi("pre-commit")), "install", *kinds)


def pre_commit_uninstall(repo: Path) -> None:
    run(repo, str(pypi("pre-commit")), "uninstall", *(f"--hook-type={hook}" for hook in HOOKS))


def lefthook(repo: Path) -> None:
    """`lefthook install` with a configuration that has every hook that is ours too."""
    text = "".join(f"{hook}:\n  commands:\n    a:\n      run: 'true'\n" for hook in HOOKS)
    write(repo / "lefthook.yml", text, 0o644)
    run(repo, str(npm("lefthook")), "install", "--force")


def lefthook_uninstall(repo: Path) -> None:
    run(repo, str(npm("lefthook")), "uninstall")


def husky(repo: Path) -> None:
    """`husky`, as npm's `prepare` runs it."""
    write(repo / ".husky" / "post-commit", "echo husky >>.git/ran\n", 0o644)
    run(repo, str(npm("husky")))


def husky_alone(repo: Path) -> None:
    """The same, where the person has no hook of a name of ours."""
    write(repo / ".husky" / "pre-commit", "echo husky >>.git/ran\n", 0o644)
    run(repo, str(npm("husky")))


def entire(repo: Path) -> None:
    """What the original program's `enable` does to git's hooks
    (doc/formats.md "The original program")."""
    folder = repo / ".git" / "hooks"
    for hook in HOOKS:
        path, kept = folder / hook, folder / f"{hook}.pre-entire"
        if path.exists() and "# Entire CLI hooks" in path.read_text():
            continue
        if path.exists() and not kept.exists():
            path.rename(kept)
        chain = f'[ ! -x "{kept}" ] || "{kept}" "$@"\n' if kept.exists() else ""
        own = "echo entire >>.git/ran\n" if hook == "post-commit" else ""
        write(path, f"#!/bin/sh\n# Entire CLI hooks\n{own}{chain}")


def husky_uninstall(repo: Path) -> None:
    """As husky's manual has it; the package itself goes, too."""
    run(repo, "git", "config", "--unset", "core.hooksPath")


def run(repo: Path, *argv: str) -> None:
    done = subprocess.run(argv, cwd=repo, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def left_behind(repo: Path) -> list[str]:
    """The files of hooks that are ours, by name or by what is in them."""
    folders = [repo / ".git" / "hooks", repo / ".husky", repo / ".husky" / "_"]
    return [
        str(path.relative_to(repo))
        for folder in folders
        if folder.exists()
        for path in folder.iterdir()
        if path.is_file() and ("gitcp" in path.name or "gitcp" in path.read_text())
    ]


def install(repo: Path, order: str, tool: Tool) -> None:
    """Carry out an order such as 'tool us tool'."""
    for step in order.split():
        if step == US:
            enable.run([])
        else:
            tool(repo)


def commit(repo: Path) -> list[str]:
    """Commit with a limit of time; what hooks that are not ours have written about it."""
    ran = repo / ".git" / "ran"
    ran.unlink(missing_ok=True)
    argv = ["git", "commit", "-q", "--allow-empty", "-m", "x"]
    done = subprocess.run(argv, cwd=repo, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return ran.read_text().split() if ran.exists() else []


def person(repo: Path) -> None:
    """A hook of the person's own."""
    write(repo / ".git/hooks/post-commit", "#!/bin/sh\necho person >>.git/ran\n")
