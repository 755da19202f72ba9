"""The change that a page shows, from real commits: where it begins, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitcp.extras.page import change, gather
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines.committed import history
from gitcp.lines.committed.evidence import Evidence
from tests.support.checkpoints import git


def make_history(repo: Path) -> None:
    """main, and side with a change of every kind, into which main was merged midway."""
    (repo / "text").write_text("a\nb\nc")
    (repo / "gone").write_text("x\ny\n")
    (repo / "moved").write_text("same\n" * 20)
    (repo / "data").write_bytes(b"\0" * 30)
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    git("switch", "-q", "-c", "side")
    (repo / "text").write_text("a\nB\nc\n")
    (repo / "gone").unlink()
    (repo / "moved").rename(repo / "a <b>.txt")
    (repo / "data").write_bytes(b"\0" * 50)
    (repo / "zero").write_text("line one\nline two\nline three\n")  # its id begins with 0
    (repo / "-L odd").write_bytes(b"\xff\r\n")
    git("add", "-A")
    git("commit", "-q", "-m", "change")
    git("switch", "-q", "main")
    (repo / "of-main").write_text("main\n")
    git("add", "-A")
    git("commit", "-q", "-m", "of main")
    git("switch", "-q", "side")
    git("merge", "-q", "-m", "merge", "main")


def test_a_range_is_the_change_since_both_had_the_same_with_files_of_every_kind(repo: Path) -> None:
    make_history(repo)
    at = Repo.find_here()
    with Objects(at):
        records = gather.list_commits(at, "main..side")
        ends = change.find_ends(at, records, "main..side")
        assert ends == (git("rev-parse", "main"), git("rev-parse", "side"))
        counts = gather.count_lines(at, records)
        about = at, Evidence(at), ends, counts.steps, counts.credited
        files = list(change.read_files(*about, lambda _: None))
        assert [(f.old, f.path, f.sizes, len(f.edits)) for f in files] == [
            ("", "-L odd", (0, 3), 1),
            ("moved", "a <b>.txt", (100, 100), 0),
            ("data", "data", (30, 50), 0),
            ("gone", "", (4, 0), 1),
            ("text", "text", (5, 6), 1),
            ("", "zero", (0, 29), 1),
        ]
        by_path = {f.name: f for f in files}
        assert by_path["data"].after is None and by_path["gone"].after == []
        assert by_path["text"].before == ["a", "b", "c"]
        assert by_path["text"].after == ["a", "B", "c"]
        assert by_path["-L odd"].after == ["\udcff"], "lines that all end so have no sign of it"
        assert by_path["zero"].after == ["line one", "line two", "line three"]
        assert sorted(by_path["text"].writers) == [2, 3], "the last line has an end now"
        single = change.find_ends(at, gather.list_commits(at, "side~1"), "side~1")
        assert single == (git("rev-parse", "side~2"), git("rev-parse", "side~1"))
        root = git("rev-list", "--max-parents=0", "HEAD")
        assert change.find_ends(at, gather.list_commits(at, root), root)[0] == at.empty_tree


def test_lines_have_the_authors_that_git_blame_names(repo: Path) -> None:
    """Changed once, again and again, on two branches, by who has another name in the mailmap."""
    make_history(repo)
    (repo / ".mailmap").write_text("New Name <author@example.com>\n")
    git("add", "-A")
    for n, name in enumerate(("text", "zero", "text")):
        (repo / name).write_text(f"{n} before\n{(repo / name).read_text()}{n} behind\n")
        git("commit", "-q", "-a", "-m", name)
    git("switch", "-q", "-c", "other", "side~2")
    (repo / "zero").write_text(f"{(repo / 'zero').read_text()}other\n")
    git("commit", "-q", "-a", "-m", "other")
    git("switch", "-q", "side")
    git("merge", "-q", "-m", "both", "-s", "ours", "other")
    at = Repo.find_here()
    asked = []
    for blames in (False, True):
        with Objects(at):
            records = gather.list_commits(at, "main..side")
            steps = {} if blames else gather.count_lines(at, records).steps
            ends = change.find_ends(at, records, "main..side")
            patches = history.compare_trees(at, *ends)
            evidence = Evidence(at)
            asked.append(
                change.AddedLines(at, at.git, evidence, ends[1], {}).find_writers(patches, steps)
            )
    assert asked[0] == asked[1]
    assert {path: len(lines) for path, lines in asked[0].items() if lines} == {
        "-L odd": 1, ".mailmap": 1, "text": 6, "zero": 5,
    }  # fmt: skip
    assert asked[0]["text"][1].name == "New Name"


def test_a_line_of_an_ignored_commit_has_the_author_from_before_the_range(repo: Path) -> None:
    for name, text in (("First", "    a line\n"), ("Second", ""), ("Third", "\ta line\n")):
        (repo / "old").write_text(text or "    a line\n")
        git("add", "-A")
        git("commit", "-q", "--allow-empty", f"--author={name} <a@example.com>", "-m", name)
    (repo / ".git" / "ignored").write_text(git("rev-parse", "HEAD") + "\n")
    git("config", "blame.ignoreRevsFile", str(repo / ".git" / "ignored"))
    at = Repo.find_here()
    with Objects(at):
        ends = git("rev-parse", "HEAD~1"), git("rev-parse", "HEAD")
        lines = change.AddedLines(at, at.git, Evidence(at), ends[1], {})
        writers = lines.find_writers(history.compare_trees(at, *ends), {})
    assert writers["old"][1].name == "First"


def test_git_is_not_asked_to_blame_a_submodule(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    start = history.start_blame

    def note(*args: Any) -> Any:
        asked.extend(args[1].names)
        return start(*args)

    monkeypatch.setattr(history, "start_blame", note)
    (repo / "text").write_text("a\n")
    git("add", "text")
    git("update-index", "--add", "--cacheinfo", f"160000,{git('rev-parse', 'HEAD')},module")
    git("commit", "-q", "-m", "add")
    at = Repo.find_here()
    with Objects(at):
        ends = git("rev-parse", "HEAD~1"), git("rev-parse", "HEAD")
        lines = change.AddedLines(at, at.git, Evidence(at), ends[1], {})
        writers = lines.find_writers(history.compare_trees(at, *ends), {})
    assert [*writers] == ["text"] and asked == ["text"]
