"""git push in all its forms: what is git's to push is git's, what only pretends sends nothing."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from tests.support import gits
from tests.support.harness import V1, World
from tests.support.installed import write
from tests.support.warm import run

ALL = [
    ["--all"],
    ["--mirror"],
    ["--all", "--atomic"],
    ["--atomic", "main", "entire/checkpoints/v1"],
]


@pytest.fixture
def bare(world: World, tmp_path: Path) -> Path:
    """A remote; a checkpoint that is not there yet, and work on a stream."""
    path = world.share()
    agent = world.agent("s-one")
    agent.turn("write", {"one.py": "one\n"})
    world.commit("one.py")
    agent.turn("write more", {"two.py": "two\n", ".env": "SECRET=1\n"})
    return path


def there(world: World, bare: Path) -> list[str]:
    return world.git("for-each-ref", "--format=%(refname)", cwd=bare).splitlines()


@pytest.mark.parametrize("args", ALL, ids=" ".join)
def test_what_git_pushes_itself_is_left_to_it(world: World, bare: Path, args: list[str]) -> None:
    world.git("config", "gitcp.push-check", "warn")
    for _ in range(2):
        world.git("push", "-q", "origin", *args, warns="whole worktrees|^$")
        assert world.git("rev-parse", V1) == world.git("rev-parse", V1, cwd=bare)
        world.agent("s-two").turn("again", {"again.py": f"{time.time_ns()}\n"})
        world.commit("again.py")


def test_what_git_leaves_out_is_sent_before(world: World, bare: Path) -> None:
    world.git("push", "-q", "origin", "main")
    assert world.git("rev-parse", V1) == world.git("rev-parse", V1, cwd=bare)
    assert there(world, bare) == [V1, "refs/heads/main", "refs/notes/gitcp"]


@pytest.mark.parametrize("option", ["--dry-run", "-qn"])
def test_a_push_that_only_pretends_sends_nothing(world: World, bare: Path, option: str) -> None:
    world.git("push", option, "origin", "main")
    assert there(world, bare) == ["refs/heads/main"]


@pytest.mark.parametrize("args", [["--mirror"], ["entire/*:refs/x/*"]], ids=" ".join)
def test_shadow_branches_do_not_leave_unnoticed(world: World, bare: Path, args: list[str]) -> None:
    spec = [f"{world.branch()}:refs/heads/x"] if "*" in args[0] else args
    before = world.git("for-each-ref", cwd=bare)
    world.git("push", "origin", *spec, ok=False, warns="refuse|^$")
    assert world.git("for-each-ref", cwd=bare) == before
    world.git("push", "-q", "origin", "main")
    assert "refs/heads/main" in there(world, bare)
    world.git("config", "gitcp.push-check", "warn")
    world.git("push", "origin", *spec, warns="this push sends whole worktrees")
    assert world.git("for-each-ref", cwd=bare) != before


def leave_no_marker(world: World) -> None:
    """A turn that wrote nothing keeps what the person had staged; then they commit, and again."""
    world.write("staged.txt", "never to be sent\n")
    world.git("add", "staged.txt")
    agent = world.agent("s-none")
    agent.prompt("only look")
    agent.stop()
    world.commit("staged.txt")
    world.write("staged.txt", "again\n")
    world.commit("staged.txt")
    markers = [world.path / ".git/gitcp" / name for name in ("linked", "unpushed")]
    assert world.open() == [] and not any(marker.exists() for marker in markers)
    assert world.refs("refs/gitcp")


@pytest.mark.parametrize("args", [["--mirror"], ["refs/gitcp/*:refs/gitcp/*"]], ids=" ".join)
@pytest.mark.parametrize("state", ["on", "off"])
def test_what_is_private_stays_here_without_any_marker_and_while_off(
    world: World, args: list[str], state: str
) -> None:
    leave_no_marker(world)
    if state == "off":
        world.gitcp("disable")
    check_private_stays(world, args)


def check_private_stays(world: World, args: list[str]) -> None:
    """A push of refs of gitcp's is refused; with gitcp.push-check=warn it goes, and is named."""
    bare = world.remote("origin")
    before = world.git("for-each-ref", cwd=bare)
    push = ["git", "push", "origin", *args]
    done = subprocess.run(push, cwd=world.path, capture_output=True, text=True)
    assert done.returncode == 1 and "fatal: this push sends whole worktrees" in done.stderr
    assert world.git("for-each-ref", cwd=bare) == before
    world.git("push", "-q", "origin", "main")
    assert world.git("rev-parse", "main") == world.git("rev-parse", "main", cwd=bare)
    world.git("config", "gitcp.push-check", "warn")
    world.git("push", "origin", *args, warns="this push sends whole worktrees")
    assert "refs/gitcp/" in world.git("for-each-ref", cwd=bare)


