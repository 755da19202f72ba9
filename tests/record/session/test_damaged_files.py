"""Private files whose JSON says what it must not: set aside, built again, nobody else harmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gitcp.agents import get_client
from gitcp.git.files import LARGEST
from gitcp.text import record_types, shapes
from gitcp.text.shapes import find_fault
from tests.support import recording
from tests.support.broken import Store
from tests.support.harness import Agent, World
from tests.support.paths import TOP

BAD_STATES: dict[str, Any] = {
    "streams with a number": {"streams": [1]},
    "streams that are no list": {"streams": {"a": 1}},
    "a stream without an id": {"streams": [{"ref": "refs/heads/x", "files": {}}]},
    "files that are a list": {"streams": [{"id": "a1", "ref": "refs/heads/x", "files": ["a"]}]},
    "a file that is a text": {
        "streams": [{"id": "a1", "ref": "refs/heads/x", "files": {"a": "b"}}]
    },
    "a file outside": {
        "streams": [{"id": "a1", "ref": "refs/x", "files": {"../a": {"oid": "", "mode": "000000"}}}]
    },
    "a ref that is an option": {"streams": [{"id": "a1", "ref": "--upload-pack=x", "files": {}}]},
    "a ref with a newline": {"shadow_ref": "refs/heads/entire/x\nHEAD"},
    "a base that is a number": {"base_commit": 7},
    "a base that is an option": {"base_commit": "--output=x"},
    "a base with a newline": {"base_commit": "HEAD\nHEAD"},
    "a revision that is a text": {"revision": "x"},
    "a revision without end": {"revision": 10**40},
    "a count below nothing": {"checkpoint_count": -1},
    "a count that is a list": {"checkpoint_count": []},
    "turns that are a list": {"turns": [1]},
    "a turn without a prompt": {"turns": {"a": {"number": 1}}},
    "a turn id that is an object": {"turn_id": {}},
    "an agent that is a number": {"agent_type": 5},
    "a process without a number": {"agent_process": {"pid": "x"}},
    "a process that is a text": {"agent_process": "me"},
    "a transcript that is a list": {"transcript_path": ["x"]},
    "a place that is a number": {"worktree_path": 5},
    "a verdict that is a text": {"verdict": "reset"},
    "ids that are numbers": {"turn_checkpoint_ids": [1, 2]},
    "a late end without ids": {"pending_finalize": {"size": 1}},
    "a start that is a boolean": {"checkpoint_transcript_start": True},
}


@pytest.fixture
def damaged(world: World) -> Agent:
    """A session with work that no commit has, and another beside it."""
    agent = world.agent("s-bad")
    agent.turn("write a file", {"bad.py": "bad = 1\n"})
    return agent


def files(world: World) -> Path:
    return world.path / ".git"


def goes_on(world: World, agent: Agent, warns: str) -> None:
    """The session works on, another one's commit is condensed, and its own work too."""
    good = world.agent("s-good")
    good.turn("write another", {"good.py": "good = 1\n"})
    [checkpoint] = world.commit("good.py")
    assert "s-good" in world.committed(checkpoint)
    agent.prompt("go on", warns=warns)
    agent.write("more.py", "more = 1\n")
    agent.stop()
    [checkpoint] = world.commit()
    assert {"bad.py", "more.py"} <= world.committed(checkpoint)["s-bad"]["files"].keys()


@pytest.mark.parametrize("what", BAD_STATES)
def test_a_state_of_wrong_types_is_known_as_such(what: str) -> None:
    assert find_fault({"session_id": "s", **BAD_STATES[what]}, shapes.STATE)


@pytest.mark.parametrize(
    ("declared", "shape"),
    [(record_types.State, shapes.STATE), (record_types.Marker, shapes.MARKER)],
    ids=["state", "marker"],
)
def test_each_key_of_a_type_is_checked_in_its_file(declared: Any, shape: dict[str, Any]) -> None:
    checked = {f"{key.removesuffix('?')}?": inner for key, inner in shape.items()}
    for key, annotation in declared.__annotations__.items():
        named = getattr(annotation, "__forward_arg__", annotation)
        wrong: object = "7" if named in ("int", "bool") else 7
        # Why a file is unreadable is not in it.
        assert key == "unreadable" or find_fault({key: wrong}, checked), key


def test_fsck_finds_and_mends_such_a_state(world: World, damaged: Agent) -> None:
    store = Store(world.path)
    path = files(world) / "entire-sessions" / "s-bad.json"
    for what in SOME:
        path.write_text(json.dumps({**json.loads(path.read_text()), **BAD_STATES[what]}))
        kinds = [(f["kind"], bool(f.get("repaired"))) for f in store.check(fix=True)]
        assert ("bad-state", True) in kinds, what
        assert [f for f in store.check() if f["severity"] == "error"] == []


SOME = ("streams with a number", "a base that is an option", "a revision that is a text")


@pytest.mark.parametrize("what", [SOME[0], "", "[" * 200_000], ids=lambda text: text[:30])
def test_a_session_with_a_damaged_state_goes_on(world: World, what: str, damaged: Agent) -> None:
    path = files(world) / "entire-sessions" / "s-bad.json"
    change = BAD_STATES.get(what)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}) if change else what)
    goes_on(world, damaged, warns="kept as")


