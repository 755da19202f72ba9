"""A link follows its commit through whatever jj makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.guard.working_copies import A, Copy
from tests.support import warm
from tests.support.clients.calls import run as run_shell
from tests.support.harness import Agent

NewCopy = Callable[[str], Copy]

# What is done to the commits `one` (one.txt) and `two` (two.txt, three.txt) -> the checkpoints, by
# the commit they were made with, that the commits carry then, newest first.
REWRITES = {
    ("describe @-- -m new",): {"two": ["two"], "new": ["one"], "initial": []},
    ("describe @- -m new",): {"new": ["two"], "one": ["one"], "initial": []},
    ("squash --from @- --into @-- -m both",): {"both": ["one", "two"], "initial": []},
    ("rebase -r @- --before @--",): {"one": ["one"], "two": ["two"], "initial": []},
    ("new --no-edit -B @-- -m below",): {
        "two": ["two"],
        "one": ["one"],
        "below": [],
        "initial": [],
    },
    ("abandon @--",): {"two": ["two"], "initial": []},
    ("split -r @- -m half two.txt",): {
        "two": ["two"],
        "half": ["two"],
        "one": ["one"],
        "initial": [],
    },
    ("describe @-- -m new", "undo"): {"two": ["two"], "one": ["one"], "initial": []},
    ("describe @-- -m new", "describe @- -m newer", "op restore @--"): {
        "two": ["two"],
        "one": ["one"],
        "initial": [],
    },
    ("edit @--", "describe -m edited", "new @+"): {
        "two": ["two"],
        "edited": ["one"],
        "initial": [],
    },
}
APART = list(REWRITES)[:3]  # in a workspace that is no git worktree, too


def carried(copy: Copy) -> dict[str, list[str]]:
    """subject -> the checkpoints of each commit up to `@-`."""
    out = warm.run("log", "--json", cwd=copy.path).stdout
    commits = [json.loads(line) for line in out.splitlines()]
    return {c["message"]: [each["checkpoint_id"] for each in c["checkpoints"]] for c in commits}


def work(copy: Copy, agent: Agent, name: str, *files: str) -> None:
    for file in files:
        agent.write(file, f"by A\n{file}\n")
    agent.stop()
    copy.jj("commit", "-m", name)
    agent.prompt(f"after {name}")


@pytest.mark.parametrize(
    ("kind", "steps"),
    [*(("colocated", one) for one in REWRITES), *(("non-colocated", one) for one in APART)],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_links_follow_what_jj_rewrites(
    new_copy: NewCopy, kind: str, steps: tuple[str, ...]
) -> None:
    copy = new_copy(kind)
    a, _ = copy.pair()
    work(copy, a, "one", "one.txt")
    work(copy, a, "two", "two.txt", "three.txt")
    a.stop()
    made = {ids[0]: name for name, ids in carried(copy).items() if ids}
    assert sorted(made.values()) == ["one", "two"]
    for step in steps:
        copy.jj(*step.split())
    for _ in range(2):  # a command that reads asks, and so does the next event
        now = {name: sorted(made[one] for one in ids) for name, ids in carried(copy).items()}
        assert now == REWRITES[steps] and list(now) == list(REWRITES[steps])
        a.prompt("next")


def test_a_persons_change_gets_no_link_by_a_rewrite_beside_it(new_copy: NewCopy) -> None:
    copy = new_copy("colocated")
    a, _ = copy.pair()
    work(copy, a, "one", "one.txt")
    copy.write("own.txt", "mine\n")
    copy.jj("commit", "-m", "own")
    a.prompt("next")
    copy.jj("squash", "--from", "@-", "--into", "@--", "-m", "both")
    copy.jj("split", "-r", "@-", "-m", "own again", "own.txt")
    a.prompt("and next")
    (both, own, _) = carried(copy).values()
    assert len(both) == 1 and own == []


def test_why_names_the_session_right_after_its_change_is_described_and_left(
    new_copy: NewCopy,
) -> None:
    copy = new_copy("non-colocated")
    a, _ = copy.pair()
    a.write("one.txt", "by A\n")
    a.stop()
    copy.jj("describe", "-m", "one")
    copy.jj("new")
    out = json.loads(warm.run("why", "--json", "one.txt:1", cwd=copy.path).stdout)
    assert (out["who"], out["session_id"]) == ("session", a.sid)


# What is done while the second turn's work is at `@`, before and after it -> the commits that then
# have a part of it.
TAKES = {
    "squash": ((), ("squash",), ["one"]),
    "squash of a part": ((), ("squash new.txt",), ["one"]),
    "squash into an older one": ((), ("squash --into @-- new.txt",), ["initial"]),
    "edit": (("edit @-",), ("new",), ["one"]),
    "edit, after which another is edited": (("edit @-",), ("new @-",), []),
    "describe": ((), ("describe @- -m one",), []),
}


@pytest.mark.parametrize("kind", ["colocated", "non-colocated"])
@pytest.mark.parametrize("name", TAKES)
def test_a_rewritten_commit_takes_in_open_work_as_an_amend_does(
    new_copy: NewCopy, kind: str, name: str
) -> None:
    copy = new_copy(kind)
    before, after, taken = TAKES[name]
    a, _ = copy.pair()
    work(copy, a, "one", "one.txt")
    (made,) = carried(copy)["one"]
    for step in before:
        copy.jj(*step.split())
    a.write("one.txt", "by A\none.txt\nmore by A in the second turn\n")
    a.write("new.txt", "new by A in the second turn\n")
    a.stop()
    for step in after:
        copy.jj(*step.split())
    a.prompt("third")
    now = carried(copy)
    for subject in taken:
        (checkpoint,) = now[subject]
        assert (checkpoint == made) == (subject == "one")
        shown = warm.run("show", "--json", checkpoint, cwd=copy.path).stdout
        assert "after one" in shown and "new.txt" in shown
        assert nobodys(copy, subject, "new.txt") == []
    if "one" in now and "one" not in taken:
        assert now["one"] == [made]
        assert "new.txt" not in warm.run("show", "--json", made, cwd=copy.path).stdout
    open_files = {"squash": [], "squash of a part": ["one.txt"], "edit": []}
    if name in open_files:
        assert a.state.get("files_touched", []) == open_files[name]
        assert nobodys(copy, "one", "one.txt") == []


def nobodys(copy: Copy, subject: str, path: str) -> list[str]:
    """The lines of a committed file that no session wrote."""
    commit = copy.jj("log", "--no-graph", "-r", f"subject('{subject}')", "-T", "commit_id")
    out = warm.run("blame", commit, "--", path, cwd=copy.path)
    assert out.returncode == 0 and out.stdout, out
    return [line for line in out.stdout.splitlines() if "Claude Code" not in line]


@pytest.mark.thorough
def test_a_squash_into_the_persons_commit_links_it(new_copy: NewCopy) -> None:
    copy = new_copy("colocated")
    copy.write("own.txt", "mine\n")
    copy.jj("commit", "-m", "own")
    a, _ = copy.pair()
    a.prompt("more")
    a.write("one.txt", "by A\none.txt\n")
    a.stop()
    copy.jj("describe", "@-", "-m", "own, reworded")
    a.prompt("next")
    assert carried(copy)["own, reworded"] == [], "it has nothing of the work"
    a.stop()
    copy.jj("squash")
    a.prompt("and next")
    (checkpoint,) = carried(copy)["own, reworded"]
    assert "own.txt" not in warm.run("show", "--no-transcript", checkpoint, cwd=copy.path).stdout
    assert nobodys(copy, "own, reworded", "one.txt") == []
    assert len(nobodys(copy, "own, reworded", "own.txt")) == 1


# How a change comes between two that are linked, and what the session then writes into it.
BETWEEN = {
    "after the first": ("new -A @-- -m between", "one.txt", "by A\none.txt\nmore by A\n"),
    "before the second": ("new -B @- -m between", "new.txt", "new by A\n"),
}


@pytest.mark.parametrize("kind", ["colocated", "non-colocated"])
@pytest.mark.parametrize("name", BETWEEN)
def test_work_in_a_change_between_two_is_linked(new_copy: NewCopy, kind: str, name: str) -> None:
    copy = new_copy(kind)
    command, path, content = BETWEEN[name]
    a, _ = copy.pair()
    work(copy, a, "one", "one.txt")
    work(copy, a, "two", "two.txt", "three.txt")
    before = carried(copy)
    copy.jj(*command.split())
    a.write(path, content)
    a.stop()
    copy.jj("new", "subject('two')")
    a.prompt("go on")
    now = carried(copy)
    assert len(now.pop("between")) == 1
    assert now == before
    assert nobodys(copy, "between", path) == []
    assert a.state.get("files_touched", []) == []


@pytest.mark.parametrize(("kind", "asked"), [("colocated", ["log"]), ("non-colocated", [])])
def test_each_commit_absorbs_its_part(new_copy: NewCopy, kind: str, asked: list[str]) -> None:
    copy = new_copy(kind)
    a, _ = copy.pair()
    work(copy, a, "one", "one.txt")
    work(copy, a, "two", "two.txt", "three.txt")
    work(copy, a, "three", "four.txt")
    before = carried(copy)
    a.write("one.txt", "by A again\none.txt\n")
    a.write("two.txt", "by A\ntwo.txt, changed\n")
    a.stop()
    for command in asked:
        warm.run(command, cwd=copy.path)
    copy.jj("absorb")
    for _ in range(2):
        for command in asked:
            warm.run(command, cwd=copy.path)
        assert carried(copy) == before
        a.prompt("go on")
    for subject, path in (("one", "one.txt"), ("two", "two.txt"), ("two", "three.txt")):
        assert nobodys(copy, subject, path) == []
    assert a.state.get("files_touched", []) == []


def open_files(copy: Copy) -> list[str]:
    """The files with uncommitted work of the session, by status."""
    status = warm.run("status", "-v", "--json", cwd=copy.path)
    assert status.returncode == 0, status
    records = [json.loads(line) for line in status.stdout.splitlines()[1:]]
    return [path for record in records for path in record.get("files_touched", ())]


def blamed(copy: Copy, path: str) -> list[tuple[str, str]]:
    """The subject of each line's commit ("" of a line that is not committed), and whose it is."""
    done = warm.run("blame", "--json", "--", path, cwd=copy.path)
    assert done.returncode == 0, done
    said = []
    for record in map(json.loads, done.stdout.splitlines()):
        subject = ""
        if record["commit"].strip("0"):
            subject = copy.jj(
                "log", "--no-graph", "-r", record["commit"], "-T", "description.first_line()"
            )
        said.append((subject, record["session_id"]))
    return said


