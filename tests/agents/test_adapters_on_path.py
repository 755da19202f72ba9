"""Agents whose adapter is a program on PATH, in any language: ten lines of sh are one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitcp.errors import Error, InputError
from gitcp.setup import adapters
from tests.support.harness import World

HAL = """\
#!/bin/sh
case $1 in
info) echo '{"protocol":1,"name":"hal","type":"HAL 9000","present":true,
	"capabilities":{"transcript":true},"resume":"hal --again {}"}' ;;
install) for hook in turn-start tool-start tool-end turn-end
	do echo "$3 $hook"; done >.git/hal ;;
uninstall) rm .git/hal ;;
event) sed 's/^{/{"type":"event","event":"'"$2"'",/' ;;
transcript) sed 's/^{/{"type":"transcript",/' "$2" ;;
esac
"""
# The original's protocol: its hooks call `entire hooks <name> <hook>`.
BEN = """\
#!/bin/sh
case $1 in
info) echo '{"protocol_version":1,"name":"ben","type":"Ben","protected_dirs":[".ben"],
	"hook_names":["ask","rest"],"capabilities":{"hooks":true,"transcript_analyzer":true,
	"token_calculator":true}}' ;;
detect) echo '{"present":true}' ;;
install-hooks) mkdir .ben; for hook in ask rest
	do echo "entire hooks ben $hook"; done >.ben/hooks; echo '{"hooks_installed":2}' ;;
uninstall-hooks) grep -q '^entire hooks' .ben/hooks && rm -r .ben ;;
parse-hook) case $3 in ask) type=2 ;; rest) type=3 ;; *) echo null; exit ;; esac
	sed "s/^{/{\\"type\\":$type,/" ;;
