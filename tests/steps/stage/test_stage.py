"""gitcp-stage: the part of the worktree that one session or person wrote, in the index."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import done, files, points, run
from tests.steps.stage.conftest import BASE
from tests.support.harness import Agent, World
from tests.support.record_schema import list_faults


def change(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def staged(world: World, path: str = "f.txt") -> str:
    return world.git("show", f":{path}") + "\n"


def names(world: World) -> str:
    """What `git diff --cached --name-status` says."""
    return world.git("diff", "--cached", "--name-status", "--no-renames")


def records(world: World, *args: str) -> list[dict[str, Any]]:
    text = run(world, "stage", "--json", *args).stdout
    assert not list(list_faults(text))
    return [json.loads(line) for line in text.splitlines()]


def both(world: World, a: Agent, b: Agent) -> None:
    """Two sessions and a person change adjacent lines of a file."""
    a.turn("two", {"f.txt": change(BASE, "line 2 of", "line two, by the first, of")})
    b.turn(
        "three", {"f.txt": change(world.read("f.txt"), "line 3 of", "line three, by the other, of")}
    )
    world.write("f.txt", change(world.read("f.txt"), "line 4 of", "line four, by hand, of"))


def test_adjacent_lines_are_staged_by_their_authors(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    told = f"staged 1 file (+1 -1) of session {shorten_id(b.sid)}"
    assert told in done(world, "stage", "--session", "2222")
    assert staged(world) == change(BASE, "line 3 of", "line three, by the other, of")
    done(world, "stage", "--by-hand")
    assert "by hand" in staged(world)
    assert "by the first" not in staged(world)
    done(world, "stage", "--session", a.sid)
    assert staged(world) == world.read("f.txt")
    told = f"nothing to stage of session {shorten_id(a.sid)}\n"
    assert done(world, "stage", "--session", a.sid) == told


def test_a_path_that_names_no_file_is_refused(world: World, a: Agent) -> None:
    a.turn("two", {"f.txt": change(BASE, "line 2", "line II"), "old/new.txt": "new\n"})
    world.write(".git/info/exclude", "*.log\n")
    world.write("told.log", "ignored\n")
    ended = run(world, "stage", "--session", a.sid, "f.txt", "old/no.txt")
    said = "fatal: no file 'old/no.txt' in the worktree, in HEAD or in the index\n"
    assert (ended.returncode, ended.stderr, names(world)) == (128, said, "")
    assert "nothing to stage" in done(world, "stage", "--session", a.sid, "told.log")
    done(world, "stage", "--session", a.sid, "old")
    (world.path / "old/new.txt").unlink()
    (world.path / "old").rmdir()
    (world.path / "f.txt").unlink()
    done(world, "stage", "--by-hand", "old", "f.txt")
    assert names(world).split() == ["D", "f.txt"]


def go_and_return(world: World) -> None:
    """Rewind to the first point, and undo that."""
    before = files(world.path)
    done(world, "rewind", "--force", "--files-only", "--to", points(world)[-1]["id"])
    assert files(world.path) != before
    done(world, "undo")
    assert files(world.path) == before


def stash_and_pop(world: World) -> None:
    world.git("stash", "-q", "-u")
    world.git("stash", "pop", "-q")


@pytest.mark.thorough
@pytest.mark.parametrize("return_to", [go_and_return, stash_and_pop])
def test_work_that_was_taken_back_and_restored_is_its_sessions_again(
    world: World, a: Agent, b: Agent, return_to: Callable[[World], None]
) -> None:
    world.write("old.txt", "old\n")
    world.write("run.sh", "run\n")
    world.commit("old.txt", "run.sh")
    a.prompt("two")
    a.write("f.txt", change(BASE, "line 2 of", "line two, by the first, of"))
    a.write("new.txt", "new, without an end")
    a.write("old.txt", None)
    a.write("run.sh", "run faster\n")
    a.write("empty.txt", "")
    (world.path / "bits").write_bytes(b"\0\1")
    (world.path / "run.sh").chmod(0o755)
    a.stop()
    return_to(world)
    b.turn("three", {"new.txt": "new, without an end\nof the other\n"})
    return_to(world)
    world.write("mine.txt", "by hand\n")
    return_to(world)
    shown = done(world, "split", "-n")
    assert [line.split(": ")[0].split()[0] for line in shown.splitlines()[1::2]] == [
        "session",
        "session",
    ], shown
    done(world, "stage", "--session", a.sid)
    assert names(world).split() == (
        "A bits A empty.txt M f.txt A new.txt D old.txt M run.sh".split()
    )
    assert staged(world, "new.txt").rstrip() == "new, without an end"
    assert world.git("ls-files", "-s", "run.sh").startswith("100755")
    done(world, "stage", "--session", b.sid)
    assert staged(world, "new.txt") == world.read("new.txt")
    done(world, "stage", "--by-hand")
    assert world.git("diff") == ""
    assert "mine.txt" in names(world)


def test_undo_takes_a_staging_back_and_redo_does_it_again(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    before = world.read("f.txt")
    done(world, "stage", "--session", a.sid, "--session", b.sid)
    content = staged(world)
    told = f"stage: 1 file of session {shorten_id(a.sid)}, session {shorten_id(b.sid)}"
    assert told in done(world, "undo", "--list")
    assert "(1 file changed in the index)" in done(world, "undo")
    assert (staged(world), world.read("f.txt")) == (BASE, before)
    done(world, "redo")
    assert staged(world) == content


def test_undo_refuses_when_head_has_moved_since(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    done(world, "stage", "--session", a.sid)
    world.git("commit", "-q", "-m", "the first")
    index = staged(world)
    ended = run(world, "undo")
    assert ended.returncode == 128
    assert "HEAD has moved since" in ended.stderr
    assert run(world, "undo", "--conflict=keep").returncode == 0
    assert staged(world) == index


def test_undo_refuses_when_the_entries_were_changed_since(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    done(world, "stage", "--session", a.sid)
    world.git("add", "f.txt")
    assert "changed since by somebody else" in run(world, "undo").stderr
    assert staged(world) == world.read("f.txt")


def test_a_version_that_does_not_know_the_step_finds_a_changed_file(
    world: World, a: Agent, b: Agent
) -> None:
    both(world, a, b)
    done(world, "stage", "--session", a.sid)
    (step,) = map(json.loads, done(world, "undo", "--list", "--json").splitlines())
    (effect,) = step["effects"]
    assert Path(effect["file"]) == world.path / ".git" / "index"
    assert None not in (effect["old"], effect["new"])


def test_a_dry_run_changes_nothing(world: World, a: Agent, b: Agent) -> None:
    both(world, a, b)
    index = (world.path / ".git" / "index").read_bytes()
    assert "would stage 1 file (+1 -1)" in done(world, "stage", "-n", "--session", a.sid)
    assert (world.path / ".git" / "index").read_bytes() == index
    assert done(world, "undo", "--list").startswith("nothing to undo here: ")


def test_the_same_lines_replaced_by_two_are_named_and_neither_is_staged(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("two", {"f.txt": change(BASE, "line 2 of", "line two, by the first, of")})
    b.turn("it", {"f.txt": change(world.read("f.txt"), "line two, by the first,", "what is other")})
    for session in (a, b):
        ended = run(world, "stage", "--session", session.sid)
        assert ended.returncode == 1
        assert ended.stderr == (
            f"warning: 'f.txt' line 2 is left out: session {shorten_id(a.sid)} and session"
            f" {shorten_id(b.sid)} replaced the same lines"
            " (--with-overlaps stages them as they stand)\n"
        )
        assert staged(world) == BASE
    done(world, "stage", "--with-overlaps", "--session", a.sid)
    assert staged(world) == world.read("f.txt")


def test_a_line_inside_a_block_of_another_needs_it(world: World, a: Agent, b: Agent) -> None:
    block = "first of the block\nsecond of the block\nthird of the block\n"
    a.turn("block", {"f.txt": change(BASE, "line 5 of the file\n", f"line 5 of the file\n{block}")})
    more = "first of the block\nan insertion by the other\n"
    b.turn("in it", {"f.txt": change(world.read("f.txt"), "first of the block\n", more)})
    ended = run(world, "stage", "--session", b.sid)
    assert ended.returncode == 1
    assert f"it needs lines of session {shorten_id(a.sid)} that are not staged" in ended.stderr
    assert staged(world) == BASE
    found = records(world, "-n", "--session", b.sid)
    assert [(r["type"], r["first"], r["needs"]) for r in found] == [("need", 7, [a.sid])]
    done(world, "stage", "--with-needed", "--session", b.sid)
    assert staged(world) == world.read("f.txt")


def reshape(world: World, a: Agent) -> None:
    """A session moves a file by a command, which also changes permissions and a binary file."""
    call: Any = {
        "tool_name": "Bash",
        "tool_use_id": "m",
        "tool_input": {"command": "mv old.txt moved.txt"},
    }
    a.prompt("move and chmod")
    a.event("PreToolUse", **call)
    os.rename(world.path / "old.txt", world.path / "moved.txt")
    (world.path / "script.sh").chmod(0o755)
    (world.path / "picture").write_bytes(b"\0two")
    a.event("PostToolUse", **call, tool_response={})
    a.stop()


def test_new_moved_and_deleted_files_modes_and_binaries_have_an_author(
    world: World, a: Agent, b: Agent
) -> None:
    for name in ("gone.txt", "script.sh"):
        world.write(name, f"content of {name}\n")
    (world.path / "picture").write_bytes(b"\0one")
    world.write("old.txt", BASE)
    world.commit()
    a.turn("new", {"new/a.txt": "by the first session\n", "gone.txt": None})
    reshape(world, a)
    b.turn(
        "more", {"b.txt": "by the other session\n", "script.sh": "other content of the script\n"}
    )
    assert names(world) == ""
    done(world, "stage", "--session", a.sid)
    changed = "D gone.txt, A moved.txt, A new/a.txt, D old.txt, M picture, M script.sh"
    assert ", ".join(names(world).replace("\t", " ").splitlines()) == changed
    assert world.git("ls-files", "-s", "script.sh").startswith("100755")
    assert staged(world, "script.sh") == "content of script.sh\n"
    done(world, "stage", "--session", b.sid)
    assert world.git("ls-files", "--others", "--exclude-standard") == ""
    assert world.git("diff") == ""


def test_what_was_staged_before_stays(world: World, a: Agent, b: Agent) -> None:
    world.write("mine.txt", "by hand\n")
    world.git("add", "mine.txt")
    both(world, a, b)
    done(world, "stage", "--by-hand", "f.txt")
    done(world, "stage", "--session", a.sid)
    assert names(world).splitlines() == ["M\tf.txt", "A\tmine.txt"]
    assert "by hand" in staged(world)
    assert "by the other" not in staged(world)


def test_a_turn_or_a_call_of_a_session_is_staged_alone(world: World, a: Agent) -> None:
    a.tools = True
    a.turn("one", {"f.txt": change(BASE, "line 1 of", "line one of")})
    a.turn(
        "two", {"f.txt": change(world.read("f.txt"), "line 2 of", "line two of"), "g.txt": "g\n"}
    )
    done(world, "stage", "--session", a.sid, "--turn", "2")
    assert staged(world) == change(BASE, "line 2 of", "line two of")
    done(world, "undo")
    done(world, "stage", "--session", a.sid, "--call", "toolu_1")
    assert staged(world) == change(BASE, "line 1 of", "line one of")
    assert (
        "no such turn of this session: '9'"
        in run(world, "stage", "--session", a.sid, "--turn", "9").stderr
    )


def test_paths_and_the_current_directory_limit_it(world: World, a: Agent) -> None:
    a.turn("one", {"x/one.txt": "one\n", "y/two.txt": "two\n"})
    done(world, "stage", "--session", a.sid, ".", cwd=world.path / "y")
    assert names(world) == "A\ty/two.txt"


def test_the_agents_own_session_is_found_by_its_environment(
    world: World, a: Agent, b: Agent
) -> None:
    both(world, a, b)
    ended = run(world, "stage", "--own")
    assert ended.stderr == "fatal: no agent runs this; name the session by --session\n"
    b.prompt("stage it")
    world.env["CLAUDE_CODE_SESSION_ID"] = b.sid
    done(world, "stage", "--own")
    assert staged(world) == change(BASE, "line 3 of", "line three, by the other, of")


def test_who_is_meant_must_be_said(world: World, a: Agent) -> None:
    ended = run(world, "stage")
    assert (ended.returncode, ended.stderr.partition("\n")[0]) == (
        129,
        "error: whose work? name it by --session, --own or --by-hand",
    )


def test_conflicts_are_left_out_and_named(world: World, a: Agent) -> None:
    world.git("checkout", "-q", "-b", "side")
    world.write("f.txt", change(BASE, "line 5", "side 5"))
    world.commit()
    world.git("checkout", "-q", "main")
    world.write("f.txt", change(BASE, "line 5", "main 5"))
    world.commit()
    world.git("merge", "-q", "side", ok=False)
    world.write("g.txt", "by hand\n")
    ended = run(world, "stage", "--by-hand")
    assert "'f.txt' is unmerged, and is left out" in ended.stderr
    assert "g.txt" in world.git("diff", "--cached", "--name-only")


@pytest.mark.thorough
def test_another_git_that_holds_the_index_is_not_disturbed(
    world: World, a: Agent, b: Agent
) -> None:
    both(world, a, b)
    lock = world.path / ".git" / "index.lock"
    lock.write_bytes(b"")
    ended = run(world, "stage", "--session", a.sid)
    assert "another git holds the index" in ended.stderr
    assert lock.exists()
    assert staged(world) == BASE
    assert done(world, "undo", "--list").startswith("nothing to undo here: ")


def test_an_unborn_branch_has_parts_too(world: World, a: Agent) -> None:
    world.git("checkout", "-q", "--orphan", "new")
    world.git("rm", "-rqf", "--cached", ".")
    a.turn("one", {"one.txt": "one\n"})
    done(world, "stage", "--session", a.sid)
    assert names(world) == "A\tone.txt"


@pytest.mark.parametrize("seed", range(3))
def test_the_parts_of_all_are_the_worktree(world: World, a: Agent, b: Agent, seed: int) -> None:
    rng = random.Random(seed)
    agents: list[Agent | None] = [a, b, None]
    for number in range(9):
        who, path = rng.choice(agents), rng.choice(["f.txt", "g.txt", "h.txt"])
        lines = world.read(path).splitlines(keepends=True) if (world.path / path).exists() else []
        place = rng.randint(0, len(lines))
        name = who.sid[:8] if who else "by hand"
        lines[place : place + rng.randint(0, 2)] = [
            f"{name} wrote line {number}.{n}\n" for n in range(2)
        ]
        if who:
            who.turn(f"turn {number}", {path: "".join(lines)})
        else:
            world.write(path, "".join(lines))
    options = [["--session", a.sid], ["--session", b.sid], ["--by-hand"]]
    rng.shuffle(options)
    own = {"--by-hand": "by hand"}
    for option in options:
        before = world.git("diff", "--cached", "-U0")
        run(world, "stage", *option)
        added = set(world.git("diff", "--cached", "-U0").splitlines()) - set(before.splitlines())
        name = own.get(option[0], option[-1][:8])
        lines = [line for line in added if line.startswith("+") and " wrote line " in line]
        assert all(line.startswith(f"+{name}") for line in lines), option
    for option in options:
        run(world, "stage", "--with-overlaps", "--with-needed", *option)
    assert world.git("diff") == ""
    assert world.git("ls-files", "--others", "--exclude-standard") == ""


def test_undo_brings_an_intent_to_add_back(world: World) -> None:
    world.write("with space.txt", "by the person\n")
    world.write("other.txt", "by the person\n")
    world.git("add", "-N", "with space.txt")
    before = world.git("status", "--porcelain")
    assert ' A "with space.txt"' in before
    done(world, "stage", "--by-hand")
    assert 'A  "with space.txt"' in world.git("status", "--porcelain")
    done(world, "undo", "-y")
    assert world.git("status", "--porcelain") == before
    done(world, "redo", "-y")
    assert 'A  "with space.txt"' in world.git("status", "--porcelain")
