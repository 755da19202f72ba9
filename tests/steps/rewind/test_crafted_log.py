"""An undo log that somebody else wrote: a ref may be fetched, or come in an archive."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitcp.git.files import hash_bytes
from gitcp.git.objects import write_commit, write_tree
from gitcp.git.refs import update_refs
from gitcp.git.repo import Repo
from gitcp.record import contents
from gitcp.steps import undo
from gitcp.steps.step import Step
from gitcp.text import json
from tests.support.harness import Agent, World
from tests.support.paths import BIN

FILE, TREE = "100644", "040000"


def run_undo(world: World) -> tuple[int, str]:
    done = subprocess.run(
        [BIN / "gitcp-undo"], cwd=world.path, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def craft(world: World, effects: list[dict[str, object]], **trees: dict[str, str]) -> None:
    """Make a log of one step.  trees: before and after, path -> content."""
    repo = Repo.find(str(world.path))
    with repo.objects as objects:
        entries = {
            end: (TREE, plant(repo, [(path.split("/"), text) for path, text in files.items()]))
            for end, files in trees.items()
        }
        step = {"kind": "resume" if not trees else "rewind", "reason": "r", "effects": effects}
        step |= {"id": "0" * 12, "parent": "", "position": "0" * 12}
        if trees:
            step["target"] = "t"
        message = f"gitcp: a step\n\n{json.dumps(step)}"
        commit = write_commit(repo, write_tree(objects, entries), [], message)
        update_refs(repo, [(undo.get_ref(repo), commit, None)], "crafted")


def plant(repo: Repo, files: list[tuple[list[str], str]]) -> str:
    """A tree with any names, which git itself would refuse to make."""
    entries = {}
    for first in {parts[0] for parts, _ in files}:
        below = [(parts[1:], text) for parts, text in files if parts[0] == first]
        if below[0][0]:
            entries[first] = (TREE, plant(repo, below))
        else:
            entries[first] = (FILE, repo.objects.write("blob", below[0][1].encode()))
    return write_tree(repo.objects, entries)


@pytest.mark.parametrize(
    "what",
    [
        "writes",
        "deletes",
        "leads through a link",
        "leads out of the worktree",
        "writes below .git",
        "moves a branch",
    ],
)
def test_it_changes_nothing_that_no_step_of_gitcp_changes(
    world: World, a: Agent, what: str
) -> None:
    a.turn("work", {"a.py": "1\n"})
    victim, repo = world.home / "profile", Repo.find(str(world.path))
    kept = contents.keep_bytes(repo, b"evil\n")
    effect: dict[str, object] = {"file": str(victim), "old": kept, "new": None}
    if what == "leads through a link":
        (a.transcript.parent / "link").symlink_to(world.home)
        effect["file"] = str(a.transcript.parent / "link" / "profile")
    elif what == "leads out of the worktree":
        (world.path / "link").symlink_to(world.home)
        effect |= {"file": str(world.path / "link" / "profile"), "mode": 0o755}
    elif what == "writes below .git":
        victim = world.path / ".git" / "hooks" / "profile"
        effect |= {"file": str(victim), "mode": 0o755}
    elif what == "deletes":
        victim.write_text("good\n")
        effect |= {"old": None, "new": hash_bytes(b"good\n")}
    elif what == "moves a branch":
        world.git("commit", "-q", "--allow-empty", "-m", "more")
        old, new = world.git("rev-parse", "main~1", "main").split()
        effect = {"ref": "refs/heads/main", "old": old, "new": new}
    before, tip = victim.exists(), world.git("rev-parse", "main")
    craft(world, [effect])
    status, said = run_undo(world)
    assert status, said
    assert "no step of gitcp" in said
    assert (victim.exists(), world.git("rev-parse", "main")) == (before, tip)


@pytest.mark.parametrize("path", ["../evil.txt", ".git/hooks/evil", ".GIT/evil", "sub/../../evil"])
def test_a_tree_that_leaves_the_worktree_is_refused(world: World, a: Agent, path: str) -> None:
    a.turn("work", {"a.py": "1\n"})
    craft(world, [], before={path: "evil\n", "b.py": "x\n"}, after={"b.py": "x\n"})
    run_undo(world)
    assert not [*world.path.parent.rglob("*evil*")]


@pytest.mark.parametrize("path", ["../good.txt", ".git/good"])
def test_nor_does_it_delete_there(world: World, a: Agent, path: str) -> None:
    a.turn("work", {"a.py": "1\n"})
    target = Path(world.path, path)
    target.write_text("good\n")
    craft(world, [], before={"b.py": "x\n"}, after={path: "good\n", "b.py": "x\n"})
    run_undo(world)
    assert target.read_text() == "good\n"


def test_an_effect_of_a_kind_that_nobody_knows_is_refused(world: World, a: Agent) -> None:
    craft(world, [{"other": "x", "old": None, "new": "1"}])
    status, said = run_undo(world)
    assert (status, "that this version of gitcp does not know" in said) == (128, True)


@pytest.mark.parametrize("head", ["--all", "--output=a", "0" * 40, "", "nothing"])
def test_a_commit_that_a_step_names_is_no_option_and_need_not_exist(
    world: World, head: str
) -> None:
    repo = Repo.find(str(world.path))
    assert undo.count_commits_since(repo, Step("a", "rewind", "r", head=head)) is None
