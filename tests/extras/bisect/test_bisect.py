"""gitcp bisect: the call at which a test begins to fail, found in a scratch worktree."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import around, done, files, run
from tests.support.harness import Agent, World
from tests.support.paths import BIN
from tests.support.screens import ALL_WELL

SID = "11111111-aaaa-4a87-9186-848bdd83d62e"
TEST = ("--", "sh", "-c", "! grep -q broken a.py")


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent(SID, tools=True)


def bisect(world: World, *args: str, status: int = 0) -> dict[str, Any]:
    """The record of a bisection."""
    ended = run(world, "bisect", "--json", *args)
    assert (ended.returncode, ended.stderr) == (status, ""), ended
    return dict(json.loads(ended.stdout))


def write_ten(a: Agent, bad: int = 6) -> None:
    """Two turns of five calls, of which one breaks a.py."""
    for turn in range(2):
        a.prompt(f"part {turn}")
        for number in range(turn * 5, turn * 5 + 5):
            text = "broken\n" if number >= bad else "fine\n"
            a.write("a.py", f"{number}\n{text}")
        a.stop()


def left_over() -> list[Path]:
    return list(Path(os.environ.get("TMPDIR", "/tmp")).glob("gitcp-bisect-*"))


def test_a_call_is_found_with_its_prompt_its_diff_and_the_commands(world: World, a: Agent) -> None:
    write_ten(a)
    told = done(world, "bisect", "HEAD", *TEST)
    call = "toolu_7"
    assert f"{shorten_id(SID)} {call}: a.py" in told
    assert "> part 1" in told
    assert "+broken" in told
    assert f"gitcp rewind --to {call}" in told
    assert f"gitcp show {call}" in told
    done(world, "rewind", "--force", "--files-only", "--to", call)
    assert world.read("a.py") == "5\nfine\n"


def test_the_record_has_the_runs_and_the_change(world: World, a: Agent) -> None:
    write_ten(a)
    found = bisect(world, "HEAD", *TEST)
    (change,) = found["changes"]
    assert (found["outcome"], change["tool_use_id"]) == ("found", "toolu_7")
    assert (change["author"], change["session_id"], change["prompt"]) == ("session", SID, "part 1")
    assert change["files"] == {"a.py": "modified"}
    verdicts = {one["state"]: one["verdict"] for one in found["runs"]}
    assert (verdicts[0], verdicts[10]) == ("good", "bad")
    assert len(found["runs"]) <= 2 + 4


def test_a_shell_and_a_person_between_two_calls_are_found(world: World, a: Agent) -> None:
    a.turn("write", {"a.py": "fine\n", "b.py": "b\n"})
    world.write("a.py", "broken by hand\n")
    a.turn("more", {"b.py": "b2\n", "c.py": "c\n"})
    found = bisect(world, "HEAD", *TEST)
    assert [(c["author"], c["files"]) for c in found["changes"]] == [
        ("person", {"a.py": "modified"})
    ]
    told = done(world, "bisect", "HEAD", *TEST)
    assert "an edit by hand" in told
    assert "gitcp rewind --to toolu_2:after" in told
    by_shell = bisect(world, "toolu_3", "--", "test", "!", "-e", "gone", status=1)
    assert by_shell["outcome"] == "both-good"
    a.prompt("delete it")
    a.write("b.py", None)
    a.stop()
    found = bisect(world, "HEAD", "--", "sh", "-c", "test -e b.py || test ! -e c.py")
    assert [(c["tool_use_id"], c["files"]) for c in found["changes"]] == [
        ("toolu_5", {"b.py": "deleted"})
    ]


@pytest.mark.thorough
def test_a_point_of_rewind_and_a_commit_are_both_ends(world: World, a: Agent) -> None:
    write_ten(a)
    world.commit()
    a.turn("after", {"a.py": "10\nbroken\n"})
    narrow = bisect(world, "toolu_6", "HEAD", *TEST)
    assert [c["tool_use_id"] for c in narrow["changes"]] == ["toolu_7"]
    assert narrow["states"] == 6
    ended = run(world, "bisect", "HEAD", "toolu_3", *TEST)
    assert (ended.returncode, "is not before" in ended.stderr) == (128, True)
    assert "no such" in run(world, "bisect", "nonsense", *TEST).stderr


def test_of_what_others_wrote_before_a_call_of_the_session_one_change_is_named(
    world: World, a: Agent
) -> None:
    b = world.agent("22222222-aaaa-4a87-9186-848bdd83d62e", tools=True)
    a.turn("one", {"x.py": "1\n"})
    b.turn("two", {"a.py": "broken\n"})
    a.turn("three", {"x.py": "2\n"})
    b.turn("four", {"b.py": "4\n"})
    a.turn("five", {"x.py": "5\n"})
    ended = bisect(world, "--session", SID[:8], "HEAD", *TEST)
    assert ended["outcome"] == "found"
    assert [(c["session_id"], c["prompt"]) for c in ended["changes"]] == [(b.sid, "two")]
    assert [each["state"] for each in ended["runs"] if each["verdict"] == "bad"][-1] == 2


def test_states_that_cannot_be_tested_are_skipped(world: World, a: Agent) -> None:
    write_ten(a)
    script = (
        "n=$(head -n 1 a.py 2>/dev/null); case $n in 5|6) exit 125;; esac; ! grep -q broken a.py"
    )
    ended = bisect(world, "HEAD", "--", "sh", "-c", script, status=1)
    calls = [c["tool_use_id"] for c in ended["changes"]]
    assert (ended["outcome"], calls) == ("unclear", ["toolu_6", "toolu_7", "toolu_8"])


def test_a_status_of_128_ends_the_search(world: World, a: Agent) -> None:
    write_ten(a)
    ended = run(world, "bisect", "HEAD", "--", "sh", "-c", "exit 130")
    assert (ended.returncode, "status 130" in ended.stderr) == (128, True)
    assert not left_over()


def test_a_flaky_command_passes_if_it_passes_once(world: World, a: Agent, tmp_path: Path) -> None:
    write_ten(a)
    mark = tmp_path / "failed"
    flaky = (
        f"grep -q broken a.py && exit 1; [ -e {mark} ] || {{ touch {mark}; exit 1; }}; rm {mark}"
    )
    assert bisect(world, "HEAD", "--", "sh", "-c", flaky, status=1)["outcome"] == "both-bad"
    mark.unlink(missing_ok=True)
    found = bisect(world, "--retry", "1", "HEAD", "--", "sh", "-c", flaky)
    assert [c["tool_use_id"] for c in found["changes"]] == ["toolu_7"]


def test_ends_that_agree_are_told_with_the_reasons(world: World, a: Agent) -> None:
    write_ten(a)
    world.write(".git/info/exclude", "deps/\n")
    world.write("deps/lib", "x\n")
    needs = ("--", "sh", "-c", "cat deps/lib && ! grep -q broken a.py")
    ended = run(world, "bisect", "HEAD", *needs)
    assert ended.returncode == 1
    assert "fails at both ends (status 1)" in ended.stdout
    assert "deps/lib" in ended.stdout.split("both ends")[1].split("it ran")[0]
    assert "deps/ (--share" in ended.stdout
    assert "editable installation" in ended.stdout
    shared = bisect(world, "--share", "deps", "HEAD", *needs)
    made = bisect(world, "--setup", "mkdir deps && touch deps/lib", "HEAD", *needs)
    assert shared["changes"] == made["changes"] != []
    ended = run(world, "bisect", "--setup", "echo oops; exit 3", "HEAD", *needs)
    assert (ended.returncode, "status 3" in ended.stderr) == (128, True)


def test_a_shared_path_is_copied(world: World, a: Agent) -> None:
    write_ten(a)
    world.write(".git/info/exclude", "deps/\n")
    world.write("deps/lib", "x\n")
    script = "echo more >> deps/lib && ! grep -q broken a.py"
    bisect(world, "--share", "deps", "HEAD", "--", "sh", "-c", script)
    assert world.read("deps/lib") == "x\n"
    ended = run(world, "bisect", "--share", "a.py", "HEAD", *TEST)
    assert (ended.returncode, "is recorded" in ended.stderr) == (128, True)
    assert "no such file" in run(world, "bisect", "--share", "none", "HEAD", *TEST).stderr


def test_nothing_of_the_person_changes_and_no_hook_of_theirs_runs(
    world: World, a: Agent, tmp_path: Path
) -> None:
    write_ten(a)
    log = tmp_path / "hooks"
    world.git("config", "core.hooksPath", str(tmp_path / "theirs"))
    (tmp_path / "theirs").mkdir()
    for name in ("post-checkout", "pre-commit", "post-commit", "post-index-change"):
        hook = tmp_path / "theirs" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {log}\n")
        hook.chmod(0o755)
    before, outside = files(world.path), around(world)
    script = (
        "test $(git rev-parse --abbrev-ref HEAD) = main || exit 130; git config x.y z;"
        ' test -z "$(git diff --name-only)" || exit 131;'
        " ! grep -q broken a.py; s=$?;"
        " echo junk >> README.md; git stash -q; git branch -f b;"
        " git commit -q --allow-empty -m mine;"
        " exit $s"
    )
    found = bisect(world, "HEAD", "--", "sh", "-c", script)
    assert [c["tool_use_id"] for c in found["changes"]] == ["toolu_7"]
    assert (files(world.path), around(world)) == (before, outside)
    assert not log.exists()
    assert not left_over()
    assert world.git("config", "x.y", ok=False) == ""


def test_what_a_test_changes_in_recorded_files_is_taken_back(world: World, a: Agent) -> None:
    write_ten(a)
    script = "! grep -q broken a.py; s=$?; echo broken >> a.py; rm README.md; exit $s"
    found = bisect(world, "HEAD", "--", "sh", "-c", script)
    assert [c["tool_use_id"] for c in found["changes"]] == ["toolu_7"]


def test_cached_bytecode_of_another_state_is_not_used(world: World, a: Agent) -> None:
    """Python compares a source file's seconds and size with those in its cache."""
    a.prompt("count")
    for number in range(16):
        a.write("a.py", f"x = {number:02}\n".replace(" 0", " "))
        a.write("b.py", f"# {number}\n")
    for number in (20, 21, 22, 23, 24):
        a.write("a.py", f"x = {number}\n")
    a.stop()
    command = ("--", sys.executable, "-c", "import a, sys; sys.exit(a.x >= 22)")
    found = bisect(world, "toolu_1:after", *command)
    assert [c["files"] for c in found["changes"]] == [{"a.py": "modified"}]
    assert found["changes"][0]["tool_use_id"] == "toolu_35"


