"""stats --survival: which of the agents' lines live on, and who rewrote the rest."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.lines.blame.recorded_lines import linked
from tests.support import warm
from tests.support.checkpoints import git

IDS = (f"{n:012x}" for n in range(1, 99))


def survival(*argv: str) -> dict[str, Any]:
    done = warm.run("stats", "--survival", "--json", *argv)
    done.check_returncode()
    return dict(json.loads(done.stdout)["survival"])


def commit(repo: Path, path: str, lines: str, session: str = "", ranges: Any = None) -> None:
    """Each letter of lines is a line; by a session its ranges, else a person's."""
    (repo / path).write_text("".join(f"line {letter} of {path[0]}\n" for letter in lines))
    git("add", "-A")
    git("commit", "-qm", lines)
    if session:
        linked(next(IDS), session, path, [[a, b, "t1", None] for a, b in ranges])


@pytest.fixture
def merged(repo: Path) -> Path:
    """Six lines of a session; the person and it change one each on two branches."""
    commit(repo, "f", "abcdef", "s1", [(1, 6)])
    git("checkout", "-q", "-b", "side")
    commit(repo, "f", "aBcdef")
    git("checkout", "-q", "main")
    commit(repo, "f", "abcdEf", "s1", [(5, 5)])
    git("merge", "-q", "--no-edit", "side")
    return repo


def sums(lived: dict[str, Any]) -> tuple[int, int, dict[str, int]]:
    return lived["added"], lived["alive"], lived["rewritten"]


def test_a_merge_keeps_what_either_branch_kept(merged: Path) -> None:
    assert sums(survival()) == (7, 5, {"agent": 1, "person": 1, "unknown": 0})


def test_a_renamed_file_keeps_its_lines_and_a_deletion_is_whoever_made_it(merged: Path) -> None:
    git("mv", "f", "f2")
    commit(merged, "f2", "BcdEfg")
    lived = survival()
    assert sums(lived) == (7, 4, {"agent": 1, "person": 2, "unknown": 0})
    (row,) = lived["models"]
    assert (row["agent"], row["model"], row["alive"]) == ("Claude Code", "opus", 4)
    git("rm", "-q", "f2")
    git("commit", "-qm", "gone")
    assert sums(survival()) == (7, 0, {"agent": 1, "person": 6, "unknown": 0})


def test_a_resolved_conflict_has_the_lines_that_either_side_had(merged: Path) -> None:
    git("checkout", "-q", "-b", "other", "HEAD")
    commit(merged, "f", "aBxdEf", "s2", [(3, 3)])
    git("checkout", "-q", "main")
    commit(merged, "f", "aBydEf", "s3", [(3, 3)])
    subprocess.run(["git", "merge", "-q", "other"], check=False, capture_output=True)
    commit(merged, "f", "aBxyzdEf")
    assert sums(survival())[:2] == (9, 6)


def test_a_range_counts_what_it_added_alone_and_paths_limit_it(merged: Path) -> None:
    assert sums(survival("HEAD~1..")) == (0, 0, {"agent": 0, "person": 0, "unknown": 0})
    commit(merged, "g", "xyz", "s4", [(1, 2)])
    assert survival("HEAD~1..")["added"] == 2
    assert survival("--", "g")["alive"] == 2 and survival("--", "f")["alive"] == 5


@pytest.mark.parametrize("path", ["f", "f2", "src"])
def test_the_sums_of_a_path_are_the_same_with_it_and_without(merged: Path, path: str) -> None:
    git("checkout", "-q", "-b", "lost", "HEAD~1")
    commit(merged, "f", "abXdEf", "s1", [(3, 3)])
    git("checkout", "-q", "main")
    git("merge", "-q", "-s", "ours", "--no-edit", "lost")
    git("mv", "f", "f2")
    commit(merged, "f2", "aBcdEfg")
    with_it, without = (
        json.loads(warm.run("stats", "--json", *option, "--", path).stdout)
        for option in (["--survival"], [])
    )
    assert with_it.pop("survival") and with_it == without and without["commits"]
    if path == "f":
        assert (without["commits"], without["added"]["agent"]) == (4, 8)


def test_no_line_of_a_file_is_taken_for_a_header(repo: Path) -> None:
    tricky = "++ b/other\n-- a/other\n@@ -1 +1 @@\ndiff --git a/x b/x\n\x02\nlast"
    (repo / "f x").write_text(tricky)
    git("add", "-A")
    git("commit", "-qm", "tricky\n\ndiff --git a/y b/y\n@@ -1,9 +1,9 @@")
    linked(next(IDS), "s1", "f x", [[1, 6, "t1", None]])
    (repo / "f x").write_text(tricky.replace("last", "++ b/more"))
    git("commit", "-qam", "the last line")
    assert sums(survival()) == (6, 5, {"agent": 0, "person": 1, "unknown": 0})


def test_the_table_and_markdown_tell_of_it(merged: Path) -> None:
    for form, words in (
        ("--markdown", "| `Claude Code opus` | 7 | 5 | 1 | 1 | 0 |"),
        ("", "5 of the"),
    ):
        assert words in warm.run("stats", "--survival", *form.split()).stdout
