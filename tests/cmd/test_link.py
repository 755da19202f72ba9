"""gitcp link and unlink: notes by hand, obeyed by every reader, taken back by undo."""

from __future__ import annotations

import json

import pytest

from tests.support.harness import World
from tests.support.linking import ids, noted, sound
from tests.support.warm import run

SID = "8f76b0e8-b8f1-4a87-9186-848bdd83d62e"


@pytest.fixture
def at(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(world.path)
    agent = world.agent(SID)
    agent.turn(
        "write", {"a.txt": "a line that the agent wrote\n", "b.txt": "another of its lines\n"}
    )
    world.commit("a.txt")
    world.write("m", "the person's\n")
    world.commit("m")
    return world


def text(world: World, commit: str = "HEAD") -> str:
    return world.git("notes", "--ref=gitcp", "show", commit, ok=False)


@pytest.mark.parametrize("digits", [12, 4])
def test_a_commit_is_linked_to_a_checkpoint(at: World, digits: int) -> None:
    [one] = ids(at, "HEAD~")
    assert run("link", "HEAD", one[:digits]).stdout == f"linked: {at.head[:8]} {one}\n"
    assert noted(at) == [one] and ids(at) == []
    assert one in run("log", "--json", "HEAD~..HEAD").stdout
    run("link", "HEAD", one)
    assert noted(at) == [one], "once"
    sound(at)


@pytest.mark.thorough
def test_a_beginning_of_several_ids_links_and_unlinks_none(at: World) -> None:
    """A session is among them, and two checkpoints of one commit."""
    for number in (0, 1):
        given = json.dumps(
            {"type": "session", "checkpoint_id": f"8f7{number}00000000", "session_id": "s"}
        )
        run("write-committed", stdin=given.encode())
    listed = f"8f7000000000 8f7100000000 {SID}"
    done = run("link", "HEAD", "8f7")
    assert (done.returncode, done.stderr) == (128, f"fatal: ambiguous name '8f7': {listed}\n")
    assert "no such checkpoint or session: 'x'" in run("link", "HEAD", "x").stderr
    for number in (0, 1):
        run("link", "HEAD", f"8f7{number}00000000")
    assert "ambiguous checkpoint '8f7'" in run("unlink", "HEAD", "8f7").stderr
    assert sorted(noted(at)) == ["8f7000000000", "8f7100000000"]


def test_a_commit_is_linked_to_a_session_with_its_open_file(at: World) -> None:
    at.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "x")
    at.git("add", "b.txt")
    at.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--amend", "-m", "by hand")
    assert run("link", "HEAD", SID[:8]).returncode == 0
    [one] = noted(at)
    assert at.committed(one)[SID]["files_touched"] == ["b.txt"]
    assert "files_touched" not in at.state(SID)
    sound(at)


def test_a_session_without_open_files_gives_its_newest_checkpoint(at: World) -> None:
    [one] = ids(at, "HEAD~")
    run("link", "HEAD", SID)
    assert noted(at) == [one]


def test_of_a_session_with_a_state_the_clock_of_another_machine_changes_nothing(at: World) -> None:
    [one] = ids(at, "HEAD~")
    made = {"created_at": "2099-01-01T00:00:00Z"}
    given = {"type": "session", "checkpoint_id": "ff0000000000", "session_id": SID}
    run("write-committed", stdin=json.dumps({**given, "metadata": made}).encode())
    run("link", "HEAD", SID)
    assert noted(at) == [one]


@pytest.mark.thorough
def test_of_a_session_without_a_state_the_store_tells_which_checkpoint_is_newest(
    at: World,
) -> None:
    for checkpoint_id, day in (("bb0000000000", 2), ("aa0000000000", 3), ("cc0000000000", 1)):
        made = {"created_at": f"2026-01-0{day}T00:00:00Z"}
        given = {"type": "session", "checkpoint_id": checkpoint_id, "session_id": "s"}
        run("write-committed", stdin=json.dumps({**given, "metadata": made}).encode())
    assert run("link", "HEAD", "s").returncode == 0
    assert noted(at) == ["aa0000000000"]


@pytest.mark.thorough
def test_a_link_by_trailer_is_taken_away_for_every_reader(at: World) -> None:
    [one] = ids(at, "HEAD~")
    done = run("unlink", "HEAD~", one, "-m", "not\nthe agent's")
    assert done.stdout.startswith("unlinked: ")
    assert text(at, "HEAD~") == f"Entire-Checkpoint-Removed: {one} not the agent's"
    assert ids(at, "HEAD~") == [one], "the commit stays as it is"
    assert one not in run("log", "--json").stdout
    assert run("find-commits", one).stdout == ""
    assert "no session wrote in it" in run("show", "HEAD~").stdout
    assert run("relink").stdout == "", "nor is it found again"
    at.git("commit", "-q", "--amend", "-m", "x")
    run("link", "HEAD~", one)
    assert one in run("log", "--json").stdout, "the last word counts"


def test_a_link_by_note_is_taken_away(at: World) -> None:
    [one] = ids(at, "HEAD~")
    run("link", "HEAD", one)
    run("unlink", "HEAD")
    assert one not in run("log", "--json", "HEAD~..HEAD").stdout


def test_a_secret_in_the_reason_is_redacted(at: World) -> None:
    run("unlink", "HEAD~", "-m", "token ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
    assert "ghp_a1B2" not in text(at, "HEAD~")


def test_both_are_undone_and_done_again(at: World) -> None:
    [one] = ids(at, "HEAD~")
    run("link", "HEAD", one)
    run("unlink", "HEAD~", one)
    assert run("undo").returncode == 0
    assert text(at, "HEAD~") == "" and noted(at) == [one]
    assert run("undo").returncode == 0
    assert noted(at) == []
    assert run("redo").returncode == 0
    assert noted(at) == [one]


@pytest.mark.parametrize(
    "args",
    [
        ("link", "HEAD", "nothing"),
        ("link", "nothing", SID),
        ("unlink", "HEAD"),
        ("unlink", "HEAD~", "0000"),
    ],
)
def test_what_is_not_there_is_named(at: World, args: tuple[str, ...]) -> None:
    done = run(*args)
    assert done.returncode == 128 and done.stderr.startswith("fatal: "), done
    assert noted(at) == noted(at, "HEAD~") == []