def test_sparse_patterns_and_submodules_are_as_in_theirs(
    world: World, a: Agent, tmp_path: Path
) -> None:
    sub = tmp_path / "sub"
    sub.mkdir()
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "s"]):
        world.git(*args, cwd=sub)
    (sub / "inner").write_text("inner\n")
    world.git("add", "-A", cwd=sub)
    world.git("commit", "-q", "-m", "inner", cwd=sub)
    world.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(sub), "mod")
    world.write("far/away", "far\n")
    world.commit()
    world.git("sparse-checkout", "set", "--no-cone", "/*", "!/far/")
    write_ten(a)
    checks = 'test -e mod/inner && test ! -e far && test -z "$(git -C mod status -s)" || exit 140;'
    found = bisect(world, "HEAD", "--", "sh", "-c", f"{checks} ! grep -q broken a.py")
    assert [c["tool_use_id"] for c in found["changes"]] == ["toolu_7"]


def test_it_runs_in_the_persons_directory(world: World, a: Agent) -> None:
    write_ten(a)
    (world.path / "below").mkdir()
    ended = run(world, "bisect", "HEAD", "--", "sh", "-c", "! grep -q broken ../a.py",
                cwd=world.path / "below")  # fmt: skip
    assert (ended.returncode, "toolu_7: a.py" in ended.stdout) == (0, True)


