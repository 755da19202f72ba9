"""gitcp-run: any program's run is a turn of a session."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.steps.rewind.going import done, points
from tests.support.harness import V1, World
from tests.support.paths import TOP

RUN = [sys.executable, str(TOP / "bin" / "gitcp-run")]


def states(world: World) -> list[dict[str, Any]]:
    folder = world.path / ".git" / "entire-sessions"
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def committed(world: World, checkpoint: str) -> dict[str, Any]:
    """The metadata of the only session of a committed checkpoint."""
    where = f"{V1}:{checkpoint[:2]}/{checkpoint[2:]}"
    found: dict[str, Any] = json.loads(world.git("show", f"{where}/0/metadata.json"))
    return found


def run(world: World, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **world.env}
    done = subprocess.run([*RUN, *words], cwd=world.path, env=env, capture_output=True, text=True)
    assert done.returncode == status, done
    return done


def test_what_a_program_changed_is_a_checkpoint_and_its_commit_is_linked(world: World) -> None:
    done = run(world, "--", "sh", "-c", "echo new >made.txt; echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    (state,) = states(world)
    assert (state["agent_type"], state["phase"]) == ("sh", "ended")
    assert state["files_touched"] == ["made.txt"]
    assert world.tree(world.branch()) == {"made.txt": "new\n"}
    (checkpoint,) = world.commit()
    metadata = committed(world, checkpoint)
    assert (metadata["session_id"], metadata["agent"]) == (state["session_id"], "sh")


def test_runs_of_one_session_are_its_turns(world: World) -> None:
    run(world, "--session=gen", "--agent=codegen", "--", "sh", "-c", "echo 1 >a.txt")
    run(world, "--session=gen", "--prompt=the rest", "--", "sh", "-c", "echo 2 >b.txt")
    (state,) = states(world)
    prompts = [turn["prompt"] for turn in state["turns"].values()]
    assert (state["session_id"], state["agent_type"]) == ("gen", "codegen")
    assert prompts == ["sh -c echo 1 >a.txt", "the rest"]
    files = world.state("gen")["streams"][-1]["files"]
    assert files["a.txt"]["turn_id"] != files["b.txt"]["turn_id"]


def test_what_the_person_did_before_is_not_the_programs(world: World) -> None:
    world.write("mine.txt", "mine\n")
    run(world, "--", "sh", "-c", "echo 1 >a.txt")
    assert states(world)[0]["files_touched"] == ["a.txt"]


def test_a_commit_of_the_program_is_its_sessions(world: World) -> None:
    run(world, "--", "sh", "-c", "echo 1 >a.txt; git add a.txt; git commit -qm 'by the program'")
    (state,) = states(world)
    (checkpoint,) = world.ids("HEAD")
    assert committed(world, checkpoint)["session_id"] == state["session_id"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--", "sh", "-c", "exit 7"], 7, ""),
        (["--", "sh", "-c", "kill -TERM $$"], 143, ""),
        (["--", "no-such-program-at-all"], 128, "fatal: no such program: 'no-such-program-at-all'"),
        ([], 129, "no command given"),
        ([""], 129, "no command given"),
        (["/"], 128, "no such program: '/'"),
    ],
)
def test_the_status_is_the_programs(
    world: World, words: list[str], status: int, message: str
) -> None:
    assert message in run(world, *words, status=status).stderr
    assert all(state["phase"] == "ended" and not message for state in states(world))


@pytest.mark.parametrize("end", [["--"], []])
def test_the_programs_own_options_are_its_own(world: World, end: list[str]) -> None:
    done = run(world, "--agent=x", *end, "echo", "--session=y", "--", "-h")
    assert done.stdout == "--session=y -- -h\n"
    assert "did you mean '--agent'" in run(world, "--agnet=x", *end, "echo", status=129).stderr


def test_the_program_has_the_terminal_and_an_interrupt_is_its_to_answer(world: World) -> None:
    script = (
        "trap 'echo caught >caught.txt; exit 3' INT; [ -t 0 ] && [ -t 1 ] && echo ready; read x"
    )
    pid, fd = pty.fork()
    if not pid:
        os.chdir(world.path)
        os.execve(sys.executable, [*RUN, "--", "sh", "-c", script], {**os.environ, **world.env})
    seen = b""
    while b"ready" not in seen:
        seen += os.read(fd, 1024)
    os.write(fd, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    assert os.waitstatus_to_exitcode(status) == 3
    assert states(world)[0]["files_touched"] == ["caught.txt"]
    assert states(world)[0]["phase"] == "ended"


def test_a_termination_is_passed_on_and_the_work_recorded(world: World) -> None:
    script = (
        "trap 'echo ended >ended.txt; exit 5' TERM; echo $$ >ready; while :; do sleep 0.1; done"
    )
    process = subprocess.Popen(
        [*RUN, "--", "sh", "-c", script], cwd=world.path, env={**os.environ, **world.env}
    )
    while not (world.path / "ready").exists():
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 5
    assert states(world)[0]["files_touched"] == ["ended.txt", "ready"]


def test_a_run_that_was_killed_is_settled_by_the_next_one(world: World) -> None:
    script = "echo 1 >a.txt; kill -KILL $PPID; sleep 0.1"
    process = subprocess.Popen(
        [*RUN, "--session=gen", "--", "sh", "-c", script],
        cwd=world.path,
        env={**os.environ, **world.env},
    )
    process.wait()
    assert states(world)[0]["phase"] == "active"
    run(world, "--session=gen", "--", "sh", "-c", "echo 2 >b.txt")
    (state,) = states(world)
    assert state["phase"] == "ended"
    assert "b.txt" in state["files_touched"]
    (checkpoint,) = world.commit()
    assert committed(world, checkpoint)["session_id"] == "gen"


def test_where_nothing_is_recorded_the_program_runs_and_that_is_said(world: World) -> None:
    world.gitcp("disable")
    done = run(world, "touch", "made")
    assert done.stderr == "warning: gitcp is disabled here: 'gitcp enable' wakes it\n"
    assert (world.path / "made").exists() and not states(world)


def test_outside_a_repository_nothing_is_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [*RUN, "--", "touch", "made"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 128
    assert not (tmp_path / "made").exists()


def test_the_example_of_the_hooks_page_is_recorded_as_agents_are(world: World) -> None:
    page = (TOP / "man" / "gitcp-hook.1").read_text()
    example = page.partition(".Bd -literal\n")[2].partition(".Ed")[0]
    script = re.sub(r"\\e", r"\\", example)
    assert len(script.splitlines()) <= 12
    path = f"{TOP / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **world.env, "PATH": path}
    subprocess.run(["sh", "-ec", script], cwd=world.path, env=env, check=True)
    (state,) = states(world)
    assert (state["agent_type"], state["first_prompt"]) == ("greeter", "greet the world")
    assert (state["phase"], state["files_touched"]) == ("ended", ["greeting.txt"])
    (checkpoint,) = world.commit()
    assert committed(world, checkpoint)["session_id"] == state["session_id"]


@pytest.mark.parametrize(
    ("option", "field"),
    [("--session=../x", "session_id"), ("--session=", "session_id"), ("--agent=a\nb", "agent")],
)
def test_what_cannot_be_a_session_or_an_agent_is_refused_and_nothing_is_run(
    world: World, option: str, field: str
) -> None:
    done = run(world, option, "--", "touch", "ran", status=128)
    assert done.stderr.startswith("fatal: ") and f"'{field}'" in done.stderr
    assert not (world.path / "ran").exists() and states(world) == []


@pytest.mark.parametrize("words", [("rm", "of the person"), ("sh", "-c", "rm 'of the person'")])
def test_what_a_run_deletes_comes_back_though_nothing_else_was_looked_at(
    world: World, words: tuple[str, ...]
) -> None:
    world.write("of the person", "typed by hand\n")
    world.git("config", "gitcp.look-budget", "0")
    run(world, "--", *words)
    (point,) = [p for p in points(world) if p["kind"] == "tool"]
    done(world, "rewind", "--to", point["id"])
    assert world.read("of the person") == "typed by hand\n"
