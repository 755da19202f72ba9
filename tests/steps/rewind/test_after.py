"""What sessions, streams and commits make of a step back: as if the rest had not happened."""

from __future__ import annotations

import json

import pytest

from gitcp.cmd.back import rewind
from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import done, points, run, temporary
from tests.steps.rewind.test_crash import in_child
from tests.support.harness import Agent, World


def files(a: Agent) -> dict[str, str]:
    """path -> the prompt's number of the turn that the state records for it."""
    turns = a.state["turns"]
    found = a.state["streams"][-1]["files"] if a.state["streams"] else {}
    return {path: str(turns[f["turn_id"]]["number"]) for path, f in found.items()}


def test_a_commit_after_a_rewind_links_by_the_content_that_came_back(
    world: World, a: Agent
) -> None:
    a.turn("one", {"new.py": "def one():\n    return 1\n"})
    a.turn("two", {"new.py": "class Other:\n    pass\n", "more.py": "more = 2\n"})
    done(world, "rewind", "--to", temporary(world)[-1])
    (checkpoint,) = world.commit("new.py")
    told = world.committed(checkpoint)[a.sid]
    assert told["files_touched"] == ["new.py"]
    assert told["files"]["new.py"]["prompt"] == "one"


@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_what_an_agent_wrote_and_deleted_again_links_once_a_rewind_has_brought_it_back(
    world: World, tools: bool, ended: bool
) -> None:
    a = world.agent("s1", tools=tools)
    a.turn("one", {"new.py": "def one():\n    return 1\n"})
    a.turn("two", {"new.py": None, "README.md": None})
    if ended:
        a.end()
    done(world, "rewind", "--to", temporary(world)[-1])
    assert files(a) == {"new.py": "1"}
    (checkpoint,) = world.commit("new.py")
    assert world.committed(checkpoint)[a.sid]["files"]["new.py"]["prompt"] == "one"


