"""Links survive what people do to commits: through post-rewrite, and through gitcp relink."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from tests.support import commit_forms, gits
from tests.support.commit_forms import BOTH, NEW, left
from tests.support.harness import Agent, World
from tests.support.linking import linked, noted, own, sessions, settled, shell, sound, v1

BARE = shlex.join(["git", *gits.SILENT])  # git without any hook
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@pytest.fixture
def world(worked: World) -> World:
    return worked


def relink(world: World, *args: str) -> list[tuple[str, str]]:
    """(how, commit) of what gitcp relink finds."""
    lines = world.gitcp("relink", *args).splitlines()
    return [(found["how"], found["commit"]) for found in map(json.loads, lines)]


LOST = {
    "an amend that drops the line": (f"{BARE} commit -q --amend -m y", "blobs", [[f"({BOTH})"]]),
    "a rebase that drops it": (
        f"echo m >m; git add m; git commit -qm m; git branch o @~2; git checkout -q o; echo o >o;"
        f" git add o; git commit -qm o; git switch -q main; {BARE} rebase -q o;"
        f" GIT_EDITOR='sed -i /^Entire/d' GIT_SEQUENCE_EDITOR='sed -i 1s/pick/reword/'"
        f" {BARE} rebase -q -i @~2",
        "blobs",
        [[], [f"({BOTH})"], []],
    ),
    "a new message on the tree": (
        "git reset -q --hard $(git commit-tree -p HEAD~ -m y HEAD^{tree})",
        "blobs",
        [[f"({BOTH})"]],
    ),
    "a squash with more": (
        f"echo m >m; git add m; git commit -qm m; {BARE} reset -q --soft HEAD~2;"
        f" {BARE} commit -qm all",
        "blobs",
        [[f"({BOTH})"]],
    ),
    "an imported branch": (
        "git fast-export --no-data HEAD >/dev/null; git format-patch -q --stdout -1 >../p;"
        f" git reset -q --hard HEAD~; sed -i /^Entire/d ../p; {BARE} am -q ../p;"
        " git reflog expire --expire=now --all",
        "blobs",
        [[f"({BOTH})"]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOST)
def test_relink_finds_the_commit_that_lost_its_line(world: World, name: str) -> None:
    script, how, want = LOST[name]
    base = world.head
    shell(world, "git commit -qam x")
    shell(world, script)
    assert not any(map(any, linked(world, base)))
    assert [found[0] for found in relink(world, "--dry-run")] == [how]
    assert not any(map(any, linked(world, base))), "a dry run writes nothing"
    assert [found[0] for found in relink(world)] == [how]
    assert linked(world, base) == want
    assert relink(world) == [], "nothing is lost any more"
    sound(world)


def test_relink_finds_a_new_file_under_another_name_by_its_content(world: World) -> None:
    base = world.head
    shell(world, "git add new.py; git commit -qm x; git mv new.py power.py")
    shell(world, f"{BARE} commit -q --amend -m y")
    assert relink(world) == [("evidence", world.head)]
    assert linked(world, base) == [["(new.py)"]]


def noted_commits(world: World) -> list[str]:
    """The objects with a note; that of the empty tree tells since when a clone records."""
    listed = world.git("notes", "--ref=gitcp", "list", ok=False).splitlines()
    return [oid for line in listed if (oid := line.split()[1]) != EMPTY_TREE]


def test_relink_leaves_what_is_linked_alone_and_writes_nothing_in_doubt(world: World) -> None:
    shell(world, "git add .; git commit -qm x")
    tree = world.git("rev-parse", "HEAD^{tree}")
    for name in ("one", "two"):
        assert relink(world) == [], "what is on a branch is not lost, though another is like it"
        commit = world.git("commit-tree", "-p", "HEAD~", "-m", name, tree)
        world.git("branch", name, commit)
    world.git("reset", "-q", "--hard", "HEAD~")
    assert relink(world) == []
    assert noted_commits(world) == []


def test_a_noted_link_follows_an_amend(world: World) -> None:
    base = world.head
    shell(world, f"git commit -qam x; {BARE} commit -q --amend -m y")
    relink(world)
    assert linked(world, base) == [[f"({BOTH})"]]
    shell(world, "git commit -q --amend -m z")
    assert [one.strip("()") for [one] in linked(world, base)] == [BOTH]
    shell(world, "git commit -q --amend --no-edit --date=now")
    assert [one.strip("()") for [one] in linked(world, base)] == [BOTH]


@pytest.mark.thorough
def test_every_link_survives_twenty_rewrites(world: World) -> None:
    base = world.head
    shell(world, "git commit -qm x README.md; git commit -qm y src; git add .; git commit -qm z")
    for number in range(4):
        shell(world, f"git commit -q --amend -m z{number}; git rebase -q --no-ff HEAD~3")
    assert linked(world, base) == [["new.py"], ["src/app.py"], ["README.md"]]
    assert len(v1(world)) == 3 * 7
    sound(world)


# Commits that no hook of ours saw.


def test_a_commit_without_hooks_is_linked_by_a_note_at_the_next_event(world: World) -> None:
    base = world.head
    shell(world, f"{BARE} commit -qam x")
    assert linked(world, base) == [[]]
    world.agent("session-a").start("resume")
    assert linked(world, base) == [[f"({BOTH})"]]
    assert left(world) == "new.py"
    [one] = noted(world)
    assert sessions(world, one)["session-a"]["commit"] == world.head
    assert world.head in world.gitcp("find-commits", one)
    assert f"Entire-Checkpoint: {one}" in world.git("log", "-1", "--notes=gitcp")
    sound(world)


def test_several_commits_without_hooks_are_linked_each(world: World) -> None:
    base = world.head
    shell(
        world,
        f"{BARE} commit -qm x README.md; echo m >m; git add m; {BARE} commit -qm m;"
        f" {BARE} commit -qm y src; git add .; {BARE} commit -qm z",
    )
    a = world.agent("session-a")
    a.start("resume")
    assert linked(world, base) == [["(new.py)"], ["(src/app.py)"], [], ["(README.md)"]]
    settled(world, a)
    sound(world)


def test_a_verdict_of_another_commit_is_not_obeyed(world: World) -> None:
    base = world.head
    shell(world, "git commit -qam x")
    (world.path / ".git" / "hooks" / "prepare-commit-msg").unlink()
    world.git("add", "new.py")
    world.git("commit", "-q", "-m", "y")
    assert linked(world, base) == [["(new.py)"], [BOTH]]
    assert left(world) == ""
    sound(world)


def test_what_a_commit_beside_an_old_verdict_leaves_goes_on_from_it(world: World) -> None:
    a = world.agent("session-a")
    a.turn("three", {f"{n}.py": NEW for n in "abc"})
    world.commit("a.py")
    (world.path / ".git" / "hooks" / "prepare-commit-msg").unlink()
    world.git("add", "b.py")
    world.git("commit", "-q", "-m", "the verdict there is of the commit before")
    assert world.git("for-each-ref", "--format=%(refname)", "refs/heads/entire/?*-*").split() == [
        f"refs/heads/{world.branch()}"
    ]
    files = a.state["streams"][-1]["files"]
    assert "c.py" in files and "b.py" not in files


def test_an_agent_that_runs_no_hooks_is_linked_when_its_tool_ends(world: World) -> None:
    a: Agent = world.agent("session-a", tools=True)
    a.prompt("commit without hooks")
    a.write("b.py", NEW)
    tool: dict[str, Any] = {
        "tool_name": "Bash",
        "tool_input": {"command": "git commit"},
        "tool_use_id": "t9",
    }
    a.event("PreToolUse", **tool)
    own(a, "add", "b.py")
    own(a, *gits.SILENT, "commit", "-q", "-m", "by its own client")
    a.event("PostToolUse", **tool, tool_response={})
    [one] = noted(world)
    assert sessions(world, one)[a.sid]["files_touched"] == ["b.py"]
    assert a.state["turn_checkpoint_ids"] == [one]
    a.stop()
    assert "done" in sessions(world, one)[a.sid]["transcript"]
    sound(world)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("git merge -q --autostash theirs", id="fast-forward"),
        pytest.param("git pull -q --autostash --ff-only . theirs", id="pull"),
        pytest.param("git reset -q --soft theirs; git restore --staged .", id="reset"),
        pytest.param(
            "echo m >m; git add m; git commit -qm m; git merge -q --autostash --no-edit theirs",
            id="merge",
        ),
    ],
)
def test_what_others_made_is_not_taken_for_the_sessions_commit(world: World, script: str) -> None:
    blob = world.path / "../theirs.md"
    blob.write_text("theirs\n" + commit_forms.README)
    oid = world.git("hash-object", "-w", str(blob))
    world.env["GIT_INDEX_FILE"] = str(world.path / "../theirs.index")
    world.git("read-tree", "HEAD")
    world.git("update-index", "--cacheinfo", f"100644,{oid},README.md")
    tree = world.git("write-tree")
    del world.env["GIT_INDEX_FILE"]
    commit = world.git("commit-tree", "-p", "HEAD", "-m", "theirs", tree)
    world.git("branch", "-f", "theirs", commit)
    base = world.head
    shell(world, script)
    world.agent("session-a").start("resume")
    assert not any(map(any, linked(world, base)))
    assert v1(world) == {}
    assert left(world) == commit_forms.ALL


def test_jj_is_told_by_its_reflog_message(world: World) -> None:
    base = world.head
    shell(
        world,
        "git add README.md; c=$(git commit-tree -p HEAD -m x $(git write-tree));"
        " git update-ref --create-reflog -m 'export from jj' HEAD $c",
    )
    world.agent("session-a").start("resume")
    assert linked(world, base) == [["(README.md)"]]
    sound(world)
