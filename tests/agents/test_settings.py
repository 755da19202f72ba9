"""Hook entries in a client's settings."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.agents.install import settings
from gitcp.errors import InputError

HOOKS = (("Stop", None, None), ("PreToolUse", "Write|Bash", 60))
THEIRS: dict[str, Any] = {
    "model": "x",
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}],
        "Empty": [],
        "Odd": ["text", {"hooks": 3}, {"hooks": [7, {"command": None}]}],
    },
}


def ours(command: str) -> bool:
    return "gitcp-hook" in command


def install(given: dict[str, Any]) -> dict[str, Any]:
    return settings.install(given, HOOKS, lambda event: f"gitcp-hook a {event}", ours)


def test_an_entry_is_nested_as_the_clients_read_it() -> None:
    assert install({}) == {
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "gitcp-hook a Stop"}]}],
            "PreToolUse": [
                {
                    "matcher": "Write|Bash",
                    "hooks": [
                        {"type": "command", "command": "gitcp-hook a PreToolUse", "timeout": 60}
                    ],
                }
            ],
        }
    }


def test_installing_twice_is_installing_once() -> None:
    assert install(install(THEIRS)) == install(THEIRS)


@pytest.mark.parametrize("given", [THEIRS, {}, {"model": "x"}, {"hooks": {"Empty": []}}])
def test_taking_out_gives_back_what_was_there(given: dict[str, Any]) -> None:
    assert settings.remove(install(given), ours) == given


def test_our_hook_is_taken_out_of_an_entry_it_shares() -> None:
    mixed = {"hooks": {"Stop": [{"hooks": [{"command": "gitcp-hook x"}, {"command": "y"}]}]}}
    kept = {"hooks": {"Stop": [{"hooks": [{"command": "y"}]}]}}
    assert settings.remove(mixed, ours) == kept


def test_the_commands_that_are_installed_are_listed() -> None:
    assert settings.commands(install(THEIRS)) == [
        ("Stop", "say done"),
        ("Stop", "gitcp-hook a Stop"),
        ("PreToolUse", "gitcp-hook a PreToolUse"),
    ]


@pytest.mark.parametrize("hooks", [[], "x", {"Stop": {}}])
def test_settings_that_are_not_understood_are_not_touched(hooks: object) -> None:
    with pytest.raises(InputError, match="'hooks'"):
        install({"hooks": hooks})