def test_in_place_the_worktree_is_as_before_and_nothing_is_left_to_undo(
    world: World, a: Agent
) -> None:
    write_ten(a)
    world.write(".git/info/exclude", "ignored\n")
    world.write("ignored", "needed\n")
    world.write("mine.txt", "mine\n")
    before, outside = files(world.path), around(world)
    script = "cat ignored && ! grep -q broken a.py; s=$?; echo more >> a.py; exit $s"
    script = f"ls -l .git/gitcp/bisect/output | grep -q ^-rw------- || exit 125; {script}"
    found = bisect(world, "--in-place", "HEAD", "--", "sh", "-c", script)
    assert [c["tool_use_id"] for c in found["changes"]] == ["toolu_7"]
    assert (files(world.path), around(world)) == (before, outside)
    assert "nothing to undo" in run(world, "undo").stderr


@pytest.mark.thorough
def test_a_state_that_was_tested_in_place_is_not_redone(world: World, a: Agent) -> None:
    write_ten(a)
    assert run(world, "redo").stderr == "fatal: nothing to redo\n"
    bisect(world, "--in-place", "HEAD", *TEST)
    before = files(world.path)
    assert run(world, "redo").stderr == "fatal: nothing to redo\n"
    done(world, "rewind", "--force", "--files-only", "--to", "toolu_7")
    rewound = files(world.path)
    done(world, "undo")
    bisect(world, "--in-place", "HEAD", *TEST)
    assert files(world.path) == before
    done(world, "redo")
    assert files(world.path) == rewound


def test_in_place_is_refused_while_a_session_is_at_work(world: World, a: Agent) -> None:
    write_ten(a)
    a.prompt("go on")
    ended = run(world, "bisect", "--in-place", "HEAD", *TEST)
    assert (ended.returncode, "is at work here" in ended.stderr) == (128, True)
    assert bisect(world, "HEAD", *TEST)["outcome"] == "found"