def test_a_state_too_large_to_be_read_is_set_aside_and_its_session_goes_on(
    world: World, damaged: Agent
) -> None:
    path = files(world) / "entire-sessions" / "s-bad.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "mine": "x" * LARGEST}))
    goes_on(world, damaged, warns="larger than")


@pytest.mark.parametrize("text", ["[" * 200_000, "5", "{", "[]"], ids=lambda text: text[:2])
def test_files_that_can_be_made_again_are(world: World, text: str, damaged: Agent) -> None:
    for name in ("open/s-bad", "turn/s-bad", "verdict", "transcript/s-bad.json"):
        (files(world) / "gitcp" / name).write_text(text)
    goes_on(world, damaged, warns="")


def test_a_marker_of_wrong_types_hides_no_work(world: World, damaged: Agent) -> None:
    marker = files(world) / "gitcp/open/s-bad"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "streams": 7}))
    [checkpoint] = world.commit()
    assert "bad.py" in world.committed(checkpoint)["s-bad"]["files"]


@pytest.mark.parametrize("kind", ["directory", "pipe"])
def test_what_is_no_file_is_set_aside(world: World, kind: str, damaged: Agent) -> None:
    path = files(world) / "entire-sessions" / "s-bad.json"
    path.unlink()
    path.mkdir() if kind == "directory" else os.mkfifo(path)
    goes_on(world, damaged, warns="kept as")


def test_lines_of_a_tool_log_that_say_nothing_are_left_out(world: World) -> None:
    agent = world.agent("s-bad", tools=True)
    agent.prompt("write")
    agent.write("one.py", "one = 1\n")
    with (files(world) / "gitcp/turn/s-bad.log").open("a") as f:
        f.write('{"path": 5}\n{"begin": "x", "end": []}\n[1]\n' + "[" * 100_000 + "\n")
    agent.stop()
    assert "one.py" in agent.state["files_touched"]


def test_a_shape_names_the_place_that_is_wrong() -> None:
    value = {"session_id": "s", "streams": [{"id": "a1", "ref": "refs/x", "files": {}}, 5]}
    assert find_fault(value, shapes.STATE) == "'streams[1]' is no object"
    assert find_fault({}, shapes.STATE) == "'session_id' is missing"
    assert find_fault({"session_id": "s", "revision": True}, shapes.STATE)
    assert find_fault({"session_id": "s", "revision": None, "mine": [1]}, shapes.STATE) == ""


@pytest.mark.parametrize(
    "carry",
    [{"pending": 1.5}, {"recent": "x"}, {"recent": {"m": [1]}}, {"spent": {"m": 1}}, {"cwd": 5}],
)
def test_a_transcript_is_read_anew_where_its_reading_cannot_go_on(
    world: World, damaged: Agent, carry: Any
) -> None:
    path = files(world) / "gitcp/transcript/s-bad.json"
    known = json.loads(path.read_text())
    assert find_fault(known, shapes.TRANSCRIPT) == ""
    known["scan"]["carry"] = carry
    path.write_text(json.dumps(known))
    damaged.prompt("go on")
    damaged.write("more.py", "more = 1\n")
    damaged.stop()
    [checkpoint] = world.commit()
    assert world.committed(checkpoint)["s-bad"]["token_usage"]["api_call_count"] > 0


@pytest.mark.parametrize("entry", [7, {"path": 5}, {"path": "x", "kind": "hook", "after": []}])
def test_a_record_of_what_was_installed_of_wrong_types_is_said(world: World, entry: Any) -> None:
    path = files(world) / "gitcp/installed/manifest.json"
    known = json.loads(path.read_text())
    known["files"].append(entry)
    path.write_text(json.dumps(known))
    for command in ("status", "doctor", "enable", "disable"):
        argv = [sys.executable, str(TOP / "bin" / f"gitcp-{command}")]
        done = subprocess.run(argv, cwd=world.path, capture_output=True, text=True)
        words = done.stdout + done.stderr
        assert done.returncode in (0, 1, 128) and "Traceback" not in words, done
        # `enable` sets it aside, and takes in what it described.
        wanted = {"enable": "corrupt/manifest.json", "disable": ""}
        assert wanted.get(command, "manifest.json' cannot be read") in words, done


@pytest.mark.parametrize(
    "agent", ["claude-code", "codex", "gemini-cli", "copilot", "opencode", "qwen-code", "cline"]
)
def test_what_each_clients_reader_goes_on_from_is_of_its_shape(agent: str) -> None:
    for folder in sorted(path for path in (recording.ROOT / agent).iterdir() if path.is_dir()):
        try:
            data = recording.transcript(agent, folder.name)
        except StopIteration:
            continue  # a session that left none
        scan = json.loads(json.dumps(get_client(agent).scan(data, None)))
        assert (
            find_fault({"version": 1, "size": 1, "crc": 1, "scan": scan}, shapes.TRANSCRIPT) == ""
        )
