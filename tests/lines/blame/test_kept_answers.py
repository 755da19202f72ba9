"""What was found for a commit is kept in a file, without which the same is found again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.checkpoints import links
from tests.lines.blame.test_unrecorded_commits import count_gits, shuffle
from tests.lines.blame.told_lines import blame_names, text
from tests.support.clients.calls import edit
from tests.support.harness import V1, World
from tests.support.warm import run as run_warm

LINES, OWN = text("a session", 1, 2, 3, 4), text("the person", 5, 6, 7)


@pytest.fixture
def moved(world: World) -> World:
    """A session's lines, of which the person has moved two and a colleague indents one; the
    person's, of which the colleague moves one."""
    agent = world.agent("session-a", tools=True)
    agent.prompt("write four lines")
    edit(agent, "f.txt", LINES)
    agent.stop()
    assert world.commit()
    one, two, three, four = LINES.splitlines(True)
    world.write("f.txt", three + four + one + two)
    world.write("g.txt", OWN)
    world.commit()
    world.env["GIT_AUTHOR_EMAIL"] = "colleague@example.com"
    world.write("f.txt", three + "    " + four + one + two)
    world.write("g.txt", "".join([*OWN.splitlines(True)[1:], OWN.splitlines(True)[0]]))
    world.commit()
    del world.env["GIT_AUTHOR_EMAIL"]
    return world


def ask(world: World) -> list[tuple[int, str, str]]:
    """What stats, blame and why say of the moved lines."""
    questions = ("stats", "--json"), ("blame", "--json", "f.txt"), ("why", "--json", "f.txt:2")
    done = [run_warm(*words, cwd=world.path) for words in questions]
    return [(one.returncode, one.stdout, one.stderr) for one in done]


def get_file(world: World) -> Path:
    return world.path / ".git/gitcp/cache/lines"


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def put_folder(path: Path) -> None:
    path.unlink()
    (path / "below").mkdir(parents=True)


@pytest.mark.parametrize(
    "harm",
    [
        Path.unlink,
        flip,
        put_folder,
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"gitcp 1 0\n\xff\xff\xff\xff"),
    ],
)
def test_answers_are_the_same_at_first_again_and_after_harm(
    moved: World, harm: Callable[[Path], None]
) -> None:
    cold = ask(moved)
    assert blame_names(moved, "f.txt") == ["session-a"] * 4
    assert ask(moved) == cold
    harm(get_file(moved))
    assert ask(moved) == cold
    assert get_file(moved).is_file()


def test_a_repository_that_cannot_be_written_answers_the_same(moved: World) -> None:
    cold = ask(moved)
    get_file(moved).unlink()
    shutil.rmtree(moved.path / ".git/gitcp/tmp", ignore_errors=True)
    moved.write(".git/gitcp/tmp", "no directory\n")
    assert ask(moved) == cold
    assert not get_file(moved).exists()


def delete_checkpoints(world: World) -> None:
    world.git("update-ref", "-d", V1)


def record_another_person(world: World) -> None:
    path = world.path / ".git/gitcp/recording"
    path.write_text(path.read_text().replace("author@", "another@"))


def write_note(world: World) -> None:
    world.git("notes", "--ref", "gitcp", "add", "-m", links.UNKNOWN.decode(), "HEAD~1")


@pytest.mark.parametrize("change", [delete_checkpoints, record_another_person, write_note])
def test_what_decides_of_an_author_is_asked_again(
    moved: World, change: Callable[[World], object]
) -> None:
    moved.git("update-ref", "-d", "refs/notes/gitcp")
    before = ask(moved)
    change(moved)
    after = ask(moved)
    assert after != before
    get_file(moved).unlink()
    assert ask(moved) == after


def test_the_history_is_not_read_again(world: World) -> None:
    shuffle(world, files=12, commits=3)
    first = count_gits(world, "stats", "HEAD~3..")
    assert count_gits(world, "stats", "HEAD~3..") < first


def test_a_checkpoint_that_no_commit_of_the_history_names_makes_nothing_void(moved: World) -> None:
    asked = "HEAD~2..HEAD"
    first = count_gits(moved, "stats", asked)
    kept = count_gits(moved, "stats", asked)
    tip = moved.git("rev-parse", V1)
    agent = moved.agent("session-b", tools=True)
    agent.turn("another file", {"other.txt": text("a session", 9)})
    assert moved.commit()
    assert moved.git("rev-parse", V1) != tip
    moved.git("reset", "-q", "--hard", "HEAD~1")
    before = get_file(moved).stat().st_mtime_ns
    # Where the recording began is asked for once more.
    assert kept < count_gits(moved, "stats", asked) < first
    assert get_file(moved).stat().st_mtime_ns > before
    assert count_gits(moved, "stats", asked) == kept


def test_a_checkpoint_that_a_commit_names_is_asked_for_when_it_arrives(world: World) -> None:
    agent = world.agent("session-a", tools=True)
    agent.turn("write four lines", {"f.txt": LINES})
    assert world.commit()
    one, *rest = LINES.splitlines(True)
    world.env["GIT_AUTHOR_EMAIL"] = "colleague@example.com"
    world.write("f.txt", "".join([*rest, one]))
    world.commit()
    del world.env["GIT_AUTHOR_EMAIL"]
    tip = world.git("rev-parse", V1)
    world.git("update-ref", "-d", V1)
    assert "session-a" not in blame_names(world, "f.txt")
    world.git("update-ref", V1, tip)
    assert blame_names(world, "f.txt") == ["session-a"] * 4
