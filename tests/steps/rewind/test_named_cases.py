"""Going back where it is hard: a full disk, git in the middle of something, a moved session."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.cmd.back import rewind
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.steps import undo
from gitcp.steps.back import steps
from gitcp.steps.back.plan import list_effective
from gitcp.steps.back.points import find_point
from gitcp.steps.back.wishes import go_to_point
from tests.steps.rewind.going import around, done, files, plan, points, temporary
from tests.steps.rewind.test_crash import in_child
from tests.support.harness import Agent, World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.steps.back.preparing import Prepared

MANY = 100_000 if os.environ.get("LONG") else 600


def two_turns(a: Agent, size: int = 2) -> None:
    a.turn("one", {"a.py": "1\n" * size, "z.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "z.py": "2\n"})


def no_byte_more() -> None:
    """No file of this process can grow over a block, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_full_disk_is_told_and_everything_is_as_it_was(world: World, a: Agent) -> None:
    two_turns(a, size=9000)
    before, untouched, steps = files(world.path), around(world), done(world, "undo", "--list")

    def body() -> int:
        no_byte_more()
        return rewind.run(["--to", temporary_here[-1]])

    temporary_here = temporary(world)
    status = in_child(world.path, body, lambda _, number: None)
    said = (world.path / ".git" / "errors").read_text()
    assert status != 0
    assert "cannot" in said or "large" in said, said
    assert (files(world.path), around(world)) == (before, untouched)
    assert done(world, "undo", "--list") == steps
    done(world, "rewind", "--to", temporary_here[-1])
    assert world.read("a.py") == "1\n" * 9000


def merging(world: World) -> None:
    world.git("merge", "--no-commit", "--no-ff", "-q", "side")


def rebasing(world: World) -> None:
    world.git("rebase", "-q", "--exec", "false", "HEAD~1", ok=False, warns="execution failed")


def bisecting(world: World) -> None:
    world.git("bisect", "start")
    world.git("bisect", "bad")


def picking(world: World) -> None:
    world.git("cherry-pick", "--no-commit", "side")
    (world.path / ".git" / "CHERRY_PICK_HEAD").write_text(world.git("rev-parse", "side") + "\n")


@pytest.mark.parametrize(
    ("begin", "operation"),
    [
        (merging, "a merge"),
        (rebasing, "a rebase"),
        (bisecting, "a bisection"),
        (picking, "a cherry"),
    ],
)
def test_inside_an_operation_of_git_the_plan_names_it_and_it_stays_as_it_is(
    world: World, a: Agent, begin: Callable[[World], None], operation: str
) -> None:
    world.git("branch", "-q", "side", "HEAD~1")
    world.git("switch", "-q", "side")
    world.write("side.txt", "side\n")
    world.commit("side.txt")
    world.git("switch", "-q", "main")
    begin(world)
    two_turns(a)
    before, untouched = files(world.path), around(world)
    git_dir = sorted(p.name for p in (world.path / ".git").iterdir())
    told = done(world, "rewind", "--files-only", "--to", temporary(world)[-1])
    assert f"note: {operation}" in told and "neither ended nor continued" in told
    assert world.read("a.py") == "1\n1\n"
    assert around(world) == untouched
    assert [n for n in git_dir if not (world.path / ".git" / n).exists()] == []
    assert operation in done(world, "undo")
    assert files(world.path) == before


