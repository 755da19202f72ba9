"""Going back in tests: the worktree as plain data, and the commands run as a person runs them."""

from __future__ import annotations

import json
import os
import runpy
import stat
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TextIO, cast

from gitcp.cmd import fetch_checkpoints, redo, resume, rewind, undo  # for run(): imported once
from gitcp.core.render import rewind_lines
from gitcp.store.rewind import going_back, moment_talk
from gitcp.store.rewind import points as listed_points
from tests.support.harness import World
from tests.support.paths import TOP

COMMANDS = (fetch_checkpoints, redo, resume, rewind, undo)
THEIRS = (going_back, moment_talk, listed_points, rewind_lines)
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
    """One command of gitcp, whatever comes of it.

    Its program runs in a process of its own that is forked from ours, with what it imports.
    """
    with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
        given.write(stdin.encode())
        given.seek(0)
        pid = os.fork()
        if not pid:
            _become(world, cwd or world.path, name, args, [given, out, err])
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="surrogateescape"))
    return subprocess.CompletedProcess([f"gitcp-{name}", *args], status, *texts)


def _become(world: World, at: Path, name: str, args: Sequence[str], files: list[IO[bytes]]) -> None:
    """Be the program of a command; does not return."""
    status: object = 70
    try:
        os.setsid()
        os.chdir(at)
        for number, file in enumerate(files):
            os.dup2(file.fileno(), number)
        sys.stdin, sys.stdout, sys.stderr = map(_stream, range(3))
        os.environ.update(world.env)
        sys.argv = [str(TOP / "bin" / f"gitcp-{name}"), *args]
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as e:
        status = e.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def _stream(number: int) -> TextIO:
    mode = "w" if number else "r"
    return cast("TextIO", os.fdopen(number, mode, encoding="utf-8", errors="surrogateescape"))


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
