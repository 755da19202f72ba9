"""The answers of why, blame, search, rewind and undo fit a screen, and say what is not there."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gitcp.errors import NO, OK
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import count_cells
from tests.support.frozen import Frozen
from tests.support.harness import World
from tests.support.terminal import talk
from tests.support.warm import run

LINES = 24  # of a screen
WIDTH = 100  # columns of talk()
# Words for what is within gitcp, which a person need not know.
INNER = r"\b(checkpoints?|streams?|refs?|archived?|linked|turns?|blobs?|trailers?|unrecorded)\b"


def see(place: Any, home: Path, *command: str) -> list[str]:
    """The rows that a command shows at a terminal, without colours."""
    world: Any = SimpleNamespace(path=place, env={"GIT_PAGER": "cat", "HOME": str(home)})
    seen = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", talk(world, list(command)))
    rows = seen.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [row.rpartition("\r")[2] for row in rows]  # after a line of progress


def told(rows: list[str]) -> list[str]:
    """Rows without warnings of what is not here, which are messages on standard error."""
    return [row for row in rows if not row.startswith(("warning: ", "'gitcp fetch"))]


@pytest.mark.parametrize(
    "command",
    [
        ["why", "cap.py:5"],
        ["why", "cap.py"],
        ["why", "lost.py:1"],
        ["why", "README.md"],
        ["blame", "cap.py"],
        ["search", "reviewer"],
        ["search", "size"],
    ],
    ids=" ".join,
)
def test_an_answer_fits_a_screen_in_rows_that_do_not_wrap_without_inner_words(
    frozen_store: Frozen, tmp_path: Path, command: list[str]
) -> None:
    rows = told(see(frozen_store.path, tmp_path, *command))
    assert 0 < len(rows) <= LINES, rows
    assert all(count_cells(row) <= WIDTH for row in rows), rows
    assert not [row for row in rows if re.search(INNER, row)]
    ids = {one for row in rows for one in re.findall(r"(?<![\w.])[0-9a-f]{7,40}\b", row)}
    known = {shorten_id(name) for name in frozen_store.sessions}
    for one in ids - known:
        assert any(oid.startswith(one) for oid in frozen_store.commits.values()), one


def test_a_file_of_many_prompts_has_each_once_in_a_screen(world: World, tmp_path: Path) -> None:
    agent = world.agent("session-a", tools=True)
    text = ""
    for n in range(14):
        text += f"line number {n} of its own prompt\n"
        agent.turn(f"Add line {n}, and tell why it has to be there at some length", {"f.txt": text})
    world.commit("f.txt")
    rows = see(world.path, world.home, "why", "f.txt")
    asked = [row.split("> ")[1] for row in rows if "> " in row]
    assert len(rows) <= LINES and len(asked) == len(set(asked)) == 10
    assert rows[-1] == "  and 4 more: -n 14"
    everything = see(world.path, world.home, "why", "-n", "14", "f.txt")
    assert sum("> Add line" in row for row in everything) == 14


def test_blame_names_a_writer_once_a_run_and_leaves_most_of_the_row_to_the_code(
    world: World,
) -> None:
    agent = world.agent("session-a", tools=True)
    agent.turn("write", {"f.py": "".join(f"value_{n} = {n}  # {'x' * 90}\n" for n in range(12))})
    world.commit("f.py")
    world.write("f.py", world.read("f.py") + "mine = True\n")
    rows = see(world.path, world.home, "blame", "f.py")
    assert [
        row.index(code) <= 34 for row, code in zip(rows, ["value"] * 12 + ["mine"], strict=True)
    ]
    assert sum("Claude Code" in row for row in rows) == 1
    assert rows[-1].split()[0] == "you" and all(count_cells(row) <= WIDTH for row in rows)
    piped = world.gitcp("blame", "f.py").splitlines()
    assert all("(Claude Code " in row for row in piped[:12])
    asked = see(world.path, world.home, "blame", "-l", "f.py")
    assert asked[0].startswith(world.head), "a form of git's is git's at a terminal, too"


@pytest.mark.parametrize(
    ("command", "status", "sentence"),
    [
        (["undo", "--list"], OK, "nothing to undo here: gitcp changed no file"),
        (["rewind", "--list"], OK, "no point to go back to: each prompt and edit"),
        (["search", "xylophone"], NO, "no prompt has all of these; '--exact' finds"),
        (["log", "--abandoned"], OK, "nothing was given up here"),
    ],
)
def test_where_there_is_nothing_one_sentence_says_so(
    world: World, command: list[str], status: int, sentence: str
) -> None:
    done = run(*command, cwd=world.path)
    text = done.stdout + done.stderr
    assert done.returncode == status and text.startswith(sentence)
    assert text.count("\n") == 1 and "fatal" not in text
