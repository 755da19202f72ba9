"""No file that a clone brings and gitcp reads starts a program, sends anything, or has a file
outside written.  The files are those of doc/trust.md."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.git import files
from gitcp.record import registered
from tests.support import warm
from tests.support.clients.calls import edit, run
from tests.support.copies import plant
from tests.support.harness import Agent, World
from tests.support.paths import TOP

# How a session meets another repository: the call's words or its directory.
MEETINGS: dict[str, Callable[[Agent, Path], None]] = {
    "named": lambda agent, at: run(agent, f"cat {at}/README.md"),
    "entered": lambda agent, at: run(agent, f"cd {at} && echo more >>README.md"),
    "worked in": lambda agent, at: run(Agent(agent.world, agent.sid, at, agent.pid), "ls"),
    "written": lambda agent, at: edit(agent, f"{at}/README.md", "by a tool\n"),
}
Plant = Callable[[Path, Path], None]  # (the repository, the directory that nobody may write to)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _make_program(outside: Path) -> Path:
    program = outside.parent / "program"
    _write(program, f"#!/bin/sh\ntouch {outside}/ran\nexit 1\n")
    program.chmod(0o755)
    return program


def _plant_toml(top: Path, outside: Path) -> None:
    program = _make_program(outside)
    values = f'remote = "origin"\nprices = "{program}"\npush = true\n'
    pipeline = f'[gitcp.turn-end]\npipeline = "!{program}"\n'
    _write(
        top / ".gitcp.toml", f"{values}[check]\nrecorded = 1\n{pipeline}[core]\nx = '{program}'\n"
    )


def _plant_entire(top: Path, outside: Path) -> None:
    options = {"push_sessions": True, "checkpoint_push_remote": "origin"}
    settings = {"strategy": f"!{_make_program(outside)}", "strategy_options": options}
    for name in ("settings.json", "settings.local.json"):
        _write(top / ".entire" / name, json.dumps(settings))
    (top / ".entire" / "logs").symlink_to(outside)


def _plant_clients(top: Path, outside: Path) -> None:
    """Settings of clients that lead outside, by their directory or by themselves."""
    hook = {"type": "command", "command": str(_make_program(outside))}
    text = json.dumps({"hooks": {"Stop": [{"matcher": "", "hooks": [hook]}]}})
    _write(outside / "settings.json", text)
    for name in (".claude", ".gemini", ".codex", ".cursor", ".factory", ".github", ".opencode"):
        (top / name).symlink_to(outside)
    (top / ".qwen").mkdir()
    (top / ".qwen" / "settings.json").symlink_to(outside / "settings.json")


def _plant_attributes(top: Path, outside: Path) -> None:
    _write(top / ".gitattributes", "* filter=evil diff=evil merge=evil\n")
    _write(top / "config", f'[filter "evil"]\n\tclean = {_make_program(outside)}\n')


def _plant_mailmap(top: Path, outside: Path) -> None:
    _write(outside / "mailmap", "Other <other@example.com> <author@example.com>\n")
    (top / ".mailmap").symlink_to(outside / "mailmap")


def _plant_modules(top: Path, outside: Path) -> None:
    text = f'[submodule "s"]\n\tpath = s\n\turl = {outside}\n\tupdate = !{_make_program(outside)}\n'
    _write(top / ".gitmodules", text)


def _plant_ignore(top: Path, outside: Path) -> None:
    (top / ".gitignore").symlink_to(_make_program(outside))


def _plant_repository(top: Path, outside: Path) -> None:
    """A git directory in the place of a directory, whose configuration names a program."""
    for name in ("objects/keep", "refs/keep"):
        _write(top / "sub" / name, "")
    _write(top / "sub" / "HEAD", "ref: refs/heads/main\n")
    monitor = f"fsmonitor = {_make_program(outside)}"
    text = f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\t{monitor}\n"
    _write(top / "sub" / "config", text)


def _plant_jj(top: Path, outside: Path) -> None:
    for folder in (top, top / "sub"):
        _write(folder / ".jj" / "gitcp.git" / "jj", f"{_make_program(outside)}\n")
        _write(folder / ".jj" / "repo" / "config.toml", f'[ui]\neditor = "{outside}"\n')
    (top / "sub" / "jj").symlink_to(_make_program(outside))


PLANTS: dict[str, Plant] = {
    "`.gitcp.toml`": _plant_toml,
    "`.entire/settings.json`, `.entire/settings.local.json`": _plant_entire,
    "`.claude/`, `.gemini/` and other directories of clients": _plant_clients,
    "`.gitattributes`": _plant_attributes,
    "`.mailmap`": _plant_mailmap,
    "`.gitmodules`": _plant_modules,
    "`.gitignore`": _plant_ignore,
    "a git directory that git tracks": _plant_repository,
    "`.jj`": _plant_jj,
}
READS = (
    *("status", "log", "sessions", "recap", "doctor", "fsck", "stats", "check HEAD~1..HEAD"),
    *(
        "blame README.md",
        "blame --reverse HEAD~1.. README.md",
        "why README.md",
        "search work",
        "clean --dry-run",
        "list-streams",
    ),
    *("doctor --fix", "rewind --list", "export-facts -o ../facts", "page -o -", "config"),
)


def list_files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_list_of_files_is_the_one_that_is_tried() -> None:
    text = (TOP / "doc" / "trust.md").read_text()
    assert re.findall(r"^\| (.*?) \|", text, re.M)[2:] == list(PLANTS)


def test_a_link_of_the_main_worktree_is_not_written_through_from_another(
    template: Path, tmp_path: Path
) -> None:
    at, outside = plant(template, tmp_path / "main"), tmp_path / "outside"
    outside.mkdir()
    (at / ".claude").symlink_to(outside)
    world = World(at, tmp_path / "home")
    world.git("add", ".claude")
    world.git("commit", "-q", "-m", "planted")
    world.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    for more in ((), ("--skills",)):
        warm.run("enable", "--agent", "claude-code", *more, cwd=tmp_path / "linked")
    assert not list_files(outside)


@pytest.mark.thorough
@pytest.mark.parametrize("name", PLANTS)
def test_a_file_of_a_clone_runs_sends_and_writes_nothing(
    name: str, template: Path, tmp_path: Path
) -> None:
    origin, outside = plant(template, tmp_path / "origin"), tmp_path / "outside"
    outside.mkdir()
    PLANTS[name](origin, outside)
    person = World(origin, tmp_path / "home")
    person.git("add", "-f", ".")
    person.git("commit", "-q", "-m", "planted")
    person.git("clone", "-q", "--bare", str(origin), str(tmp_path / "hub.git"))
    at = tmp_path / "clone"
    person.git("clone", "-q", str(tmp_path / "hub.git"), str(at), cwd=tmp_path)
    before = list_files(outside)
    folders = [at, at / "sub"] if (at / "sub").exists() else [at]
    world = World(at, tmp_path / "home")

    def read_all() -> None:
        for folder in folders:
            for command in READS:
                warm.run(*command.split(), cwd=folder)

    read_all()
    for folder in folders:
        for argv in (("enable",), ("enable", "--agent", "gemini-cli", "--shared", "--skills")):
            warm.run(*argv, cwd=folder)
        agent = world.agent(f"in-{folder.name}", folder, tools=True)
        agent.start()
        agent.turn("work", {"new.txt": f"by {folder.name}\n"})
        world.git("add", "new.txt", cwd=at, ok=False, warns=".*")
        world.git("commit", "-q", "-m", f"work in {folder.name}", ok=False, warns=".*")
        agent.end()
    world.git("push", "-q", "origin", "HEAD:refs/heads/work", warns=".*", ok=False)
    read_all()
    assert list_files(outside) == before
    sent = person.git("ls-remote", str(tmp_path / "hub.git"))
    assert "work" in sent
    assert not re.search("entire|gitcp", sent)


def _unpack(at: Path, outside: Path, registered: World, form: str) -> None:
    """A repository with gitcp as an archive may bring it: its configuration names a program, in the
    git directory itself, in one beside it, or in that of a worktree of a registered repository."""
    program = _make_program(outside)
    registered.git("init", "-q", str(at), cwd=at.parent)
    _write(at / "README.md", "theirs\n")
    _write(at / ".gitattributes", "* filter=evil\n")
    _write(at / ".git" / "gitcp" / "look", "")
    git = World(at, registered.home).git
    git("add", ".")
    git("-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "-q", "-m", "theirs")
    values = f'[core]\n\tfsmonitor = "{program}"\n[filter "evil"]\n\tclean = "{program}"\n'
    if form == "commondir":
        registered.git("config", "core.repositoryFormatVersion", "1")
        registered.git("config", "extensions.worktreeConfig", "true")
        _write(at / ".git" / "commondir", f"{registered.path / '.git'}\n")
        _write(at / ".git" / "config.worktree", values)
        return
    with (at / ".git" / "config").open("a") as f:
        f.write(values)
    if form == "file":
        (at / ".git").rename(at.parent / f"{at.name}.git")
        (at / ".git").write_text(f"gitdir: ../{at.name}.git\n")


@pytest.mark.parametrize("form", ["directory", "file", "commondir"])
@pytest.mark.parametrize("meeting", [*MEETINGS, "prompted in"])
def test_git_is_not_run_in_a_repository_that_nobody_registered(
    meeting: str, form: str, world: World, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    friend = World(plant(world.path, tmp_path / "friend"), world.home)
    warm.command("enable", [], friend.path, os.environ).check_returncode()
    for at in (world.path / "vendor", world.path.parent / "unpacked"):
        _unpack(at, outside, friend, form)
        agent = world.agent(f"meets-{at.name}")
        agent.start()
        agent.prompt("look at it")
        if meeting in MEETINGS:
            MEETINGS[meeting](agent, at)
        else:
            world.env["CLAUDE_PROJECT_DIR"] = str(world.path)
            agent.cwd = at
            agent.prompt("go on here")
        agent.stop()
        agent.end()
        assert world.state(agent.sid)["worktree_path"] == str(world.path)
    assert not list_files(outside)


def test_a_repository_is_registered_by_a_session_that_starts_there_and_no_more_when_uninstalled(
    world: World,
) -> None:
    assert not registered.is_registered(str(world.path))
    agent = world.agent("starts")
    agent.start()
    world.git("worktree", "add", "-q", "--detach", "../linked")
    linked = world.path.parent / "linked"
    assert registered.is_registered(str(world.path))
    assert registered.is_registered(str(linked))
    linked.rename(linked.with_name("moved"))
    assert not registered.is_registered(str(linked.with_name("moved")))
    world.gitcp("disable", "--uninstall")
    assert not registered.is_registered(str(world.path))


@pytest.mark.parametrize("theirs", ["nothing", "another token", "a pipe", "a loop of links"])
def test_a_repository_that_takes_the_place_of_a_registered_one_is_not_it(
    theirs: str, world: World, tmp_path: Path
) -> None:
    world.agent("starts").start()
    world.git("worktree", "add", "-q", "--detach", "../linked")
    own, at = world.path / ".git", str(world.path)
    assert registered.is_registered(at)
    own.rename(tmp_path / "own.git")
    world.git("init", "-q")
    (own / "gitcp").mkdir()
    shutil.copytree(tmp_path / "own.git" / "worktrees", own / "worktrees")
    token = own / "gitcp" / "registered"
    if theirs == "another token":
        token.write_text("00" * 16)
    elif theirs == "a pipe":
        os.mkfifo(token)
    elif theirs == "a loop of links":
        token.symlink_to(token.name)
    assert not registered.is_registered(at)
    assert not registered.is_registered(str(world.path.parent / "linked"))
    shutil.rmtree(own)
    (tmp_path / "own.git").rename(own)
    assert registered.is_registered(at)


def test_an_entry_without_its_token_counts_for_nothing_until_the_next_session(world: World) -> None:
    world.agent("starts").start()
    [beside] = Path(files.locate_state("repositories")).glob("*.token")
    beside.unlink()
    (world.path / ".git" / "gitcp" / "registered").unlink()
    assert not registered.is_registered(str(world.path))
    world.agent("goes-on").start()
    assert beside.exists() and registered.is_registered(str(world.path))
    (world.path / ".git" / "gitcp" / "registered").unlink()
    assert not registered.is_registered(str(world.path))
