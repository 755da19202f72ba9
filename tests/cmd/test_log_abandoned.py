"""log --abandoned: what was tried and given up before a commit took it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp import library
from gitcp.git.repo import Repo
from gitcp.steps import abandoned
from gitcp.steps.abandoned import keep_summaries
from tests.steps.rewind.going import done, run
from tests.support.harness import Agent, World
from tests.support.paths import BIN

A = "11111111-0000-4000-8000-000000000001"
B = "22222222-0000-4000-8000-000000000002"


@pytest.fixture
def a(world: World) -> Agent:
    world.write("f.txt", "one\ntwo\n")
    world.commit()
    return world.agent(A, tools=True)


def listed(world: World, *args: str) -> list[dict[str, Any]]:
    out = done(world, "log", "--abandoned", "--json", *args)
    return [json.loads(line) for line in out.splitlines()]


def outcomes(world: World, *args: str) -> list[tuple[str, str]]:
    return [(record["prompt"], record["how"]) for record in listed(world, *args)]


def test_open_and_committed_work_is_not_given_up(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    assert listed(world) == []
    world.commit("f.txt")
    world.write("f.txt", "one\ntwo\n")
    world.commit("f.txt")
    assert listed(world) == []


def test_a_discarded_turn_is_listed_with_the_next_prompt(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("checkout", "-q", "--", "f.txt")
    a.turn("three was wrong, add four", {"f.txt": "one\ntwo\nfour\n"})
    world.commit("f.txt")
    (record,) = listed(world)
    assert (record["prompt"], record["how"]) == ("add three", "discarded")
    assert record["next_prompt"] == "three was wrong, add four"
    assert record["files"]["f.txt"] == {"added": 1, "removed": 0, "how": "discarded"}


def test_a_rewound_turn_can_be_had_back_by_the_command_shown(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    done(world, "rewind", "--turn", next(iter(world.state(A)["turns"])), "--files-only")
    assert world.read("f.txt") == "one\ntwo\n"
    (record,) = listed(world)
    assert record["how"] == "rewound"
    _, name, *argv = record["restore"].split()
    done(world, name, *argv)
    assert world.read("f.txt") == "one\ntwo\nthree\n"
    assert listed(world) == []


def test_an_overwritten_turn_is_listed_and_its_patch_shown(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    a.turn("four instead", {"f.txt": "one\ntwo\nfour\n"})
    world.commit("f.txt")
    assert outcomes(world) == [("add three", "overwritten")]
    assert "+three" in done(world, "log", "--abandoned", "-p").splitlines()


def test_a_stashed_turn_is_listed_once_the_entry_is_dropped(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("stash", "push", "-q")
    assert listed(world) == []
    world.git("stash", "drop", "-q")
    assert [prompt for prompt, _ in outcomes(world)] == ["add three"]


def test_a_turn_that_only_the_index_of_a_stash_entry_has_is_not_given_up(
    world: World, a: Agent
) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("add", "f.txt")
    a.turn("four instead", {"f.txt": "one\ntwo\nfour\n"})
    world.git("stash", "push", "-q")
    assert listed(world) == []
    world.git("stash", "drop", "-q")
    assert len(listed(world)) == 2


def test_paths_and_words_choose_turns(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n", "d/g.txt": "x\n"})
    world.git("reset", "-q", "--hard")
    world.git("clean", "-qfd")
    assert len(listed(world, "d")) == len(listed(world, "--grep", "THREE")) == 1
    with library.Repository(str(world.path)) as repository:
        names = ["d", "d/", "./d", str(world.path / "d")]
        assert [len(repository.abandoned(name)) for name in names] == [1, 1, 1, 1]
    assert listed(world, "--grep", "nothing") == listed(world, "h.txt") == []


def test_work_on_a_file_that_was_moved_is_not_given_up(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("mv", "f.txt", "g.txt")
    world.git("commit", "-qm", "move")
    assert listed(world) == []


def test_a_summary_outlives_the_edits_until_it_is_forgotten(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("checkout", "-q", "--", "f.txt")
    a.end()
    done(world, "clean", "--older-than", "0", "--edits", "-f")
    kept = outcomes(world)
    assert kept == [("add three", "discarded")]
    run(world, "forget", A, "-y")
    assert listed(world) == []


def test_what_is_forgotten_while_clean_runs_does_not_come_back(
    world: World, a: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """clean has listed the work, and forget takes it out before clean has written a summary."""
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("checkout", "-q", "--", "f.txt")
    a.end()
    trace, running = tmp_path / "trace", list[subprocess.Popen[bytes]]()
    list_here = abandoned._list_here

    def list_slowly(*args: Any) -> Any:
        found = list_here(*args)
        env = {**os.environ, **world.env, "GITCP_TRACE": str(trace)}
        argv = [sys.executable, str(BIN / "gitcp-forget"), A, "-y"]
        running.append(subprocess.Popen(argv, cwd=world.path, env=env))
        while running[0].poll() is None and "lock: 'abandoned'" not in read(trace):
            pass
        return found

    monkeypatch.setattr(abandoned, "_list_here", list_slowly)
    keep_summaries(Repo.find(str(world.path)))
    assert running[0].wait() == 0
    assert listed(world) == []


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_what_a_rule_of_git_would_lose_is_kept(world: World, a: Agent) -> None:
    """Work that only the index, an autostash or another branch has is not given up."""
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("add", "f.txt")
    world.write("f.txt", "one\ntwo\n")
    assert listed(world) == []
    world.git("commit", "-qm", "staged")
    world.git("branch", "side")
    world.git("reset", "-q", "--hard", "HEAD~1")
    assert listed(world) == []


def test_a_commit_of_an_agents_stash_word_names_how_it_ended(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    a.prompt("put that away")
    world.git("stash", "push", "-q")
    a.stop()
    assert listed(world) == []
    world.git("stash", "drop", "-q")
    assert outcomes(world) == [("add three", "stashed")]


def test_deletions_and_modes_are_given_up_too(world: World, a: Agent) -> None:
    a.turn("drop two", {"f.txt": "one\n"})
    world.git("checkout", "-q", "--", "f.txt")
    a.turn("delete it", {"f.txt": None})
    world.git("checkout", "-q", "--", "f.txt")
    world.write("f.txt", "one\ntwo\nthree\n")
    world.commit()
    assert sorted(outcomes(world)) == [("delete it", "discarded"), ("drop two", "discarded")]


@pytest.mark.parametrize(
    "key",
    ["diff.noprefix=true", "color.ui=always", "diff.external=cat", "diff.words.textconv=wc <"],
)
def test_the_way_back_keeps_what_was_changed_since(world: World, a: Agent, key: str) -> None:
    world.git("config", *key.split("="))
    world.write(".gitattributes", "* diff=words\n" if "words" in key else "")
    text = "".join(f"{n}\n" for n in range(20))
    world.write("f.txt", text)
    world.commit()
    a.turn("add three", {"f.txt": text + "three\n", "data.bin": "a\0b\n"})
    world.git("checkout", "-q", "--", "f.txt")
    (world.path / "data.bin").unlink()
    world.write("f.txt", "start\n" + text)
    world.commit()
    (record,) = listed(world)
    env = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", record["restore"]], check=True, cwd=world.path, env=env)
    assert world.read("f.txt") == "start\n" + text + "three\n"
    assert world.read("data.bin") == "a\0b\n"


def test_work_in_another_worktree_is_listed_with_its_place(
    world: World, a: Agent, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    world.git("worktree", "add", "-q", str(other))
    b = world.agent(B, cwd=other, tools=True)
    b.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    assert listed(world) == []
    world.git("checkout", "-q", "--", "f.txt", cwd=other)
    (record,) = listed(world)
    assert (record["worktree"], record["restore"].split()[:3]) == (
        str(other),
        ["gitcp", "-C", str(other)],
    )


def test_a_time_a_number_and_other_options_of_log(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    a.turn("four instead", {"f.txt": "one\ntwo\nfour\n"})
    world.git("checkout", "-q", "--", "f.txt")
    assert outcomes(world, "-n", "1") == outcomes(world)[:1] == [("four instead", "discarded")]
    assert outcomes(world, "--until", "1.week.ago") == []
    assert len(outcomes(world, "--since", "1.week.ago")) == 2
    refused = run(world, "log", "--abandoned", "--graph")
    assert refused.returncode == 129


def test_an_agent_is_told_at_a_prompt_that_names_the_file_if_that_is_wanted(
    world: World, a: Agent
) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("checkout", "-q", "--", "f.txt")
    assert "given up" not in a.prompt("again in f.txt").stdout
    a.stop()
    world.git("config", "gitcp.tell-abandoned", "true")
    said = a.prompt("again in @f.txt, please").stdout
    assert "work on 'f.txt' was given up before: 1 turn" in said and "add three" in said
    a.stop()
    assert "given up" not in a.prompt("now something else").stdout


def test_work_that_another_worktree_has_is_not_given_up(
    world: World, a: Agent, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    world.git("worktree", "add", "-q", str(other))
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("checkout", "-q", "--", "f.txt")
    assert len(listed(world)) == 1
    (other / "f.txt").write_text("zero\none\ntwo\nthree\n")
    assert listed(world) == []
    world.git("add", "f.txt", cwd=other)
    (other / "f.txt").write_text("one\ntwo\n")
    assert listed(world) == []
    world.git("reset", "-q", "--hard", cwd=other)
    assert len(listed(world)) == 1


def test_a_file_that_is_there_is_not_given_up_whatever_git_makes_of_it(
    world: World, a: Agent
) -> None:
    """Ignored when it was written, ignored since, or too large for a snapshot."""
    world.write(".gitignore", "*.log\n")
    world.git("config", "gitcp.max-file-size", "10")
    world.commit()
    a.turn("build", {"x.log": "a\n", "large.js": "long line\n" * 9, "plan.md": "plan\n"})
    world.write(".git/info/exclude", "plan.md\n")
    assert listed(world) == []
    (world.path / "x.log").unlink()
    (world.path / "plan.md").unlink()
    assert [list(record["files"]) for record in listed(world)] == [["plan.md"]]


def test_a_rule_that_came_after_the_summary_redacts_the_prompt(world: World, a: Agent) -> None:
    a.turn("add three, pin 4711", {"f.txt": "one\ntwo\nthree\n"})
    world.git("checkout", "-q", "--", "f.txt")
    keep_summaries(Repo.find(str(world.path)))
    world.git("config", "gitcp.redact", r"pin \d+")
    assert [record["prompt"] for record in listed(world)] == ["add three, REDACTED"]


def test_a_summary_ends_when_the_work_is_back(world: World, a: Agent) -> None:
    a.turn("add three", {"f.txt": "one\ntwo\nthree\n"})
    world.git("checkout", "-q", "--", "f.txt")
    keep_summaries(Repo.find(str(world.path)))
    assert len(listed(world)) == 1
    world.write("f.txt", "one\ntwo\nthree\n")
    assert listed(world) == []


HELPER = "def helper(first, second):\n    total = first + second\n    return total * 2\n"


def test_lines_that_were_moved_to_another_file_are_not_given_up(world: World, a: Agent) -> None:
    a.turn("add a helper", {"f.txt": "one\ntwo\n" + HELPER})
    a.turn("move it", {"f.txt": "one\ntwo\n", "lib.py": "class Lib:\n    " + HELPER})
    assert listed(world) == []
    world.commit()
    assert listed(world) == []


def test_lines_that_another_file_had_before_are_given_up(world: World, a: Agent) -> None:
    world.write("lib.py", HELPER)
    world.commit()
    a.turn("copy the helper", {"f.txt": "one\ntwo\n" + HELPER})
    world.git("checkout", "-q", "--", "f.txt")
    a.turn("something else", {"lib.py": HELPER + "\n\nWIDTH = 80\n"})
    assert outcomes(world) == [("copy the helper", "discarded")]
    world.write("by_hand.py", HELPER)
    assert outcomes(world) == []