@pytest.mark.parametrize("how", ["commit", "switch", "rebase", "stash"])
def test_across_what_the_person_did_with_git_the_plan_says_what_it_stands_on(
    world: World, a: Agent, how: str
) -> None:
    two_turns(a)
    oldest = temporary(world)[-1]
    base = world.head
    if how == "stash":
        world.git("stash", "-q", "-u")
    elif how == "switch":
        world.git("switch", "-q", "-c", "other")
    if how != "stash":
        world.git("commit", "-q", "--allow-empty", "-m", "the person's own")
    if how == "rebase":
        world.git("rebase", "-q", "--autostash", "--force-rebase", "--keep-empty", "HEAD~1")
    untouched = around(world)
    told = done(world, "rewind", "--files-only", "--all", "--to", oldest)
    moved = f"the point stands on commit {base[:8]}, HEAD is {world.head[:8]}; HEAD stays"
    assert (moved in told) is (how != "stash")
    assert (world.read("a.py"), world.read("z.py")) == ("1\n1\n", "1\n")
    assert around(world) == untouched
    done(world, "undo")
    assert around(world) == untouched


def test_a_session_that_moved_to_another_worktree_has_points_in_each(
    world: World, a: Agent, tmp_path: Path
) -> None:
    two_turns(a)
    linked = tmp_path / "linked"
    world.git("worktree", "add", "-q", str(linked))
    here = temporary(world)
    a.cwd = linked
    a.turn("three", {"a.py": "3\n"})
    a.turn("four", {"a.py": "4\n"})
    assert a.state["worktree_path"] == str(linked)
    assert temporary(world) == here
    done(world, "rewind", "--to", here[-1])
    assert (world.read("a.py"), (linked / "a.py").read_text()) == ("1\n1\n", "4\n")
    last = list(a.state["turns"])[-1]
    done(world, "rewind", "--files-only", "--to", last, cwd=linked)
    assert (world.read("a.py"), (linked / "a.py").read_text()) == ("1\n1\n", "3\n")


def test_a_write_while_the_plan_is_shown_makes_it_void_and_it_is_shown_again(
    world: World, a: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_turns(a)
    oldest = temporary(world)[-1]
    repo = Repo.find(str(world.path))
    seen: list[list[str]] = []

    def agree(prepared: Prepared, moved: object) -> bool:
        seen.append([action.path for action in list_effective(prepared.plan.actions)])
        if len(seen) == 1:
            world.write("src/app.py", "an agent writes meanwhile\n")
            world.write("a.py", "an agent writes here too\n")
        return len(seen) < 3

    with Objects(repo):
        known = find_point(repo, oldest)
        wisher = go_to_point(known, [])
        move = steps.Move(wisher, undo.make_step("rewind", "test"))
        outcome = steps.Mover(repo, agree, lambda done, total: None).take_step(lambda: move)
    assert seen == [["a.py", "z.py"], ["a.py", "src/app.py", "z.py"]]
    assert outcome.step
    assert world.read("src/app.py") == "print('app')\n"
    done(world, "undo")
    assert world.read("a.py") == "an agent writes here too\n"
    assert world.read("src/app.py") == "an agent writes meanwhile\n"


def test_points_without_a_change_are_folded(world: World, a: Agent) -> None:
    two_turns(a)
    done(world, "rewind", "--files-only", "--to", temporary(world)[-1])
    done(world, "undo")
    a.prompt("three")
    a.write("a.py", "3\n")
    a.event("PreCompact", trigger="auto")
    a.stop()
    kept = [p for p in points(world) if p["kind"] == "temporary"]
    assert [p["session_prompt"] for p in kept] == ["three", "two", "one"]


def test_many_paths_go_and_note_return(world: World, a: Agent) -> None:
    world.git("config", "gitcp.hook-timeout", "900")  # on whatever machine
    a.turn("one", {"a.py": "1\n"})
    a.prompt("two")
    top = world.path / "many"
    for number in range(MANY):
        folder = top / str(number % 50)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{number}\n")
    a.write("a.py", "2\n")
    a.stop()
    assert len(plan(world, "--to", temporary(world)[-1])) == MANY + 1
    done(world, "rewind", "--to", temporary(world)[-1])
    assert not top.exists()
    done(world, "undo")
    assert sum(len(names) for _, _, names in os.walk(top)) == MANY
    assert (top / "7" / "7.txt").read_text() == "7\n"
