"""Every file that sessions leave below .git/gitcp and .git/entire-sessions, damaged in every way:
the next turn is recorded, its commit linked, and the commands that look after us answer."""

from __future__ import annotations

import ctypes
import json
import marshal
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitcp.checkpoints import listing
from gitcp.checkpoints.share import remote
from gitcp.git import files, hook_warnings
from gitcp.git.repo import Repo
from gitcp.record import session
from gitcp.record.snapshot.scan import load_stat_cache
from tests.support.harness import World
from tests.support.paths import ENTRY, TOP
from tests.support.sealed import environment

Damage = Callable[[Path], object]


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("mine\n")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def unreadable(path: Path) -> None:
    path.chmod(0)


def number(path: Path) -> None:
    path.write_text("5")


def others(path: Path) -> None:
    path.write_text(json.dumps({"streams": 7, "sessions": "x", "files": [5], "paths": {}}))


def deep(path: Path) -> None:
    path.write_text("[" * 100_000)


def marshalled(path: Path) -> None:
    path.write_bytes(marshal.dumps((1, {"a": "b"}, {"c": 5}, [1, {"d"}])))


def huge_list(path: Path) -> None:
    path.write_bytes(b"[\xff\xff\xff\x7f")


def noise(path: Path) -> None:
    path.write_bytes(random.Random(path.name).randbytes(5000))