def test_the_state_records_what_is_there_after_rewind_undo_and_redo(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n", "README.md": "one\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n", "README.md": "two\n"})
    both = files(a)
    done(world, "rewind", "--to", temporary(world)[-1])
    assert files(a) == {"a.py": "1", "README.md": "1"}
    done(world, "undo")
    assert files(a) == both
    done(world, "redo")
    assert files(a) == {"a.py": "1", "README.md": "1"}


def test_the_tip_of_the_stream_has_the_files_and_is_no_point_of_its_own(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    before = temporary(world)
    done(world, "rewind", "--to", before[-1])
    assert world.tree(world.branch()) == {"a.py": "1\n"}
    assert temporary(world) == before
    assert world.trailer(world.branch(), "Entire-Session") == [a.sid] * 3
    assert done(world, "show", a.sid).count("  saved  ") == len(before), "and no turn"


def test_the_next_turn_goes_on_from_there_and_its_points_follow(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    done(world, "rewind", "--to", temporary(world)[-1])
    a.turn("three", {"c.py": "3\n"})
    assert a.verdict == "continue"
    assert files(a) == {"a.py": "1", "c.py": "3"}
    assert [p["session_prompt"] for p in points(world) if p["kind"] == "temporary"] == [
        "three",
        "two",
        "one",
    ]
    done(world, "rewind", "--to", temporary(world)[1])
    assert (world.read("b.py"), (world.path / "c.py").exists()) == ("2\n", False)


def test_two_sessions_on_one_stream_keep_each_their_own(world: World, a: Agent) -> None:
    b = world.agent("22222222-bbbb-4a87-9186-848bdd83d62e")
    a.turn("one", {"a.py": "1\n"})
    b.turn("one", {"b.py": "1\n"})
    a.turn("two", {"a.py": "2\n"})
    b.turn("two", {"b.py": "2\n"})
    done(world, "rewind", "--force", "--to", temporary(world)[2])
    assert (files(a), files(b)) == ({"a.py": "1"}, {"b.py": "1"})
    (checkpoint,) = world.commit()
    assert sorted(world.committed(checkpoint)) == sorted([a.sid, b.sid])


def test_suffix_streams_follow_too(world: World, a: Agent) -> None:
    world.git("config", "gitcp.streams", "suffix")
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    done(world, "rewind", "--to", temporary(world)[-1])
    assert files(a) == {"a.py": "1"}
    assert len(world.commit()) == 1


def test_fsck_finds_nothing_wrong_after_all_of_it(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    done(world, "rewind", "--to", temporary(world)[-1])
    done(world, "undo")
    done(world, "redo")
    assert done(world, "fsck") == ""


def test_the_next_prompt_tells_the_agent_what_changed_when_that_is_asked_for(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    ended = run(world, "rewind", "--tell", "--to", temporary(world)[-1])
    assert f"session {shorten_id(a.sid)} is told with its next prompt" in ended.stderr
    told = json.loads(a.prompt("three").stdout)["hookSpecificOutput"]
    assert told["hookEventName"] == "UserPromptSubmit"
    assert told["additionalContext"].endswith("rely on them:\n- a.py\n- b.py")
    assert told["additionalContext"].count("rely on them") == 1
    a.stop()
    assert a.prompt("four").stdout == ""


def test_a_session_that_has_ended_and_wrote_the_files_is_told_when_it_goes_on(
    world: World, a: Agent
) -> None:
    b = world.agent("22222222-bbbb-4a87-9186-848bdd83d62e")
    b.turn("elsewhere", {"b.py": "1\n"})
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n"})
    a.end()
    b.end()
    ended = run(world, "rewind", "--files-only", "--tell", "--to", temporary(world)[1])
    assert ended.stderr == f"note: session {shorten_id(a.sid)} is told with its next prompt\n"
    assert "- a.py" in a.prompt("three").stdout


def test_without_being_asked_nobody_is_told(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n"})
    done(world, "rewind", "--to", temporary(world)[-1])
    assert a.prompt("three").stdout == ""


def test_a_hook_that_fires_in_the_middle_makes_nothing_of_it_its_sessions_work(
    world: World, a: Agent
) -> None:
    b = world.agent("22222222-bbbb-4a87-9186-848bdd83d62e", tools=True)
    a.turn("one", {"a.py": "1\n", "z.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "z.py": "2\n", "new.py": "2\n"})
    point = temporary(world)[-1]
    b.prompt("meanwhile")
    b.write("b.py", "b\n")
    fired: list[int] = []

    def fire(name: str, number: int) -> None:
        if not fired and not (world.path / "new.py").exists() and name == "link":
            fired.append(number)
            b.stop()

    paths = ["a.py", "z.py", "new.py"]
    in_child(world.path, lambda: rewind.run(["--to", point, "--", *paths]), fire)
    assert (world.read("a.py"), world.read("z.py")) == ("1\n", "1\n")
    assert files(b) == {"b.py": "1"}
    assert files(a) == {"a.py": "1", "z.py": "1"}


def _uncommitted(world: World) -> set[str]:
    """Files that reading commands call uncommitted work of some session."""
    records = [
        json.loads(line) for line in run(world, "sessions", "-a", "--json").stdout.splitlines()
    ]
    return {path for record in records for path in record.get("files_touched") or ()}


def test_what_a_rewind_took_back_is_not_called_uncommitted_and_links_once_it_is_back(
    world: World, a: Agent
) -> None:
    a.turn("one", {"one.py": "one = 1\n"})
    world.commit("one.py")
    a.turn("two", {"two.py": "two = 2\n", "three.py": "three = 3\n"})
    assert "three.py  two.py\n" in world.gitcp("status")
    done(world, "rewind", "--to", "HEAD", "--force")
    status = world.gitcp("status")
    assert "not committed" not in status and "two.py" not in status
    assert _uncommitted(world) == set()
    done(world, "undo")
    assert "three.py  two.py\n" in world.gitcp("status")
    assert _uncommitted(world) == {"two.py", "three.py"}
    done(world, "redo")
    assert _uncommitted(world) == set()
    done(world, "undo")
    (checkpoint,) = world.commit("two.py")
    assert world.committed(checkpoint)[a.sid]["files_touched"] == ["two.py"]
