"""Our hooks in the text of a client's settings."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gitcp.agents.install import settings_file
from gitcp.errors import InputError

HOOKS = (("Stop", None, None), ("SessionEnd", "x|y", 10))
SHARED = settings_file.shared_command("claude-code")
OWN = settings_file.own_command("/a b/python", "/it's/gitcp/entry.py", "claude-code")
TEXTS = [
    "{}\n",
    "{}",
    '{\n    "model": "é",\n    "hooks": {"Stop": [{"hooks": [{"command": "mine"}]}]}\n}',
    '{\r\n\t"a": 1\r\n}\r\n',
    '\ufeff{"b": "\\ud800"}',
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("command", [SHARED, OWN])
def test_hooks_go_in_once_and_out_again(text: str, command: Callable[[str], str]) -> None:
    there = settings_file.install(text, "claude-code", HOOKS, command)
    assert settings_file.install(there, "claude-code", HOOKS, command) == there
    assert there.count("exec gitcp-hook claude-code SessionEnd") == 1
    back = settings_file.remove(there, settings_file.ours("claude-code"))
    assert settings_file.parse(back) == settings_file.parse(text)
    assert ("\r\n" in there, there[-1:] == "\n") == ("\r\n" in text, text[-1:] == "\n")


def test_an_entry_that_others_were_put_after_is_still_there() -> None:
    there = settings_file.install(None, "claude-code", HOOKS, SHARED)
    moved = json.loads(there)
    moved["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "theirs"}]})
    text = json.dumps(moved)
    assert settings_file.install(text, "claude-code", HOOKS, SHARED) == text


def test_another_installation_takes_the_place_of_the_old_one() -> None:
    there = settings_file.install(None, "claude-code", HOOKS, OWN)
    again = settings_file.install(there, "claude-code", HOOKS, SHARED)
    assert again == settings_file.install(None, "claude-code", HOOKS, SHARED)


def test_the_hooks_of_another_agent_stay() -> None:
    codex = settings_file.install(None, "codex", HOOKS, settings_file.shared_command("codex"))
    both = settings_file.install(codex, "claude-code", HOOKS, SHARED)
    assert settings_file.remove(both, settings_file.ours("claude-code")) == codex


def test_a_command_is_quoted_for_the_shell() -> None:
    want = "test -x '/a b/python' && test -f '/it'\"'\"'s/gitcp/entry.py' && exec "
    assert OWN("Stop").startswith(want) and settings_file.ours("claude-code")(OWN("Stop"))


@pytest.mark.parametrize(
    ("command", "yes"),
    [
        ("entire hooks claude-code stop", True),
        ('go run "${CLAUDE_PROJECT_DIR}"/cmd/entire/main.go hooks claude-code stop', True),
        ("gitcp-hook claude-code Stop", False),
        ("not-the-entire-thing hooks", False),
    ],
)
def test_the_original_programs_commands_are_known(command: str, yes: bool) -> None:
    assert settings_file.is_entires(command) is yes


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"a": 1, "a": 2}', '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// x\n{}"],
)
def test_what_is_not_settings_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        settings_file.install(text, "claude-code", HOOKS, SHARED)
