"""gitcp.ai-notes: notes of Git AI at every commit and rewrite, shared, and read where we know
nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from gitcp.checkpoints.format import exports
from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.lines.committed.recorded import Attested
from gitcp.text.short_ids import shorten_id
from tests.support.harness import Agent, World

AI = "refs/notes/ai"
Json = dict[str, Any]


@pytest.fixture
def a(world: World) -> Agent:
    world.git("config", "gitcp.ai-notes", "true")
    agent = world.agent("session-a", tools=True)
    agent.turn("count", {"f": "one line\nand another\n"})
    world.commit()
    return agent


def log(world: World, commit: str = "HEAD") -> exports.Log:
    """The note on a commit, which is valid and of that commit."""
    read = exports.parse_log(world.git("notes", f"--ref={AI}", "show", commit))
    assert read is not None
    assert read["metadata"]["base_commit_sha"] == world.git("rev-parse", commit)
    return read


def lines(world: World, commit: str = "HEAD", path: str = "f") -> list[int]:
    return sorted(n for row in log(world, commit)["attested"][path].values() for n in row)


def noted(world: World, commit: str = "HEAD") -> bool:
    return bool(world.git("notes", f"--ref={AI}", "list", commit, ok=False))


def blamed(world: World, *argv: str) -> list[Json]:
    return [json.loads(line) for line in world.gitcp("blame", "--json", *argv).splitlines()]


def test_a_commit_has_its_note_at_once_and_an_amend_its_own(world: World, a: Agent) -> None:
    assert lines(world) == [1, 2]
    world.write("f", "one line\nof the person\nand another\n")
    world.git("commit", "-qa", "--amend", "-m", "amended")
    assert lines(world) == [1, 3]
    world.git("commit", "-q", "--amend", "-m", "only the message")
    assert lines(world) == [1, 3]


def test_a_note_that_is_no_log_attests_nothing(world: World, a: Agent) -> None:
    world.write("g", "of the person\n")
    world.git("add", "g")
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "by hand")
    world.git("notes", f"--ref={AI}", "add", "-f", "-m", "hello, a review")
    with Objects(Repo.find(str(world.path))) as objects:
        attested = Attested(objects)
        assert not attested.has_note(world.head)
        assert attested.has_note(world.git("rev-parse", "HEAD~1"))


def test_a_rebase_carries_notes_over_and_a_link_taken_off_takes_its_note(
    world: World, a: Agent
) -> None:
    world.git("checkout", "-q", "-b", "other", "HEAD~1")
    world.write("g", "meanwhile\n")
    world.commit()
    world.git("checkout", "-q", "main")
    before = world.head
    world.git("rebase", "-q", "other")
    assert world.head != before and lines(world) == [1, 2]
    world.gitcp("unlink", "HEAD", "-m", "not its work")
    assert not noted(world)


@pytest.mark.parametrize("ended", [False, True])
def test_a_pick_and_a_squash_have_notes_of_their_own_with_no_session_open(
    world: World, a: Agent, ended: bool
) -> None:
    world.git("checkout", "-q", "-b", "side")
    a.turn("further", {"f": world.read("f") + "a third\n"})
    world.commit()
    if ended:
        a.end()
        assert world.open() == []
    world.git("checkout", "-q", "main")
    world.write("f", "the person's\n" + world.read("f"))
    world.git("commit", "-qam", "of the person")
    world.git("cherry-pick", "side")
    assert lines(world) == [4]
    assert [line["session_id"] for line in blamed(world, "f")] == ["", *["session-a"] * 3]
    world.git("reset", "-q", "--hard", "HEAD~1")
    world.git("merge", "-q", "--squash", "side")
    world.git("commit", "-q", "--no-edit")
    assert lines(world) == [4]


def test_a_rebase_that_stops_and_one_that_squashes_carry_notes_over(world: World, a: Agent) -> None:
    a.turn("further", {"f": world.read("f") + "a third\n"})
    world.commit()
    world.git("checkout", "-q", "-b", "other", "HEAD~2")
    world.write("f", "the person's\n")
    world.commit()
    world.git("checkout", "-q", "main")
    world.git("rebase", "-q", "other", ok=False)
    world.write("f", "the person's\none line\nand another\n")
    world.git("add", "f")
    world.env["GIT_EDITOR"] = "true"
    world.git("rebase", "--continue", ok=False)
    world.write("f", "the person's\none line\nand another\na third\n")
    world.git("add", "f")
    world.git("rebase", "--continue", ok=False)
    assert (lines(world, "HEAD~1"), lines(world)) == ([2, 3], [4])
    world.env["GIT_SEQUENCE_EDITOR"] = "sed -i 2s/pick/squash/"
    world.git("rebase", "-q", "-i", "HEAD~2")
    assert lines(world) == [2, 3, 4]


def test_without_the_setting_there_are_none(world: World) -> None:
    world.agent("session-a", tools=True).turn("count", {"f": "one line\n"})
    world.commit()
    world.git("commit", "-q", "--amend", "-m", "again")
    assert not world.refs("refs/notes/ai")


def other_tool(world: World, commit: str, rows: str, base: str = "") -> None:
    """What another tool attests: an edit of a session of amp's."""
    sessions = {"s_00000000000000": {"agent_id": {"tool": "amp", "id": "i-1", "model": "m"}}}
    about = {
        "schema_version": exports.NOTE_VERSION,
        "base_commit_sha": base or commit,
        "prompts": {},
    }
    text = f"{rows}\n---\n{json.dumps({**about, 'sessions': sessions})}"
    world.git("notes", f"--ref={AI}", "add", "-f", "-m", text, commit)


