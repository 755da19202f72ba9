"""Hook entries in a client's settings, and in the text of them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitcp.errors import InputError
from gitcp.setup.clients import json_text, settings
from tests.support.installed import write

HOOKS = (("Stop", None, None), ("PreToolUse", "Write|Bash", 60))
OWN_HOOKS = (("Stop", None, None), ("SessionEnd", "x|y", 10))
SHARED = settings.make_shared_command("claude-code")
OWN = settings.make_own_command("/a b/python", "/it's/gitcp/entry.py", "claude-code")
MINE = '{"Stop": [{"hooks": [{"command": "mine"}]}]}'
TEXTS = {
    "nothing": "{}\n",
    "no last newline": "{}",
    "other hooks": f'{{\n    "model": "é",\n    "hooks": {MINE}\n}}',
    "line ends": '{\r\n\t"a": 1\r\n}\r\n',
    "a mark": '\ufeff{"b": "\\ud800"}',
    "one line": f'{{"z":1,"hooks":{MINE},   "a":[ ] }}\n\n',
    "order and numbers": '{\n  "z": 1.50,\n  "a": 1e3,\n  "e": "\\u00e9\\/"\n}\n',
}
COMMENTED = {
    "comments": '// mine\n{\n  // why\n  "a": 1, // {\n  /* "hooks" */ "b": [1, 2,], // last\n}\n',
    "hooks commented": '{\n  "hooks": { // of\n    "Odd": [], /* x */\n  }, // {"hooks": 1}\n}',
}
FORMS = [("nested", name) for name in TEXTS] + [("commented", name) for name in COMMENTED]


def ours(command: str) -> bool:
    return "gitcp-hook" in command


def test_an_entry_is_nested_as_its_client_reads_it() -> None:
    entries = {
        form: dict(settings.build_entries(HOOKS, lambda event: f"gitcp-hook a {event}", form))
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
    assert settings.find_removable(found, ours) == path


def test_the_commands_that_are_installed_are_listed() -> None:
    stop = [{"matcher": "", "hooks": [{"command": "say done"}]}, {"bash": "gitcp-hook a Stop"}]
    odd = ["text", {"hooks": 3}, {"hooks": [7, {"command": None}]}]
    assert settings.list_commands({"hooks": {"Stop": stop, "Odd": odd}}) == [
        ("Stop", "say done"),
        ("Stop", "gitcp-hook a Stop"),
    ]


@pytest.mark.parametrize("hooks", [[], "x", {"Stop": {}}])
def test_settings_that_are_not_understood_are_not_touched(hooks: object) -> None:
    with pytest.raises(InputError, match="'hooks'"):
        settings.find_removable({"hooks": hooks}, ours)


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
    there = json_text.add_value(text, path, 1)
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
    assert json_text.cut_value(there, new) == text


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
    assert json_text.cut_value(text, path) == after
    json.dumps(json_text.parse(after, comments=True))


@pytest.mark.parametrize(("form", "name"), FORMS)
@pytest.mark.parametrize("command", [SHARED, OWN])
def test_hooks_go_in_once_and_out_again_and_every_other_byte_stays(
    form: str, name: str, command: Callable[[str], str]
) -> None:
    text = {**TEXTS, **COMMENTED}[name]
    there = settings.install(text, "claude-code", OWN_HOOKS, command, form)
    assert settings.install(there, "claude-code", OWN_HOOKS, command, form) == there
    assert there.count(" claude-code SessionEnd") == 1
    back = settings.remove(there, settings.make_own_test("claude-code"), form)
    assert back == text


def test_an_entry_that_others_were_put_after_is_still_there() -> None:
    there = settings.install(None, "claude-code", OWN_HOOKS, SHARED)
    moved = json.loads(there)
    moved["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "theirs"}]})
    text = json.dumps(moved)
    assert settings.install(text, "claude-code", OWN_HOOKS, SHARED) == text


def test_another_installation_takes_the_place_of_the_old_one() -> None:
    there = settings.install(None, "claude-code", OWN_HOOKS, OWN)
    again = settings.install(there, "claude-code", OWN_HOOKS, SHARED)
    assert again == settings.install(None, "claude-code", OWN_HOOKS, SHARED)


def test_the_hooks_of_another_agent_stay() -> None:
    codex = settings.install(None, "codex", OWN_HOOKS, settings.make_shared_command("codex"))
    both = settings.install(codex, "claude-code", OWN_HOOKS, SHARED)
    assert settings.remove(both, settings.make_own_test("claude-code")) == codex


def test_a_command_is_quoted_for_the_shell() -> None:
    want = " '/a b/python' '/it'\"'\"'s/gitcp/entry.py' claude-code Stop"
    assert OWN("Stop").endswith(want) and settings.make_own_test("claude-code")(OWN("Stop"))
    assert settings.parse_programs(OWN("Stop")) == ["/a b/python", "/it's/gitcp/entry.py"]


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "fish"])
def test_a_command_runs_in_whatever_shell_a_client_starts(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    python, entry = tmp_path / "it's a/python", tmp_path / "gitcp/entry.py"
    write(python, '#!/bin/sh\necho "$@"; cat\nexit 2\n')
    write(entry, "")
    command = settings.make_own_command(str(python), str(entry), "codex", "lost 'it'\n")
    argv = [shell, "-c", command("SessionStart")]
    done = subprocess.run(argv, input="given", capture_output=True, text=True)
    said = f"-I -S {entry} codex SessionStart\ngiven"
    assert (done.stdout, done.stderr, done.returncode) == (said, "", 2)
    entry.unlink()
    env = {"PATH": "/usr/bin:/bin"}
    done = subprocess.run(argv, input="given", capture_output=True, text=True, env=env)
    assert (done.stdout, done.stderr, done.returncode) == ("lost 'it'\n", "", 0)


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
    assert settings.is_entires_command(command) is yes


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"a": 1, "a": 2}', '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// x\n{}"],
)
def test_what_is_not_settings_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        settings.install(text, "claude-code", OWN_HOOKS, SHARED)
