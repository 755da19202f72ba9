"""A line that names a checkpoint somewhere in a message is a link only as a forge leaves it."""

from __future__ import annotations

import json
import os

import pytest

from tests.support import warm
from tests.support.harness import World
from tests.support.linking import BARE

LIB = "".join(f"def function_number_{n}():\n    return {n}\n\n\n" for n in range(6))
WORK = "def power(a, b):\n    return a ** b\n\n\ndef root(a):\n    return a ** 0.5\n"
BY_HAND = "what the person wrote by hand\nand a second line of it\n"
QUOTES = {
    "in a text": "Take back what\nEntire-Checkpoint: {one}\nmade, since it is slow.",
    "indented": "Take back:\n\n    Entire-Checkpoint: {one}\n\nIt is slow.",
    "quoted": "Take back:\n\n> Entire-Checkpoint: {one}\n\nIt is slow.",
    "fenced": "Take back:\n\n```\n\nEntire-Checkpoint: {one}\n\n```\n\nIt is slow.",
}
ALONE = "Take back:\n\nEntire-Checkpoint: {one}\n\nIt is slow."
FORGE = (
    "Work (#12)\n\n* power\n\nEntire-Checkpoint: {one}\n\n* tests\n\nSigned-off-by: A <a@x>\n\n"
    "Co-authored-by: A <a@x>"
)
SIGNED = (
    "Work (#12)\n\n* power\n\nSigned-off-by: A <a@x>\nEntire-Checkpoint: {one}\n\n* tests\n\n"
    "Co-authored-by: A <a@x>"
)


@pytest.fixture
def one(world: World) -> str:
    """The id of a session's commit of lib.py."""
    world.write("lib.py", LIB)
    world.commit()
    world.git("branch", "base")
    world.agent("session-a").turn("write power", {"lib.py": LIB + WORK})
    [checkpoint_id] = world.commit()
    return checkpoint_id


def commit(world: World, message: str, text: str, path: str = "lib.py") -> None:
    """A commit by hand, without our hooks."""
    world.write(path, text)
    world.git("add", path)
    world.git(*BARE, "commit", "-q", "-m", message)


def read(world: World, command: str, *args: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in world.gitcp(command, *args).splitlines()]


def run(world: World, *args: str) -> str:
    """What a command prints, whatever its status."""
    done = warm.command(args[0], args[1:], world.path, {**os.environ, **world.env}, b"")
    return (done.stdout + done.stderr).decode()


def is_shown(world: World, one: str) -> bool:
    return one in run(world, "show", "HEAD", "--json")


def read_last_author(world: World) -> str:
    lines = read(world, "blame", "--json", "lib.py")
    return str(lines[-1]["who"])


def is_linked(world: World, one: str) -> bool:
    """Whether readers take HEAD for a commit of the checkpoint; all say the same."""
    head = world.head
    [record] = read(world, "log", "--json", "-1")
    listed = [link["checkpoint_id"] for link in record["checkpoints"]]  # type: ignore[attr-defined]
    found = {
        "log": one in listed,
        "find-commits": head in world.gitcp("find-commits", one),
        "show": is_shown(world, one),
        "blame": read_last_author(world) != "person",
    }
    if f"\nEntire-Checkpoint: {one}" in world.git(
        "log", "-1", "--format=%B"
    ):  # as a trailer stands
        found["fsck"] = f"'{one}', which it is not linked to" not in world.gitcp("fsck")
    assert len(set(found.values())) == 1, found
    return found["log"]


@pytest.mark.parametrize("name", QUOTES)
def test_a_quoted_id_is_a_mention_whatever_the_commit_has(
    world: World, one: str, name: str
) -> None:
    world.git("switch", "-q", "base")
    commit(world, QUOTES[name].format(one=one), LIB + WORK + BY_HAND)
    world.gitcp("disable")  # else it is linked by what it has
    assert not is_linked(world, one)


def test_an_id_alone_in_its_paragraph_is_a_mention_if_the_commit_has_nothing_of_it(
    world: World, one: str
) -> None:
    commit(world, ALONE.format(one=one), LIB + WORK + BY_HAND)
    assert not is_linked(world, one)


@pytest.mark.parametrize("message", [FORGE, SIGNED])
def test_an_id_in_the_body_of_a_forges_squash_is_a_link(
    world: World, one: str, message: str
) -> None:
    world.git("switch", "-q", "base")
    commit(world, message.format(one=one), LIB + WORK + BY_HAND)
    assert is_linked(world, one)


def test_an_id_in_the_body_of_a_squash_is_a_link_under_another_name_of_the_file(
    world: World, one: str
) -> None:
    world.git("switch", "-q", "base")
    world.git("mv", "lib.py", "library.py")
    commit(world, FORGE.format(one=one), LIB + WORK, "library.py")
    world.gitcp("disable")  # else it is linked by what it has
    [record] = read(world, "log", "--json", "-1")
    assert [link["linked"] for link in record["checkpoints"]] == ["text"]  # type: ignore[attr-defined]


def test_a_trailer_and_a_note_are_links_whatever_the_commit_has(world: World, one: str) -> None:
    commit(world, f"By hand\n\nEntire-Checkpoint: {one}", LIB + WORK + BY_HAND)
    assert is_linked(world, one)
    commit(world, "By hand", LIB + WORK + BY_HAND * 2)
    world.gitcp("link", "HEAD", one)
    assert is_linked(world, one)
