"""gitcp-diff of the last turn, of a session and of the person."""

from __future__ import annotations

import pytest

from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import done, run
from tests.steps.stage.conftest import BASE
from tests.steps.stage.test_stage import change, reshape
from tests.support.harness import Agent, World

SIDS = ("11111111-aaaa-4a87-9186-848bdd83d62e", "22222222-bbbb-4a87-9186-848bdd83d62e")


@pytest.fixture
def agents(world: World) -> tuple[Agent, Agent]:
    world.write("f.txt", BASE)
    world.commit()
    first, second = (world.agent(sid) for sid in SIDS)
    return first, second


def changed(world: World, *args: str) -> list[str]:
    """The lines that a diff adds or removes."""
    return list_changed(done(world, "diff", "-U0", *args))


def list_changed(text: str) -> list[str]:
    return [
        row for row in text.splitlines() if row[:1] in "+-" and not row.startswith(("+++", "---"))
    ]


def test_alone_it_shows_what_the_last_turn_changed(
    world: World, agents: tuple[Agent, Agent]
) -> None:
    a, b = agents
    a.turn("one", {"f.txt": change(BASE, "line 1 of", "line one of"), "g.txt": "g\n"})
    assert done(world, "diff", "--name-only") == "f.txt\ng.txt\n"
    b.turn("two", {"f.txt": change(world.read("f.txt"), "line 2 of", "line two of")})
    world.write("f.txt", change(world.read("f.txt"), "line 3 of", "line three of"))
    shown = run(world, "diff", "-U0")
    assert list_changed(shown.stdout) == ["-line 2 of the file", "+line two of the file"]
    first, second = (shorten_id(sid) for sid in SIDS)
    assert shown.stderr == (
        f"the last turn, of session {second}; '--session <id>' shows that of {first}\n"
    )
    world.commit()
    assert done(world, "diff", "--stat").splitlines()[-1] == (
        " 1 file changed, 1 insertion(+), 1 deletion(-)"
    )
    a.turn("three", {"g.txt": None})
    assert done(world, "diff", "--name-status", "--", "g.txt") == "D\tg.txt\n"


def test_alone_it_names_no_session_that_committed_its_lines(
    world: World, agents: tuple[Agent, Agent]
) -> None:
    a, b = agents
    a.turn("one", {"f.txt": change(BASE, "line 1 of", "line one of")})
    world.commit()
    b.turn("two", {"f.txt": change(world.read("f.txt"), "line 2 of", "line two of")})
    assert changed(world) == ["-line 2 of the file", "+line two of the file"]


def test_a_sessions_whole_work_is_shown_without_the_others(
    world: World, agents: tuple[Agent, Agent]
) -> None:
    a, b = agents
    a.turn("one", {"f.txt": change(BASE, "line 1 of", "line one of")})
    b.turn("two", {"f.txt": change(world.read("f.txt"), "line 2 of", "line two of")})
    world.commit()
    world.write("f.txt", change(world.read("f.txt"), "line 4 of", "line four, by hand, of"))
    a.turn(
        "three", {"f.txt": change(world.read("f.txt"), "line 3 of", "line three of"), "n": "n\n"}
    )
    assert changed(world, "--session", "1111") == [
        *("-line 1 of the file", "+line one of the file"),
        *("-line 3 of the file", "+line three of the file", "+n"),
    ]
    assert changed(world, "--session", b.sid) == ["-line 2 of the file", "+line two of the file"]
    assert changed(world, "--by-hand") == [
        "-line 4 of the file",
        "+line four, by hand, of the file",
    ]


def test_a_moved_file_is_a_rename(world: World, agents: tuple[Agent, Agent]) -> None:
    world.write("old.txt", BASE)
    world.write("script.sh", "content of the script\n")
    (world.path / "picture").write_bytes(b"\0one")
    world.commit()
    reshape(world, agents[0])
    world.write("by hand.txt", "by hand\n")
    assert done(world, "diff", "--name-status").splitlines() == [
        "R100\told.txt\tmoved.txt",
        "M\tpicture",
        "M\tscript.sh",
    ]
    assert done(world, "diff", "--summary", "--", "script.sh").strip() == (
        "mode change 100644 => 100755 script.sh"
    )
    assert done(world, "diff", "--by-hand", "--name-only") == "by hand.txt\n"


def test_without_a_turn_it_says_so(world: World) -> None:
    ended = run(world, "diff")
    assert (ended.returncode, ended.stderr) == (128, "fatal: no prompt has changed a file here\n")
    assert run(world, "diff", "--by-hand", "HEAD").returncode == 129
    assert "no such session" in run(world, "diff", "--session", "99").stderr