def kill_in_run(
    world: World, tmp_path: Path, *args: str, by: signal.Signals = signal.SIGKILL
) -> int:
    """Start a bisection, and kill it while its command runs; return the id of the command."""
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    script = f"echo $$ > {fifo}; exec sleep 600"
    argv = [sys.executable, str(BIN / "gitcp-bisect"), *args, "HEAD", "--", "sh", "-c", script]
    process = subprocess.Popen(argv, cwd=world.path, env={**os.environ, **world.env})
    command = int(fifo.read_text())
    process.send_signal(by)
    process.wait()
    return command


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_kill_leaves_nothing_that_the_next_run_does_not_remove(
    world: World, a: Agent, tmp_path: Path
) -> None:
    write_ten(a)
    command = kill_in_run(world, tmp_path)
    assert (len(left_over()), runs(command)) == (1, True)
    bisect(world, "-n", "HEAD")
    assert (left_over(), runs(command)) == ([], False)
    assert not list((world.path / ".git/gitcp/bisect").iterdir())
    bisect(world, "HEAD", *TEST)
    assert not left_over()


@pytest.mark.parametrize("mends", ["clean --force", "doctor --fix --json"])
def test_what_a_killed_bisection_left_is_cleaned_up(
    world: World, a: Agent, tmp_path: Path, mends: str
) -> None:
    write_ten(a)
    command = kill_in_run(world, tmp_path)
    (place,) = left_over()
    assert str(place) in run(world, "clean").stdout
    assert str(place) in run(world, "doctor", "-v").stdout
    told = run(world, "status").stdout
    what = "! a killed command left its scratch directory: 'gitcp doctor --fix' removes it"
    assert what in told.splitlines()
    run(world, *mends.split())
    assert (left_over(), runs(command)) == ([], False)
    assert run(world, "doctor").stdout == ALL_WELL


@pytest.mark.thorough
def test_status_tells_of_a_killed_bisection_in_place_and_doctor_takes_it_back(
    world: World, a: Agent, tmp_path: Path
) -> None:
    write_ten(a)
    before = files(world.path)
    command = kill_in_run(world, tmp_path, "--in-place")
    assert "bisect --in-place' was killed" in run(world, "status").stdout
    run(world, "doctor", "--fix", "--json")
    assert files(world.path) == before
    assert not runs(command)
    assert "killed" not in run(world, "status").stdout


def test_a_signal_to_end_leaves_nothing(world: World, a: Agent, tmp_path: Path) -> None:
    write_ten(a)
    command = kill_in_run(world, tmp_path, by=signal.SIGTERM)
    assert (left_over(), runs(command)) == ([], False)


@pytest.mark.thorough
def test_after_a_kill_in_place_the_next_run_brings_the_worktree_back(
    world: World, a: Agent, tmp_path: Path
) -> None:
    write_ten(a)
    before = files(world.path)
    command = kill_in_run(world, tmp_path, "--in-place")
    assert files(world.path) != before
    ended = run(world, "bisect", "-n", "HEAD")
    assert "was taken back" in ended.stderr
    assert (files(world.path), runs(command)) == (before, False)


def test_one_bisection_runs_in_a_worktree(world: World, a: Agent) -> None:
    write_ten(a)
    inner = f"cd {world.path} && {BIN}/gitcp-bisect -n HEAD; test $? = 75 && exit 77"
    found = bisect(world, "HEAD", "--", "sh", "-c", inner, status=1)
    assert {one["status"] for one in found["runs"]} == {77}


@pytest.mark.thorough
def test_the_session_is_told_with_its_next_prompt(world: World, a: Agent) -> None:
    write_ten(a)
    ended = run(world, "bisect", "--tell", "HEAD", *TEST)
    assert "is told with its next prompt" in ended.stderr
    said = a.prompt("what now?").stdout
    assert "toolu_7" in said
    assert "+broken" in said
    a.stop()
    ended = run(world, "bisect", "--tell", "HEAD", "--", "true")
    assert (ended.returncode, "so no session was told" in ended.stderr) == (1, True)


def test_a_dry_run_lists_the_changes_and_runs_nothing(
    world: World, a: Agent, tmp_path: Path
) -> None:
    write_ten(a)
    told = done(world, "bisect", "-n", "HEAD", "--", "touch", str(tmp_path / "ran"))
    assert told.splitlines()[-1].startswith("10 changes: about ")
    assert f"{shorten_id(SID)} toolu_7: a.py" in told
    assert not (tmp_path / "ran").exists()
