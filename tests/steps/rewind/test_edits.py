"""One session's, one turn's, one tool's edits taken back, and the moments inside a turn."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import cycle, product

import pytest

from gitcp.text.short_ids import shorten_id
from tests.record.journal.lines import lengthen
from tests.steps.rewind.going import Files, done, files, plan, points, run
from tests.support.clients import calls
from tests.support.harness import Agent, World

LINES = [f"line {n} of the file\n" for n in range(12)]


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent("11111111-aaaa-4a87-9186-848bdd83d62e", tools=True)


@pytest.fixture
def b(world: World) -> Agent:
    return world.agent("22222222-bbbb-4a87-9186-848bdd83d62e", tools=True)


def with_line(world: World, path: str, number: int, text: str) -> str:
    lines = world.read(path).splitlines(keepends=True)
    return "".join([*lines[:number], text + "\n", *lines[number + 1 :]])


def shared(world: World, a: Agent, b: Agent) -> None:
    """Two sessions and the person in one file, and a file of each."""
    world.write("shared.txt", "".join(LINES))
    world.commit("shared.txt")
    a.turn("a writes", {"shared.txt": with_line(world, "shared.txt", 1, "by a"), "a.py": "a\n"})
    b.turn("b writes", {"shared.txt": with_line(world, "shared.txt", 6, "by b"), "b.py": "b\n"})
    world.write("shared.txt", with_line(world, "shared.txt", 10, "by the person"))


def test_one_session_of_two_is_taken_back_and_the_others_work_stays(
    world: World, a: Agent, b: Agent
) -> None:
    shared(world, a, b)
    before = files(world.path)
    told = done(world, "rewind", "--session", a.sid[:8])
    assert "changed 1, deleted 1. 'gitcp undo'" in told
    text = world.read("shared.txt")
    assert [line in text for line in ("by a", "by b", "by the person")] == [False, True, True]
    assert ((world.path / "a.py").exists(), world.read("b.py")) == (False, "b\n")
    done(world, "undo")
    assert files(world.path) == before


def test_what_others_changed_in_the_same_place_is_a_conflict_and_nothing_is_done(
    world: World, a: Agent, b: Agent
) -> None:
    shared(world, a, b)
    world.write("shared.txt", with_line(world, "shared.txt", 1, "by a, corrected"))
    before = files(world.path)
    ended = run(world, "rewind", "--session", a.sid)
    assert (ended.returncode, "'shared.txt'" in ended.stderr) == (128, True)
    assert files(world.path) == before
    done(world, "rewind", "--session", a.sid, "--conflict=markers")
    assert "<<<<<<< now\nby a, corrected\n" in world.read("shared.txt")


def test_one_turn_and_one_tool_use_in_the_middle_go_and_later_work_stays(
    world: World, a: Agent
) -> None:
    world.write("f.txt", "".join(LINES))
    world.commit("f.txt")
    a.turn("one", {"f.txt": with_line(world, "f.txt", 1, "first")})
    turn = a.state["turn_id"]
    a.turn("two", {"f.txt": with_line(world, "f.txt", 5, "second"), "g.txt": "g\n"})
    a.turn("three", {"f.txt": with_line(world, "f.txt", 9, "third")})
    done(world, "rewind", "--turn", turn)
    text = world.read("f.txt")
    assert [w in text for w in ("first", "second", "third")] == [False, True, True]
    done(world, "undo")
    done(world, "rewind", "--tool", "toolu_2")
    text = world.read("f.txt")
    assert [w in text for w in ("first", "second", "third")] == [True, False, True]
    assert world.read("g.txt") == "g\n"


def test_only_the_named_paths_of_a_session_go_back(world: World, a: Agent, b: Agent) -> None:
    shared(world, a, b)
    done(world, "rewind", "--session", a.sid, "--", "a.py")
    assert not (world.path / "a.py").exists()
    assert "by a" in world.read("shared.txt")


def test_taking_back_twice_changes_nothing_more(world: World, a: Agent, b: Agent) -> None:
    shared(world, a, b)
    done(world, "rewind", "--session", a.sid)
    assert done(world, "rewind", "--session", a.sid) == "nothing changed\n"


def test_the_moments_before_each_prompt_and_each_tool_use_are_points(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "1\n"})
    moment = files(world.path)
    a.prompt("two")
    a.write("a.py", "2\n")
    middle = files(world.path)
    a.write("b.py", "2\n")
    a.stop()
    turn = a.state["turn_id"]
    listed = {p["id"]: p for p in points(world)}
    assert (listed[turn]["kind"], listed[turn]["session_prompt"]) == ("prompt", "two")
    assert (listed["toolu_3"]["kind"], listed["toolu_3"]["tool_use_id"]) == ("tool", "toolu_3")
    assert plan(world, "--to", "toolu_3") == {
        "b.py": ("delete", f"made since by session {shorten_id(a.sid)}")
    }
    done(world, "rewind", "--to", "toolu_3")
    assert files(world.path) == middle
    done(world, "rewind", "--to", turn)
    assert files(world.path) == moment
    done(world, "undo", "2")
    done(world, "rewind", "--to", "toolu_2:after")
    assert files(world.path) == middle


def test_what_the_journal_does_not_know_is_an_error(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    words = {"session": "session", "turn": "prompt", "tool": "edit or command"}
    for kind, word in words.items():
        ended = run(world, "rewind", f"--{kind}", "nothing")
        said = f"fatal: no such {word}: 'nothing'"
        assert (ended.returncode, ended.stderr.splitlines()[0]) == (128, said)
    assert run(world, "rewind", "--session", a.sid, "--to", "x").returncode == 129


def test_going_back_is_nobodys_work_for_the_journal(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n"})
    a.prompt("three")
    run(world, "rewind", "--turn", a.state["turn_id"])
    done_points = [p["id"] for p in points(world) if p["kind"] == "temporary"]
    run(world, "rewind", "--files-only", "--to", done_points[-1])
    a.write("c.py", "3\n")
    a.stop()
    (checkpoint,) = world.commit()
    told = world.committed(checkpoint)[a.sid]
    assert told["files"]["a.py"]["prompt"] == "one"


def test_moments_are_kept_when_commits_have_cut_the_journal(world: World, a: Agent) -> None:
    moments = []
    for number in range(5):
        if number == 4:
            path = world.path / ".git" / "gitcp" / "journal"
            lengthen(path)
        a.turn(f"turn {number}", {f"{number}.py": "new\n"})
        world.commit()
        moments.append((a.state["turn_id"], world.head, files(world.path)))
    recent, every = ({p["id"] for p in points(world, *how)} for how in ((), ("--all",)))
    turns = [turn for turn, _, _ in moments]
    assert {*turns[:2], "toolu_1", "toolu_2"} <= every - recent
    assert {*turns[2:], "toolu_3", "toolu_5"} <= recent
    for number in (1, 4):  # one that was cut, one that was not
        told = run(world, "rewind", "--files-only", "--to", turns[number])
        assert "note: the point is from before commit " in told.stdout
        assert files(world.path) == moments[number - 1][2]
        done(world, "undo")
    done(world, "rewind", "--turn", turns[0])
    assert not (world.path / "0.py").exists()


# Calls of a shell that throw work away.
COMMANDS = [
    "git checkout -- f.txt",
    "git restore f.txt",
    "git checkout .",
    "git reset -q --hard",
    "git clean -fdq",
    "git stash -q -u",
    "git stash -q -u && git stash drop -q",
    "git checkout -q -f HEAD~1 && git checkout -q main",
    "rm f.txt",
    "rm -r f.txt folder",
    "mv README.md f.txt",
    "git checkout -- f.txt; echo more >>f.txt",
    "rm f.txt; echo other >f.txt",
    ": >f.txt",
    "sed -i s/hand/machine/ f.txt folder/new.txt",
]
WHOSE = "the person's", "another session's", "its own"
LONG = bool(os.environ.get("LONG"))


class Discard:
    """A session's call over work that is not committed: the person's, another session's, or
    its own of before."""

    def __init__(self, world: World, whose: str, command: str) -> None:
        self.world = world
        world.write("f.txt", "line one\nline two\n")
        world.commit("f.txt")
        self.agent = world.agent("session-a", tools=True)
        self.agent.prompt("a turn before")
        if whose == "the person's":
            self.agent.stop()
            world.write("f.txt", "line one\nline two\nby hand\n")
            world.write("folder/new.txt", "new, by hand\n")
        else:
            writer = self.agent if whose == "its own" else world.agent("session-b", tools=True)
            if writer is not self.agent:
                writer.prompt("work")
            calls.edit(writer, "f.txt", "line one\nline two\nby hand\n")
            calls.edit(writer, "folder/new.txt", "new, by hand\n")
            writer.stop()
        self.before: Files = files(world.path)
        self.agent.prompt("throw it away")
        self.turn = self.agent.state["turn_id"]
        self.run(command)
        self.agent.stop()
        self.after = files(world.path)

    def run(self, command: str) -> None:
        calls.run(self.agent, command)
        journal = (self.world.path / ".git/gitcp/journal").read_text().splitlines()
        opened = [line["open"] for text in journal if "open" in (line := json.loads(text))]
        self.tool = opened[-1]

    def came_back(self) -> None:
        now = files(self.world.path)
        assert {p: now.get(p) for p in self.before} == self.before


WAYS: dict[str, Callable[[Discard], tuple[str, str]]] = {
    "--tool": lambda d: ("--tool", d.tool),
    "--turn": lambda d: ("--turn", d.turn),
    "--to the call": lambda d: ("--to", d.tool),
    "--to the prompt": lambda d: ("--to", d.turn),
}


# In the short form each command once, the ways and whose work it was in turn.
EVERY = list(product(COMMANDS, WHOSE, WAYS))
CASES = EVERY if LONG else list(zip(COMMANDS, cycle(WHOSE), cycle(WAYS), strict=False))


@pytest.mark.parametrize("command, whose, way", CASES)
def test_what_a_shell_call_threw_away_comes_back(
    world: World, command: str, whose: str, way: str
) -> None:
    discard = Discard(world, whose, command)
    done(world, "rewind", *WAYS[way](discard))
    discard.came_back()
    done(world, "undo")
    assert files(world.path) == discard.after


def test_a_call_whose_loss_came_back_and_was_undone_is_taken_back_again(world: World) -> None:
    discard = Discard(world, "the person's", "git checkout -- f.txt")
    done(world, "rewind", "--to", discard.tool)
    done(world, "undo")
    done(world, "rewind", "--tool", discard.tool)
    discard.came_back()


def test_a_call_that_threw_work_away_is_listed_as_a_point(world: World) -> None:
    discard = Discard(world, "the person's", "git checkout -- f.txt")
    listed = [p for p in points(world) if p["id"] == discard.tool]
    assert [(p["kind"], p["session_id"]) for p in listed] == [("tool", "session-a")]


def look_at_losses_alone(world: World) -> None:
    """A look at everything costs too much; at what a command throws away there is time to look."""
    world.git("config", "gitcp.look-budget", "0")
    world.git("config", "gitcp.loss-budget", "60000")


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -- f.txt",
        "rm f.txt",
        ": >f.txt",
        "git reset -q --hard",
        "git stash -q",
    ],
)
def test_what_a_command_names_is_looked_at_first_where_looking_at_everything_costs_too_much(
    world: World, command: str
) -> None:
    world.write("f.txt", "line one\nline two\n")
    world.commit("f.txt")
    a = world.agent("session-a", tools=True)
    a.prompt("before")
    calls.edit(a, "f.txt", "line one\nline two\nby a\n")
    a.stop()
    look_at_losses_alone(world)
    a.prompt("throw it away")
    world.write("f.txt", "line one\nline two\nby hand\n")
    before = files(world.path)
    calls.run(a, command)
    a.stop()
    point = next(p for p in points(world) if p["kind"] == "tool")
    assert not point["incomplete"]
    done(world, "rewind", "--files-only", "--to", point["id"])
    assert files(world.path) == before


@pytest.mark.parametrize(
    "command",
    ["git reset -q --hard", "git stash -qu", "git clean -qfd", "git switch -qf main", "rm -r d"],
)
def test_what_a_wide_command_reaches_is_looked_at_first_though_nobody_saw_it(
    world: World, command: str
) -> None:
    world.write("d/f.txt", "line one\n")
    world.commit("d/f.txt")
    a = world.agent("session-a", tools=True)
    look_at_losses_alone(world)
    a.prompt("throw it away")
    world.write("d/f.txt", "line one\nby hand\n")
    world.write("d/new.txt", "by hand\n")
    before = files(world.path)
    calls.run(a, command)
    a.stop()
    point = next(p for p in points(world) if p["kind"] == "tool")
    done(world, "rewind", "--files-only", "--to", point["id"])
    assert files(world.path) == before


def test_such_a_call_is_a_point_before_its_turn_has_ended(world: World, a: Agent) -> None:
    world.write("f.txt", "line one\n")
    world.commit("f.txt")
    look_at_losses_alone(world)
    a.prompt("throw it away")
    world.write("f.txt", "line one\nby hand\n")
    calls.run(a, "git checkout -- f.txt")
    point = next(p for p in points(world) if p["kind"] == "tool")
    assert run(world, "rewind", "--files-only", "--to", point["id"]).returncode == 0
    assert world.read("f.txt") == "line one\nby hand\n"


def test_what_nobody_saw_before_an_undo_is_before_it_in_the_journal(world: World, a: Agent) -> None:
    a.prompt("one")
    a.write("c.py", "first\n")
    run(world, "rewind", "--files-only", "--to", "toolu_1")
    a.write("c.py", "second\n")
    (world.path / "c.py").unlink()
    assert run(world, "undo").returncode == 0
    assert world.read("c.py") == "first\n"
    assert run(world, "rewind", "--files-only", "--force", "--to", "toolu_2:after").returncode == 0
    assert world.read("c.py") == "second\n"


def test_a_file_that_was_ignored_stays_when_the_rest_is_taken_back(world: World, a: Agent) -> None:
    world.write(".git/info/exclude", "*.log\n")
    a.turn("one", {"a.py": "1\n", "out.log": "told\n"})
    told = done(world, "rewind", "--session", a.sid)
    assert "keep    out.log  ignored when it was written" in told
    assert not (world.path / "a.py").exists()
    assert world.read("out.log") == "told\n"
    done(world, "undo")
    assert world.read("a.py") == "1\n"
    assert done(world, "rewind", "--session", a.sid, "--", "out.log").endswith("nothing changed\n")


def test_an_empty_name_is_no_point(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    ended = run(world, "rewind", "--force", "--to", "")
    assert (ended.returncode, ended.stderr) == (128, "fatal: not a name: ''\n")
    assert world.read("a.py") == "1\n"
