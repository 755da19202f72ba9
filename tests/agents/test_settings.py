"""Hook entries in a client's settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gitcp.agents.install import json_text, settings
from gitcp.errors import InputError

HOOKS = (("Stop", None, None), ("PreToolUse", "Write|Bash", 60))


def ours(command: str) -> bool:
    return "gitcp-hook" in command


def test_an_entry_is_nested_as_its_client_reads_it() -> None:
    entries = {
        form: dict(settings.additions(HOOKS, lambda event: f"gitcp-hook a {event}", form))
        for form in ("nested", "cursor", "copilot")
    }
    timed = {"type": "command", "command": "gitcp-hook a PreToolUse", "timeout": 60}
    assert entries["nested"] == {
        "Stop": {"hooks": [{"type": "command", "command": "gitcp-hook a Stop"}]},
        "PreToolUse": {"matcher": "Write|Bash", "hooks": [timed]},
    }
    assert entries["cursor"]["Stop"] == {"command": "gitcp-hook a Stop"}
    assert entries["copilot"]["PreToolUse"] == {
        "type": "command",
        "matcher": "Write|Bash",
        "bash": "gitcp-hook a PreToolUse",
    }


@pytest.mark.parametrize(
    ("found", "path"),
    [
        ({}, None),
        ({"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}, None),
        ({"hooks": {"Stop": [{"hooks": [{"command": "gitcp-hook"}]}]}}, ("hooks",)),
        ({"hooks": {"Stop": [{"bash": "gitcp-hook"}], "Odd": []}}, ("hooks", "Stop")),
        ({"hooks": {"Stop": ["odd", {"command": "gitcp-hook"}]}}, ("hooks", "Stop", 1)),
        (
            {"hooks": {"Stop": [{"hooks": [{"command": "x"}, {"command": "gitcp-hook"}]}]}},
            ("hooks", "Stop", 0, "hooks", 1),
        ),
    ],
)
def test_what_is_ours_goes_with_what_is_empty_without_it(
    found: dict[str, Any], path: tuple[str | int, ...] | None
) -> None:
    assert settings.surplus(found, ours) == path


def test_the_commands_that_are_installed_are_listed() -> None:
    stop = [{"matcher": "", "hooks": [{"command": "say done"}]}, {"bash": "gitcp-hook a Stop"}]
    odd = ["text", {"hooks": 3}, {"hooks": [7, {"command": None}]}]
    assert settings.commands({"hooks": {"Stop": stop, "Odd": odd}}) == [
        ("Stop", "say done"),
        ("Stop", "gitcp-hook a Stop"),
    ]


@pytest.mark.parametrize("hooks", [[], "x", {"Stop": {}}])
def test_settings_that_are_not_understood_are_not_touched(hooks: object) -> None:
    with pytest.raises(InputError, match="'hooks'"):
        settings.surplus({"hooks": hooks}, ours)


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ("{}", ("a",), '{\n  "a": 1\n}'),
        ("{}\n", ("a", "b"), '{\n  "a": {\n    "b": 1\n  }\n}\n'),
        ('{"x": [1,2]}', ("x",), '{"x": [1,2, 1]}'),
        ('{"x": []}', ("x",), '{"x": [1]}'),
        ('{"x": {}}', ("x", "y"), '{"x": {"y": 1}}'),
        ('{\n\t"x": 2\n}', ("a", "b"), '{\n\t"x": 2,\n\t"a": {\n\t\t"b": 1\n\t}\n}'),
        ('{\r\n "x": 2}\r\n', ("a",), '{\r\n "x": 2,\r\n "a": 1}\r\n'),
        ('{\n "x": "}, // \\" no"\n}', ("a",), '{\n "x": "}, // \\" no",\n "a": 1\n}'),
        ('{\n "x": 2 // why, so\n}', ("a",), '{\n "x": 2, // why, so\n "a": 1\n}'),
        ('{\n "x": 2, // one, more\n}', ("a",), '{\n "x": 2, // one, more\n "a": 1,\n}'),
        ('{"x": 2 /* { */}', ("a",), '{"x": 2, "a": 1 /* { */}'),
        ("// {\n{ // none\n}\n", ("a",), '// {\n{ // none\n  "a": 1\n}\n'),
        ('\ufeff{"x":2}', ("a",), '\ufeff{"x":2, "a": 1}'),
        ('{"x": "\\ud800é"}', ("é",), '{"x": "\\ud800é", "é": 1}'),
    ],
)
def test_a_value_goes_into_a_text_and_out_again_and_all_else_stays(
    text: str, path: tuple[str, ...], after: str
) -> None:
    there = json_text.add(text, path, 1)
    assert there == after
    found: Any = json_text.parse(text, comments=True)
    new: tuple[str | int, ...] = path
    for key in path:
        if key not in found:
            new = path[: path.index(key) + 1]
            break
        found = found[key]
    else:
        new = (*path, len(found))
    assert json_text.cut(there, new) == text


@pytest.mark.parametrize(
    ("text", "path", "after"),
    [
        ('{"a": 1, "b": 2, "c": 3}', ("b",), '{"a": 1, "c": 3}'),
        ('{\n  "a": 1,\n  "b": 2\n}', ("a",), '{\n  "b": 2\n}'),
        ('{"x": [1, 2, 3,]}', ("x", 2), '{"x": [1, 2,]}'),
        ('{\n  "x": [\n    1\n  ]\n}', ("x", 0), '{\n  "x": []\n}'),
        ('{"x": [1, /* two */ 2 /* 2 */]}', ("x", 1), '{"x": [1 /* two */ /* 2 */]}'),
    ],
)
def test_an_item_goes_with_its_comma_and_comments_stay(
    text: str, path: tuple[str | int, ...], after: str
) -> None:
    assert json_text.cut(text, path) == after
    json.dumps(json_text.parse(after, comments=True))
