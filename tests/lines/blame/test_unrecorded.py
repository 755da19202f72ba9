"""Checkpoints without lines.json: what transcripts prove, and a guess that is shown as one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gitcp.text.short_ids import shorten_id
from tests.lines.blame.recorded_lines import linked
from tests.support import warm
from tests.support.checkpoints import V1, forget, git

A, B = "a1b2c3d4e5f6", "0f1e2d3c4b5a"
EDITED = "a line that was edited in\n"
CREATED = "a line of a new file's\n}\n"  # a brace proves nothing by itself
TWICE = "a line that came twice"
PATCHED = "a line of\fa patch"
FAILED = "a line that failed"
SHARED = "a line that both sessions typed"
SILENT = "a line nobody speaks of"
LATER = "\n".join([SILENT, TWICE, TWICE, PATCHED, FAILED, SHARED, ""])
CONTENT = EDITED + CREATED + LATER


def tool(name: str, *argv: str) -> str:
    done = warm.run(name, *argv)
    done.check_returncode()
    return done.stdout


def said(role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": list(blocks)}}


def call(n: int, arguments: Any, answer: str = "The file f.txt has been updated.") -> Any:
    use = {"type": "tool_use", "id": f"toolu_{n}", "name": "Edit", "input": arguments}
    result = {"type": "tool_result", "tool_use_id": f"toolu_{n}", "content": answer}
    return said("assistant", use), said("user", result)


def transcript(at: Path, *calls: Any) -> Path:
    prompts = [said("user", {"type": "text", "text": text}) for text in ("First", "Second")]
    lines = [prompts[0], prompts[1], *(line for pair in calls for line in pair)]
    at.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return at


@pytest.fixture
def older(repo: Path, tmp_path: Path) -> Path:
    path = "/home/me/repo/f.txt"
    (repo / "f.txt").write_text(CONTENT)
    git("add", ".")
    git("commit", "-qm", "older")
    patch = f"*** Begin Patch\n*** Update File: f.txt\n+{PATCHED}\n*** End Patch"

    def edit(n: int, text: str, *answer: str) -> Any:
        return call(n, {"file_path": path, "old_string": "x", "new_string": text}, *answer)

    one = transcript(
        tmp_path / "one",
        edit(1, f"{EDITED}a }}\n"),
        call(2, {"file_path": path, "content": CREATED}, "File created successfully at: f"),
        call(3, {"file_path": path, "content": CONTENT}),  # not said to have created it
        edit(4, TWICE),
        call(5, {"input": patch}),
        edit(6, FAILED, "Error"),
        edit(7, SHARED),
    )
    other = transcript(tmp_path / "other", edit(1, SHARED))
    linked(A, "session-1", "f.txt", None, "2005-04-07T22:13:13Z", one)
    linked(B, "session-2", "f.txt", None, "2005-04-07T23:13:13Z", other)
    return repo


def records(*argv: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in tool("blame", "--json", *argv, "f.txt").splitlines()]


def test_a_line_is_a_sessions_where_its_transcript_proves_it(older: Path) -> None:
    lines = records()
    named = {line["line"]: line["session_id"] for line in lines if line["who"] == "session"}
    assert named == {1: "session-1", 2: "session-1", 3: "session-1", 7: "session-1"}
    assert [line["line"] for line in lines if "by_neighbours" in line] == [3]
    assert {line["who"] for line in lines if line["line"] not in named} == {"unknown"}
    first = lines[0]
    assert (first["number"], first["prompt"], first["tool_use_id"]) == (2, "Second", "toolu_1")
    counted = json.loads(tool("stats", "--json", "HEAD~1.."))
    assert counted["added"] == {"agent": 4, "person": 0, "unknown": 5, "unrecorded": 0}
    assert counted["by_neighbours"] == 1


@pytest.mark.parametrize("question", [("stats", "--json", "HEAD~1.."), ("blame", "f.txt")])
def test_what_a_transcript_proved_is_kept(older: Path, question: tuple[str, ...]) -> None:
    told = tool(*question)
    for line in git("ls-tree", "-r", V1).splitlines():
        if line.endswith("/full.jsonl"):
            forget(older / ".git", line.split()[2])
    assert tool(*question) == told


def test_each_file_of_a_commit_has_what_is_proved_of_it_whichever_is_asked_first(
    repo: Path, tmp_path: Path
) -> None:
    contents = {name: f"a line that was edited in {name}\n" for name in ("f.txt", "g.txt")}
    for name, content in contents.items():
        (repo / name).write_text(content)
    git("add", ".")
    git("commit", "-qm", "older")
    edits = [
        {"file_path": f"/home/me/repo/{name}", "old_string": "x", "new_string": content}
        for name, content in contents.items()
    ]
    spoken = transcript(tmp_path / "one", *map(call, (1, 2), edits))
    linked(A, "session-1", "f.txt", None, "", spoken, touched=["f.txt", "g.txt"])
    for names in (["f.txt", "g.txt"], ["g.txt", "f.txt"]):
        told = [json.loads(tool("blame", "--json", name)) for name in names]
        assert [line["session_id"] for line in told] == ["session-1"] * 2
        assert {line["content"] + "\n" for line in told} == {*contents.values()}
        assert json.loads(tool("stats", "--json", "HEAD~1.."))["added"]["agent"] == 2
        (repo / ".git/gitcp/cache/lines").unlink()


def test_a_task_that_edits_nothing_is_read_once_and_its_prompts_do_not_count(
    repo: Path, tmp_path: Path
) -> None:
    (repo / "f.txt").write_text(EDITED)
    git("add", ".")
    git("commit", "-qm", "older")
    patch = f"*** Begin Patch\n*** Update File: f.txt\n+{EDITED}*** End Patch"

    def link(name: str, parent: str, text: str, given: dict[str, str]) -> None:
        state = {"status": "completed", "input": given, "output": "Done"}
        tool_part = {"type": "tool", "callID": f"call_{name}", "tool": "any", "state": state}
        lines = [
            {"info": {"id": name, "parentID": parent}},
            {"info": {"role": "user", "id": "1"}, "parts": [{"type": "text", "text": text}]},
            {"info": {"role": "assistant", "id": "2"}, "parts": [tool_part]},
        ]
        spoken = tmp_path / name
        spoken.write_text("".join(json.dumps(line) + "\n" for line in lines))
        linked(A, name, "f.txt", None, "", spoken, agent="OpenCode")

    link("root", "", "Have it done", {"task": "f.txt"})
    link("writer", "root", "Write it", {"patchText": patch})
    link("reader", "root", "Read it", {"filePath": "f.txt"})
    named = [line["session_id"] for line in records()]
    counted = json.loads(tool("stats", "--json", "HEAD~1.."))
    assert named == ["writer"] and counted["added"]["agent"] == 1
    assert [(row["session_id"], row["turns"]) for row in counted["sessions"]] == [("root", 1)]
    for cache in ("lines", "tallies"):
        (repo / f".git/gitcp/cache/{cache}").unlink()
    tree = git("ls-tree", "-r", V1)
    (blob,) = [
        line.split()[2]
        for line in tree.splitlines()
        if line.endswith("/full.jsonl") and "Read it" in git("cat-file", "blob", line.split()[2])
    ]
    forget(repo / ".git", blob)
    assert json.loads(tool("stats", "--json", "HEAD~1..")) == counted
    assert [line["session_id"] for line in records()] == named


def test_a_guess_is_shown_as_one_and_is_in_no_sums(repo: Path, tmp_path: Path) -> None:
    (repo / "f.txt").write_text("a line of somebody's\n")
    git("add", ".")
    git("commit", "-qm", "older")
    linked(A, "session-1", "f.txt", None, "", transcript(tmp_path / "one"))
    assert f"(Claude Code {shorten_id('session-1')}?" in tool("blame", "--coarse", "f.txt")
    assert "(? " in tool("blame", "f.txt")
    assert "author-mail <?>" in tool("blame", "--coarse", "--line-porcelain", "f.txt")
    (line,) = records("--coarse")
    assert (line["who"], line["session_id"]) == ("unknown", "")
    assert line["guess"]["session_id"] == "session-1"
    assert "guess" not in records()[0]
    assert json.loads(tool("stats", "--json", "HEAD~1.."))["added"]["unknown"] == 1
    assert tool("export-traces") == tool("export-notes") == ""


def test_two_sessions_that_touched_a_file_are_no_guess(older: Path) -> None:
    assert all("guess" not in line for line in records("--coarse"))


EDIT = """import one
const a_name_of_its_own = 1

  it('is told', () => {
    expect(a_name_of_its_own);
  });
  it('is told', () => {
    expect(another_name_of_mine);
  });
