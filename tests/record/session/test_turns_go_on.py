"""What an event leaves of a turn that goes on, and what each tells the session's state."""

from __future__ import annotations

import json

import pytest

from tests.support.harness import Agent, Json, World

MORE = "line one\nline two\nline three\nline four of the agent\n"
NOTE = "<task-notification>\n<task-id>1</task-id>\n</task-notification>"


def test_a_notification_in_the_middle_of_a_turn_does_not_cut_it(world: World, a: Agent) -> None:
    a.prompt("work, part of it in the background")
    a.write("src/a.py", "a = 1\n")
    turn_id = a.state["turn_id"]
    a.prompt(NOTE)
    assert world.streams == [], "the turn goes on: nothing of it was interrupted"
    a.write("src/b.py", "b = 1\n")
    a.stop()
    assert a.state["turn_id"] == turn_id
    assert len(world.trailer(world.branch(), "Entire-Session")) == 1
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n", "src/b.py": "b = 1\n"}


def test_compacting_twice_makes_one_checkpoint_where_nothing_came_between(
    world: World, a: Agent
) -> None:
    a.prompt("a long talk")
    a.write("src/a.py", "a = 1\n")
    for _ in range(2):
        a.event("PreCompact", trigger="manual", custom_instructions="")
    assert len(world.trailer(world.branch(), "Entire-Session")) == 1
    a.write("src/a.py", "a = 2\n")
    a.event("PreCompact", trigger="manual", custom_instructions="")
    assert len(world.trailer(world.branch(), "Entire-Session")) == 2


def test_every_save_of_a_state_counts_one_more(world: World, a: Agent) -> None:
    """The copy on the stream is the newer one by this number, and by nothing else."""
    seen = []
    a.prompt("one")
    seen.append(a.state["revision"])
    a.write("src/a.py", "a = 1\n")
    a.stop()
    seen.append(a.state["revision"])
    copy = f"{world.branch()}:.entire/metadata/{a.sid}/state.json"
    seen.insert(1, json.loads(world.git("show", copy))["revision"])
    world.commit("src/a.py")
    seen.append(a.state["revision"])
    assert seen == sorted(set(seen))


def test_killed_before_the_state_is_saved_a_turn_is_taken_from_its_checkpoint(
    world: World, a: Agent
) -> None:
    path = world.path / ".git/entire-sessions/session-a.json"
    marker = world.path / ".git/gitcp/open/session-a"
    a.prompt("one")
    a.write("src/a.py", "a = 1\n")
    before = path.read_bytes(), marker.read_bytes()
    a.stop()
    path.write_bytes(before[0])
    marker.write_bytes(before[1])
    world.git("stash", "-u")  # the worktree tells nothing of it any more
    a.prompt("two")
    assert a.state["files_touched"] == ["src/a.py"]


@pytest.mark.parametrize("event", ["PreToolUse", "SessionStart"])
def test_an_event_after_the_turns_end_tells_which_transcript_counts_now(
    world: World, a: Agent, event: str
) -> None:
    a.turn("one", {"README.md": MORE})
    before = a.state["last_interaction_time"]
    other = world.home / ".claude" / "projects" / "repo" / "resumed.jsonl"
    a.transcript.rename(other)
    read: Json = {"tool_name": "Read", "tool_input": {"file_path": "x"}, "tool_use_id": "t1"}
    more: Json = read if event == "PreToolUse" else {"source": "resume"}
    a.event(event, **more, transcript_path=str(other))
    assert a.state["transcript_path"] == str(other)
    # To start again is no interaction yet (doc/behaviour.md "Phases").
    assert (a.state["last_interaction_time"] > before) is (event == "PreToolUse")


def test_a_checkpoint_tells_from_which_entry_of_the_transcript_it_goes_on(
    world: World, a: Agent
) -> None:
    a.turn("one", {"README.md": MORE, "src/a.py": "a = 1\n"})
    last = json.loads(a.transcript.read_text().splitlines()[-1])["uuid"]
    [first] = world.commit("README.md")
    assert a.state["transcript_identifier_at_start"] == last
    a.turn("two", {"src/b.py": "b = 1\n"})
    [second] = world.commit("src/b.py")
    at = "transcript_identifier_at_start"
    assert world.committed(first)[a.sid].get(at) is None
    assert world.committed(second)[a.sid][at] == last


def test_a_turn_is_recorded_without_the_file_whose_filter_fails(world: World, a: Agent) -> None:
    world.write(".gitattributes", "*.no filter=no\n")
    world.write("a.no", "one\n")
    world.git("add", ".")
    world.git("commit", "-qm", "attributes")
    world.git("config", "filter.no.clean", "false")
    world.git("config", "filter.no.required", "true")
    a.turn("write both", {"a.no": "two\n", "b.py": "b\n"})
    assert world.tree(world.branch()) == {"b.py": "b\n"}
    path = f"{world.branch()}:.entire/metadata/{a.sid}/omitted.json"
    assert json.loads(world.git("show", path)) == [{"path": "a.no", "reason": "unconverted"}]
    world.write("a.no", "three\n")
    world.gitcp("rewind", "--force", "--to", world.git("rev-parse", world.branch()))
    assert world.read("a.no") == "three\n"
