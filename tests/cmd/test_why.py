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
from gitcp.text.short_ids import shorten_id
from tests.lines.blame.recorded_lines import linked
from tests.support import warm
from tests.support.checkpoints import git
from tests.support.harness import World
from tests.support.paths import DATA

A = "a1b2c3d4e5f6"
SESSION = "1f0c5d6e-0000-4000-8000-000000000001"
COMMITTED = "2005-04-01 11:14"  # the tests' date


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


def test_a_sessions_line_is_told_with_prompt_words_edit_commit_and_how_to_go_on(
    explained: Path,
) -> None:
    done = why("f.txt:2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "f.txt:2",
        "    two and a half",
        f"  Claude Code (haiku)  session {SESSION}, prompt 3",
        "  prompt:",
        "    Count further",
        "  said before:",
        "    I will be more exact.",
        "  Edit:",
        "    -two",
        "    +two and a half",
        "  said after:",
        "    Halves are counted now.",
        f"  commit {git('rev-parse', 'HEAD')[:7]} count, committed by C O Mitter on {COMMITTED}",
        f"  checkpoint {A}",
        f"  go on: gitcp resume {git('rev-parse', 'HEAD')[:7]}",
    ]


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
    assert "  yours: no agent wrote it" in why("f.txt:4").stdout.splitlines()
    assert [
        r["first"]
        for r in map(json.loads, why("--json", "HEAD~1", "README.md:1,3").stdout.splitlines())
    ] == [1]


def test_a_range_is_given_as_in_git_or_with_a_hyphen(explained: Path) -> None:
    shown = why("f.txt:2-3").stdout
    assert shown.startswith("f.txt:2\n") and "\n\nf.txt:3\n" in shown
    assert why("f.txt:2,3").stdout == shown
    (explained / "new.txt").write_text("one\ntwo\n")
    assert why("new.txt:1-2").stdout.startswith("new.txt:1-2\n")


def test_a_file_alone_is_asked_for_its_newest_change(world: World) -> None:
    world.write("f.txt", "one\n")
    world.commit()
    agent = world.agent("session-a", tools=True)
    agent.turn("add two", {"f.txt": "one\ntwo\n"})
    agent.turn("add three and zero", {"f.txt": "zero\none\ntwo\nthree\n"})
    shown = world.gitcp("why", "f.txt")
    world.commit()
    committed = world.gitcp("why", "f.txt")
    for text in (shown, committed):
        heads = [line for line in text.splitlines() if line.startswith("f.txt:")]
        assert heads == ["f.txt:1", "f.txt:4"] and "prompt 2" in text and "prompt 1" not in text
    world.write("f.txt", "zero\none\ntwo\nthree\n\nfour\n")
    assert world.gitcp("why", "f.txt").splitlines()[:2] == ["f.txt:5-6", "    "]
    assert world.gitcp("why", "HEAD", "f.txt") == committed
    world.write("empty.txt", "")
    assert warm.run("why", "empty.txt", cwd=world.path).stderr == (
        "fatal: 'empty.txt' has no lines\n"
    )


def test_a_transcript_that_is_gone_leaves_prompt_and_commit(explained: Path) -> None:
    linked("0f1e2d3c4b5a", "no-transcript", "f.txt", [[1, 1, "t1", "toolu_9"]], "2099")
    text = why("f.txt:1").stdout
    assert "session no-transcript, prompt 3" in text and "Count further" in text
    assert "said before" not in text


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
    assert shown[0] == "src/f.txt:3"
    assert shown[-3].endswith(f" count, committed by C O Mitter on {COMMITTED}, as f.txt:2")
    record = json.loads(why("--json", "src/f.txt:3").stdout)
    assert (record["file"], record["first"]) == ("src/f.txt", 3)
    assert (record["path"], record["original_line"]) == ("f.txt", 2)


def test_what_is_not_committed_yet_is_told_from_the_conversation_as_it_is(world: World) -> None:
    world.write("f.txt", "one\n")
    world.commit()
    world.agent("session-a", tools=True).turn("go on", {"f.txt": "one\ntwo\n"})
    shown = world.gitcp("why", "f.txt:2")
    assert re.sub(
        r"written 20..-..-.. ..:..$", "written <time>", shown, flags=re.M
    ).splitlines() == [
        "f.txt:2",
        "    two",
        "  Claude Code  session session-a, prompt 1",
        "  prompt:",
        "    go on",
        "  Write:",
        "    one",
        "    two",
        "    ",
        "  said after:",
        "    done",
        "  not committed yet, written <time>",
        "  go on: claude -r session-a",
    ]


def test_the_end_of_a_dos_line_is_no_part_of_it(world: World) -> None:
    world.agent("session-a", tools=True).turn("go on", {"f.txt": "one\r\ntwo\r\n"})
    told = world.gitcp("why", "f.txt:2")
    assert "\n    two\n" in told and "\n    one\n" in told and "x0d" not in told
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
    theirs = a.transcript.with_suffix("") / "subagents" / "agent-agentone.jsonl"
    theirs.parent.mkdir(parents=True)
    said: list[dict[str, Any]] = [
        {"type": "text", "text": "I add two."},
        {"type": "tool_use", "id": "toolu_w", "name": "Write", "input": edit},
    ]
    line = {"type": "assistant", "isSidechain": True, "message": {"content": said}}
    theirs.write_text(json.dumps(line) + "\n")
    if ended:
        a.event("SubagentStop", agent_id="agentone", agent_type="dev")
        a.event("PostToolUse", **task, tool_response={"agentId": "agentone"})
    lines = world.gitcp("why", "f.txt:2").splitlines()
    at = lines.index("  task of a subagent:")
    assert lines[at + 1 : at + 6] == [
        "    count",
        "    Count to two",
        "  said before:",
        "    I add two.",
        "  Write:",
    ]