@pytest.mark.parametrize("state", ["on", "off", "file below"])
def test_what_is_private_stays_here_where_hooks_are_configured(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setenv("PATH", gits.find_newer())
    if state == "file below":
        write(repo / ".git/hooks/pre-push", "#!/bin/sh\ncat >/dev/null\n")
    world = World(repo, tmp_path / "home")
    world.gitcp("enable")
    assert (repo / ".git/hooks/pre-push.before-gitcp").exists() == (state == "file below")
    leave_no_marker(world)
    if state == "off":
        world.gitcp("disable")
    check_private_stays(world, ["--mirror"])
    world.close()


def test_a_push_of_many_refs_is_read_to_its_end(world: World, tmp_path: Path) -> None:
    told = tmp_path / "told"
    write(world.path / ".git/hooks/pre-push.before-gitcp", f"#!/bin/sh\ncat >'{told}'\n")
    for number in range(30):
        world.git("branch", f"b{number}")
    world.remote("origin")
    world.git("push", "-q", "origin", "refs/heads/b*")
    assert told.read_text().count("refs/heads/b") == 60
    assert told.read_text().endswith("\n")
    leave_no_marker(world)
    done = subprocess.run(
        ["git", "push", "origin", "refs/heads/*", "refs/gitcp/*"],
        cwd=world.path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "fatal: this push sends whole worktrees" in done.stderr


def test_without_streams_no_word_is_said(world: World, bare: Path) -> None:
    world.commit()
    world.git("push", "origin", "--all")
    assert V1 in there(world, bare)


@pytest.mark.linux
def test_a_remote_that_hangs_is_left_in_time(world: World, bare: Path) -> None:
    ssh = world.home / "ssh"
    ssh.write_text(f"#!/bin/sh\necho $$ >>{world.home}/pids\nexec sleep 60\n")
    ssh.chmod(0o755)
    world.git("config", "core.sshCommand", str(ssh))
    world.git("config", "gitcp.push-timeout", "1")
    world.git("remote", "add", "slow", "nowhere.example:repo.git")
    world.git("config", "gitcp.place", "nowhere.example:repo.git")
    done = subprocess.run(
        [".git/hooks/pre-push", "slow", "nowhere.example:repo.git"],
        cwd=world.path,
        input=f"refs/heads/main {world.head} refs/heads/main {'0' * 40}\n",
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "'slow' did not answer in 1 seconds" in done.stderr
    for pid in (world.home / "pids").read_text().split():
        stat = Path(f"/proc/{pid}/stat")
        assert not stat.exists() or " Z " in stat.read_text()  # nobody may be there to reap it


def test_a_remote_that_cannot_unpack_is_told_with_what_to_look_at(world: World, bare: Path) -> None:
    world.git("config", "receive.maxInputSize", "1", cwd=bare)
    done = run("push", cwd=world.path)
    assert done.returncode == 128
    assert "(unpacker error); it could not read what was sent: objects are missing" in done.stderr
    assert "'gitcp fsck'" in done.stderr
