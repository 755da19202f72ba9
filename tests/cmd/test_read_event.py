"""read-event: a client's payload becomes one event record."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from gitcp.errors import InputError
from tests.support.stages import bind_stage
from tests.support.warm import run

Read = Callable[[str, str, bytes], dict[str, Any]]
PAYLOAD = {"session_id": "s1", "cwd": "/repo", "prompt": "hi", "hook_event_name": "x"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """read-event with a payload on its standard input."""

    def event(agent: str, name: str, data: bytes) -> dict[str, Any]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        return dict(*bind_stage("read-event", [agent, name])(()))

    return event


def test_a_payload_over_several_lines_becomes_one_line() -> None:
    data = json.dumps(PAYLOAD, indent=2).encode()
    done = run("read-event", "claude-code", "UserPromptSubmit", stdin=data)
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    assert next(iter(found)) == "type"
    assert (found["event"], found["session_id"], found["prompt"]) == ("turn-start", "s1", "hi")


def test_an_event_that_means_nothing_is_unknown_and_its_payload_is_not_trusted(read: Read) -> None:
    found = read("claude-code", "Newfangled", b'{"session_id": "../x"}')
    assert found == {"type": "event", "event": "unknown", "agent": "claude-code"}


@pytest.mark.parametrize(
    ("agent", "data", "message"),
    [
        ("claude-code", b"", "payload"),
        ("claude-code", b"[]", "payload"),
        ("claude-code", b"{" * 100_000, "payload"),
        ("claude-code", b'{"session_id": "../../x", "cwd": "/r"}', "session_id"),
        ("claude-code", b'{"session_id": "s", "cwd": "relative"}', "cwd"),
        ("nosuch", b"{}", "nosuch"),
    ],
)
def test_bad_input_is_named(agent: str, data: bytes, message: str, read: Read) -> None:
    with pytest.raises(InputError, match=message):
        read(agent, "Stop", data)


def test_misuse_is_129_and_bad_input_128() -> None:
    assert run("read-event", "claude-code").returncode == 129
    assert run("read-event", "claude-code", "Stop", stdin=b"nonsense").returncode == 128
