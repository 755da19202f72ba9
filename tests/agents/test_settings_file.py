"""Our hooks in the text of a client's settings."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.agents.install import settings
from gitcp.errors import InputError
from tests.support.installed import write

HOOKS = (("Stop", None, None), ("SessionEnd", "x|y", 10))
SHARED = settings.shared_command("claude-code")
OWN = settings.own_command("/a b/python", "/it's/gitcp/entry.py", "claude-code")
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


@pytest.mark.parametrize(("form", "name"), FORMS)
@pytest.mark.parametrize("command", [SHARED, OWN])
def test_hooks_go_in_once_and_out_again_and_every_other_byte_stays(
    form: str, name: str, command: Callable[[str], str]
) -> None:
    text = {**TEXTS, **COMMENTED}[name]
    there = settings.install(text, "claude-code", HOOKS, command, form)
    assert settings.install(there, "claude-code", HOOKS, command, form) == there
    assert there.count(" claude-code SessionEnd") == 1
    back = settings.remove(there, settings.ours("claude-code"), form)
    assert back == text


def test_an_entry_that_others_were_put_after_is_still_there() -> None:
    there = settings.install(None, "claude-code", HOOKS, SHARED)
    moved = json.loads(there)
    moved["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "theirs"}]})
    text = json.dumps(moved)
    assert settings.install(text, "claude-code", HOOKS, SHARED) == text


def test_another_installation_takes_the_place_of_the_old_one() -> None:
    there = settings.install(None, "claude-code", HOOKS, OWN)
    again = settings.install(there, "claude-code", HOOKS, SHARED)
    assert again == settings.install(None, "claude-code", HOOKS, SHARED)


def test_the_hooks_of_another_agent_stay() -> None:
    codex = settings.install(None, "codex", HOOKS, settings.shared_command("codex"))
    both = settings.install(codex, "claude-code", HOOKS, SHARED)
    assert settings.remove(both, settings.ours("claude-code")) == codex


def test_a_command_is_quoted_for_the_shell() -> None:
    want = " '/a b/python' '/it'\"'\"'s/gitcp/entry.py' claude-code Stop"
    assert OWN("Stop").endswith(want) and settings.ours("claude-code")(OWN("Stop"))
    assert settings.programs(OWN("Stop")) == ["/a b/python", "/it's/gitcp/entry.py"]


@pytest.mark.parametrize("shell", ["sh", "dash", "bash", "zsh", "fish"])
def test_a_command_runs_in_whatever_shell_a_client_starts(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    python, entry = tmp_path / "it's a/python", tmp_path / "gitcp/entry.py"
    write(python, '#!/bin/sh\necho "$@"; cat\nexit 2\n')
    write(entry, "")
    command = settings.own_command(str(python), str(entry), "codex", "lost 'it'\n")
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
    assert settings.is_entires(command) is yes


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"a": 1, "a": 2}', '{"hooks": []}', '{"hooks": {"Stop": {}}}', "// x\n{}"],
)
def test_what_is_not_settings_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        settings.install(text, "claude-code", HOOKS, SHARED)