def test_what_any_parent_of_the_working_copy_has_is_committed(new_copy: NewCopy) -> None:
    copy = new_copy("colocated")
    a, _ = copy.pair()
    lines = [f"line {n}\n" for n in range(20)]
    a.write("shared.txt", "".join(lines))
    work(copy, a, "base", "one.txt")
    a.write("shared.txt", "".join(["first of A\n", *lines]))
    work(copy, a, "first", "two.txt")
    a.write("shared.txt", "".join(["first of A\n", *lines, "last of A\n"]))
    work(copy, a, "last", "three.txt")
    a.stop()
    copy.jj("parallelize", "@--::@-")
    assert open_files(copy) == []
    lines_of_a = [("first", A), *[("base", A)] * 20, ("last", A)]
    assert blamed(copy, "shared.txt") == lines_of_a
    why = json.loads(warm.run("why", "--json", "three.txt:1", cwd=copy.path).stdout)
    assert (why["session_id"], why["commit"]["subject"]) == (A, "last")
    a.turn("more", {"three.txt": "by A\nthree.txt\nmore\n"})
    copy.write("three.txt", "mine\nby A\nthree.txt\nmore\n")
    assert blamed(copy, "three.txt") == [("", ""), ("last", A), ("last", A), ("", A)]
    copy.write("three.txt", "by A\nthree.txt\nmore\n")
    assert open_files(copy) == ["three.txt"]
    copy.write("three.txt", "by A\nthree.txt\n")
    (copy.path / "two.txt").unlink()
    assert open_files(copy) == []
    copy.write("two.txt", "by A\ntwo.txt\n")
    a.prompt("remove it")
    run_shell(a, "rm three.txt")
    a.stop()
    assert open_files(copy) == ["three.txt"]
