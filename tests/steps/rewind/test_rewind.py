"""gitcp rewind, undo and redo: points, plan, and what they never touch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitcp.record.journal import cuts
from gitcp.text.short_ids import shorten_id
from tests.record.journal.lines import lengthen
from tests.steps.rewind.conftest import SID
from tests.steps.rewind.going import around, done, files, plan, points, run, temporary, times
from tests.support.harness import Agent, World
from tests.support.paths import TOP
from tests.support.scenes import Scenes


def three_turns(a: Agent) -> None:
    """Three turns that create, modify and delete."""
    a.turn("write a", {"a.py": "a = 1\n"})
    a.turn("more", {"a.py": "a = 2\n", "src/b.py": "b = 1\n", "README.md": "agent\n"})
    a.turn("less", {"a.py": None, "src/lib.py": None, "deep/er/c.py": "c = 1\n"})


def take_three_turns(world: World) -> Agent:
    agent = world.agent(SID)
    three_turns(agent)
    return agent


@pytest.fixture
def three(scenes: Scenes, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    yield from scenes.play(take_three_turns, monkeypatch)


def test_each_point_gives_back_the_worktree_of_its_moment(world: World, a: Agent) -> None:
    moments = []
    for files_written in ({"a.py": "1\n"}, {"a.py": "2\n", "README.md": "x\n"}, {"a.py": None}):
        a.turn("go", files_written)
        moments.append(files(world.path))
    newest_first = temporary(world)
    assert len(newest_first) == 3
    for point, moment in zip(reversed(newest_first), moments, strict=True):
        done(world, "rewind", "--to", point)
        assert files(world.path) == moment


def test_undo_and_redo_go_over_any_number_of_steps(three: Agent) -> None:
    world = three.world
    states = [files(world.path)]
    for point in temporary(world)[1:]:
        done(world, "rewind", "--to", point)
        states.append(files(world.path))
    for state in reversed(states[:-1]):
        done(world, "undo")
        assert files(world.path) == state
    assert "nothing to undo" in run(world, "undo").stderr
    for state in states[1:]:
        done(world, "redo")
        assert files(world.path) == state
    assert "nothing to redo" in run(world, "redo").stderr
    before = files(world.path)
    ended = run(world, "undo", "9")
    assert (ended.returncode, "only 2 steps can be undone" in ended.stderr) == (128, True)
    assert files(world.path) == before
    told = done(world, "undo", "2").splitlines()
    (line,) = [line.partition(" (")[0] for line in told if line.startswith("undone: ")]
    names = [point[:8] for point in reversed(temporary(world)[1:])]
    assert line == "undone: " + "; ".join(f"rewind: to {name}" for name in names)
    assert files(world.path) == states[0]


def test_a_look_writes_nothing_where_nothing_can_be_written(three: Agent, tmp_path: Path) -> None:
    """Root may write a repository that is read-only to others: here a file is in the way."""
    world = three.world
    scratch, packs = world.path / ".git/gitcp/tmp", world.path / ".git/objects/pack"
    before = sorted(packs.iterdir())
    shutil.rmtree(scratch)
    scratch.write_text("in the way")
    world.write("new.txt", "in no pack\n")
    oldest = temporary(world)[-1]
    assert oldest[:8] in done(world, "rewind", "--list")
    assert "+in no pack" in done(world, "diff", "HEAD")
    assert "a.py" in done(world, "rewind", "--to", oldest, "--dry-run")
    assert sorted(packs.iterdir()) == before
    assert not list(tmp_path.glob("gitcp-*"))


def test_head_index_stash_reflog_and_other_files_stay_as_they_were(three: Agent) -> None:
    world = three.world
    world.write("README.md", "stashed\n")
    world.git("stash", "-q")
    world.write("staged.txt", "staged\n")
    world.git("add", "staged.txt")
    before, old = around(world), times(world.path)
    done(world, "rewind", "--to", temporary(world)[-1])
    changed = {p for p, t in times(world.path).items() if old.get(p) != t}
    assert around(world) == before
    assert changed == {"a.py"}
    assert not (world.path / "deep").exists()


def test_a_file_goes_though_its_first_edits_were_cut_from_the_journal(
    world: World, a: Agent
) -> None:
    a.turn("one", {"made.py": "by the agent\n"})
    turn = a.state["turn_id"]
    world.commit("made.py")
    for number in range(cuts.COMMITS + 1):
        a.turn("more", {"b.py": f"{number}\n"})
        if number == cuts.COMMITS:
            path = world.path / ".git/gitcp/journal"
            lengthen(path)
        world.commit("b.py")
    assert '"who"' not in "".join(x for x in path.read_text().splitlines() if "made.py" in x)
    world.git("rm", "-q", "--cached", "made.py")
    world.git("commit", "-qm", "made.py is no file of this project")
    reason = f"made since by session {shorten_id(a.sid)}"
    assert plan(world, "--to", turn)["made.py"] == ("delete", reason)


def test_what_the_person_made_stays_and_what_the_session_made_goes(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"made.py": "by the agent\n"})
    world.write("mine.txt", "by the person\n")
    told = plan(world, "--to", temporary(world)[-1])
    assert told["made.py"] == ("delete", f"made since by session {shorten_id(a.sid)}")
    assert told["mine.txt"] == ("keep", "not made by a session")
    done(world, "rewind", "--to", temporary(world)[-1])
    assert world.read("mine.txt") == "by the person\n"
    assert not (world.path / "made.py").exists()


def test_a_dry_run_and_a_list_change_nothing(three: Agent) -> None:
    world = three.world
    before = files(world.path)
    point = temporary(world)[-1]
    told = done(world, "rewind", "--dry-run", "--patch", "--to", point)
    assert "delete  deep/er/c.py" in told
    assert "-c = 1" in told
    assert files(world.path) == before
    assert "nothing to undo" in run(world, "undo").stderr


def test_a_rewind_that_changes_nothing_says_so_and_is_no_step(three: Agent) -> None:
    world = three.world
    assert done(world, "rewind", "--to", temporary(world)[0]) == "nothing changed\n"
    assert "nothing to undo" in run(world, "undo").stderr


def test_a_point_tells_session_prompt_and_the_keys_of_the_original_list(three: Agent) -> None:
    world, a = three.world, three
    newest, *_ = points(world)
    assert newest["session_id"] == a.sid
    assert newest["session_prompt"] == "less"
    assert newest["metadata_dir"] == f".entire/metadata/{a.sid}"
    keys = "id message metadata_dir date is_task_checkpoint tool_use_id is_logs_only"
    assert {*keys.split(), "condensation_id"} <= set(newest)


def test_a_point_is_named_by_its_beginning_and_an_unknown_one_is_an_error(three: Agent) -> None:
    world = three.world
    done(world, "rewind", "--to", temporary(world)[-1][:8])
    assert world.read("a.py") == "a = 1\n"
    ended = run(world, "rewind", "--to", "ffffffff")
    what = "no such point: 'ffffffff' ('gitcp rewind --list' shows them)"
    assert (ended.returncode, ended.stderr) == (128, f"fatal: {what}\n")


def test_paths_without_a_point_are_an_error_where_nobody_can_choose_one(three: Agent) -> None:
    for args in ([], ["--list"]):
        ended = run(three.world, "rewind", *args, "--", "a.py")
        assert ended.returncode == 129 and "--to <point>" in ended.stderr


def test_a_word_that_is_no_file_is_told_what_it_names(three: Agent) -> None:
    world = three.world
    world.write("mine.txt", "mine\n")
    point, session, commit = temporary(world)[-1][:8], three.sid, world.head
    for word, told in {
        point: f"'{point}' is a point: --to goes there",
        session: f"'{session}' is a session: --session takes back its edits",
        commit: f"'{commit}' is a commit: 'gitcp rewind --list' shows the points",
        "nope": "no such point, session or file: 'nope' ('gitcp rewind --list' shows the points)",
        "mine.txt": "give the point of these paths, too: --to <point>",
    }.items():
        ended = run(world, "rewind", word)
        assert (ended.returncode, told in ended.stderr) == (129, True), ended.stderr


def test_only_the_named_paths_go_back_from_any_subdirectory(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n", "src/b.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "src/b.py": "2\n", "src/c.py": "2\n"})
    done(world, "rewind", "--to", temporary(world)[-1], "--", "b.py", cwd=world.path / "src")
    assert (world.read("a.py"), world.read("src/b.py")) == ("2\n", "1\n")
    assert world.read("src/c.py") == "2\n"
    done(world, "rewind", "--to", temporary(world)[-1], cwd=world.path / "src")
    assert (world.read("a.py"), (world.path / "src/c.py").exists()) == ("1\n", False)
    outside = run(world, "rewind", "--to", temporary(world)[-1], "--", "../x")
    assert "outside the worktree" in outside.stderr


def test_archived_points_are_listed_and_reached(world: World, a: Agent) -> None:
    a.turn("one", {"gone.py": "1\n"})
    (world.path / "gone.py").unlink()
    a.turn("two", {"b.py": "1\n"})
    kinds = {p["kind"] for p in points(world)}
    assert {"temporary", "archived"} <= kinds
    archived = next(p["id"] for p in points(world) if p["kind"] == "archived")
    done(world, "rewind", "--force", "--to", archived)
    assert world.read("gone.py") == "1\n"
    assert not (world.path / "b.py").exists()


def test_what_undo_kept_is_a_point_too(three: Agent) -> None:
    world = three.world
    before = files(world.path)
    done(world, "rewind", "--to", temporary(world)[-1])
    kept = next(p for p in points(world) if p["kind"] == "safety")
    done(world, "rewind", "--to", kept["id"])
    assert files(world.path) == before


def test_redo_survives_a_turn_a_commit_gc_and_another_rewind(three: Agent) -> None:
    world, a = three.world, three
    first = temporary(world)[-1]
    done(world, "rewind", "--to", first)
    (step,) = [line for line in done(world, "undo", "--list").splitlines() if "went back" in line]
    done(world, "undo")
    a.turn("another", {"other.py": "o\n"})
    world.commit("other.py")
    world.git("-c", "gc.pruneExpire=now", "gc", "-q", "--prune=now")
    kept = [p["id"] for p in points(world) if p["kind"] == "safety"]
    world.write("README.md", "changed\n")
    done(world, "rewind", "--force", "--to", kept[0], "--", "README.md")
    assert world.read("README.md") == "line one\nline two\nline three\n"
    done(world, "undo", "1")
    newest, below, _, oldest_below = done(world, "undo", "--list").splitlines()
    assert "went back to before 'gitcp undo' at " in newest
    indent = " " * 21
    assert below == f"{indent}1 file changed; undone just now: 'gitcp redo' repeats it"
    command = f"'gitcp redo {step.split()[0]}'"
    changes = "2 files created, 1 changed, 2 deleted"
    assert oldest_below == f"{indent}{changes}; undone just now: {command} repeats it"
    assert "README.md" in run(world, "redo", step.split()[0]).stderr
    world.write("README.md", "agent\n")
    done(world, "redo", step.split()[0])
    assert world.read("a.py") == "a = 1\n"


def test_what_the_person_edits_between_rewind_and_undo_is_merged(world: World, a: Agent) -> None:
    text = [f"line {n}\n" for n in range(10)]
    a.turn("one", {"f.txt": "".join(text)})
    a.turn("two", {"f.txt": "".join(["first\n", *text[1:]])})
    done(world, "rewind", "--to", temporary(world)[-1])
    world.write("f.txt", "".join([*text[:-1], "last\n"]))
    done(world, "undo")
    assert world.read("f.txt") == "".join(["first\n", *text[1:-1], "last\n"])
    done(world, "redo")
    assert world.read("f.txt") == "".join([*text[:-1], "last\n"])


def test_what_a_merge_brings_back_is_still_the_work_of_those_who_wrote_it(
    world: World, a: Agent
) -> None:
    b = world.agent("session-b")
    text = [f"line number {n} of the file\n" for n in range(10)]
    world.write("f.txt", "".join(text))
    world.commit("f.txt")
    a.turn("one", {"f.txt": "".join(["the first line is by a\n", *text])})
    done(world, "rewind", "--to", points(world)[-1]["id"])
    assert world.read("f.txt") == "".join(text)
    b.turn("two", {"f.txt": "".join([*text, "the last line is by b\n"])})
    done(world, "undo")
    shown = [json.loads(line) for line in done(world, "blame", "--json", "f.txt").splitlines()]
    both = {1: a.sid, 12: b.sid}
    assert {row["line"]: row["session_id"] for row in shown if row["session_id"]} == both
    told = [json.loads(line) for line in done(world, "sessions", "--json").splitlines()]
    files = {row["session_id"]: row["files_touched"] for row in told}
    assert files == {a.sid: ["f.txt"], b.sid: ["f.txt"]}
    (checkpoint,) = world.commit("f.txt")
    assert world.committed(checkpoint).keys() == {a.sid, b.sid}


def test_a_conflict_is_listed_nothing_is_done_and_markers_come_on_request(
    world: World, a: Agent
) -> None:
    a.turn("one", {"f.txt": "one\n", "g.txt": "one\n"})
    a.turn("two", {"f.txt": "two\n", "g.txt": "two\n"})
    done(world, "rewind", "--to", temporary(world)[-1])
    world.write("f.txt", "mine\n")
    before = files(world.path)
    ended = run(world, "undo")
    assert ended.returncode == 128
    assert "'f.txt': changed since in the same place" in ended.stderr
    assert files(world.path) == before
    done(world, "undo", "--conflict=markers")
    assert world.read("f.txt").startswith("<<<<<<< now\nmine\n=======\n")
    assert world.read("g.txt") == "two\n"


def test_a_conflict_can_be_left_as_it_is(world: World, a: Agent) -> None:
    a.turn("one", {"f.txt": "one\n", "g.txt": "one\n"})
    a.turn("two", {"f.txt": "two\n", "g.txt": "two\n"})
    done(world, "rewind", "--to", temporary(world)[-1])
    (world.path / "f.txt").unlink()
    done(world, "undo", "--conflict=keep")
    assert not (world.path / "f.txt").exists()
    assert world.read("g.txt") == "two\n"


def test_a_rewind_in_the_middle_of_a_turn_is_not_the_sessions_work(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    a.prompt("three")
    ended = run(world, "rewind", "--to", temporary(world)[-1])
    assert ended.returncode == 0
    assert "is at work here" in ended.stderr
    a.write("c.py", "3\n")
    a.stop()
    found = a.state["streams"][-1]["files"]
    assert "c.py" in found
    assert found["a.py"]["turn_id"] != a.state["turn_id"] == found["c.py"]["turn_id"]


def test_the_plan_names_another_base_and_an_operation_under_way(three: Agent) -> None:
    world = three.world
    (world.path / ".git" / "MERGE_HEAD").write_text(world.head + "\n")
    point = temporary(world)[-1]
    assert "note: a merge is under way" in done(world, "rewind", "--dry-run", "--to", point)
    (world.path / ".git" / "MERGE_HEAD").unlink()
    world.git("stash", "-q", "-u")
    world.git("commit", "-q", "--allow-empty", "-m", "empty")
    told = done(world, "rewind", "--dry-run", "--to", point)
    assert f"HEAD is {world.head[:8]}; HEAD stays where it is" in told


def test_two_rewinds_at_once_leave_one_of_the_two_worktrees(world: World, a: Agent) -> None:
    import subprocess
    import sys

    three_turns(a)
    first, second = temporary(world)[-1], temporary(world)[-2]
    argv = [sys.executable, str(TOP / "bin" / "gitcp-rewind"), "--to"]
    both = [subprocess.Popen([*argv, p], cwd=world.path, stdout=-3) for p in (first, second)]
    assert [one.wait() for one in both] == [0, 0]
    now = files(world.path)
    assert run(world, "undo", "2").returncode == 0
    assert not (world.path / "a.py").exists()
    done(world, "redo")
    done(world, "redo")
    assert files(world.path) == now


def test_a_point_that_became_a_commit_says_which(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    (point,) = temporary(world)
    world.commit()
    ended = run(world, "rewind", "--to", point)
    assert (ended.returncode, ended.stdout) == (128, "")
    assert (
        f"point '{point}' became commit {world.head[:8]}: 'gitcp rewind --to HEAD'" in ended.stderr
    )
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    done(world, "rewind", "--files-only", "--to", "HEAD")
    assert (world.read("a.py"), (world.path / "b.py").exists()) == ("1\n", False)
    done(world, "undo")
    assert (world.read("a.py"), world.read("b.py")) == ("2\n", "2\n")


@pytest.mark.parametrize("kind", ["temporary", "prompt", "session"])
def test_a_path_that_matches_nothing_is_an_error(world: World, kind: str) -> None:
    a = world.agent("session-a", tools=True)
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n"})
    points_of_kind = [p["id"] for p in points(world) if p["kind"] == kind]
    where = ["--session", a.sid] if kind == "session" else ["--to", points_of_kind[0]]
    ended = run(world, "rewind", *where, "--", "a.py", "nothing.py")
    assert (ended.returncode, "no file 'nothing.py'" in ended.stderr) == (128, True), ended
    assert world.read("a.py") == "2\n"
    world.write(".gitignore", "own.log\n")
    world.write("own.log", "own\n")
    ended = run(world, "rewind", *where, "--", "own.log")
    want = "fatal: 'own.log' is not recorded (ignored by git): it stays as it is\n"
    assert (ended.returncode, ended.stderr) == (128, want)


def test_permissions_and_very_bytes_come_back_with_undo(world: World) -> None:
    a = world.agent("session-a", tools=True)
    world.write(".gitattributes", "*.txt text eol=crlf\n")
    world.commit(".gitattributes")
    (world.path / "mixed.txt").write_bytes(b"one\ntwo\r\nthree\n")
    world.write("secret.key", "old\n")
    (world.path / "secret.key").chmod(0o600)
    a.turn("one", {"mixed.txt": "1\n", "secret.key": "1\n"})
    (world.path / "mixed.txt").write_bytes(b"1\r\n2\n")
    a.turn("two", {"other": "2\n"})
    before = {p: (p.stat().st_mode, p.read_bytes()) for p in world.path.glob("[a-z]*.*")}
    turn = [p["id"] for p in points(world) if p["kind"] == "prompt"][-1]
    done(world, "rewind", "--force", "--to", turn)
    assert (world.path / "secret.key").stat().st_mode & 0o777 == 0o600
    assert (world.path / "mixed.txt").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    done(world, "undo")
    assert {p: (p.stat().st_mode, p.read_bytes()) for p in before} == before


def test_a_commit_among_the_points_is_for_resume_and_single_paths_have_no_conversation(
    world: World, a: Agent
) -> None:
    a.turn("write", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    for words, why in (
        (["--to", checkpoint], f"'gitcp resume {world.head[:10]}' restores its conversation"),
        (
            ["--to", checkpoint, "--same-id", "--", "a.py"],
            "--transcript-only and --same-id are for conversations: they take no",
        ),
    ):
        ended = run(world, "rewind", *words)
        assert ended.returncode != 0 and why in ended.stderr, ended