def test_lines_of_another_tool_are_named_where_we_know_nothing(world: World, a: Agent) -> None:
    world.write("g", "typed\nattested\n")
    world.git("add", "g")
    world.git("commit", "-qm", "by amp")
    other_tool(world, world.head, "g\n  s_00000000000000::t_1 2")
    person, amp = blamed(world, "g")
    assert (person["who"], amp["who"], amp["agent"]) == ("person", "session", "amp")
    assert (amp["session_id"], amp["model"], amp["checkpoint_id"]) == ("i-1", "m", "")
    record = json.loads(world.gitcp("stats", "--json", "HEAD~1.."))
    assert record["added"] == {"agent": 1, "person": 1, "unknown": 0, "unrecorded": 0}
    assert record["models"] == [{"agent": "amp", "model": "m", "added": 1}]
    assert world.gitcp("export-traces", "HEAD~1..") == ""  # theirs is not ours to tell
    other_tool(world, world.head, "g\n  s_00000000000000::t_1 2", base="0" * 40)
    assert [line["who"] for line in blamed(world, "g")] == ["person", "person"]


NOTE = """\
"a name.py"
  s_9f86d081884c7d::t_0123456789abcd 1,3
  h_4e07408562bedb 2
src/app.py
  d9978a8723e02b69 1
  abcd123 2-3
  s_00000000000000::t_0123456789abcd 4
---
{
  "schema_version": "authorship/3.0.0",
  "git_ai_version": "1.4.2",
  "base_commit_sha": "%s",
  "prompts": {
    "d9978a8723e02b69": {
      "agent_id": {"tool": "cursor", "id": "c-1", "model": "gpt-5"},
      "human_author": "A U Thor <author@example.com>",
      "messages": [], "total_additions": 1, "total_deletions": 0, "accepted_lines": 1
    },
    "abcd123": {"agent_id": {"tool": "windsurf", "id": "w-1", "model": "unknown"}}
  },
  "humans": {"h_4e07408562bedb": {"author": "A U Thor <author@example.com>"}},
  "sessions": {
    "s_9f86d081884c7d": {
      "agent_id": {"tool": "claude", "id": "0f1c", "model": "claude-opus-4"},
      "human_author": "A U Thor <author@example.com>",
      "custom_attributes": {"team": "core"}
    }
  }
}"""


def test_a_note_with_keys_of_all_ages_is_read_where_we_know_nothing(world: World) -> None:
    world.write("a name.py", "1\n2\n3\n")
    world.write("src/app.py", "1\n2\n3\n4\n5\n")
    world.commit()
    world.git("notes", f"--ref={AI}", "add", "-m", NOTE % world.head)
    name = ("agent", "session_id", "model")
    claude, cursor, nobody = (
        ("Claude Code", "0f1c", "claude-opus-4"),
        ("Cursor", "c-1", "gpt-5"),
        ("",) * 3,
    )
    windsurf = ("windsurf", "w-1", "")
    rows = [tuple(line[key] for key in name) for line in blamed(world, "a name.py")]
    assert rows == [claude, nobody, claude]
    rows = [tuple(line[key] for key in name) for line in blamed(world, "src/app.py")]
    assert rows == [cursor, windsurf, windsurf, nobody, nobody]
    stats = json.loads(world.gitcp("stats", "--survival", "--json", "HEAD~1.."))
    assert stats["added"] == {"agent": 5, "person": 3, "unknown": 0, "unrecorded": 0}
    assert stats["survival"]["alive"] == 5
    shown = world.gitcp("blame", "a name.py").splitlines()
    assert f"(Claude Code {shorten_id('0f1c')} " in shown[0] and "(A U Thor " in shown[1]


def test_a_person_whom_another_tool_saw_typing_is_the_author_of_what_we_know_not(
    world: World,
) -> None:
    world.write("f", "seen\nunseen\n")
    world.git("add", "f")
    world.git("commit", "-qm", "strange\n\nEntire-Checkpoint: 0123456789ab")
    note = NOTE.replace("src/app.py\n", "f\n  h_4e07408562bedb 1\nsrc/app.py\n")
    world.git("notes", f"--ref={AI}", "add", "-m", note % world.head)
    assert [line["who"] for line in blamed(world, "f")] == ["person", "unknown"]


def test_what_we_know_stands_before_what_another_tool_attests(world: World, a: Agent) -> None:
    other_tool(world, world.head, "f\n  s_00000000000000::t_1 1-2")
    assert {line["session_id"] for line in blamed(world, "f")} == {"session-a"}


def test_notes_of_two_machines_are_united_by_their_format(
    world: World, a: Agent, tmp_path: Path
) -> None:
    first = world.head
    world.share()
    there = World(Path(shutil.copytree(world.path, tmp_path / "there")), world.home)
    world.git("push", "-q", "origin", "main")
    assert AI in world.git("ls-remote", "origin")
    other_tool(there, first, "f\n  s_00000000000000::t_1 2")
    there.gitcp("push", "origin")
    world.write("f", "one line\nand another\nmore\n")
    a.turn("meanwhile", {"h": "a line of ours\n"})
    world.commit()
    world.gitcp("fetch", "origin")
    both = log(world, first)["attested"]["f"]
    assert both["s_00000000000000::t_1"] == {2} and sorted(map(sorted, both.values())) == [[1], [2]]
    assert world.git("notes", f"--ref={AI}", "show", first).count("\n---\n") == 1
    world.gitcp("push", "origin")
    there.gitcp("fetch", "origin")
    assert world.git("rev-parse", AI) == there.git("rev-parse", AI)
    assert lines(there, world.head, "h") == [1]
