"""Temporary checkpoints for scripts: written, read, listed by records."""

from __future__ import annotations

import json
from typing import Any

from tests.steps.rewind.going import done, files, run
from tests.support.harness import World

SID = "11111111-aaaa-4a87-9186-848bdd83d62e"


def blob(world: World, text: str) -> str:
    world.write("scratch", text)
    oid = world.git("hash-object", "-w", "scratch")
    (world.path / "scratch").unlink()
    return oid


def write(world: World, **more: object) -> dict[str, Any]:
    """The record that comes back for a checkpoint that is asked for."""
    asked = {"type": "checkpoint", "session_id": SID, "message": "by a script", **more}
    return dict(json.loads(world.gitcp("write-checkpoint", stdin=json.dumps(asked) + "\n")))


def read(world: World, *args: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done(world, *args).splitlines()]


def test_a_checkpoint_is_written_as_its_record_says_whatever_the_worktree_has(
    world: World,
) -> None:
    oid = blob(world, "one\n")
    world.write("mine.txt", "not in it\n")
    before = files(world.path)
    told = write(world, files={"new.txt": ["100755", oid], "README.md": None})
    assert files(world.path) == before
    assert told["ref"] == f"refs/heads/{world.branch()}"
    assert world.tree(told["oid"]) == {"new.txt": "one\n", "README.md": ""}
    assert world.git("log", "-1", "--format=%s", told["oid"]) == "by a script"
    assert world.state(SID)["files_touched"] == ["README.md", "new.txt"]


def test_the_next_one_goes_onto_the_same_stream(world: World) -> None:
    first = write(world, files={"a": ["100644", blob(world, "1\n")]})
    second = write(world, files={"a": ["100644", blob(world, "2\n")]})
    assert world.git("rev-parse", f"{second['oid']}^") == first["oid"]
    listed = read(world, "read-stream", "--base", "HEAD")
    assert [c["oid"] for c in listed] == [second["oid"], first["oid"]]


def test_metadata_is_redacted_and_read_back_on_request(world: World) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE".replace("EXAMPLE", "QWERTYU")
    line = json.dumps({"type": "user", "message": {"content": f"key {secret}"}})
    line = line.replace(secret, "\\u0041" + secret[1:])  # as JSON may write it
    told = write(world, files={}, metadata={"full.jsonl": line + "\n", "prompt.txt": "do it"})
    (one,) = read(world, "read-stream", "--base=HEAD", "--worktree=", "-m", "-t")
    assert {"full.jsonl", "prompt.txt", "state.json"} <= set(one["metadata"])
    assert "REDACTED" in one["transcript"]
    assert secret[1:] not in one["transcript"]
    (found,) = read(world, "read-checkpoint", told["oid"][:10])
    assert (found["prompt"], found["session_id"]) == ("do it", SID)
    assert found["transcript_bytes"] == len(one["transcript"])
    raw = done(world, "read-checkpoint", "--transcript", told["oid"])
    assert raw == one["transcript"]


def test_a_secret_that_json_escapes_is_redacted_in_a_transcript(world: World) -> None:
    secret = "AKIA" + "IOSFODNN7QWERTYU"
    line = json.dumps({"type": "user", "message": {"content": f"key {secret}"}})
    escaped = line.replace("AKIA", "\\u0041KIA")
    assert json.loads(escaped) == json.loads(line)
    told = write(world, files={}, metadata={"full.jsonl": escaped + "\n"})
    raw = done(world, "read-checkpoint", "--transcript", told["oid"])
    assert "REDACTED" in json.loads(raw)["message"]["content"]


def test_what_is_wrong_is_named_and_nothing_is_written(world: World) -> None:
    for more, field in (
        ({"files": {"../x": None}}, "path"),
        ({"files": {"x": ["100644", "0" * 40]}}, "files"),
        ({"files": {"x": ["040000", "0" * 40]}}, "files"),
        ({"files": {}, "message": " "}, "message"),
        ({"files": {}, "session_id": "../x"}, "session_id"),
        ({"files": {}, "metadata": {"../x": "y"}}, "path"),
        ({}, "files"),
    ):
        asked = {"type": "checkpoint", "session_id": SID, "message": "m", **more}
        (world.path / ".git" / "asked").write_text(json.dumps(asked))
        ended = run(world, "write-checkpoint", stdin=json.dumps(asked))
        assert (ended.returncode, f"'{field}'" in ended.stderr) == (128, True), ended
    assert world.streams == []


def test_a_stream_of_another_worktree_is_asked_for_by_its_name(world: World) -> None:
    world.git("worktree", "add", "-q", "../linked")
    b = world.agent(SID, world.path.parent / "linked")
    b.turn("one", {"b": "1\n"})
    (one,) = read(world, "read-stream", "--base", "HEAD", "--worktree", "linked")
    assert one["prompt"] == "one"
    assert run(world, "read-stream", "--base", "HEAD").returncode == 128
    without_one = run(world, "read-stream")  # as in a pipe: streams come as records
    assert (without_one.returncode, without_one.stdout) == (0, "")
    assert run(world, "read-stream", "x", "--base", "HEAD").returncode == 129
