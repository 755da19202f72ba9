"""A power cut at any moment of a hook or a commit: what was not synced is gone or torn, and no ref,
state or journal line names what is missing."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitcp.git.gitdir import packs
from gitcp.git.repo import Repo
from tests.support import tracing
from tests.support.harness import Agent, World
from tests.support.paths import TOP
from tests.support.tracing import Image

pytestmark = pytest.mark.linux
TRACER = TOP / "tests" / "support" / "tracing.py"
MAIN = "refs/heads/main.lock"
# Images that work goes on in; the others are only looked at.
LIVES = 1000 if os.environ.get("LONG") else 10 if os.environ.get("CI") else 4


@pytest.fixture(autouse=True)
def possible() -> None:
    if not tracing.is_possible():
        pytest.skip("ptrace(2) is not allowed here, or has other numbers of calls")


@pytest.fixture
def a(world: World) -> Agent:
    agent = world.agent("session-a", tools=True)
    agent.start()
    agent.turn("first", {"first.txt": "first\n"})
    world.commit()
    return agent


def edit(a: Agent) -> None:
    a.write("new.txt", "new\n")


def stop(a: Agent) -> None:
    a.stop()


def commit(a: Agent) -> None:
    a.world.git("commit", "-q", "-m", "second")


def prepare_stop(a: Agent) -> None:
    a.prompt("second")
    edit(a)


def prepare_commit(a: Agent) -> None:
    prepare_stop(a)
    stop(a)
    a.world.git("add", "-A")


# What goes before, what is traced, and who writes in its first process.
MOMENTS: dict[str, tuple[Callable[[Agent], object], Callable[[Agent], object], str]] = {
    "prompt": (lambda a: None, lambda a: a.prompt("second"), "gitcp"),
    "edit": (lambda a: a.prompt("second"), edit, "gitcp"),
    "stop": (prepare_stop, stop, "gitcp"),
    "commit": (prepare_commit, commit, "person"),
    "end": (prepare_commit, lambda a: a.end(), "gitcp"),
}


def follow(world: World, whose: str, act: Callable[[], object]) -> list[Image]:
    """The images of the disk while an agent's event or a git runs; of several the images of all."""
    result, images = world.home / "images", list[Image]()
    prefix = sys.executable, str(TRACER), f"{world.path}/.git", str(result), whose
    run_hook, git = world.run_hook, world.git

    def gather(run: Callable[..., object]) -> Callable[..., object]:
        def followed(*args: object, **more: object) -> object:
            world.via, world.env["COLD"] = prefix, "1"
            try:
                return run(*args, **more)
            finally:
                world.via = ()
                del world.env["COLD"]
                images.extend(pickle.loads(result.read_bytes()))

        return followed

    world.run_hook, world.git = gather(run_hook), gather(git)  # type: ignore[method-assign, assignment]
    try:
        act()
    finally:
        world.run_hook, world.git = run_hook, git  # type: ignore[method-assign]
    return images


def restore(image: Image, top: Path, torn: bool) -> None:
    """Make the git directory what is on the disk; torn: of what was not synced, a half is there."""
    shutil.rmtree(top)
    top.mkdir()
    for name, content in sorted(image.items()):
        if content is None:
            (top / name).mkdir(exist_ok=True)
            continue
        kept, written, at = content
        if torn and kept != written:
            start = len(kept) if written.startswith(kept) else 0
            kept = written[: start + (len(written) - start) // 2]
        (top / name).write_bytes(kept)
        os.utime(top / name, ns=(at, at))
        if "/hooks/" in f"/{name}":
            (top / name).chmod(0o755)
    for lock in map(top.joinpath, ("index.lock", "HEAD.lock", "packed-refs.lock", MAIN)):
        lock.unlink(missing_ok=True)  # git leaves them, and tells the person so


def git(world: World, *args: str, stdin: str = "") -> str:
    """A git without hooks, which complains of nothing."""
    done = subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", *args],
        cwd=world.path,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def list_named(top: Path) -> set[str]:
    """The oids in states and in whole lines of journals."""
    paths = [*(top / "entire-sessions").glob("*.json"), *(top / "gitcp").glob("journal")]
    texts = [re.sub(r"\n[^\n]*\Z", "\n", path.read_text(errors="replace")) for path in paths]
    text = re.sub(r'"writes":\{[^}]*\}', "", "".join(texts))  # what a call will write
    return set(re.findall(r"\b[0-9a-f]{40}\b", text))


def list_objects(world: World) -> set[str]:
    argv = ("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return set(git(world, *argv).split())


def check_names(world: World, complete: set[str]) -> None:
    """complete: all objects that there are without a power cut."""
    git(world, "status")
    git(world, "for-each-ref")
    git(world, "rev-list", "--objects", "--all", "--quiet")
    keeps = (world.path / ".git/objects/pack").glob("*.keep")
    ours = packs.list_packs(Repo.find(str(world.path)))
    assert {path.stem for path in keeps} == {*ours}
    lost = (list_named(world.path / ".git") & complete) - list_objects(world)
    assert not lost


def go_on(world: World, a: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The person restarts the machine, and the session goes on; hooks may warn of a torn file."""
    event = a.event
    with monkeypatch.context() as patch:
        patch.setattr(a, "event", lambda name, warns="", **more: event(name, ".*", **more))
        world.gitcp("status")
        a.start("resume")
        a.turn("third", {"third.txt": "third\n"})
    assert world.commit()
    done = subprocess.run(
        [TOP / "bin" / "gitcp-doctor", "--fix"],
        cwd=world.path,
        env={**os.environ, **world.env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done
    assert "Traceback" not in done.stderr
    rows = map(json.loads, world.gitcp("blame", "--json", "third.txt").splitlines())
    assert [row["session_id"] for row in rows if row.get("who")] == [a.sid]
    git(world, "fsck", "--no-dangling", "--no-progress")


def list_cuts(images: list[Image]) -> Iterator[tuple[Image, bool]]:
    """(image, whether it is torn), each different one once."""
    for n, image in enumerate(images):
        if image not in images[:n]:
            yield image, False
            if any(content and content[0] != content[1] for content in image.values()):
                yield image, True


@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_that_is_named_is_missing_after_a_power_cut(
    moment: str, world: World, a: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare, act, whose = MOMENTS[moment]
    prepare(a)
    top = world.path / ".git"
    images = follow(world, whose, lambda: act(a))
    complete = list_objects(world)
    files = {path: path.read_bytes() for path in (a.transcript,)}
    cuts = [*list_cuts(images)]
    assert len(cuts) > 5
    chosen = {round(n * (len(cuts) - 1) / (LIVES - 1)) for n in range(LIVES)}
    worktree = tmp_path / "worktree"
    shutil.copytree(world.path, worktree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    for n, (image, torn) in enumerate(cuts):
        restore(image, top, torn)
        check_names(world, complete)
        if n in chosen:
            go_on(world, a, monkeypatch)
            for name in set(os.listdir(world.path)) - {".git", *os.listdir(worktree)}:
                (world.path / name).unlink()
            for path, data in files.items():
                path.write_bytes(data)