def truncated(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGES: list[Damage] = [
    directory, fifo, link, unreadable, number, others, deep, marshalled, huge_list, noise,
    truncated, empty,
]  # fmt: skip


def lived(world: World) -> None:
    """Let happen what leaves every kind of private file."""
    world.git("config", "gitcp.guard", "deny")
    one = world.agent("s-one", tools=True)
    one.start()
    one.turn("write", {"one.py": "one = 1\n", "two.py": "two = 2\n", "src/lib.py": None})
    world.commit("one.py")
    world.git("commit", "-q", "--amend", "-m", "Another message")  # its id is taken out
    world.git("reset", "-q", "--soft", "HEAD~1")
    world.git("commit", "-q", "-m", "again")
    one.turn("go on", {"three.py": "three = 3\n"})
    one.turn("and on", {"three.py": "three = 4\n"})
    points = [json.loads(line) for line in world.gitcp("rewind", "--list", "--json").splitlines()]
    before = [point["id"] for point in points if point["kind"] != "commit"][1]
    world.gitcp("rewind", "--to", before, "--force", "--tell")
    repo = Repo.find(str(world.path))
    for name in ("looked", "taken-back"):
        files.write_words(repo, repo.join_own(name), [world.head])
    files.write_words(repo, repo.join_shared("dismissed"), ["123456789abc"])
    files.write_words(repo, repo.join_shared("foreign"), ["refs/heads/entire/1234567"])
    files.write_private(repo, repo.join_own("template"), b"# a template\n")
    files.write_private(repo, repo.join_own_cache("index-stale"), b"1")
    hook_warnings.keep_warning(repo, "stop: a hook failed")
    listing.set_pushed(repo, "origin", {"refs/heads/entire/checkpoints/v1": world.head})
    searched = remote.Searched({"refs/heads/entire/checkpoints/v1": world.head}, {})
    remote.write_searched(repo, "rules", searched)
    cache = load_stat_cache(repo)
    cache._safe_before = sys.maxsize
    cache.put_oid("README.md", (world.path / "README.md").stat(), "", world.head)
    cache.save(complete=False)
    two = world.agent("s-two", tools=True)
    two.prompt("write too")
    path = {"file_path": str(two.cwd / "x")}
    two.event("PreToolUse", tool_name="Write", tool_input=path, tool_use_id="toolu_9")
    session.find_marker(repo, "s-one")
    (world.path / ".git/gitcp/open/~aside").mkdir(exist_ok=True)
    shutil.copy(world.path / ".git/gitcp/open/s-two", world.path / ".git/gitcp/open/~aside/s-two")


def list_files(world: World) -> list[str]:
    """The private files, relative to the git directory."""
    git = world.path / ".git"
    found = [p for top in ("gitcp", "entire-sessions") for p in (git / top).rglob("*")]
    listed = [str(p.relative_to(git)) for p in found if not p.is_dir() or p.is_symlink()]
    return sorted(name for name in listed if not name.startswith(("gitcp/corrupt/", "gitcp/tmp/")))


def give_up_rights() -> None:
    """Let a child of root's be refused what it has no permission for, as anybody else is."""
    for capability in (1, 2) if os.geteuid() == 0 else ():  # CAP_DAC_OVERRIDE, …_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def run(world: World, *argv: str, payload: object = None) -> subprocess.CompletedProcess[str]:
    """A program in the world, with no right of root's, in bounded time."""
    return subprocess.run(
        argv,
        cwd=world.path,
        env={**os.environ, **world.env, "CLAUDE_PID": str(os.getpid())},
        input=json.dumps(payload) if payload else "",
        capture_output=True,
        text=True,
        errors="backslashreplace",
        timeout=30,
        preexec_fn=give_up_rights,
    )


def works_on(world: World) -> list[str]:
    """Do a turn and a commit, ask the commands; what is said besides a line for a damaged file."""
    said: list[str] = []
    set_aside: set[str] = set()
    transcript = world.home / ".claude/projects/repo/s-one.jsonl"

    def hook(name: str, **payload: object) -> None:
        head = {"session_id": "s-one", "transcript_path": str(transcript), "cwd": str(world.path)}
        argv = (sys.executable, "-I", "-S", str(ENTRY), "claude-code", name)
        note(name, run(world, *argv, payload={**head, "hook_event_name": name, **payload}))

    def note(name: str, done: subprocess.CompletedProcess[str], ok: tuple[int, ...] = (0,)) -> None:
        for line in done.stderr.splitlines():
            damaged = re.search(r"'(.*)' cannot be read .*; kept as", line)
            if not damaged or damaged[1] in set_aside:
                said.append(f"{name}: {line}")
            else:
                set_aside.add(damaged[1])
        if done.returncode not in ok:
            said.append(f"{name}: {done.returncode} {done.stdout[-300:]}")

    path = str(world.path / "four.py")
    tool = {"tool_name": "Write", "tool_input": {"file_path": path}, "tool_use_id": "toolu_4"}
    hook("SessionStart", source="resume")
    hook("UserPromptSubmit", prompt="add another", prompt_id="p-new")
    hook("PreToolUse", **tool)
    world.write("four.py", "four = 4\n")
    hook("PostToolUse", **tool, tool_response={})
    hook("Stop", stop_hook_active=False)
    note("add", run(world, "git", "add", "four.py"))
    note("commit", run(world, "git", "commit", "-q", "-m", "four"))
    for command in ("status", "doctor", "fsck"):
        argv = (sys.executable, str(TOP / "bin" / f"gitcp-{command}"))
        note(command, run(world, *argv), ok=(0, 1))
    hook("SessionEnd", reason="other")
    ids = world.ids("HEAD")
    if len(ids) != 1 or "four.py" not in world.committed(ids[0])["s-one"]["files"]:
        said.append(f"the commit is not linked: {ids}")
    return said


@pytest.fixture(scope="module")
def work(ground: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that has every kind of private file."""
    at = tmp_path_factory.mktemp("lived")
    (at / "home").mkdir()
    world = World(Path(shutil.copytree(ground, at / "repo")), at / "home")
    with environment(HOME=str(at / "home")):
        lived(world)
    world.close()
    return world.path


@pytest.fixture
def damaged(work: Path, tmp_path: Path) -> Iterator[World]:
    shutil.copytree(work.parent / "home", tmp_path / "home", dirs_exist_ok=True)
    world = World(Path(shutil.copytree(work, tmp_path / "repo")), tmp_path / "home", damaged=True)
    yield world
    world.close()


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(len(DAMAGES)))
def test_all_private_files_damaged_at_once_stop_nothing(damaged: World, first: int) -> None:
    """Each file in another way."""
    for number, name in enumerate(list_files(damaged), first):
        DAMAGES[number % len(DAMAGES)](damaged.path / ".git" / name)
    assert works_on(damaged) == []
