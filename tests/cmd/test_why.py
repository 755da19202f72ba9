"""why: from a line to the prompt, the words and the edit that it came of."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitcp import agents
from gitcp.terminal import origins
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import abbreviate
from tests.lines.blame.recorded_lines import linked
from tests.support import warm
from tests.support.checkpoints import git
from tests.support.harness import World
from tests.support.paths import DATA

A = "a1b2c3d4e5f6"
SESSION = "1f0c5d6e-0000-4000-8000-000000000001"


def why(*argv: str) -> subprocess.CompletedProcess[str]:
    return warm.run("why", *argv)


@pytest.fixture
def explained(repo: Path, tmp_path: Path) -> Path:
    """A line that an edit of a session wrote, between two of a person's."""
    (repo / "f.txt").write_text("one\ntwo and a half\nthree\n")
    git("add", ".")
    git("commit", "-q", "-m", "count")
    edit = {"file_path": "f.txt", "old_string": "two", "new_string": "two and a half"}
    content = [
        ("user", [{"type": "text", "text": "Count better"}]),
        ("assistant", [{"type": "text", "text": "I will be more exact."}]),
        (
            "assistant",
            [{"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": edit}],
        ),
        ("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]),
        ("assistant", [{"type": "text", "text": "Halves are counted now."}]),
        ("user", [{"type": "text", "text": "Thanks"}]),
        ("assistant", [{"type": "text", "text": "Welcome."}]),
    ]
    live = tmp_path / "live.jsonl"
    lines = [{"type": r, "message": {"role": r, "content": c}} for r, c in content]
    live.write_text("".join(json.dumps(line) + "\n" for line in lines))
    linked(A, SESSION, "f.txt", [[2, 2, "t1", "toolu_1"], [3, 3, "person", None]], "", live)
    return repo


def test_a_sessions_line_is_told_with_prompt_words_commit_and_edit(explained: Path) -> None:
    done = why("f.txt:2")
    name, oid = shorten_id(SESSION), abbreviate(git("rev-parse", "HEAD"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "f.txt:2  two and a half",
        "",
        "> Count further",
        "",
        f"written by Claude Code (haiku), session {name}, prompt 3",
        f"committed 1 Apr 05 as {oid} count, by C O Mitter",
        "said: I will be more exact.",
        "",
        "        -two",
        "      2 +two and a half",
        "",
        f"'gitcp show {name}' shows the session, 'gitcp why --full' the whole edit",
    ]
    full = why("--full", "f.txt:2").stdout.splitlines()
    assert full[7] == "said: Halves are counted now."
    assert full[-1] == f"go on: gitcp resume {oid}"


def test_of_an_edit_the_asked_line_and_three_around_it_are_shown(world: World) -> None:
    lines = [f"line number {n}" for n in range(1, 31)]
    asked = "\n\n\n".join(["Write many lines", "of each kind", *map(str, range(20))])
    world.agent("session-a", tools=True).turn(asked, {"many.txt": "\n".join(lines) + "\n"})
    shown = world.gitcp("why", "many.txt:20").splitlines()
    assert shown[2:7] == ["> Write many lines", "", "  of each kind", "", "  0"]
    assert shown[7].endswith("more lines: --full")
    at = shown.index("     20 +line number 20")
    around = [row[7:] for row in shown[at - 3 : at + 4]]
    assert around == [f" +line number {n}" for n in range(17, 24)]
    assert shown[at + 4] == "        … 23 more rows of the edit: --full"
    assert len(shown) <= 24
    full = world.gitcp("why", "--full", "many.txt:20")
    assert "+line number 1\n" in full and "+line number 30\n" in full and "  19\n" in full
    ranged = world.gitcp("why", "many.txt:2-3").splitlines()
    assert ranged[0] == "many.txt:2-3"
    assert "      2 +line number 2" in ranged and "      3 +line number 3" in ranged


def test_a_command_that_wrote_a_line_is_shown_and_an_edit_that_is_not_known_is_said_so(
    world: World,
) -> None:
    a = world.agent("session-a", tools=True)
    a.prompt("Make it by a shell")
    given = {"command": "./make"}
    call: dict[str, Any] = {"tool_name": "Bash", "tool_input": given, "tool_use_id": "t"}
    a.event("PreToolUse", **call)
    world.write("seq.txt", "1\n2\n3\n")
    a.answer([{"type": "tool_use", "id": "t", "name": "Bash", "input": given}])
    a.event("PostToolUse", **call, tool_response={})
    a.stop()
    told = world.gitcp("why", "seq.txt:2").splitlines()
    assert "Bash: ./make" in told
    a.transcript.unlink()
    assert "edit: not recorded" in world.gitcp("why", "seq.txt:2").splitlines()


def test_lines_of_one_origin_stand_together_and_others_apart(explained: Path) -> None:
    (explained / "f.txt").write_text("one\ntwo and a half\nthree\nnot committed\n")
    records = [json.loads(line) for line in why("--json", "f.txt:1,4").stdout.splitlines()]
    assert [(r["first"], r["last"], r["who"]) for r in records] == [
        (1, 1, "unknown"),
        (2, 2, "session"),
        (3, 3, "person"),
        (4, 4, "person"),
    ]
    assert records[3]["commit"] is None
    assert "yours: no agent wrote it" in why("f.txt:4").stdout.splitlines()
    assert origins.UNSEEN in why("f.txt:1").stdout.splitlines()
    assert [
        r["first"]
        for r in map(json.loads, why("--json", "HEAD~1", "README.md:1,3").stdout.splitlines())
    ] == [1]


def test_a_range_is_given_as_in_git_or_with_a_hyphen(explained: Path) -> None:
    shown = why("f.txt:2-3").stdout
    assert shown.startswith("f.txt:2  ") and "\n\nf.txt:3  " in shown
    assert why("f.txt:2,3").stdout == shown
    (explained / "new.txt").write_text("one\ntwo\n")
    assert why("new.txt:1-2").stdout.startswith("new.txt:1-2\n")


def test_a_file_alone_has_a_row_for_each_prompt_and_each_commit_of_a_person(
    world: World,
) -> None:
    world.write("f.txt", "one\n")
    world.commit()
    agent = world.agent("session-a", tools=True)
    agent.turn("add two", {"f.txt": "one\ntwo\n"})
    agent.turn("add three and zero\nplease", {"f.txt": "zero\none\ntwo\nthree\n"})
    world.commit("f.txt")
    world.write("f.txt", "zero\none\ntwo\nthree\n\nfour\n")
    person, name = world.git("log", "-1", "--format=%an"), shorten_id("session-a")
    last, first = (abbreviate(world.git("rev-parse", rev)) for rev in ("HEAD", "HEAD~1"))
    below = " " * 27
    lines = world.gitcp("why", "f.txt").splitlines()
    sums = f"3 by Claude Code, 2 by you, 1 by {person}; 2 not committed"
    assert lines[0] == f"f.txt, 6 lines: {sums}"
    rows = [" ".join(line.split()) for line in lines[2::2]]
    assert [re.sub("^(just now|.* ago) ", "", row) for row in rows] == [
        "you not committed",
        "1 Apr 05 Claude Code > add three and zero",
        "1 Apr 05 Claude Code > add two",
        f"1 Apr 05 {person} commit",
    ]
    assert lines[3::2] == [
        f"{below}lines 5-6, not committed",
        f"{below}lines 1, 4, session {name}, commit {last}",
        f"{below}line 3, session {name}, commit {last}",
        f"{below}line 2, commit {first}",
    ]
    assert world.gitcp("why", "-n", "1", "f.txt").splitlines()[-1] == "  and 3 more: -n 4"
    assert "not committed" not in world.gitcp("why", "HEAD", "f.txt")
    record = json.loads(world.gitcp("why", "--json", "f.txt"))
    assert (record["first"], record["last"], record["commit"]) == (5, 6, None)
    world.write("empty.txt", "")
    assert warm.run("why", "empty.txt", cwd=world.path).stderr == (
        "fatal: 'empty.txt' has no lines\n"
    )


def test_the_lines_of_prompts_that_were_committed_in_parts_have_one_row(world: World) -> None:
    agent = world.agent("session-a", tools=True)
    agent.turn("add many", {"f.txt": "".join(f"line {n}\n" for n in range(40))})
    for last in (9, 19, 39):
        kept = "".join(f"line {n}\n" for n in range(last + 1))
        world.write("f.txt", kept)
        world.commit("f.txt")
    lines = world.gitcp("why", "f.txt").splitlines()
    assert len(lines) <= 24 and sum("> add many" in line for line in lines) == 1


@pytest.mark.parametrize("argv", [["src"], ["src/"], ["HEAD", "src"]])
def test_a_folder_is_said_to_be_one(world: World, argv: list[str]) -> None:
    done = warm.run("why", *argv, cwd=world.path)
    assert (done.returncode, done.stdout) == (128, "")
    assert done.stderr == f"fatal: '{argv[-1]}' is a folder: give a file in it\n"


def test_a_transcript_that_is_gone_leaves_prompt_and_commit(explained: Path) -> None:
    linked("0f1e2d3c4b5a", "no-transcript", "f.txt", [[1, 1, "t1", "toolu_9"]], "2099")
    text = why("f.txt:1").stdout
    assert f"session {shorten_id('no-transcript')}, prompt 3" in text and "Count further" in text
    assert "said: " not in text and "edit: not recorded" in text


@pytest.mark.parametrize(
    "argv",
    [
        "f.txt:",
        "f.txt:5-",
        "nofile",
        "f.txt:0",
        "f.txt:x",
        "f.txt:3,2",
        "f.txt:99",
        ":1",
        "nofile:1",
        "no f.txt:1",
    ],
)
def test_bad_input_is_one_line_that_names_it(explained: Path, argv: str) -> None:
    done = why(*argv.split("~"))
    assert (done.returncode, done.stdout) == (128, "") and done.stderr.count("\n") == 1
    assert done.stderr.startswith("fatal: ")


@pytest.mark.parametrize(
    ("recording", "name"),
    [
        ("claude-code/basic", "Write"),
        ("cline/basic", "run_commands"),
        ("codex/basic", "apply_patch"),
        ("copilot/basic-resume", "create"),
        ("copilot/claude-settings", "create"),
        ("factory-droid/basic", "Create"),
        ("gemini-cli/basic", "write_file"),
        ("pi/basic-resume", "write"),
        ("qwen-code/basic-resume", "read_file"),
    ],
)
def test_the_calls_that_hooks_tell_of_are_found_in_the_transcript_of_their_client(
    recording: str, name: str
) -> None:
    from gitcp.agents.reading import conversation

    folder = DATA / "recordings" / recording
    client, ids = agents.get_client(recording.split("/", maxsplit=1)[0]), []
    for event in map(json.loads, (folder / "events.jsonl").read_text().splitlines()):
        record = client.read_event(event["event"], event["payload"])
        ids += [record["tool"]["id"]] if record["event"] == "tool-start" else []
    data = next(folder.glob("transcript.*")).read_bytes()
    found = conversation.find_call([data], {}, ids[0])
    assert found is not None and found["given"] and found["name"] == name
    assert all(conversation.find_call([data], {}, one) for one in ids)
    assert conversation.find_call([data], {}, "toolu_nothing") is None


def test_a_renamed_files_line_is_shown_where_it_is_and_where_it_came_from(explained: Path) -> None:
    (explained / "src" / "f.txt").write_text("before\n" + (explained / "f.txt").read_text())
    git("rm", "-q", "f.txt")
    git("add", ".")
    git("commit", "-qm", "move")
    shown = why("src/f.txt:3").stdout.splitlines()
    assert shown[0] == "src/f.txt:3  two and a half"
    assert shown[6] == "there f.txt:2"
    record = json.loads(why("--json", "src/f.txt:3").stdout)
    assert (record["file"], record["first"]) == ("src/f.txt", 3)
    assert (record["path"], record["original_line"]) == ("f.txt", 2)


def test_what_is_not_committed_yet_is_told_from_the_conversation_as_it_is(world: World) -> None:
    world.write("f.txt", "one\n")
    world.commit()
    world.agent("session-a", tools=True).turn("go on", {"f.txt": "one\ntwo\n"})
    name = shorten_id("session-a")
    assert world.gitcp("why", "f.txt:2").splitlines() == [
        "f.txt:2  two",
        "",
        "> go on",
        "",
        f"written by Claude Code, session {name}, prompt 1",
        "not committed, written just now",
        "said: done",
        "",
        "        +one",
        "      2 +two",
        "",
        f"'gitcp show {name}' shows the session, 'gitcp why --full' the whole edit",
    ]
    assert world.gitcp("why", "--full", "f.txt:2").endswith("go on: claude -r session-a\n")


def test_the_end_of_a_dos_line_is_no_part_of_it(world: World) -> None:
    world.agent("session-a", tools=True).turn("go on", {"f.txt": "one\r\ntwo\r\n"})
    told = world.gitcp("why", "f.txt:2")
    assert "      2 +two\n" in told and "        +one\n" in told and "x0d" not in told
    assert json.loads(world.gitcp("why", "--json", "f.txt:2"))["content"] == ["two\r"]


def test_a_line_of_a_file_that_git_does_not_track_yet_is_told_as_any_other(world: World) -> None:
    world.write(".gitignore", "*.log\n")
    world.commit()
    files: dict[str, str | None] = {"new.txt": "one\ntwo\n", "src/new.log": "three\n"}
    world.agent("session-a", tools=True).turn("begin", {**files, "src/app.py": None})
    os.rename(world.path / "src" / "lib.py", world.path / "src" / "moved.py")
    objects = world.git("count-objects")
    assert "prompt 1" in world.gitcp("why", "new.txt:2")
    blamed = world.gitcp("blame", "new.txt").splitlines()
    who = f"00000000 (Claude Code {shorten_id('session-a')} #1"
    assert [line[: len(who)] for line in blamed] == [who] * 2
    assert "session-a" in world.gitcp("blame", "-e", "src/new.log")
    came_from = world.git("blame", "-l", "HEAD", "src/lib.py")[:40]
    assert world.gitcp("blame", "-l", "src/moved.py").startswith(came_from)
    assert world.git("count-objects") == objects, "a question stores nothing"


@pytest.mark.parametrize("ended", [True, False])
def test_a_subagents_line_that_is_not_committed_is_told_with_its_task(
    world: World, ended: bool
) -> None:
    world.write("f.txt", "one\n")
    world.commit()
    a = world.agent("session-a", tools=True)
    a.prompt("delegate")
    given = {"description": "count", "subagent_type": "dev", "prompt": "Count to two"}
    task: dict[str, Any] = {"tool_name": "Agent", "tool_input": given, "tool_use_id": "toolu_task"}
    a.event("PreToolUse", **task)
    a.answer([{"type": "tool_use", "id": "toolu_task", "name": "Agent", "input": given}])
    a.event("SubagentStart", agent_id="agentone", agent_type="dev")
    edit = {"file_path": str(world.path / "f.txt"), "content": "one\ntwo\n"}
    call: dict[str, Any] = {"tool_name": "Write", "tool_input": edit, "tool_use_id": "toolu_w"}
    call["agent_id"] = "agentone"
    a.event("PreToolUse", **call)
    world.write("f.txt", "one\ntwo\n")
    a.event("PostToolUse", tool_response={}, **call)
    command = {"command": "echo one > new.txt; rm -rf old"}
    shell = {**call, "tool_name": "Bash", "tool_input": command, "tool_use_id": "toolu_b"}
    a.event("PreToolUse", **shell)
    world.write("new.txt", "one\n")
    a.event("PostToolUse", tool_response={}, **shell)
    theirs = a.transcript.with_suffix("") / "subagents" / "agent-agentone.jsonl"
    theirs.parent.mkdir(parents=True)
    said: list[dict[str, Any]] = [
        {"type": "text", "text": "I add two."},
        {"type": "tool_use", "id": "toolu_w", "name": "Write", "input": edit},
        {"type": "tool_use", "id": "toolu_b", "name": "Bash", "input": command},
    ]
    line = {"type": "assistant", "isSidechain": True, "message": {"content": said}}
    theirs.write_text(json.dumps(line) + "\n")
    if ended:
        a.event("SubagentStop", agent_id="agentone", agent_type="dev")
        a.event("PostToolUse", **task, tool_response={"agentId": "agentone"})
    lines = world.gitcp("why", "f.txt:2").splitlines()
    at = lines.index("task: count")
    assert lines[at + 1 : at + 3] == ["      Count to two", "said: I add two."]
    assert "      2 +two" in lines
    assert f" `{command['command']}`\n" in world.gitcp("rewind", "--list")
