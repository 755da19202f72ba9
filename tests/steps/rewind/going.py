"""Going back in tests: the worktree as plain data, and the commands run as a person runs them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

from tests.support import warm
from tests.support.harness import World

Files = dict[str, tuple[str, bytes]]  # path -> kind and mode, content


def files(path: Path) -> Files:
    """Every file of a worktree, links not followed: ignored ones too, `.git` not."""
    found: Files = {}
    for folder, folders, names in os.walk(path):
        folders[:] = [n for n in folders if n != ".git" or Path(folder) != path]
        links = [n for n in folders if os.path.islink(os.path.join(folder, n))]
        for name in [*names, *links]:
            full = os.path.join(folder, name)
            st = os.lstat(full)
            if stat.S_ISLNK(st.st_mode):
                told = ("link", os.fsencode(os.readlink(full)))
            elif stat.S_ISREG(st.st_mode):
                told = (f"{st.st_mode & 0o111:o}", Path(full).read_bytes())
            else:
                told = ("special", b"")
            found[os.path.relpath(full, path)] = told
    return found


def times(path: Path) -> dict[str, int]:
    """When each file of a worktree was last modified."""
    return {p: os.lstat(path / p).st_mtime_ns for p in files(path)}


def run(
    world: World, name: str, *args: str, cwd: Path | None = None, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """One command of gitcp, whatever comes of it."""
    env = {**os.environ, **world.env}
    ended = warm.command(name, args, cwd or world.path, env, stdin.encode())
    out, err = (text.decode(errors="surrogateescape") for text in (ended.stdout, ended.stderr))
    return subprocess.CompletedProcess(ended.args, ended.returncode, out, err)


def done(world: World, name: str, *args: str, cwd: Path | None = None) -> str:
    """What a command printed that succeeded without a warning."""
    ended = run(world, name, *args, cwd=cwd)
    assert (ended.returncode, ended.stderr) == (0, ""), ended
    return ended.stdout


def points(world: World, *args: str) -> list[dict[str, Any]]:
    """The points there are, newest first."""
    return [
        json.loads(line) for line in done(world, "rewind", "--list", "--json", *args).splitlines()
    ]


def temporary(world: World) -> list[str]:
    """The ids of the temporary checkpoints, newest first."""
    return [p["id"] for p in points(world) if p["kind"] == "temporary"]


def plan(world: World, *args: str) -> dict[str, tuple[str, str]]:
    """path -> (verb, reason) of a dry run."""
    told = json.loads(done(world, "rewind", "--dry-run", "--json", *args))
    return {a["path"]: (a["verb"], a["reason"]) for a in told["actions"]}


def around(world: World) -> dict[str, object]:
    """What going back must never touch: HEAD, branches, index, stash, reflogs; read as files."""
    git_dir = world.path / ".git"
    kept = [git_dir / "HEAD", *git_dir.glob("refs/**/*"), *git_dir.glob("logs/**/*")]
    seen: dict[str, object] = {
        str(path.relative_to(git_dir)): path.read_bytes()
        for path in kept
        if path.is_file() and not {"entire", "gitcp"} & set(path.parts[len(git_dir.parts) :])
    }
    index = git_dir / "index"
    seen["index"] = (index.read_bytes(), index.stat().st_mtime_ns) if index.exists() else None
    return seen
