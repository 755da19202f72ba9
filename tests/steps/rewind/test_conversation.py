"""The conversation goes back with the files: under a new id, the newer one stays."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.steps.rewind.conftest import SID
from tests.steps.rewind.going import done, files, points, run, temporary
from tests.support.clients import calls
from tests.support.harness import Agent, World
from tests.support.scenes import Scenes


def take_three_turns(world: World) -> Agent:
    agent = world.agent(SID)
    for number in (1, 2, 3):
        agent.turn(f"prompt {number}", {"a.py": f"{number}\n"})
    return agent


@pytest.fixture
def three(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    yield from scenes.play(take_three_turns, monkeypatch)


def transcripts(a: Agent) -> dict[str, str]:
    return {p.stem: p.read_text() for p in a.transcript.parent.glob("*.jsonl")}


def test_the_conversation_is_cut_at_the_point_under_a_new_id_and_the_newer_stays(
    three: Agent,
) -> None:
    world, a = three.world, three
    before = transcripts(a)
    told = done(world, "rewind", "--to", temporary(world)[1])
    after = transcripts(a)
    (new,) = after.keys() - before.keys()
    assert f"claude -r {new}" in told
    assert after[SID] == before[SID]
    assert "prompt 2" in after[new]
    assert "prompt 3" not in after[new]
    assert SID not in {json.loads(line).get("sessionId") for line in after[new].splitlines()}


def test_what_a_client_writes_of_a_turn_after_its_stop_comes_with_the_turn(
    world: World, a: Agent
) -> None:
    a.prompt("prompt 1")
    a.write("a.py", "1\n")
    a.event("Stop", stop_hook_active=False)
    calls.result(a, {"tool_use_id": "toolu_1"}, "what the call gave")
    a.answer([{"type": "text", "text": "the last words"}])
    a.turn("prompt 2", {"a.py": "2\n"})
    told = done(world, "rewind", "--to", temporary(world)[-1])
    said = transcripts(a)[told.split("claude -r ")[1].strip()]
    assert "what the call gave" in said
    assert "the last words" in said
    assert "prompt 2" not in said


def test_the_conversation_of_a_tasks_checkpoint_ends_with_the_task(world: World, a: Agent) -> None:
    a.prompt("prompt 1")
    task = calls.begin(a, "Agent", description="do it", subagent_type="dev", prompt="go")
    world.write("a.py", "1\n")
    calls.end(a, task, {"agentId": "abc123"})
    a.write("later.py", "2\n")
    a.stop()
    told = done(world, "rewind", "--to", temporary(world)[-1])
    said = transcripts(a)[told.split("claude -r ")[1].strip()]
    assert (world.read("a.py"), (world.path / "later.py").exists()) == ("1\n", False)
    assert "tool_result" in said
    assert "later.py" not in said


def test_undo_takes_the_cut_conversation_away_and_redo_brings_it_back(three: Agent) -> None:
    world, a = three.world, three
    before = transcripts(a)
    done(world, "rewind", "--to", temporary(world)[1])
    cut = transcripts(a)
    done(world, "undo")
    assert transcripts(a) == before
    done(world, "redo")
    assert transcripts(a) == cut


def test_an_undo_leaves_a_conversation_that_went_on_and_so_does_redo(three: Agent) -> None:
    world, a = three.world, three
    done(world, "rewind", "--to", temporary(world)[1])
    (new,) = transcripts(a).keys() - {SID}
    path = a.transcript.with_name(f"{new}.jsonl")
    went_on = path.read_text() + "{}\n"
    path.write_text(went_on)
    for name, text in (("undo", "3\n"), ("redo", "2\n")):
        ended = run(world, name)
        assert ended.returncode == 0
        assert f"note: '{path}' has gone on since, and stays as it is" in ended.stderr
        assert (world.read("a.py"), path.read_text()) == (text, went_on)


def test_a_conversation_replaced_under_its_own_id_that_went_on_stops_an_undo_unless_kept(
    three: Agent,
) -> None:
    world, a = three.world, three
    a.end()
    world.kill(a)
    done(world, "rewind", "--same-id", "--to", temporary(world)[1])
    a.transcript.write_text(went_on := a.transcript.read_text() + "{}\n")
    ended = run(world, "undo")
    assert (ended.returncode, world.read("a.py")) == (128, "2\n")
    assert "changed since by somebody else" in ended.stderr
    assert run(world, "undo", "--conflict=keep").returncode == 0
    assert (world.read("a.py"), a.transcript.read_text()) == ("3\n", went_on)


def test_files_only_and_transcript_only_leave_the_other_alone(three: Agent) -> None:
    world, a = three.world, three
    before, worktree = transcripts(a), files(world.path)
    done(world, "rewind", "--transcript-only", "--to", temporary(world)[1])
    assert files(world.path) == worktree
    assert len(transcripts(a)) == len(before) + 1
    done(world, "undo")
    done(world, "rewind", "--files-only", "--to", temporary(world)[1])
    assert transcripts(a) == before
    assert world.read("a.py") == "2\n"


def test_a_dry_run_keeps_no_copy_of_the_conversation(three: Agent) -> None:
    world, kept = three.world, three.world.path / ".git/gitcp/kept"
    assert "change  a.py" in done(world, "rewind", "-n", "--to", temporary(world)[1])
    assert not kept.exists() or not list(kept.iterdir())
    done(world, "rewind", "--to", temporary(world)[1])
    assert list(kept.iterdir())


def test_the_same_id_is_refused_while_the_client_is_open_and_undone_like_the_rest(
    three: Agent,
) -> None:
    world, a = three.world, three
    whole = transcripts(a)
    args = ("--same-id", "--to", temporary(world)[1])
    assert "is open in its client" in run(world, "rewind", *args).stderr
    a.end()
    world.kill(a)
    assert f"claude -r {SID}" in done(world, "rewind", *args)
    assert "prompt 3" not in transcripts(a)[SID]
    assert transcripts(a).keys() == whole.keys()
    done(world, "undo")
    assert transcripts(a) == whole


def test_subagents_that_the_conversation_speaks_of_travel_along(world: World, a: Agent) -> None:
    a.prompt("prompt 1")
    a.write("a.py", "1\n")
    a.answer([{"type": "text", "text": "agentId: abc123"}])
    a.stop()
    a.turn("prompt 2", {"a.py": "2\n"})
    folder = a.transcript.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    for name in ("abc123", "later9"):
        (folder / f"agent-{name}.jsonl").write_text("{}\n")
    done(world, "rewind", "--to", temporary(world)[-1])
    (new,) = transcripts(a).keys() - {SID}
    kept = sorted(p.name for p in (a.transcript.parent / new / "subagents").iterdir())
    assert kept == ["agent-abc123.jsonl"]


def test_without_the_live_transcript_the_stored_one_is_put_where_the_client_looks(
    three: Agent,
) -> None:
    world, a = three.world, three
    points = temporary(world)
    a.transcript.unlink()
    a.transcript.parent.rmdir()
    told = done(world, "rewind", "--to", points[1])
    new = told.split("claude -r ")[1].strip()
    slug = "".join(c if c.isalnum() else "-" for c in os.path.realpath(world.path))
    path = world.home / ".claude" / "projects" / slug / f"{new}.jsonl"
    assert "prompt 2" in path.read_text()
    assert "prompt 3" not in path.read_text()


def test_a_rewind_onto_the_present_puts_no_conversation_back(three: Agent) -> None:
    world, a = three.world, three
    before = transcripts(a)
    assert done(world, "rewind", "--to", temporary(world)[0]) == "nothing changed\n"
    assert transcripts(a) == before


def test_a_project_folder_is_named_as_the_client_names_it(tmp_path: Path) -> None:
    from gitcp.agents.claude_code import CLIENT

    def slug(cwd: str) -> str:
        return CLIENT.name_project("/home/p", cwd)

    assert slug("/tmp/a_b.c d\u00e9") == "-tmp-a-b-c-d-"
    assert slug("/x/\U0001f600") == "-x---"
    long = slug("/" + "a" * 268)
    assert long.startswith("-" + "a" * 199 + "-")
    assert long == slug("/" + "a" * 268) != slug("/" + "a" * 267 + "b")


def test_a_program_that_keeps_no_conversation_is_not_said_to_lack_one(world: World) -> None:
    world.gitcp("run", "--session", "by-hand", "--", "sh", "-c", "echo one >one.txt")
    for point in points(world):
        ended = run(world, "rewind", "--force", "--to", point["id"])
        assert (ended.returncode, "conversation" in ended.stdout + ended.stderr) == (0, False), (
            ended
        )