"""
BESIDE = """
import two
  it('is told', () => {
    nobody spoke of this line
  });
}
"""


def test_six_screens_agree_on_what_neighbours_prove(repo: Path, tmp_path: Path) -> None:
    (repo / "g.ts").write_text("// old\n" + EDIT + BESIDE)
    git("add", ".")
    git("commit", "-qm", "older")
    edit = {"file_path": str(repo / "g.ts"), "old_string": "// old", "new_string": EDIT[:-1]}
    linked(A, "session-1", "g.ts", None, "", transcript(tmp_path / "one", call(1, edit)))
    told = [json.loads(line) for line in tool("blame", "--json", "g.ts").splitlines()]
    proven = [line["line"] for line in told if line["who"] == "session"]
    beside = [line["line"] for line in told if "by_neighbours" in line]
    assert proven == [*range(2, 12)], "the edit, and the blank line behind it"
    assert beside == [4, 5, 7, 8, 10, 11]
    counts = {"agent": 10, "person": 0, "unknown": 6, "unrecorded": 0}
    stats = json.loads(tool("stats", "--json", "HEAD~1.."))
    assert (stats["added"], stats["by_neighbours"]) == (counts, 6)
    (shown,) = json.loads(tool("show", "--json", "HEAD"))["commits"]
    logged = json.loads(tool("log", "--json", "-n", "1").splitlines()[0])
    for lines in (shown["lines"], logged["lines"]):
        assert (lines["added"], lines["by_neighbours"]) == (counts, 6)
    page = json.loads(tool("page", "--json", "HEAD"))
    assert page["stats"] == stats
    assert page["files"][0]["lines"] == {"session-1": 10, "unknown": 6}
    recap = json.loads(tool("recap", "--json", "--since=2005-01-01"))
    assert recap["added"]["agent"] == 10
    # What is written for others has only what an edit itself proves.
    ranges = re.findall(r'"start_line": ?(\d+), ?"end_line": ?(\d+)', tool("export-traces"))
    exported = [n for first, last in ranges for n in range(int(first), int(last) + 1)]
    assert exported == [2, 3, 6, 9]
