"""One damaged checkpoint among others stops nobody: readers pass over what is damaged, say so once,
and go on; so do hooks, merges, fsck and doctor.

`LONG=1` tries every kind of damage, else some of each sort.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitcp.checkpoints.format import schema
from tests.checkpoints.store import damage
from tests.record.session.subagents import Task
from tests.support import warm
from tests.support.copies import plant
from tests.support.harness import World, enabled
from tests.support.sealed import environment

LONG = bool(os.environ.get("LONG"))
STEP = 1 if LONG else 21
READERS = [
    ["list-checkpoints"],
    ["list-sessions"],
    ["log"],
    ["log", "--json"],
    ["stats"],
    ["stats", "--json"],
    ["sessions", "-a"],
    ["recap"],
    ["search", "hello"],
    ["search", "--json", "hello"],
    ["page", "-o", "page.html", "HEAD~100..HEAD"],
    ["export-facts", "-o", "facts"],
    ["export-traces", "HEAD"],
    ["check", "HEAD~100..HEAD"],
    ["verify"],
    ["fsck"],
    ["fsck", "--secrets"],
    ["doctor"],
    ["status"],
    ["du"],
    ["rewind", "--list"],
    ["undo", "--list"],
    ["clean"],
    ["explain"],
]


@dataclass
class Damaged:
    """checkpoint: the one that is whole; damages: the others, and what is wrong with each."""

    path: Path
    checkpoint: str
    damages: dict[str, str]


@pytest.fixture(scope="module")
def _ground(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A repository whose commit has a checkpoint with a subagent's work."""
    at = tmp_path_factory.mktemp("damaged").resolve()
    with environment(HOME=str(at)):
        world = World(enabled(template, at / "repo"), at / "home")
        agent = world.agent(damage.SESSION, tools=True)
        agent.prompt("Please write hello")
        task = Task(agent, "t1").start()
        task.transcript.write_text('{"type":"user","message":{"role":"user","content":"go"}}\n')
        task.write("hello.txt", "hello\nthere\nworld\n")
        task.todos("one", left="two")
        task.end()
        agent.write("hello.txt", damage.TEXT.decode())
        agent.stop()
        (checkpoint,) = world.commit("hello.txt")
        yield world.path, checkpoint
        world.close()


