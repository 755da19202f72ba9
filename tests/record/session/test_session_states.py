"""Session states: unknown keys, legacy fields, corrupted and lost files; turns that end oddly."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.git.repo import Repo
from gitcp.record import session
from tests.support.harness import Agent, World

README = "line one\nline two\nline three\n"
MORE = README + "line four of the agent\n"


def edit(world: World, sid: str, **keys: Any) -> None:
    path = world.path / ".git/entire-sessions" / f"{sid}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **keys}))


def test_unknown_keys_are_kept_through_every_event(world: World, a: Agent) -> None:
    a.turn("one", {"README.md": MORE})
    edit(world, "session-a", future={"key": [1, None, "x"]})
    a.start("resume")
    a.turn("two", {"src/a.py": "a = 1\n"})
    world.commit("src/a.py")
    a.end()
    assert a.state["future"] == {"key": [1, None, "x"]}


@pytest.mark.parametrize(
    ("legacy", "modern"),
    [
        ({"condensed_transcript_lines": 7}, {"checkpoint_transcript_start": 7}),
        ({"transcript_lines_at_start": 7}, {"checkpoint_transcript_start": 7}),
        ({"phase": "active_committed"}, {"phase": "active"}),
        ({"phase": ""}, {"phase": "idle"}),
        ({"phase": "unheard of"}, {"phase": "idle"}),
    ],
)
def test_legacy_fields_are_read(
    world: World, a: Agent, legacy: dict[str, Any], modern: dict[str, Any]
) -> None:
    a.turn("one")
    edit(world, "session-a", **legacy)
    a.event("PreToolUse", tool_name="Write", tool_input={"file_path": "x"}, tool_use_id="t")
    found = a.state
    assert not {"condensed_transcript_lines", "transcript_lines_at_start"} & found.keys()
    assert found["checkpoint_transcript_start"] == 7 if "phase" not in modern else True
    assert found["phase"] == "active"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"session_id": "another"}', "\udcff"])
def test_a_corrupted_state_is_set_aside_with_a_warning_and_rebuilt(
    world: World, a: Agent, text: str
) -> None:
    a.turn("one", {"README.md": MORE, "src/a.py": "a = 1\n"})
    world.commit("README.md")
    a.turn("two", {"src/b.py": "b = 1\n"})
    before = a.state
    path = world.path / ".git/entire-sessions/session-a.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    a.prompt("three", warns=r"warning: '.*session-a.json' cannot be read \(.*\); kept as '")
    a.stop()
    for key in ("streams", "files_touched", "base_commit", "checkpoint_count", "worktree_path"):
        assert a.state[key] == before[key], key
    assert [turn["prompt"] for turn in a.state["turns"].values()] == ["one", "two", "three"]
    [kept] = (world.path / ".git/gitcp/corrupt").iterdir()
    assert kept.read_bytes() == text.encode("utf-8", "surrogateescape")
    [one] = world.commit()
    assert world.committed(one)["session-a"]["files_touched"] == ["src/a.py", "src/b.py"]


def test_a_commit_rebuilds_a_corrupted_state_too(world: World, a: Agent) -> None:
    a.turn("one", {"README.md": MORE})
    (world.path / ".git/entire-sessions/session-a.json").write_text("{")
    world.git("commit", "-qam", "work", warns="cannot be read")
    [one] = world.ids("HEAD")
    assert world.committed(one)["session-a"]["files_touched"] == ["README.md"]
    assert world.open() == []


def test_a_state_behind_its_stream_takes_the_copy_there(world: World, a: Agent) -> None:
    a.turn("one", {"README.md": MORE})
    path = world.path / ".git/entire-sessions/session-a.json"
    before = path.read_bytes()
    a.turn("two", {"src/a.py": "a = 1\n"})
    path.write_bytes(before)
    a.turn("three")
    assert a.state["files_touched"] == ["README.md", "src/a.py"]
    path.write_bytes(before)
    [one] = world.commit("src/a.py")
    assert world.committed(one)["session-a"]["files_touched"] == ["src/a.py"]
    assert a.state["files_touched"] == ["README.md"]


def test_an_interrupted_turn_gets_its_checkpoint_at_the_next_prompt(world: World, a: Agent) -> None:
    world.agent("session-0").turn("old", {"README.md": MORE})
    world.git("restore", ".")
    a.prompt("one")
    a.write("src/a.py", "a = 1\n")
    a.prompt("two")
    assert len(world.archives) == 1, "under its own verdict"
    assert world.git("log", "-1", "--format=%s", world.branch()) == "One"
    a.write("src/a.py", "a = 2\n")
    a.stop()
    turns = {turn["prompt"]: key for key, turn in a.state["turns"].items()}
    assert a.state["streams"][0]["files"]["src/a.py"]["turn_id"] == turns["two"]


def test_a_stash_after_an_interruption_is_not_the_sessions_doing(world: World, a: Agent) -> None:
    a.turn("one", {"README.md": MORE})
    a.prompt("two")
    a.write("src/a.py", "a = 1\n")
    world.git("stash")
    a.turn("three", {"src/b.py": "b = 1\n"})
    assert a.state["files_touched"] == ["README.md", "src/a.py", "src/b.py"]
    world.git("stash", "pop")
    [one] = world.commit("README.md")
    assert list(world.committed(one)) == ["session-a"]


def test_a_session_left_in_the_middle_of_a_turn_still_links(world: World, a: Agent) -> None:
    a.prompt("one")
    a.write("src/a.py", "a = 1\n")
    a.end()
    assert a.state["phase"] == "ended"
    assert world.tree(world.branch()) == {"src/a.py": "a = 1\n"}
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]


@pytest.mark.parametrize("how", ["task-notification", "tool event", "second Stop"])
def test_a_turn_that_goes_on_keeps_its_verdict_and_its_prompt(
    world: World, a: Agent, how: str
) -> None:
    world.agent("session-0").turn("old", {"README.md": MORE})
    world.git("restore", ".")
    a.turn("work in the background")
    assert world.archives == []
    turn_id = a.state["turn_id"]
    if how == "task-notification":
        a.prompt("<task-notification>\n<task-id>1</task-id>\n</task-notification>")
    if how == "tool event":
        a.event("PreToolUse", tool_name="Bash", tool_input={"command": "x"}, tool_use_id="t")
    a.write("src/a.py", "a = 1\n")
    a.stop()
    assert a.state["turn_id"] == turn_id
    assert list(a.state["turns"]) == [turn_id]
    assert a.state["files_touched"] == ["src/a.py"]
    assert len(world.archives) == 1, "the old work is reset, as the prompt's verdict said"


def test_the_same_prompt_delivered_twice_is_one_turn(world: World, a: Agent) -> None:
    a.prompt("one")
    before = a.state
    a.prompt("one", again=True)
    assert a.state == before


def test_nothing_is_written_for_a_session_that_only_starts(world: World, a: Agent) -> None:
    a.start()
    a.end()
    assert a.state == {}
    assert world.open() == []


def test_a_line_that_was_never_written_is_not_one_the_person_took_out(
    world: World, a: Agent
) -> None:
    """As when prepare-commit-msg is killed between its verdict and its trailer."""
    world.git("config", "gitcp.prepare-commit-msg.pipeline", "match-commit")
    a.turn("one", {"README.md": MORE})
    assert world.commit() == []
    note = world.git("notes", "--ref=gitcp", "show", "HEAD")
    assert world.committed(note.split(": ")[1])["session-a"]["files_touched"] == ["README.md"]


def test_a_process_that_has_read_a_marker_sees_it_change_and_go(world: World, a: Agent) -> None:
    repo = Repo.find(str(world.path))
    a.turn("one", {"a.py": "a = 1\n"})
    first = session.read_stored(repo, "session-a")
    assert first
    assert session.read_stored(repo, "session-a") is first
    a.turn("two", {"b.py": "b = 1\n"})
    second = session.read_stored(repo, "session-a")
    assert second
    assert (first["count"], second["count"]) == (1, 2)
    world.commit()
    a.end()
    assert session.read_stored(repo, "session-a") is None


def test_no_state_and_no_marker_names_the_files_of_a_stream(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "a = 1\n"})
    for path in ("entire-sessions/session-a.json", "gitcp/open/session-a"):
        streams = json.loads((world.path / ".git" / path).read_text())["streams"]
        assert streams and not any("files" in stream for stream in streams)
    assert list(a.state["streams"][0]["files"]) == ["a.py"]


def test_files_that_a_state_names_and_the_journal_does_not_cost_no_link(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "a = 1\n"})
    stream = a.state["streams"][0]
    files = {"a.py": {"oid": "1" * 40, "mode": "100644"}}
    marked = {"a.py": ["100644", "1" * 40]}
    for path, old in (("entire-sessions/session-a.json", files), ("gitcp/open/session-a", marked)):
        place = world.path / ".git" / path
        former = {**json.loads(place.read_text()), "streams": [{**stream, "files": old}]}
        place.write_text(json.dumps(former))
    journal = world.path / ".git/gitcp/journal"
    lines = [line for line in journal.read_text().splitlines() if '"stream"' not in line]
    journal.rename(world.path / "former")
    journal.write_text("".join(f"{line}\n" for line in lines))
    a.turn("two", {"b.py": "b = 1\n"})
    assert sorted(a.state["streams"][-1]["files"]) == ["a.py", "b.py"]
    [one] = world.commit()
    assert sorted(world.committed(one)["session-a"]["files"]) == ["a.py", "b.py"]
