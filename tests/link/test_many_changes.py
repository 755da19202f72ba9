"""What many commits change, told at once, is what each of them changes."""

from __future__ import annotations

import os
from pathlib import Path

from gitcp.git import objects
from gitcp.git.objects import Objects, need_commit, object_lists
from gitcp.git.repo import Repo
from tests.support.checkpoints import git


def commit(repo: Path, name: str, content: str = "x\n") -> None:
    path = repo / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    git("add", "-A")
    git("commit", "-q", "--allow-empty", "-m", name)


def history(repo: Path) -> list[str]:
    """Commits of every kind; their oids."""
    commit(repo, "a.py")
    commit(repo, "with\nnewline: é.py")
    commit(repo, ".entire/settings.json")
    commit(repo, "a.py")  # nothing changes
    os.chmod(repo / "a.py", 0o755)
    commit(repo, "below/b.py")
    git("switch", "-qc", "side", "HEAD~2")
    commit(repo, "a.py", "side\n")
    git("switch", "-q", "main")
    git("rm", "-q", "below/b.py")
    commit(repo, "c.py")
    git("merge", "-q", "--no-commit", "side")
    commit(repo, "evil.py")
    return git("rev-list", "--all").split()


def test_many_commits_change_what_each_of_them_changes(repo: Path) -> None:
    oids, here = history(repo), Repo.find()
    with Objects(here):
        commits = [need_commit(here.objects, oid) for oid in oids]
        changes = object_lists.read_many_changes(here, commits)
        assert changes == {c["oid"]: objects.read_changes(here.objects, c)[1] for c in commits}
    merged = changes[git("rev-parse", "main").strip()]
    assert [*merged] == ["a.py", "evil.py"]  # the mode of one side, the content of the other


def test_a_commit_that_cannot_be_read_does_not_hide_the_others(repo: Path) -> None:
    oids, here = history(repo), Repo.find()
    gone = git("rev-parse", "HEAD~1^{tree}").strip()
    with Objects(here):
        commits = [need_commit(here.objects, oid) for oid in oids]
    (repo / ".git" / "objects" / gone[:2] / gone[2:]).unlink()
    with Objects(here):
        changes = object_lists.read_many_changes(here, commits)
    assert git("rev-parse", "HEAD~1").strip() not in changes
    assert {git("rev-parse", "side").strip(), git("rev-parse", "HEAD~3").strip()} <= changes.keys()
