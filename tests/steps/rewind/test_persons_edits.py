"""What of the person a rewind goes over: named, asked for, and told from what git keeps."""

from __future__ import annotations

import re

import pytest

from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import done, files, plan, points, run, temporary
from tests.support.harness import Agent, World


def test_an_edit_of_the_person_is_named_and_lost_only_when_they_agree(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "1\n"})
    (oldest,) = temporary(world)
    a.turn("two", {"a.py": "2\n"})
    world.write("a.py", "by hand, and no hook since\n")
    before = files(world.path)
    turn = next(p["id"] for p in points(world) if p["kind"] == "prompt")
    for point in (oldest, turn):
        told = done(world, "rewind", "--dry-run", "--files-only", "--to", point)
        assert re.search(
            r"change  a\.py  your edit of \d\d:\d\d goes \(undo brings it back\)", told
        )
        ended = run(world, "rewind", "--files-only", "--to", point)
        assert ended.returncode == 128, point
        assert "an edit of yours would be lost: 'a.py'; --force overwrites it" in ended.stderr
        assert files(world.path) == before
    done(world, "rewind", "--force", "--files-only", "--to", oldest)
    assert world.read("a.py") == "1\n"
    done(world, "undo")
    assert files(world.path) == before


def test_work_of_another_session_is_lost_only_when_the_person_agrees(
    world: World, a: Agent
) -> None:
    b = world.agent("22222222-0000-4000-8000-000000000002", tools=True)
    a.turn("one", {"a.py": "1\n"})
    (oldest,) = temporary(world)
    b.prompt("beside it")
    b.write("b.py", "b\n")
    b.write("a.py", "1\nb\n")
    before = files(world.path)
    ended = run(world, "rewind", "--files-only", "--to", oldest)
    assert ended.returncode == 128
    short = shorten_id(b.sid)
    told = f"work of other sessions would be lost: 'a.py ({short})', 'b.py ({short})'; --force"
    assert told in ended.stderr
    assert files(world.path) == before
    assert plan(world, "--to", oldest)["b.py"] == (
        "delete",
        f"work of session {short} goes (undo brings it back)",
    )
    b.stop()
    assert run(world, "rewind", "--files-only", "--to", oldest).returncode == 128
    told = done(world, "rewind", "-f", "--files-only", "--to", oldest, "--", "a.py")
    assert f"work of session {short} goes" in told
    assert world.read("a.py") == "1\n"
    done(world, "undo")
    assert files(world.path) == before


def test_a_file_that_the_person_deleted_is_theirs_to_bring_back(world: World, a: Agent) -> None:
    world.write("tracked.py", "0\n")
    world.commit("tracked.py")
    a.turn("one", {"tracked.py": "1\n", "new.py": "1\n", "other.py": "1\n"})
    (oldest,) = temporary(world)
    for path in ("tracked.py", "new.py"):
        (world.path / path).unlink()
    a.turn("two", {"other.py": "2\n"})
    told = plan(world, "--to", oldest)
    assert told["other.py"] == ("modify", f"changed since by session {shorten_id(a.sid)}")
    for path in ("tracked.py", "new.py"):
        verb, reason = told[path]
        assert verb == "create"
        assert re.fullmatch(r"you deleted it at \d\d:\d\d \(undo deletes it again\)", reason)
    ended = run(world, "rewind", "--files-only", "--to", oldest)
    remedy = "--force writes them, and 'gitcp undo' deletes them again"
    deleted = f"files that you deleted would come back: 'new.py', 'tracked.py'; {remedy}"
    assert f"fatal: {deleted}\n" in ended.stderr
    world.write("other.py", "by hand\n")
    ended = run(world, "rewind", "--files-only", "--to", oldest)
    edited = "an edit of yours would be lost: 'other.py'; --force overwrites it, and"
    assert f"fatal: {edited} 'gitcp undo' restores it; {deleted}\n" in ended.stderr
    done(world, "rewind", "--files-only", "--force", "--to", oldest)
    assert (world.read("tracked.py"), world.read("new.py")) == ("1\n", "1\n")


@pytest.mark.parametrize("how", ["switch", "stash"])
def test_what_git_keeps_elsewhere_was_not_deleted_by_the_person(world: World, how: str) -> None:
    a = world.agent("session-a", tools=True)
    world.git("switch", "-qc", "other")
    a.turn("one", {"new.py": "1\n"})
    if how == "switch":
        world.commit("new.py")
        world.git("switch", "-q", "-")
    else:
        world.git("stash", "-qu")
    assert plan(world, "--all", "--to", "toolu_1:after")["new.py"] == ("create", "deleted since")


def test_what_the_person_has_committed_is_not_lost_and_the_plan_says_so(
    world: World, a: Agent
) -> None:
    for path in ("f.py", "gone.py"):
        world.write(path, "0\n")
    world.commit()
    a.turn("one", {"f.py": "1\n", "g.py": "1\n"})
    (oldest,) = temporary(world)
    world.write("f.py", "by hand\n")
    (world.path / "gone.py").unlink()
    assert "your edit" in plan(world, "--to", oldest)["f.py"][1]
    world.commit()
    told = plan(world, "--to", oldest)
    assert told == {
        "f.py": ("modify", "changed since, and committed"),
        "gone.py": ("create", "deleted since, and committed"),
    }
    a.turn("two", {"f.py": "by hand, and on\n"})
    since = f"changed since by session {shorten_id(a.sid)}"
    assert plan(world, "--to", oldest)["f.py"] == ("modify", since)
    world.write("f.py", "by hand again\n")
    assert "your edit" in plan(world, "--to", oldest)["f.py"][1]
    world.git("commit", "-qam", "no hook has seen it", "--no-verify")
    assert "your edit" not in plan(world, "--to", oldest)["f.py"][1]


def test_work_with_a_persons_lines_on_it_still_links_after_a_rewind_and_its_undo(
    world: World,
) -> None:
    agent = world.agent("session-a", tools=True)
    agent.turn("Add a function", {"greet.py": "def greet():\n    return 1\n"})
    world.commit("greet.py")
    agent.turn(
        "Add another", {"greet.py": world.read("greet.py") + "\ndef more():\n    return 2\n"}
    )
    world.write("greet.py", world.read("greet.py") + "\nprint(more())\n")
    before = next(point["id"] for point in points(world) if point["kind"] == "prompt")
    world.gitcp("rewind", "--force", "--to", before)
    world.gitcp("undo")
    assert world.commit("greet.py")
