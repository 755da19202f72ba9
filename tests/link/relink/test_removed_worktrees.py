"""A commit that no hook saw in a linked worktree, which was removed before an event of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.harness import World
from tests.support.linking import noted


def work_aside(world: World, bare: tuple[str, ...], text: str, ended: bool) -> None:
    """A session writes one.txt in a linked worktree, which is removed after a commit without
    hooks."""
    side = world.path.parent / "side"
    world.git(*bare, "worktree", "add", "-q", "-b", "side", str(side))
    a = world.agent("session-a", cwd=side)
    a.turn("work aside", {"one.txt": text})
    if ended:
        a.end()
    world.git("add", "-A", cwd=side)
    world.git(*bare, "commit", "-q", "-m", "aside", cwd=side)
    world.kill(a)
    world.git("worktree", "remove", "--force", str(side))


@pytest.mark.parametrize("ended", [False, True])
@pytest.mark.parametrize("how", ["merge", "ff"])
def test_its_session_is_linked_by_the_next_event_elsewhere(
    world: World, tmp_path: Path, how: str, ended: bool
) -> None:
    bare = ("-c", f"core.hooksPath={tmp_path}")
    b = world.agent("session-b")
    b.turn("talk")
    work_aside(world, bare, "a line by the agent\nand another of its lines\n", ended)
    if how == "merge":
        world.write("README.md", "by hand\n")
        world.git("add", "-A")
        world.git(*bare, "commit", "-q", "-m", "by hand")
    world.git(*bare, "merge", "-q", "--no-edit", "side")
    b.turn("something else", {"two.txt": "a line by B\n"})
    note = world.git("notes", "--ref=gitcp", "show", "side")
    checkpoint = note.removeprefix("Entire-Checkpoint: ")
    assert list(world.committed(checkpoint)) == ["session-a"]
    assert "work aside" in world.committed(checkpoint)["session-a"]["transcript"]
    out = world.gitcp("blame", "one.txt")
    assert out.count("Claude Code") == 2


@pytest.mark.parametrize("ended", [False, True])
def test_its_lines_in_a_file_that_was_there_are_the_sessions(
    world: World, tmp_path: Path, ended: bool
) -> None:
    bare = ("-c", f"core.hooksPath={tmp_path}")
    b = world.agent("session-b")
    b.turn("begin", {"one.txt": "".join(f"line {n} by B\n" for n in range(9))})
    world.commit()
    added = "line 4 by B\na line by A\nanother by A\n"
    work_aside(world, bare, world.read("one.txt").replace("line 4 by B\n", added), ended)
    world.git(*bare, "merge", "-q", "--no-edit", "side")
    b.turn("something else", {"two.txt": "a line by B\n"})
    rows = [json.loads(row) for row in world.gitcp("blame", "--json", "one.txt").splitlines()]
    authors = {row["content"]: row["session_id"] for row in rows}
    assert [authors[row] for row in ("a line by A", "another by A")] == ["session-a", "session-a"]


def test_its_open_work_is_not_in_what_another_person_did_to_the_same_file(
    world: World, tmp_path: Path
) -> None:
    bare = ("-c", f"core.hooksPath={tmp_path}")
    text = "".join(f"line {n} of the file\n" for n in range(9))
    world.write("one.txt", text)
    world.commit()
    b = world.agent("session-b")
    b.turn("talk")
    less = text.replace("line 4 of the file\n", "")
    work_aside(world, bare, less + "a line by the agent\n", True)
    there = tmp_path / "there"
    world.git("clone", "-q", ".", str(there))
    (there / "one.txt").write_text(less)
    world.git("commit", "-qam", "pulled", "--author", "another <a@x>", cwd=there)
    world.git(*bare, "pull", "-q", "--ff-only", str(there), "main")
    b.turn("something else")
    assert noted(world) == []
    world.git(*bare, "merge", "-q", "-X", "ours", "--no-edit", "side")
    b.turn("and more")
    assert len(noted(world, "side")) == 1


def test_a_range_links_its_open_work_before_any_event(world: World, tmp_path: Path) -> None:
    bare = ("-c", f"core.hooksPath={tmp_path}")
    world.agent("session-b").turn("talk")
    work_aside(world, bare, "a line by the agent\nand another of its lines\n", False)
    world.git(*bare, "merge", "-q", "side")
    assert world.gitcp("relink", "--dry-run", "HEAD~..").count("match") == 1
    assert noted(world) == []
    world.gitcp("relink", "HEAD~..")
    [checkpoint] = noted(world)
    assert "work aside" in world.committed(checkpoint)["session-a"]["transcript"]


ROWS = [f"line {n} of the file" for n in range(20)]
OWN = "a line by the agent", "another line by the agent"
MIXED = [*ROWS[:12], OWN[0], *ROWS[12:16], OWN[1], *ROWS[16:]]


def join(rows: list[str]) -> str:
    return "".join(f"{row}\n" for row in rows)


def read_authors(world: World) -> dict[str, str]:
    """Who wrote each line of one.txt."""
    rows = [json.loads(row) for row in world.gitcp("blame", "--json", "one.txt").splitlines()]
    return {row["content"]: row["session_id"] or row["who"] for row in rows}


@pytest.mark.parametrize("how", ["rebased", "merged and made one", "squashed"])
@pytest.mark.parametrize("first", ["a line by session b", "a line by hand"])
def test_its_lines_are_the_sessions_in_another_form_of_its_commit(
    world: World, tmp_path: Path, how: str, first: str
) -> None:
    bare = ("-c", f"core.hooksPath={tmp_path}")
    world.write("one.txt", join(ROWS))
    world.commit()
    b = world.agent("session-b")
    b.turn("talk")
    work_aside(world, bare, join(MIXED), True)
    world.write("one.txt", join([first, *ROWS]))
    if first.endswith("b"):
        b.turn("write", {"one.txt": world.read("one.txt")})
    world.git(*bare, "commit", "-qam", "beside it")
    if how == "rebased":
        world.git(*bare, "rebase", "-q", "main", "side")
        world.git("switch", "-q", "main")
    squash = ["--squash"] if how == "squashed" else []
    world.git(*bare, "merge", "-q", "--no-edit", *squash, "side")
    if how != "rebased":
        world.git("reset", "-q", "--soft", "HEAD" if squash else "HEAD^")
        world.git(*bare, "commit", "-qm", how)
    b.turn("something else", {"two.txt": "a line by B\n"})
    authors = read_authors(world)
    assert {row for row, who in authors.items() if who == "session-a"} == {*OWN}


def test_a_line_that_the_person_typed_before_it_did_stays_the_persons(
    world: World, tmp_path: Path
) -> None:
    bare = ("-c", f"core.hooksPath={tmp_path}")
    world.write("one.txt", join(ROWS))
    world.commit()
    b = world.agent("session-b")
    world.write("one.txt", join([row for row in MIXED if row != OWN[1]]))
    b.turn("talk")
    work_aside(world, bare, join(MIXED), True)
    world.write("one.txt", join(MIXED))
    world.git(*bare, "commit", "-qam", "taken over")
    b.turn("something else", {"two.txt": "a line by B\n"})
    assert len(noted(world)) == 1
    authors = read_authors(world)
    assert [authors[row] for row in OWN] == ["person", "session-a"]
