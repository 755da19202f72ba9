"""Points looked at without going there: shown, compared, and made in a new directory."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from gitcp.text.record_types import Record
from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.conftest import SID
from tests.steps.rewind.going import done, files, points, run, temporary
from tests.support.harness import Agent, World


@pytest.fixture
def a(world: World) -> Agent:
    """Two turns, the second of two calls; a file of the person beside them."""
    agent = world.agent(SID, tools=True)
    agent.turn("prompt 1", {"a.py": "1\n"})
    world.write("mine.txt", "mine\n")
    agent.turn("prompt 2", {"a.py": "2\n", "d/b.py": "2\n"})
    return agent


def test_a_moment_is_shown_and_compared_and_nothing_moves(world: World, a: Agent) -> None:
    before = files(world.path)
    shown = done(world, "show", "toolu_3")
    assert shown.startswith(f"{shorten_id('toolu_3')}  ") and "  tool use      before " in shown
    assert f"\nsession {shorten_id(SID)}\n" in shown
    assert "prompt 2" in shown
    assert "files that this tool use changed\n  A d/b.py\n" in shown
    later = done(world, "show", "toolu_3:after")
    assert "  tool use      after " in later
    assert "  after writing d/b.py\n" in later
    turn = done(world, "show", a.state["turn_id"])
    assert "files that this prompt changed\n  M a.py\n  A d/b.py\n" in turn
    names = ("diff", "--name-status")
    assert done(world, *names, "toolu_3") == "A\td/b.py\n"
    assert done(world, *names, "toolu_2:after") == "A\td/b.py\n"
    assert done(world, *names, "toolu_2", "toolu_2:after") == "M\ta.py\n"
    assert done(world, *names, a.state["turn_id"]) == "M\ta.py\nA\td/b.py\n"
    assert done(world, *names, "HEAD", "toolu_2") == "A\ta.py\nA\tmine.txt\n"
    assert files(world.path) == before
    (record,) = map(json.loads, done(world, "show", "--json", "toolu_2").splitlines())
    assert (record["type"], record["kind"], record["files"]) == (
        "point",
        "tool",
        {"a.py": "modified"},
    )


def test_a_shell_call_is_named_by_its_command_and_another_by_its_path(
    world: World, a: Agent
) -> None:
    a.turn("prompt 3", {"d/b.py": None})
    rows = done(world, "rewind", "--list", "--json").splitlines()
    points = {point["id"]: point["message"] for point in map(json.loads, rows)}
    assert points["toolu_4"] == "before `rm d/b.py`"
    assert points["toolu_3"] == "before writing d/b.py"


def test_a_command_is_named_with_its_options_while_its_transcript_is_there(
    world: World, a: Agent
) -> None:
    given = {"command": "rm -rf --  d"}
    tool: Record = {"tool_name": "Bash", "tool_input": given, "tool_use_id": "toolu_rm"}
    a.prompt("prompt 3")
    a.event("PreToolUse", **tool)
    shutil.rmtree(world.path / "d")
    a.answer([{"type": "tool_use", "id": "toolu_rm", "name": "Bash", "input": given}])
    a.event("PostToolUse", **tool, tool_response={})
    a.stop()

    def read_message() -> str:
        rows = done(world, "rewind", "--list", "--json").splitlines()
        return next(str(p["message"]) for p in map(json.loads, rows) if p["id"] == "toolu_rm")

    assert read_message() == "before `rm -rf -- d`"
    a.transcript.unlink()
    assert read_message() == "before `rm d`"


def test_what_cannot_be_gone_to_is_not_offered(world: World, a: Agent) -> None:
    world.commit("a.py", "d")
    (committed,) = [p["id"] for p in points(world) if p["is_logs_only"]]
    shown = done(world, "rewind", "--list")
    assert committed[:8] not in shown and shorten_id("toolu_3") in shown
    words = done(world, "completion", "--words", "--", "gitcp", "rewind", "--to", "")
    assert committed not in words
    assert "toolu_3\twriting d/b.py\n" in words
    assert "\t> prompt 2\n" in words


def test_what_undo_kept_is_shown_and_compared(world: World, a: Agent) -> None:
    done(world, "rewind", "--files-only", "--to", "toolu_2")
    (safety,) = world.refs("refs/gitcp/undo").values()
    shown = done(world, "show", safety[:12])
    assert shown.startswith(f"{safety[:8]}  ") and "  kept by undo  " in shown
    assert "files that this step changed\n  M a.py\n  D d/b.py\n" in shown
    assert done(world, "diff", "--name-status", safety) == "M\ta.py\nD\td/b.py\n"


def test_a_point_is_made_in_a_new_directory(world: World, a: Agent, tmp_path: Path) -> None:
    before, now = files(world.path), temporary(world)[-1]
    then = {p: item for p, item in before.items() if p != "d/b.py" and not p.startswith(".claude")}
    then["a.py"] = (then["a.py"][0], b"1\n")
    made = done(world, "rewind", "--into", str(tmp_path / "x/then"), "--to", "toolu_2")
    assert made == f"made {len(then)} files in '{tmp_path}/x/then'\n"
    assert files(tmp_path / "x/then") == then
    done(world, "rewind", "--to", now, "--into", str(tmp_path / "turn"), "--", "a.py", "src/app.py")
    assert files(tmp_path / "turn") == {p: then[p] for p in ("a.py", "src/app.py")}
    assert files(world.path) == before
    assert done(world, "undo", "--list").startswith("nothing to undo here: ")


def test_a_committed_point_is_made_as_a_worktree(world: World, a: Agent, tmp_path: Path) -> None:
    (checkpoint,) = world.commit("a.py", "d/b.py")
    done(world, "rewind", "--to", checkpoint, "--into", str(tmp_path / "commit"))
    assert world.git("-C", str(tmp_path / "commit"), "rev-parse", "HEAD").strip() == world.head
    assert (tmp_path / "commit/d/b.py").read_text() == "2\n"
    assert world.git("symbolic-ref", "HEAD").strip().startswith("refs/heads/")


def test_what_cannot_be_made_leaves_no_directory(world: World, a: Agent, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/f").write_text("f\n")
    new = str(tmp_path / "new")
    for args, status, why in (
        (
            ("--to", "toolu_2", "--into", str(tmp_path / "full")),
            128,
            "is there already and not empty",
        ),
        (
            ("--to", "toolu_2", "--into", new, "--", "none.py"),
            128,
            "there was no file 'none.py' at that point",
        ),
        (("--to", "toolu_9", "--into", new), 128, "no such point: 'toolu_9'"),
        (("--into", new), 129, "--into needs a point"),
        (("--to", "toolu_2", "--into", new, "--same-id"), 129, "--into only writes files"),
    ):
        ended = run(world, "rewind", *args)
        assert (ended.returncode, why in ended.stderr) == (status, True), ended
    assert not Path(new).exists()
    assert (tmp_path / "full/f").read_text() == "f\n"


def test_an_empty_directory_stays_if_files_cannot_be_made_in_it(
    world: World, a: Agent, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir(mode=0o750)
    (world.path / ".git" / "info").mkdir(exist_ok=True)
    (world.path / ".git" / "info" / "attributes").write_text("a.py filter=none\n")
    world.git("config", "filter.none.required", "true")
    world.git("config", "filter.none.smudge", "false")
    for name in ("empty", "new"):
        ended = run(world, "rewind", "--to", "toolu_2", "--into", str(tmp_path / name))
        assert (ended.returncode, "cannot prepare" in ended.stderr) == (128, True), ended
    assert not (tmp_path / "new").exists()
    assert os.listdir(tmp_path / "empty") == []
    assert os.stat(tmp_path / "empty").st_mode & 0o777 == 0o750


def test_the_first_screen_of_a_session_takes_none_of_its_transcripts(
    world: World, a: Agent, tmp_path: Path
) -> None:
    for number in range(2):
        a.prompt(f"talk {number}")
        a.answer([{"type": "text", "text": f"{number} " * 200_000}])
        a.write(f"{number}.py", "1\n")
        a.stop()
        world.commit()
    world.env["GITCP_TRACE"] = str(tmp_path / "trace")
    shown = done(world, "show", SID)
    assert "talk 0" in shown and "talk 1" in shown
    notes = [line.split() for line in (tmp_path / "trace").read_text().splitlines()]
    sizes = [int(words[-1]) for words in notes if words[2] == "object:"]
    assert 0 < sum(sizes) < 50_000 < a.transcript.stat().st_size
