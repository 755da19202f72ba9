"""What a shell call takes that git does not have: ignored files come back, others are named."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.steps.rewind.going import done, points, run
from tests.support.clients import calls

if TYPE_CHECKING:
    from tests.support.harness import Agent, World

IGNORE = ".env\n*.log\nbuild/\nnode_modules/\n"
SECRET = "TOKEN=hunter2\n"


@pytest.fixture
def project(world: World, a: Agent) -> Agent:
    """A project with ignored files and one file outside, and an agent at work in it."""
    world.write(".gitignore", IGNORE)
    world.write("a.py", "one\n")
    world.write("src/b.py", "two\n")
    world.commit()
    world.write(".env", SECRET)
    world.write("run.log", "log\n")
    world.write("src/deep.log", "deep\n")
    world.write("build/out/x.o", "object\n")
    (world.path / ".env").chmod(0o640)
    outside = world.home / "outside.txt"
    outside.write_text("mine\n")
    for path in (outside, world.path / "build"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    a.prompt("tidy up")
    return a


def kept(world: World) -> list[Path]:
    """The files that are kept."""
    return sorted((world.path / ".git/gitcp/kept").glob("*"))


def last_call(world: World) -> str:
    """The point before the newest call."""
    return next(str(p["id"]) for p in points(world, "--all") if p["kind"] == "tool")


def test_a_rewind_brings_ignored_files_back_and_names_what_it_cannot(
    world: World, project: Agent
) -> None:
    calls.run(project, f"rm -rf .env a.py {world.home}/outside.txt")
    project.stop()
    for path in kept(world):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((world.path / ".git/gitcp/kept").stat().st_mode) == 0o700
    point = last_call(world)
    told = done(world, "rewind", "--to", point, "--files-only", "--dry-run")
    assert "note: '.env' comes back: git ignores it, and a command took it" in told
    assert not (world.path / ".env").exists()
    told = done(world, "rewind", "--to", point, "--files-only")
    assert f"note: '{world.home}/outside.txt' does not come back: outside of the repository" in told
    assert "created 1, '.env' is back" in told
    assert (world.read(".env"), world.read("a.py")) == (SECRET, "one\n")
    assert stat.S_IMODE((world.path / ".env").stat().st_mode) == 0o640
    objects = world.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert not any(SECRET.encode() in world.object(oid).data for oid in objects)
    told = done(world, "undo", "--yes")
    assert "'.env' is gone" in told
    assert not (world.path / ".env").exists()
    done(world, "redo")
    assert world.read(".env") == SECRET


def test_a_call_that_took_ignored_files_alone_is_a_point(world: World, project: Agent) -> None:
    calls.run(project, "rm .env")
    project.stop()
    (tool,) = [p for p in points(world) if p["kind"] == "tool"]
    assert tool["message"] == "before `rm .env`"
    (prompt,) = [p for p in points(world) if p["kind"] == "prompt"]
    told = done(world, "rewind", "--tool", tool["id"])
    assert "'.env' is back" in told
    calls.run(project, "rm .env")
    done(world, "rewind", "--to", prompt["id"], "--files-only", "--", ".env")
    assert world.read(".env") == SECRET


@pytest.mark.parametrize(
    "command",
    [
        "git clean -q -fdx",
        "git clean -fdxe .claude",
        "git clean -qfX",
        "rm -rf .env *.log build src/*.log",
        "cd src && rm -f deep.log ../.env ../run.log && mv ../build ~/",
        "rm -rf build .env run.log src && git checkout -q -- src",
        "sh -c 'rm -rf build .env run.log src/deep.log'",
    ],
)
def test_whatever_takes_them(world: World, project: Agent, command: str) -> None:
    world.env["HOME"] = str(world.home)
    before = gather(world)
    calls.run(project, command)
    assert gather(world) != before
    done(world, "rewind", "--to", last_call(world), "--files-only")
    gone = before.keys() - gather(world).keys()
    assert gone <= ({"build/out/x.o"} if "-qfX" in command else set()), gone


def gather(world: World) -> dict[str, str]:
    """path -> content of the ignored files that are there."""
    listed = world.git("ls-files", "--others", "--ignored", "--exclude-standard")
    return {path: world.read(path) for path in listed.splitlines()}


def test_a_call_that_takes_nothing_leaves_nothing(world: World, project: Agent) -> None:
    for command in ("cat .env", "sh -c 'true .env run.log'", "cp .env copy.txt; rm copy.txt"):
        calls.run(project, command)
    calls.run(project, "touch run.log")
    assert kept(world) == []
    assert [p for p in points(world) if p["kind"] == "tool"] == []


def test_what_was_overwritten_comes_back_unless_it_was_changed_since(
    world: World, project: Agent
) -> None:
    calls.run(project, "echo none > .env; sed -i s/log/LOG/ run.log")
    point = last_call(world)
    world.write("run.log", "by hand\n")
    told = done(world, "rewind", "--to", point, "--files-only")
    assert "note: 'run.log' was changed since, and stays as it is" in told
    assert (world.read(".env"), world.read("run.log")) == (SECRET, "by hand\n")
    done(world, "undo", "--yes")
    assert world.read(".env") == "none\n"


def test_what_is_too_much_is_named(world: World, project: Agent) -> None:
    for number in range(60):
        world.write(f"node_modules/m{number}/index.js", "x\n")
    world.write("big.log", "x" * (6 << 20))
    (world.path / "link.log").symlink_to("a.py")
    calls.run(project, "rm -rf node_modules big.log link.log .env")
    told = done(world, "rewind", "--to", last_call(world), "--files-only")
    assert "note: 'node_modules/' does not come back: more than 50 files in one call" in told
    assert "note: 'big.log' does not come back: larger than 5 MiB" in told
    assert "note: 'link.log' does not come back: a symbolic link to 'a.py'" in told
    assert world.read(".env") == SECRET


def test_age_and_forget_remove_what_is_kept(world: World, project: Agent) -> None:
    calls.run(project, "rm .env")
    project.stop()
    record = next(path for path in kept(world) if path.suffix == ".json")
    long_ago = record.stat().st_mtime - 4000
    for path in kept(world):
        os.utime(path, (long_ago, long_ago))
    world.gitcp("clean", "--force")
    assert len(kept(world)) == 2
    call = json.loads(record.read_text())
    record.write_text(json.dumps({**call, "at": call["at"] - 400 * 86400 * 10**9}))
    os.utime(record, (long_ago, long_ago))
    world.gitcp("clean", "--force")
    assert kept(world) == []
    world.write(".env", SECRET)
    project.prompt("again")
    calls.run(project, "rm .env")
    project.stop()
    project.end()
    world.gitcp("forget", project.sid, "--yes")
    assert kept(world) == []


def test_a_file_tool_takes_them_too(world: World, project: Agent) -> None:
    calls.edit(project, ".env", "TOKEN=none\n")
    point = last_call(world)
    told = done(world, "rewind", "--to", point, "--files-only")
    assert "'.env' is back" in told
    assert world.read(".env") == SECRET


def test_many_are_counted(world: World, project: Agent) -> None:
    for name in "abcdefgh":
        world.write(f"{name}.log", "log\n")
    calls.run(project, "rm *.log")
    point = last_call(world)
    told = done(world, "rewind", "--to", point, "--files-only", "--dry-run")
    assert "note: so do 4 more ignored files" in told and "afterwards" not in told
    told = done(world, "rewind", "--to", point, "--files-only")
    assert "9 ignored files are back" in told
    assert "9 ignored files are gone" in done(world, "undo", "--yes")


def test_in_a_linked_worktree(world: World, project: Agent) -> None:
    linked = world.home / "linked"
    world.git("worktree", "add", "-q", str(linked))
    (linked / ".env").write_text("TOKEN=linked\n")
    calls.run(project, f"cd {linked} && rm .env")
    assert world.read(".env") == SECRET
    (call,) = [
        p
        for p in map(json.loads, done(world, "rewind", "--list", "--json", cwd=linked).splitlines())
        if p["kind"] == "tool"
    ]
    done(world, "rewind", "--to", call["id"], "--files-only", cwd=linked)
    assert (linked / ".env").read_text() == "TOKEN=linked\n"


def test_what_links_lead_to_is_neither_kept_nor_written(world: World, project: Agent) -> None:
    elsewhere = world.home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x.log").write_text("theirs\n")
    (world.path / "link").symlink_to(elsewhere)
    calls.run(project, "rm link/x.log .env")
    (world.path / ".env").symlink_to(elsewhere / "made")
    told = done(world, "rewind", "--to", last_call(world), "--files-only")
    assert "note: '.env' was changed since, and stays as it is" in told
    assert list(elsewhere.iterdir()) == []


def test_a_file_over_the_limit_that_a_call_deleted_is_named(world: World, project: Agent) -> None:
    world.git("config", "gitcp.max-file-size", "4096")
    world.write("data.bin", "x" * 5000)
    calls.run(project, "rm -f data.bin a.py")
    told = run(world, "rewind", "--to", last_call(world), "--files-only").stdout
    assert "note: 'data.bin' does not come back: it was too large" in told