get-session-dir) echo "{\\"session_dir\\":\\"$HOME/ben\\"}" ;;
read-transcript) cat "$3" ;;
extract-prompts) echo '{"prompts":["Sail on"]}' ;;
extract-modified-files) echo '{"files":["sail.txt"],"current_position":1}' ;;
calculate-tokens) echo '{"input_tokens":5,"output_tokens":2,"api_call_count":3}' ;;
format-resume-command) echo "{\\"command\\":\\"ben -r $3\\"}" ;;
esac
"""


class Ship:
    """A repository whose PATH has adapters."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.bin = world, folder / "adapters"
        self.bin.mkdir()
        world.env["PATH"] = f"{self.bin}{os.pathsep}{os.environ['PATH']}"

    def add(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def tell(
        self, hooks: Path, hook: str, at: Path | None = None, **fields: Any
    ) -> subprocess.CompletedProcess[str]:
        """What the agent does at a hook in a directory: run the line of its file that ends so."""
        line = next(one for one in hooks.read_text().splitlines() if one.endswith(f" {hook}"))
        payload = json.dumps({"session_id": "s1", "cwd": str(at or self.world.path), **fields})
        return subprocess.run(
            ["sh", "-c", line],
            cwd=at or self.world.path,
            env={**os.environ, **self.world.env},
            input=payload + "\n",
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def ship(world: World, tmp_path: Path) -> Ship:
    return Ship(world, tmp_path)


def test_an_agent_whose_adapter_is_ten_lines_of_sh_is_recorded_linked_and_shown(ship: Ship) -> None:
    world, hooks = ship.world, ship.world.path / ".git" / "hal"
    ship.add("gitcp-agent-hal", HAL)
    world.git("config", "gitcp.external-agents", "true")
    said = world.gitcp("enable").splitlines()
    assert said[:2] == ["found Claude Code, hal", "recording hal here from now on"]
    assert "nothing to do" in world.gitcp("enable", "--agent=hal")
    talk = world.home / "talk.jsonl"
    lines: list[dict[str, Any]] = [
        {"kind": "prompt", "text": "Open the doors"},
        {"kind": "answer", "text": "I can't"},
    ]
    spent = {"kind": "usage", "id": "1", "input_tokens": 7, "output_tokens": 2}
    talk.write_text("".join(json.dumps(line) + "\n" for line in [*lines, spent]))
    told: dict[str, Any] = {"transcript_path": str(talk)}
    call: dict[str, Any] = {
        "tool": {"id": "c1", "kind": "write", "input_paths": ["door.txt"]},
        **told,
    }
    done = [ship.tell(hooks, "turn-start", prompt="Open the doors", **told)]
    done += [ship.tell(hooks, "tool-start", **call)]
    world.write("door.txt", "shut\n")
    done += [ship.tell(hooks, "tool-end", **call), ship.tell(hooks, "turn-end", **told)]
    assert [(one.returncode, one.stderr) for one in done] == [(0, "")] * 4
    elsewhere = ship.tell(hooks, "turn-start", at=world.home, prompt="Sing", **told)
    assert (elsewhere.returncode, elsewhere.stderr) == (0, "")
    world.commit("door.txt")
    assert len(world.ids("HEAD")) == 1
    assert world.state("s1")["agent_type"] == "HAL 9000"
    text = world.gitcp("show", "--full", "HEAD")
    assert "  > Open the doors\n" in text and "  said: I can't" in text
    assert "7 tokens in, 2 out" in world.gitcp("stats", "HEAD~1..HEAD")
    world.gitcp("disable", "--uninstall")
    assert not hooks.exists()


def test_an_adapter_of_the_original_is_heard_through_the_hooks_it_installed(ship: Ship) -> None:
    world, hooks = ship.world, ship.world.path / ".ben" / "hooks"
    ship.add("entire-agent-ben", BEN)
    world.git("config", "gitcp.external-agents", "true")
    world.gitcp("enable", "--agent=ben")
    talk = world.home / "ben" / "s1.bin"
    talk.parent.mkdir()
    talk.write_bytes(b"\x00not lines\n")
    ship.tell(hooks, "ask", prompt="Sail on", session_ref=str(talk))
    world.write("sail.txt", "white\n")
    done = ship.tell(hooks, "rest", session_ref=str(talk))
    assert (done.returncode, done.stderr) == (0, "")
    outside = ship.tell(hooks, "rest", session_ref=str(world.home / "s1.bin"))
    assert "'session_ref' is outside" in outside.stderr
    world.commit("sail.txt")
    assert "  > Sail on\n" in world.gitcp("show", "--full", "HEAD")
    assert "5 tokens in, 2 out, 3 requests" in world.gitcp("stats", "HEAD~1..HEAD")
    world.gitcp("disable", "--uninstall")
    assert not hooks.exists()


def test_no_adapter_is_run_unless_a_file_that_git_does_not_track_allows_it(ship: Ship) -> None:
    world = ship.world
    ship.add("gitcp-agent-hal", f"#!/bin/sh\ntouch {world.home}/ran\n")
    with pytest.raises(AssertionError, match="external-agents true' allows it"):
        world.gitcp("enable", "--agent=hal")
    world.write("shared.cfg", "[gitcp]\n\texternal-agents = true\n")
    world.git("add", "shared.cfg")
    world.git("config", "include.path", "../shared.cfg")
    with pytest.raises(AssertionError, match="allows it"):
        world.gitcp("enable", "--agent=hal")
    assert "hal" not in world.gitcp("enable")
    assert not (world.home / "ran").exists()


def test_adapters_are_looked_for_in_absolute_entries_of_path_alone(ship: Ship) -> None:
    own, theirs = ship.add("gitcp-agent-hal", HAL), ship.add("entire-agent-hal", BEN)
    ship.add("entire-agent-ben", BEN).chmod(0o644)
    path = os.pathsep.join([os.path.relpath(ship.bin), "", str(ship.bin), "/nowhere"])
    assert adapters.list_programs(path) == {"hal": str(own)}
    own.unlink()
    assert adapters.list_programs(path) == {"hal": str(theirs)}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("exit 3", "gitcp-agent-hal info': status 3"),
        ("echo no >&2; exit 1", "gitcp-agent-hal info': no$"),
        ("echo '[1]'", "did not answer with a JSON object"),
        (
            """echo '{"protocol":2,"name":"hal","type":"HAL"}'""",
            "not an adapter of 'hal' for protocol 1",
        ),
        (
            """echo '{"protocol":1,"name":"ben","type":"HAL"}'""",
            "not an adapter of 'hal' for protocol 1",
        ),
        ("""echo '{"protocol":1,"name":"hal"}'""", "'agent' must be a text"),
    ],
)
def test_an_adapter_that_cannot_say_who_it_is_is_named(ship: Ship, text: str, why: str) -> None:
    program = ship.add("gitcp-agent-hal", f"#!/bin/sh\n{text}\n")
    with pytest.raises(Error, match=why):
        adapters.ask_adapter("hal", adapters.Program(str(program), str(ship.world.path)))


def test_events_of_an_adapter_are_checked_as_those_of_any_other_tool(ship: Ship) -> None:
    program = ship.add("gitcp-agent-hal", HAL)
    client = adapters.ask_adapter("hal", adapters.Program(str(program), str(ship.world.path)))
    (event,) = client.read_events("turn-start", b'{"session_id":"s1","agent":"else","prompt":"go"}')
    assert (event["agent"], event["cwd"]) == ("HAL 9000", str(ship.world.path))
    assert client.format_resume_command("s 1") == "hal --again 's 1'"
    with pytest.raises(InputError, match="'session_id'"):
        client.read_events("turn-start", b'{"session_id":"../s"}')
    with pytest.raises(InputError, match="not a JSON record"):
        client.read_events("turn-start", b"nothing\n")


@pytest.mark.parametrize(
    ("there", "words", "expected"),
    [
        ("", "ab", "ab"),
        ("ab", "abc", "abc"),
        ("abU", "abcV", "abUcV"),
        ("abU", "abcU", "abUc"),
        ("abc", "ab", "abc"),
        ("abc", "axc", "abcxc"),
    ],
)
def test_a_transcript_in_our_words_only_grows(
    tmp_path: Path, there: str, words: str, expected: str
) -> None:
    def lines(text: str) -> bytes:
        each = ({"kind": "usage" if c.isupper() else "prompt", "text": c} for c in text)
        return b"".join(json.dumps(line).encode() + b"\n" for line in each)

    path = tmp_path / "exports" / "s1.jsonl"
    adapters.append_missing(str(path), lines(there))
    adapters.append_missing(str(path), lines(words))
    assert path.read_bytes() == lines(expected)
