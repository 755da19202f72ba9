"""The change that a page shows, from real commits: where it begins, and its files."""

from __future__ import annotations

from pathlib import Path

from gitcp.repo import Repo
from gitcp.store.git.prefetch import Prefetched
from gitcp.store.lines.evidence import Evidence
from gitcp.store.page import change, gather
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
    with Prefetched(at) as objects:
        records = gather.list_commits(at, objects, "main..side")
        ends = change.find_ends(at, records, "main..side")
        assert ends == (git("rev-parse", "main"), git("rev-parse", "side"))
        paths = {
            path for row in gather.count_lines(at, objects, records)[0].values() for path in row
        }
        evidence = Evidence(at, objects)
        files = list(change.read_files(at, objects, evidence, ends, paths, lambda _: None))
        assert [(f["old"], f["path"], f["sizes"], len(f["edits"])) for f in files] == [
            ("", "-L odd", (0, 3), 1),
            ("moved", "a <b>.txt", (100, 100), 0),
            ("data", "data", (30, 50), 0),
            ("gone", "", (4, 0), 1),
            ("text", "text", (5, 6), 1),
            ("", "zero", (0, 29), 1),
        ]
        by_path = {f["path"] or f["old"]: f for f in files}
        assert by_path["data"]["after"] is None and by_path["gone"]["after"] == []
        assert by_path["text"]["before"] == ["a", "b", "c"]
        assert by_path["text"]["after"] == ["a", "B", "c"]
        assert by_path["-L odd"]["after"] == ["\udcff"], "lines that all end so have no sign of it"
        assert by_path["zero"]["after"] == ["line one", "line two", "line three"]
        assert sorted(by_path["text"]["authors"]) == [2, 3], "the last line has an end now"
        single = change.find_ends(at, gather.list_commits(at, objects, "side~1"), "side~1")
        assert single == (git("rev-parse", "side~2"), git("rev-parse", "side~1"))
        root = git("rev-list", "--max-parents=0", "HEAD")
        assert (
            change.find_ends(at, gather.list_commits(at, objects, root), root)[0] == at.empty_tree
        )
