"""Other scripts, emoji of several parts and text from right to left, at a narrow terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.text import spans
from tests.support.harness import World, enabled
from tests.support.paths import BIN
from tests.support.sealed import environment
from tests.support.warm import run

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
ARABIC, CHINESE = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "請修正錯誤"
PROMPT = f"{FAMILY} {ARABIC} {CHINESE}"
DRIVEN = "\u202eturned round"
SHOWN = "\\u202eturned round"
SESSION = "8f76b0e8-b8f1-4a87-9186-848bdd83d62e"
LONG = CHINESE * 12
WIDTH = 40


@pytest.fixture(scope="module")
def world(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Two turns that were asked for in many scripts, the first of them committed."""
    at = tmp_path_factory.mktemp("scripts").resolve()
    with environment(HOME=str(at)):
        world = World(enabled(template, at / "repo"), at / "home")
        _work(world)
        yield world
        world.close()


def _work(world: World) -> None:
    agent = world.agent(SESSION)
    agent.turn(f"{PROMPT} {DRIVEN}", {f"{CHINESE}/{FAMILY}.txt": "1\n2\n", f"{LONG}.txt": "x\n"})
    world.commit(CHINESE, LONG + ".txt")
    agent.turn(f"{PROMPT} {DRIVEN} {LONG}", {"b.txt": "1\n"})


def at_terminal(
    world: World, name: str, *args: str, until: str = "", width: int = WIDTH
) -> list[str]:
    """The lines a command shows at a narrow terminal, without colours; until: it is ended when
    it has drawn that."""
    pid, master = pty.fork()
    if not pid:
        os.chdir(world.path)
        os.environ.update(TERM="xterm", COLUMNS=str(width), LINES="30", GIT_PAGER="cat")
        os.execv(sys.executable, [sys.executable, str(BIN / f"gitcp-{name}"), *args])
    seen, ended = b"", False
    ends = time.monotonic() + 60
    try:
        while select.select([master], [], [], max(0, ends - time.monotonic()))[0]:
            data = os.read(master, 65536)
            if not data:
                break
            seen += data
            if until and not ended and until.encode() in seen and seen.endswith(b"\n"):
                os.kill(pid, signal.SIGINT)
                ended = True
    except OSError:
        pass  # the other end is closed
    os.close(master)  # which ends a command that still draws
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == (-signal.SIGINT if ended else 0), (
        seen
    )
    return re.sub(r"\x1b\[[\d;]*[mHJ]", "", seen.decode()).split("\r\n")


@pytest.mark.parametrize("name", ["log", "status"])
def test_a_prompt_in_any_script_is_shown_as_it_is_and_turns_nothing_round(
    world: World, name: str
) -> None:
    for lines in (
        at_terminal(world, name, width=120),
        run(name, cwd=world.path).stdout.split("\n"),
    ):
        (line,) = [line.strip() for line in lines if FAMILY in line]
        assert "\u202e" not in "".join(lines)
        assert f"{PROMPT} {SHOWN}" in line


@pytest.mark.parametrize("name", ["list-sessions", "list-streams", "list-checkpoints"])
def test_records_at_a_terminal_keep_the_joiners_and_escape_what_turns(
    world: World, name: str
) -> None:
    (line, *_) = at_terminal(world, name)
    record = json.loads(line)
    assert record["type"] == name.removeprefix("list-").removesuffix("s")
    assert "\u202e" not in line
    if name != "list-sessions":
        return
    assert PROMPT in line and DRIVEN not in record["description"]


def test_stats_keeps_its_tables_in_line_and_within_the_terminal(world: World) -> None:
    rows = [row for row in at_terminal(world, "stats", "--by=file") if row]
    assert len(rows) >= 3 and any(FAMILY in row for row in rows)
    assert any("…" in row for row in rows)
    assert len({spans.count_cells(row) for row in rows}) == 1, rows
    assert max(map(spans.count_cells, at_terminal(world, "stats"))) <= WIDTH
    wide = run("stats", "--by=file", cwd=world.path).stdout
    assert f"  {CHINESE}/{FAMILY}.txt" in wide


def test_a_watched_status_fits_whatever_its_prompts_hold(world: World) -> None:
    lines = at_terminal(world, "status", "--watch", until=FAMILY, width=72)
    assert any(FAMILY in line for line in lines)
    assert max(map(spans.count_cells, lines)) <= 72
