"""gitcp as a library: doc/library.md as it stands, and what holds for all calls."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from gitcp import memory
from gitcp.errors import Error
from gitcp.library import Repository
from tests.support.harness import World
from tests.support.paths import TOP
from tests.support.story import ALPHA, contents, tell

BLOCKS = re.findall(r"```python\n(.*?)```", (TOP / "doc" / "library.md").read_text(), re.S)


def test_the_page_runs_as_it_stands(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    story = tell(world)
    world.git("checkout", "-q", story.linked)
    os.chdir("/")
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block.replace("/path/to/project", str(world.path)), names)
    lines = capsys.readouterr().out.splitlines()
    assert f"{ALPHA} Try something" in lines
    assert "Claude Code ['Try something', 'Please add hello']" in lines
    assert "1 session Please add hello hello" in lines
    assert world.git("cat-file", "-t", names["tree"]) == "tree"
    assert [turn["prompt"] for turn in names["turns"]] == ["Please add hello"]
    assert [(o["first"], o["last"], o["session_id"]) for o in names["origins"]] == [(1, 2, ALPHA)]


def test_reading_prints_nothing_changes_nothing_and_stays_where_it_is(
    world: World, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    story = tell(world)
    before, at = contents(world.path), tmp_path / "apart"
    at.mkdir()
    os.chdir(at)
    with Repository(str(world.path)) as r:
        assert len(r.sessions()) == 3
        assert r.checkpoint(story.checkpoint) == r.checkpoint(story.linked)
        assert r.show(ALPHA)[0]["type"] == "session"
        r.blame("hello.txt")
        r.why("hello.txt", 1)
        assert r.lacks == []
    assert contents(world.path) == before
    assert Path.cwd() == at
    assert capfd.readouterr() == ("", "")


def test_an_open_repository_sees_what_is_recorded_later(world: World) -> None:
    with Repository(str(world.path)) as repository:
        with pytest.raises(Error, match="no session is behind"):
            repository.checkpoint("HEAD")
        world.agent("session-a").turn("Add one", {"one.txt": "one\n"})
        world.git("add", "one.txt")
        assert [line["session_id"] for line in repository.blame("one.txt")] == ["session-a"]
        (made,) = world.commit("one.txt")
        assert repository.checkpoint("HEAD")["checkpoint_id"] == made
        assert [line["checkpoint_id"] for line in repository.blame("one.txt")] == [made]


def test_git_has_a_snapshot_of_a_repository_that_stays_open(world: World) -> None:
    world.write("new.txt", "not committed\n")
    with Repository(str(world.path)) as repository:
        tree = repository.snapshot()["tree"]
        assert world.git("ls-tree", "--name-only", tree, "new.txt") == "new.txt"
    assert not memory.get_table("open objects")


@pytest.mark.parametrize("revision", ["--contents=/etc/passwd", "-s", "HEAD\0"])
def test_a_revision_is_never_an_option_of_git(world: World, revision: str) -> None:
    with Repository(str(world.path)) as repository:
        for ask in (repository.blame, lambda path, at: repository.why(path, 1, 1, at)):
            with pytest.raises(Error, match="bad revision"):
                ask("README.md", revision)
            with pytest.raises(Error, match="no such path"):
                ask("README.md\0", "HEAD")


def test_what_cannot_be_read_is_listed_and_an_error_is_raised(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    story = tell(world)
    with Repository(str(world.path)) as repository:
        with pytest.raises(Error, match="no such commit, checkpoint or session: 'nothing'"):
            repository.show("nothing")
        shard, rest = story.checkpoint[:2], story.checkpoint[2:]
        oid = world.git("rev-parse", f"entire/checkpoints/v1:{shard}/{rest}/metadata.json")
        (world.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink(missing_ok=True)
        repository.sessions()
    assert capfd.readouterr().err == ""
