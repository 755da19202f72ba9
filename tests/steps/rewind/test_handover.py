"""gitcp resume --with: a conversation goes on with another client."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

from gitcp.text.short_ids import shorten_id
from tests.steps.rewind.conftest import SID
from tests.steps.rewind.going import done, run
from tests.support.harness import Agent, World
from tests.support.paths import BIN

NEW = "99999999-0000-4000-8000-000000000009"


@pytest.fixture
def work(world: World, a: Agent) -> World:
    """A session with a committed file, one that is not, a decision, a list of work, and a try that
    was given up."""
    a.turn("Write a parser", {"parser.py": "def parse():\n    pass\n"})
    world.commit("parser.py")
    a.turn("Make it fast", {"fast.py": "def parse_fast():\n    pass\n"})
    (world.path / "fast.py").unlink()
    a.prompt("That was too clever; write a table instead")
    asked = {"type": "tool_use", "id": "q1", "name": "AskUserQuestion"}
    a.answer([{**asked, "input": {"questions": [{"question": "CSV or TSV?"}]}}])
    told = {"type": "tool_result", "tool_use_id": "q1", "content": "CSV or TSV? TSV"}
    a.say({"type": "user", "message": {"role": "user", "content": [told]}})
    todos = [{"content": "write the table", "status": "in_progress"}]
    a.answer([{"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": todos}}])
    a.write("table.py", "TABLE = 'AKIAIOSFODNN7REALKEY'\n")
    a.answer([{"type": "text", "text": "The table has key AKIAIOSFODNN7REALKEY in it."}])
    a.event("Stop", stop_hook_active=False)
    world.write("mine.txt", "mine\n")
    return world


def test_the_prompt_tells_what_was_asked_said_decided_done_and_given_up(work: World) -> None:
    text = done(work, "resume", "--with", "codex", "--print", SID)
    assert text.startswith(f"Continue: Write a parser\n(gitcp hand-over of session {SID} of Claude")
    for part in (
        "* parser.py: as committed",
        "* table.py: changed, not committed",
        "Changed by others, not committed:\n* mine.txt",
        "* CSV or TSV? TSV",
        "* [>] write the table",
        "* Make it fast (discarded: fast.py); then: That was too clever",
        "**Asked:** Write a parser",
        "* Write: ",
        "The table has key",
    ):
        assert part in text, part
    assert "AKIAIOSFODNN7REALKEY" not in text


def test_the_command_shown_begins_the_other_client_with_it(work: World) -> None:
    told = done(work, "resume", "--with", "gemini", SID[:8])
    assert "(Claude Code): 3 of 3 turns in " in told
    command = told.splitlines()[-1].strip()
    assert command.startswith("gemini -i ")
    stub = work.home / "bin" / "gemini"
    stub.parent.mkdir(parents=True)
    stub.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    stub.chmod(0o755)
    path = os.pathsep.join([str(stub.parent), str(BIN), os.environ["PATH"]])
    argv, env = ["sh", "-c", command], {**os.environ, "PATH": path}
    given = subprocess.check_output(argv, cwd=work.path, env=env, text=True)
    assert given == "-i\n" + done(work, "resume", "--with", "gemini", "--print", SID)
    assert "takes no prompt at its start" in done(work, "resume", "--with", "cline", SID)


def test_a_size_is_kept_and_the_end_is_what_stays(work: World, a: Agent) -> None:
    for number in range(40):
        a.turn(f"prompt {number} AKIAIOSFODNN7REALKEY" + " word\x1b[2J" * 80)
    for size in (2000, 5000, 20000, 90000):
        text = done(work, "resume", "--with", "codex", "--print", "--size", str(size), SID)
        assert len(text.encode()) <= size
        assert f"session {SID}" in text and "prompt 39" in text
        assert "\x1b" not in text and "AKIA" not in text
        assert ("earlier turns left out" in text) == (size < 90000)
    refused = run(work, "resume", "--with", "codex", "--size", "10", SID)
    assert refused.returncode == 129


def test_a_commit_is_handed_over_in_a_clone_where_nothing_else_is(
    work: World,
) -> None:
    bare = work.share()
    work.gitcp("push")
    work.git("push", "-q", "origin", "HEAD")
    clone = work.home / "clone"
    work.git("clone", "-q", str(bare), str(clone))
    text = done(work, "resume", "--with", "codex", "--print", "HEAD", cwd=clone)
    assert "* parser.py: as committed" in text and "**Asked:** Write a parser" in text


def test_the_session_that_goes_on_names_the_one_before(work: World) -> None:
    text = done(work, "resume", "--with", "claude", "--print", SID)
    b = work.agent(NEW, tools=True)
    b.turn(text, {"table.py": "TABLE = 'two'\n"})
    assert f"goes on from session {shorten_id(SID)} of Claude Code" in done(work, "show", NEW)
    work.commit("table.py")
    assert f"goes on from session {shorten_id(SID)} of Claude Code" in done(work, "log", "-n", "1")
    assert f"goes on from session {shorten_id(SID)} of Claude Code" in done(work, "show", "HEAD")
    again = done(work, "resume", "--with", "codex", "--print", NEW)
    assert again.startswith("Continue: Write a parser\n")


def test_why_offers_what_works_here(work: World, a: Agent) -> None:
    (record,) = map(json.loads, done(work, "why", "--json", "parser.py:1").splitlines())
    assert record["resume"] == f"claude -r {SID}"
    shutil.rmtree(a.transcript.parent)
    (record,) = map(json.loads, done(work, "why", "--json", "parser.py:1").splitlines())
    assert record["resume"] == f"gitcp resume {work.head[:8]}"
    done(work, *record["resume"].split()[1:])
    (record,) = map(json.loads, done(work, "why", "--json", "parser.py:1").splitlines())
    assert record["resume"] == f"claude -r {SID}"


def test_a_secret_is_found_before_its_lines_are_joined(work: World, a: Agent) -> None:
    work.git("config", "gitcp.redact", r"(?m)^pin: \S+$")
    a.prompt("The plan?\npin: 48151623")
    plan = {"plan": "# Plan\npin: 48151623\nno more"}
    a.answer([{"type": "tool_use", "id": "p1", "name": "ExitPlanMode", "input": plan}])
    command = {"command": "cat >pin <<E\npin: 48151623\nE"}
    a.answer([{"type": "tool_use", "id": "b1", "name": "Bash", "input": command}])
    a.event("Stop", stop_hook_active=False)
    text = done(work, "resume", "--with", "codex", "--print", SID)
    assert "* # Plan" in text and "cat >pin" in text and "4815" not in text


def test_nothing_is_handed_over_while_a_rule_cannot_be_read(work: World) -> None:
    work.git("config", "gitcp.redact", "(")
    refused = run(work, "resume", "--with", "codex", "--print", SID)
    assert (refused.returncode, refused.stdout) == (128, "") and "gitcp.redact" in refused.stderr


def test_what_another_session_gave_up_is_not_handed_over(work: World) -> None:
    """It stays in this clone, while the hand-over is recorded and sent."""
    b = work.agent(NEW, tools=True)
    b.turn("private words", {"parser.py": "def parse():\n    return 1\n"})
    work.git("checkout", "-q", "--", "parser.py")
    assert "private words" in done(work, "log", "--abandoned")
    text = done(work, "resume", "--with", "codex", "--print", SID)
    assert "* Make it fast (discarded" in text and "private words" not in text
