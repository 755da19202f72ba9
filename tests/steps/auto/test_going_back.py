"""Going back under auto-commit changes files: a branch is for the person to move."""

from __future__ import annotations

from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.going import around, done, plan, points
from tests.support.harness import Agent, World


def test_rewind_undo_and_redo_never_move_a_branch_under_auto_commit(auto: World, a: Agent) -> None:
    a.turn("one", {"a.py": "1\n"})
    a.turn("two", {"a.py": "2\n", "b.py": "2\n"})
    before, commits = around(auto), auto.git("rev-list", "HEAD")
    newest = next(p["id"] for p in points(auto) if p["kind"] == "prompt")
    assert plan(auto, "--to", newest) == {
        "a.py": ("modify", f"changed since by session {shorten_id(a.sid)}, and committed"),
        "b.py": ("delete", "committed since"),
    }
    for name, *args in (["rewind", "--to", newest], ["undo"], ["redo"]):
        done(auto, name, *args)
        there = name == "undo"
        assert auto.read("a.py") == ("2\n" if there else "1\n")
        assert (auto.path / "b.py").exists() == there
        assert around(auto) == before, name
    assert auto.git("status", "--porcelain").split() == ["M", "a.py", "D", "b.py"]
    a.turn("three", {"c.py": "3\n"})
    assert auto.git("rev-list", "HEAD~1") == commits
