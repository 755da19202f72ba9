"""Names and texts that would drive a terminal: no command hands them on as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.program.test_manners import at_terminal
from tests.support import warm
from tests.support.harness import World

ESC, BELL, CSI, RTL = "\x1b[2J", "\x1b]0;evil\x07", "\x9b31m", "\u202eabc\u2066"
EVIL = f"x{ESC}{BELL}{CSI}{RTL}\x7f"
PATH = f"f{EVIL}\r.txt"
BRANCH = f"b{CSI[0]}{RTL}"
COMMANDS = """
status, status -v, log, log --all, show HEAD, show --full HEAD, show {point}, explain HEAD,
why {path}:1, why {path}:99, search evil, search f, recap, sessions, stats, stats HEAD~1.., verify,
rewind --list, rewind --to {point} --dry-run, undo --list, undo, redo, resume HEAD, resume {branch},
link HEAD {session}, unlink HEAD, push --to {branch}, push {path}, fetch {path}, doctor, doctor -v,
fsck, du, clean -n, forget {path}, config, blame nowhere{path}, show {path}, log {path},
explain {path}, relink --dry-run, list-claims --text, config --get {path}, status {path},
export-traces HEAD~1..{branch}, list-streams --{path}, run --agent {path} -- true, convert-store,
enable --agent {path}, page -o nowhere/{path}, hook {path}, diff nowhere{path}
"""
# A patch of `diff` is git's, which its pager shows as git's, and one of `log` in a pipe.
AT_TERMINAL = """
blame {path}, show --transcript HEAD, explain --raw-transcript HEAD, log --json, log --all -p,
read-checkpoint --transcript --commit HEAD
"""


@pytest.fixture
def hostile(world: World) -> World:
    world.git("config", "user.name", f"N{CSI}{RTL}")
    world.git("switch", "-q", "-c", BRANCH)
    world.git("config", f"remote.{BRANCH}.url", f"/nowhere/{EVIL}")
    world.git("config", "gitcp.remote", BRANCH)
    a = world.agent("session-a", tools=True)
    a.prompt(f"please {EVIL} do evil")
    a.write(PATH, f"one {EVIL}\ntwo\n")
    a.stop()
    world.git("add", "-A")
    world.git("commit", "-q", "-m", f"subject {EVIL}")
    a.prompt(f"more {EVIL}")
    a.write(PATH, f"one {EVIL}\ntwo {EVIL}\n")
    a.write(f"second{EVIL}", "evil\n")
    a.stop()
    return world


def commands(hostile: World, listed: str) -> Iterator[list[str]]:
    stream = hostile.refs("refs/heads/entire")[f"refs/heads/{hostile.branch()}"]
    words = {"path": PATH, "branch": BRANCH, "point": stream, "session": "session-a"}
    for line in listed.split(","):
        yield [word.format(**words) for word in line.split()]


def driving(said: str) -> str:
    """Where a text begins to drive a terminal, '' where nowhere."""
    at = next((n for n, c in enumerate(said) if not c.isprintable() and c not in "\n\t"), -1)
    return said[max(0, at - 60) : at + 20] if at >= 0 else ""


@pytest.mark.thorough
def test_no_command_hands_on_what_a_terminal_would_obey(
    hostile: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = {}
    monkeypatch.chdir(hostile.path)
    for words in commands(hostile, AT_TERMINAL):
        said = at_terminal(*words, GIT_PAGER="cat", NO_COLOR="1")
        assert "evil" in said
        raw[*words] = driving(said.replace("\r\n", "\n"))
    env = {**os.environ, "NO_COLOR": "1"}
    for name, *args in commands(hostile, COMMANDS):
        done = warm.command(name, args, hostile.path, env)
        assert done.returncode != 70, done
        raw[name, *args] = driving((done.stdout + done.stderr).decode(errors="surrogateescape"))
    assert {words: said for words, said in raw.items() if said} == {}