@pytest.fixture(scope="module")
def _planted(_ground: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Damaged:
    source, checkpoint = _ground
    path = Path(shutil.copytree(source, tmp_path_factory.mktemp("planted") / "repo", symlinks=True))
    return Damaged(path, checkpoint, damage.plant(path, checkpoint, STEP))


@pytest.fixture
def damaged(_planted: Damaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Damaged:
    """A copy of it, to stand in."""
    path = plant(_planted.path, tmp_path / "repo")
    monkeypatch.chdir(path)
    return Damaged(path, _planted.checkpoint, _planted.damages)


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    """A command that ends as a command should, however its data looks."""
    done = warm.run(*argv)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    assert done.returncode in (0, 1), done
    return done


@pytest.mark.parametrize("reader", READERS, ids=" ".join)
def test_damaged_checkpoints_end_no_command(damaged: Damaged, reader: list[str]) -> None:
    assert len(damaged.damages) >= 117
    done = run(*reader)
    lines = done.stderr.splitlines()
    assert sum("damaged" in line for line in lines) <= 1, lines
    assert len(lines) <= 6, lines
    if reader[0] != "export-facts":  # it goes on where it ended
        assert run(*reader).returncode == done.returncode


@pytest.mark.parametrize("command", ["fsck", "doctor"])
def test_many_findings_of_a_cause_are_one_with_a_number_and_v_shows_all(
    damaged: Damaged, command: str
) -> None:
    short, full = (run(command, *option).stdout.splitlines() for option in ((), ("-v",)))
    assert len(short) < 40 < len(full)
    counted = r"  and \d+ more" if command == "fsck" else r"[✗!] .* \d\d+ .*"
    assert any(re.fullmatch(counted, line) for line in short)
    if command == "fsck":
        assert "'gitcp fsck -v' shows each of them" in short
    records = [line for line in run(command, "--json").stdout.splitlines() if line]
    causes = [line for line in full if not line.startswith("  ")]
    assert len(records) >= len(full) - 2 * len(causes)  # each has two lines more


def test_what_is_whole_is_read_all_the_same(damaged: Damaged) -> None:
    listed = [json.loads(line) for line in run("list-checkpoints").stdout.splitlines()]
    assert {damaged.checkpoint, *damaged.damages} <= {c["checkpoint_id"] for c in listed}
    why = json.loads(run("why", "--json", "hello.txt:3").stdout.splitlines()[0])
    assert (why["session_id"], why["prompt"]) == (damage.SESSION, "Please write hello")
    assert damaged.checkpoint in run("search", "--json", "hello").stdout


@pytest.mark.thorough
def test_each_damaged_checkpoint_can_be_asked_for(damaged: Damaged) -> None:
    for number, checkpoint in enumerate(damaged.damages):
        if number % 5 and not LONG:
            continue
        path = f"f{number}.txt"
        for argv in (
            ["show", checkpoint],
            ["explain", "--full", checkpoint],
            ["read-checkpoint", checkpoint],
            ["blame", path],
            ["why", f"{path}:1"],
        ):
            done = warm.run(*argv)
            assert "Traceback" not in done.stderr, (damaged.damages[checkpoint], done.stderr)
            assert done.returncode in (0, 1, 128), (damaged.damages[checkpoint], done)


def test_a_clone_that_has_them_whole_fetches_and_unites_them(
    _ground: tuple[Path, str], damaged: Damaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = plant(_ground[0], tmp_path / "other")
    damage.plant(other, damaged.checkpoint, STEP, intact=True)
    monkeypatch.chdir(other)
    run("fetch", str(damaged.path))
    run("fetch", str(damaged.path))
    run("log")


@pytest.mark.thorough
@pytest.mark.parametrize("way", ["amend", "stop"])
def test_hooks_go_on_with_a_damaged_checkpoint(
    _ground: tuple[Path, str], tmp_path: Path, way: str
) -> None:
    path, checkpoint = _ground
    for number, (what, damaged) in enumerate(damage.damage(damage.read(path, checkpoint))):
        if number % (STEP * 5):
            continue
        repo = plant(path, tmp_path / f"repo-{number}")
        world = World(repo, tmp_path / "home")
        damage.store(repo, checkpoint, damaged)
        agent = world.agent(damage.SESSION)
        if way == "amend":
            world.write("hello.txt", "hello\n")
            said = subprocess.run(
                ["git", "commit", "-q", "-a", "--amend", "-m", "again"],
                cwd=repo, capture_output=True, text=True,
            )  # fmt: skip
            assert said.returncode == 0, (what, said)
            assert "Error" not in said.stderr, (what, said)
        else:
            agent.turn("Another one", {"other.txt": "x\n"})
            assert world.commit("other.txt"), what
        world.close()
        shutil.rmtree(repo)


@pytest.mark.parametrize(
    ("stored", "taken"),
    [
        (
            {"a": [{"oid": "b", "ranges": [[-5, 2, "t", None]]}]},
            {"a": [{"oid": "b", "ranges": []}]},
        ),
        ({"a": [{"oid": 1}]}, {"a": [{}]}),
        ({"a": [{"ranges": [[1, 10**9, "t", None]]}]}, {"a": [{"ranges": []}]}),
        ({"a\0": []}, {}),
        ({"a": None}, {}),
    ],
)
def test_of_lines_only_ranges_of_a_file_are_taken(
    stored: dict[str, object], taken: dict[str, object]
) -> None:
    assert schema.select_conforming(stored, schema.SHAPES["lines"])[0] == taken


def test_a_log_of_undo_that_names_another_commit_is_passed_over(damaged: Damaged) -> None:
    subprocess.run(["git", "checkout", "-q", "HEAD"], check=True)
    worktree = "e3b0c4"
    subprocess.run(["git", "update-ref", f"refs/gitcp/undo/{worktree}", "HEAD"], check=True)
    done = run("undo", "--list")
    assert "are not steps of gitcp" in done.stderr
    listed = run("rewind", "--list")
    assert "are not steps of gitcp" in listed.stderr
