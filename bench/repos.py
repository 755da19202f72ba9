"""Repositories of three sizes, generated once and kept outside of this one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

VERSION = "2"
UNTRACKED, IGNORED, IN_A_FOLDER = 200, 5000, 40
WHO = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "gc.auto=0")


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~"), ".cache")
    return Path(base) / "gitcp-bench" / VERSION


CACHE = cache()  # of the person who benches: taken before the world is sealed


def generated(files: int) -> Path:
    """A repository of so many files with 200 untracked and 5,000 ignored, to be used in place.

    It is brought back to its first state; made when it is missing.
    """
    path = CACHE / f"files-{files}"
    if not (path / ".git" / "made").exists():
        shutil.rmtree(path, ignore_errors=True)
        make(path, files)
    git(path, "reset", "-q", "--hard", "first")
    git(path, "clean", "-qfd")
    shutil.rmtree(path / ".git" / "gitcp", ignore_errors=True)
    for n in range(UNTRACKED):
        write(path / "notes" / f"note{n:03}.txt", f"note {n}\n" * 20)
    return path


def make(path: Path, files: int) -> None:
    for n in range(files):
        folder = n // IN_A_FOLDER
        write(path / f"dir{folder % 50:02}" / f"part{folder:04}" / f"file{n:06}.py", text(n))
    for n in range(IGNORED):
        write(path / "build" / f"{n % 50:02}" / f"object{n:04}.o", "x")
    write(path / ".gitignore", "build/\n")
    git(path, "init", "-q", "-b", "main", "--template=")
    git(path, "add", "-A")
    git(path, *WHO, "commit", "-q", "-m", "first")
    git(path, "tag", "first")
    git(path, "gc", "-q")
    (path / ".git" / "made").touch()


def text(n: int) -> str:
    return "".join(f"line {i} of {n}\n" for i in range(10))


def file(path: Path, n: int) -> Path:
    """The nth file of a generated repository."""
    folder = n // IN_A_FOLDER
    return path / f"dir{folder % 50:02}" / f"part{folder:04}" / f"file{n:06}.py"


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def git(path: Path, *args: str, env: dict[str, str] | None = None) -> None:
    both = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, **(env or {})}
    subprocess.run(["git", *args], cwd=path, check=True, env=both, stdout=subprocess.DEVNULL)
