"""export-notes and export-traces: what is recorded of lines, in the formats of others."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.lines.blame.recorded_lines import linked
from tests.support import warm
from tests.support.checkpoints import git

A = "a1b2c3d4e5f6"
AI = "refs/notes/ai"


def tool(name: str, *argv: str) -> subprocess.CompletedProcess[str]:
    return warm.run(name, *argv)


@pytest.fixture
def counted(repo: Path) -> Path:
    (repo / "src" / "app.py").write_text("one\ntwo\nthree\nfour\n")
    git("commit", "-qam", "count")
    linked(A, "session-1", "src/app.py", [[1, 2, "t1", "toolu_1"], [3, 3, "person", None]])
    return repo


def test_a_note_attests_a_sessions_lines_and_git_shows_it(counted: Path) -> None:
    done = tool("export-notes")
    assert (done.stdout.split(), done.stderr) == ([git("rev-parse", "HEAD")], "")
    note = git("notes", f"--ref={AI}", "show", "HEAD")
    assert note.splitlines()[0] == "src/app.py"
    assert note.splitlines()[1].endswith(" 1-2") and note.splitlines()[2] == "---"
    assert json.loads(note.partition("\n---\n")[2])["base_commit_sha"] == git("rev-parse", "HEAD")


def test_exporting_again_changes_nothing(counted: Path) -> None:
    tool("export-notes")
    before = git("rev-parse", AI)
    assert tool("export-notes").stdout == ""
    assert git("rev-parse", AI) == before


def test_another_tools_note_stays_and_what_is_no_log_is_left_alone(counted: Path) -> None:
    theirs = {
        "schema_version": "authorship/3.0.0",
        "base_commit_sha": git("rev-parse", "HEAD"),
        "prompts": {},
        "sessions": {"s_0": {"agent_id": {"tool": "amp", "id": "i", "model": "m"}}},
    }
    text = f"src/app.py\n  s_0::t_0 2\n---\n{json.dumps(theirs)}"
    git("notes", f"--ref={AI}", "add", "-m", text, "HEAD")
    git("notes", f"--ref={AI}", "add", "-m", "a word of mine", "HEAD~1")
    linked("0f1e2d3c4b5a", "s", "README.md", [[1, 1, "t", None]])
    git("notes", f"--ref={AI}", "copy", "HEAD~1", "HEAD~1", "-f")
    tool("export-notes")
    rows = git("notes", f"--ref={AI}", "show", "HEAD").splitlines()
    keys = [row.split() for row in rows[1:] if row.startswith("  s_")]
    assert sorted(numbers for _, numbers in keys) == ["1", "2"]
    assert git("notes", f"--ref={AI}", "show", "HEAD~1") == "a word of mine"


def test_a_note_that_is_no_log_is_told(counted: Path) -> None:
    git("notes", f"--ref={AI}", "add", "-m", "a word of mine", "HEAD")
    done = tool("export-notes")
    assert (done.stdout, done.returncode) == ("", 0)
    assert "is not an authorship log: left alone" in done.stderr
    assert git("notes", f"--ref={AI}", "show", "HEAD") == "a word of mine"


def test_traces_are_one_record_for_each_commit_that_a_session_wrote_in(counted: Path) -> None:
    (record,) = map(json.loads, tool("export-traces").stdout.splitlines())
    assert record["vcs"]["revision"] == git("rev-parse", "HEAD")
    (file,) = record["files"]
    assert file["conversations"][0]["ranges"] == [{"start_line": 1, "end_line": 2}]
    assert tool("export-traces", "HEAD~1").stdout == ""
    assert tool("export-traces", "nothing").returncode == 128


def test_a_name_the_format_cannot_carry_is_told_where_a_session_wrote_in_it(counted: Path) -> None:
    for name, who in (('a"b', "t1"), ('c"d', "person")):
        (counted / name).write_text("x\n")
        git("add", ".")
        git("commit", "-qm", name)
        linked(f"{ord(name[0]):012x}", "session-1", name, [[1, 1, who, None]])
    done = tool("export-notes")
    assert done.stderr.splitlines() == [
        f"warning: left out of the note on '{git('rev-parse', '--short=8', 'HEAD~1')}': 'a\"b'"
    ]
