"""A line is whose it was: restored, formatted, moved, or squashed with a rename."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lines.blame.told_lines import blame_names, text
from tests.support.clients.calls import edit, run
from tests.support.harness import Agent, World
from tests.support.linking import ids, sound
from tests.support.scenes import Scenes

HERS = text("the person", 1, 2, 3)
ITS = text("a session", 4, 5, 6)


def write_halves(world: World) -> Agent:
    """A session whose three lines follow the person's three in f.txt, each in its own commit."""
    world.write("f.txt", HERS)
    world.commit()
    agent = world.agent("session-a", tools=True)
    agent.prompt("write four to six")
    edit(agent, "f.txt", HERS + ITS)
    agent.stop()
    world.commit()
    return agent


@pytest.fixture
def a(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    yield from scenes.play(write_halves, monkeypatch)


@pytest.fixture
def world(a: Agent) -> World:
    return a.world


def added(world: World, revisions: str) -> dict[str, int]:
    """The lines that stats counts in a range, nobody's left out."""
    counts = json.loads(world.gitcp("stats", "--json", revisions))["added"]
    return {who: count for who, count in counts.items() if count}


def rows(world: World, path: str) -> list[dict[str, Any]]:
    return [json.loads(row) for row in world.gitcp("blame", "--json", "--", path).splitlines()]


def prompts(world: World, path: str) -> list[str]:
    """The prompt that blame, and `why`, name for each line; '' for none."""
    named = [str(row["prompt"]) for row in rows(world, path)]
    asked = [world.gitcp("why", "--json", f"{path}:{n + 1}") for n in range(len(named))]
    assert [json.loads(one)["prompt"] for one in asked] == named
    return named


WANT = ["person"] * 3 + ["session-a"] * 3
PROMPTS = [""] * 3 + ["write four to six"] * 3


def test_a_revert_of_a_revert_gives_its_lines_back_to_their_authors(world: World, a: Agent) -> None:
    world.git("revert", "--no-edit", "HEAD")
    world.git("revert", "--no-edit", "HEAD")
    assert blame_names(world, "f.txt") == WANT
    assert prompts(world, "f.txt") == PROMPTS
    assert added(world, "HEAD~1..") == {"agent": 3}


def test_lines_that_are_restored_and_committed_again_with_more_are_their_authors(
    world: World, a: Agent
) -> None:
    world.git("revert", "--no-edit", "HEAD")
    world.git("revert", "--no-edit", "HEAD")
    more = HERS + ITS + text("a session", 7)
    a.turn("write seven", {"f.txt": more})
    world.commit()
    world.git("reset", "-q", "--mixed", "HEAD~2")
    world.commit()
    assert blame_names(world, "f.txt") == [*WANT, "session-a"]
    assert prompts(world, "f.txt") == [*PROMPTS, "write seven"]
    assert added(world, "HEAD~1..") == {"agent": 4}


def test_a_file_that_the_person_brings_back_from_an_old_commit_keeps_its_authors(
    world: World, a: Agent
) -> None:
    world.write("f.txt", text("the person", 9))
    world.commit()
    world.git("checkout", "HEAD~1", "--", "f.txt")
    assert blame_names(world, "f.txt") == WANT
    world.git("commit", "-q", "-m", "bring it back")
    assert blame_names(world, "f.txt") == WANT
    assert prompts(world, "f.txt") == PROMPTS
    assert added(world, "HEAD~1..")["agent"] == 3


def test_a_deletion_that_is_reverted_keeps_the_authors_of_the_file(world: World, a: Agent) -> None:
    world.git("rm", "-q", "f.txt")
    world.git("commit", "-q", "-m", "delete it")
    world.git("revert", "--no-edit", "HEAD")
    assert blame_names(world, "f.txt") == WANT
    assert prompts(world, "f.txt") == PROMPTS
    assert added(world, "HEAD~1..")["agent"] == 3


@pytest.mark.parametrize("further", [0, 12])
def test_a_removal_elsewhere_that_is_reverted_brings_the_authors_of_its_lines(
    world: World, a: Agent, further: int
) -> None:
    made = {f"{n}.txt": text("a session", 10 + n, 30 + n) for n in range(further)}
    world.git("checkout", "-q", "-b", "side")
    a.turn("write more", {"f.txt": HERS + ITS + text("a session", 7, 8), **made})
    world.commit()
    world.write("f.txt", HERS + ITS)
    for path in made:
        (world.path / path).unlink()
    world.commit()
    world.git("checkout", "-q", "-")
    world.write("g.txt", "of another commit\n")
    world.commit()
    world.git("-c", "core.hooksPath=/dev/null", "revert", "--no-edit", "side")
    assert added(world, "HEAD~1..") == {"agent": 2 + 2 * further}
    assert blame_names(world, "f.txt") == [*WANT, "session-a", "session-a"]
    assert prompts(world, "f.txt")[-1] == "write more"


def test_what_a_colleague_without_hooks_restores_keeps_its_authors(world: World, a: Agent) -> None:
    silent = ("-c", "core.hooksPath=/dev/null")
    world.git("revert", "--no-edit", "HEAD")
    world.write("g.txt", "of another commit\n")
    world.commit()
    world.git("checkout", "HEAD~2", "--", "f.txt")
    world.git(*silent, "commit", "-q", "-m", "restore")
    assert blame_names(world, "f.txt") == WANT
    assert prompts(world, "f.txt") == PROMPTS
    assert added(world, "HEAD~1..") == {"agent": 3}


@pytest.mark.parametrize("hooks", ["installed", "silenced"])
@pytest.mark.parametrize("how", ["indented", "ended otherwise"])
def test_what_the_person_formats_in_a_commit_of_its_own_keeps_its_prompt(
    world: World, a: Agent, how: str, hooks: str
) -> None:
    before = world.read("f.txt")
    changed = before.replace("\n", "\r\n") if how == "ended otherwise" else f"  {before}"
    changed = changed.replace("line 5", "    line 5")
    world.write("f.txt", changed)
    silent = ("-c", "core.hooksPath=/dev/null") if hooks == "silenced" else ()
    world.git(*silent, "commit", "-qam", "format")
    assert ids(world) == []
    assert blame_names(world, "f.txt") == WANT
    assert prompts(world, "f.txt") == PROMPTS
    assert set(added(world, "HEAD~1..")) <= {"agent", "person"}
    assert added(world, "HEAD~1..")["agent"] == (3 if how == "ended otherwise" else 1)


def test_both_sides_of_a_conflict_with_a_format_keep_their_prompts(world: World, a: Agent) -> None:
    silent = ("-c", "core.hooksPath=/dev/null")
    world.env["GIT_EDITOR"] = "true"
    world.git("switch", "-q", "-c", "side")
    seven = text("a session", 4, 5, 7, 6)
    a.turn("write seven", {"f.txt": HERS + seven})
    world.commit()
    world.git("switch", "-q", "-")
    formatted = world.read("f.txt").replace("line", "  line")
    world.write("f.txt", formatted)
    world.commit()
    world.git("switch", "-q", "side")
    world.git(*silent, "rebase", "-q", "-", ok=False)
    world.write("f.txt", formatted + seven)
    world.git("add", "f.txt")
    world.git(*silent, "rebase", "--continue")
    assert blame_names(world, "f.txt") == [*WANT, *["session-a"] * 4]
    asked = ["write four to six", "write four to six", "write seven", "write four to six"]
    assert prompts(world, "f.txt") == [*PROMPTS, *asked]


def test_what_another_session_formats_keeps_its_prompt(world: World, a: Agent) -> None:
    b = world.agent("session-b", tools=True)
    b.prompt("format it")
    edit(b, "f.txt", world.read("f.txt").replace("line", "  line") + text("session b", 7))
    b.stop()
    assert blame_names(world, "f.txt") == [*WANT, "session-b"]
    world.commit()
    assert blame_names(world, "f.txt") == [*WANT, "session-b"]
    assert prompts(world, "f.txt") == [*PROMPTS, "format it"]
    sound(world)


def test_what_a_session_wrote_in_another_turn_and_formats_keeps_its_prompt(
    world: World, a: Agent
) -> None:
    a.prompt("format it")
    edit(a, "f.txt", world.read("f.txt").replace("line", "  line"))
    edit(a, "g.txt", text("a session", 7))
    a.stop()
    world.commit()
    assert blame_names(world, "f.txt") == WANT
    assert prompts(world, "f.txt") == PROMPTS


def test_what_the_person_formats_before_the_commit_keeps_its_prompt(world: World, a: Agent) -> None:
    a.turn("one more", {"f.txt": HERS + ITS + text("a session", 7)})
    world.write("f.txt", world.read("f.txt").replace("line", "  line"))
    want = [*PROMPTS, "one more"]
    assert (blame_names(world, "f.txt"), prompts(world, "f.txt")) == ([*WANT, "session-a"], want)
    world.commit()
    assert (blame_names(world, "f.txt"), prompts(world, "f.txt")) == ([*WANT, "session-a"], want)


@pytest.mark.parametrize("how", ["sed -i 's/^line 2/  line 2/' f.txt", "sort -r -o f.txt f.txt"])
def test_what_a_session_indents_or_moves_of_the_persons_stays_the_persons(
    world: World, a: Agent, how: str
) -> None:
    a.prompt("change it")
    run(a, f"{how} && echo 'line 7 of a session' >>f.txt")
    a.stop()
    owners = {"the person": "person", "a session": "session-a"}

    def want() -> list[str]:
        lines = world.read("f.txt").splitlines()
        return [next(who for name, who in owners.items() if name in line) for line in lines]

    assert blame_names(world, "f.txt") == want()
    world.commit()
    assert blame_names(world, "f.txt") == want()


@pytest.mark.parametrize("way", ["rebase", "merge"])
def test_a_sessions_edit_that_is_squashed_with_the_persons_rename_stays_the_sessions(
    world: World, a: Agent, way: str
) -> None:
    base = world.head
    world.git("checkout", "-q", "-b", "side")
    a.prompt("one more")
    edit(a, "f.txt", HERS + ITS + text("a session", 7, 8))
    a.stop()
    world.commit()
    world.git("mv", "f.txt", "g.txt")
    world.git("commit", "-q", "-m", "rename")
    if way == "rebase":
        world.env["GIT_EDITOR"] = "true"
        world.env["GIT_SEQUENCE_EDITOR"] = "sed -i 2s/pick/squash/"
        world.git("rebase", "-q", "-i", base)
    else:
        world.git("checkout", "-q", "main")
        world.git("merge", "-q", "--squash", "side")
        world.git("commit", "-q", "-m", "squashed")
    assert blame_names(world, "g.txt") == [*WANT, "session-a", "session-a"]
    assert prompts(world, "g.txt") == [*PROMPTS, "one more", "one more"]


def test_lines_that_the_person_copies_within_a_file_are_the_sessions(
    world: World, a: Agent
) -> None:
    world.write("f.txt", ITS + text("the person", 7) + HERS + ITS)
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-qam", "both sides of a conflict")
    assert not ids(world)
    assert blame_names(world, "f.txt") == [a.sid] * 3 + ["person"] * 4 + [a.sid] * 3
