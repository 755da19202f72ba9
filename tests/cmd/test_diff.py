"""gitcp-diff: git's own diff between checkpoints, commits and the worktree."""

from __future__ import annotations

import json

import pytest

from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import done, run, temporary
from tests.support.harness import Agent, World

FIRST = "11111111-aaaa-4a87-9186-848bdd83d62e"


@pytest.fixture
def a(world: World) -> Agent:
    return world.agent(FIRST)


def test_a_checkpoint_is_compared_with_the_worktree_and_with_another(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    newest, oldest = temporary(world)
    assert done(world, "diff", newest) == ""
    world.write("mine.txt", "mine\n")
    assert done(world, "diff", "--name-status", newest) == "A\tmine.txt\n"
    assert done(world, "diff", "--name-status", oldest, newest) == "M\ta.py\nA\tb.py\n"
    assert done(world, "diff", oldest, newest, "--", "a.py").splitlines()[-2:] == ["-1", "+2"]
    assert done(world, "diff", "--stat", "HEAD", oldest).startswith(" a.py | 1 +")


def test_committed_checkpoints_and_sessions_have_files_too(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    (checkpoint,) = world.commit()
    a.turn("two", {"b.py": "2\n"})
    assert done(world, "diff", "--name-only", checkpoint, a.sid[:8]) == "b.py\n"
    assert done(world, "diff", "--name-only", checkpoint) == "b.py\n"


def test_git_says_what_is_wrong_and_so_do_we(world: World) -> None:
    ended = run(world, "diff", "nothing")
    assert (ended.returncode, ended.stderr) == (
        128,
        "fatal: no such commit, checkpoint or session: 'nothing'\n",
    )
    assert run(world, "diff", "--no-such-option", "HEAD").returncode == 129


def test_a_diff_touches_neither_index_nor_files(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    index = world.path / ".git" / "index"
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    done(world, "diff", "HEAD")
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before


def test_records_of_a_difference_name_what_only_the_worktree_has(world: World) -> None:
    world.write("new.py", "1\n")
    (row,) = map(json.loads, done(world, "diff", "--json", "HEAD").splitlines())
    assert (row["path"], row["status"]) == ("new.py", "A")
    assert world.git("cat-file", "blob", row["oid"]) == "1"


def test_records_of_a_difference_rebuild_the_second_tree_upon_the_first(
    world: World, a: Agent
) -> None:
    a.turn("one", {"a.py": "1\n", "b.py": "1\n", "sub/c.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": None})
    newest, oldest = temporary(world)
    text = done(world, "diff", "--json", oldest, newest)
    rows = [(r["path"], r["status"], r["type"]) for r in map(json.loads, text.splitlines())]
    assert rows == [("a.py", "M", "blob"), ("b.py", "D", "change")]
    tree = world.gitcp("write-tree", "--base", f"{oldest}^{{tree}}", stdin=text)
    assert world.git("diff-tree", "-r", json.loads(tree)["oid"], newest, "--", "*.py") == ""
    assert done(world, "diff", "--json", oldest, newest, "--", "sub") == ""
    assert run(world, "diff", "--json", "--stat", oldest).returncode == 129


def test_records_compare_with_the_worktree_as_it_is_now(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    world.write("a.py", "changed since\n")
    (record,) = map(json.loads, done(world, "diff", "--json", "HEAD").splitlines())
    assert (record["path"], record["oid"]) == ("a.py", world.git("hash-object", "a.py"))


def test_where_two_sessions_have_work_it_is_said_whose_is_shown(world: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    assert run(world, "diff").stderr == ""
    later = "22222222-aaaa-4a87-9186-848bdd83d62e"
    world.agent(later).turn("two", {"b.py": "2\n"})
    shown = run(world, "diff", "--name-only")
    assert shown.stdout == "b.py\n"
    own, other = shorten_id(later), shorten_id(FIRST)
    told = f"the last turn, of session {own}; '--session <id>' shows that of {other}\n"
    assert shown.stderr == told
    world.commit("a.py")
    assert run(world, "diff").stderr == ""
