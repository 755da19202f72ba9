"""What a checkpoint has cost: every call counts once, whatever became of its session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, NoReturn

import pytest

from gitcp.agents import transcripts
from gitcp.link import condense
from tests.record.journal.lines import shares, text
from tests.support.harness import V1, Agent, World
from tests.support.linking import own, sessions, sound, touched
from tests.support.paths import ENTRY


def calls(world: World, checkpoint: str, sid: str, key: str = "token_usage_delta") -> int:
    return int(sessions(world, checkpoint)[sid][key]["api_call_count"])


def answers(agent: Agent) -> int:
    return agent.transcript.read_text().count('"usage"')


def test_what_a_fork_has_copied_is_counted_where_it_was_spent(world: World, a: Agent) -> None:
    a.turn("write", {"a.txt": text(1, 2)})
    [one] = world.commit("a.txt")
    fork, lines = world.agent("session-f"), [json.loads(x) for x in a.transcript.open()]
    fork.say({"type": "mode", "mode": "default"})
    for line in lines:  # as Claude Code copies them: all but the id is as it was
        fork.say({**line, "sessionId": fork.sid})
    fork.start("fork")
    fork.turn("go on from there", {"b.txt": text(3)})
    [two] = world.commit("b.txt")
    new = answers(fork) - answers(a)
    assert new and calls(world, one, a.sid) == answers(a)
    for key in ("token_usage", "token_usage_delta"):
        assert calls(world, two, fork.sid, key) == new
    fork.turn("more", {"b.txt": text(3, 4)})
    [three] = world.commit("b.txt")
    assert calls(world, two, fork.sid) + calls(world, three, fork.sid) == answers(fork) - answers(a)


class Unread:
    """A stored transcript with a summary, in which nothing of tokens stands."""

    scan = transcripts.begin_scan(None)

    def lines(self) -> NoReturn:
        raise AssertionError("it is read from its beginning, at each commit")


def test_a_transcript_that_tells_of_no_tokens_is_not_read_again_for_them() -> None:
    state: Any = {"agent_type": "Claude Code", "checkpoint_transcript_start": 3}
    stored: Any = Unread()
    assert condense.count_tokens(state, stored) is None


WRAPPER = """#!/bin/sh
case "$*" in
*"update-ref -m gitcp: checkpoint"*)
	{git} "$@" | while read -r answer; do
		[ "$answer" != "commit: ok" ] || kill -9 $PPID
		echo "$answer"
	done
	exit ;;
esac
exec {git} "$@"
"""


def killed_after_v1(world: World, agent: Agent | None, path: str) -> str:
    """A commit whose post-commit is killed when v1 has it and no state does; its id."""
    hook, folder = world.path / ".git/hooks/post-commit", world.home / "bin"
    folder.mkdir(parents=True)
    (folder / "git").write_text(WRAPPER.format(git=shutil.which("git")))
    (folder / "git").chmod(0o755)
    hook.chmod(0o644)  # git passes it by; it is run below, with a git of its own
    world.git("add", path)
    if agent:
        own(agent, "commit", "-q", "-m", "killed")
    else:
        world.git("commit", "-q", "-m", "killed")
    hook.chmod(0o755)
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    subprocess.run([str(hook)], cwd=world.path, env=env, capture_output=True)
    [one] = world.ids("HEAD")
    return one


@pytest.mark.parametrize(
    ("maker", "event"),
    [
        ("the person", "end"),
        ("the person", "another session"),
        ("the agent", "prompt"),
        ("the agent", "another session"),
    ],
)
def test_killed_between_the_store_and_the_state_nothing_counts_twice(
    world: World, a: Agent, maker: str, event: str
) -> None:
    a.turn("the first", {"before.txt": text(7)})
    [zero] = world.commit("before.txt")
    a.prompt("write")
    a.write("a.txt", text(1, 2))
    if maker == "the person":
        a.event("Stop", stop_hook_active=False)
    one = killed_after_v1(world, a if maker == "the agent" else None, "a.txt")
    assert a.sid in sessions(world, one) and a.state.get("last_checkpoint_id") != one
    a.answer([{"type": "text", "text": "the last words"}])
    if maker == "the agent":
        a.event("Stop", stop_hook_active=False)
    if event == "prompt":
        a.prompt("go on")
    elif event == "end":
        a.end()
    else:
        world.agent("session-b").prompt("hello")
    assert "the last words" in sessions(world, one)[a.sid]["transcript"]
    assert calls(world, zero, a.sid) + calls(world, one, a.sid) == answers(a)
    a.turn("more", {"b.txt": text(3)})
    [two] = world.commit("b.txt")
    assert sum(calls(world, cp, a.sid) for cp in (zero, one, two)) == answers(a)
    assert calls(world, two, a.sid, "token_usage") == answers(a)
    sound(world)


def foreign(world: World, agent: Agent, **more: Any) -> None:
    """Let a session be as the original program has left it."""
    path = world.path / f".git/entire-sessions/{agent.sid}.json"
    path.parent.mkdir(exist_ok=True)
    state = {
        "session_id": agent.sid,
        "cli_version": "dev",
        "base_commit": world.head,
        "attribution_base_commit": world.head,
        "worktree_path": str(world.path),
        "started_at": "2026-01-01T00:14:13.353263845Z",
        "last_interaction_time": "2026-01-01T00:14:13.353263845Z",
        "checkpoint_count": 0,
        "agent_type": "Claude Code",
        "transcript_path": str(agent.transcript),
        **more,
    }
    path.write_text(json.dumps(state))


def test_a_session_of_the_original_starts_at_what_that_had_condensed(
    world: World, a: Agent
) -> None:
    for prompt in ("one", "two"):
        a.say({"type": "user", "message": {"role": "user", "content": prompt}})
        a.answer([{"type": "text", "text": "done"}])
    before, lines = answers(a), len(a.transcript.read_text().splitlines())
    foreign(world, a, phase="idle", checkpoint_transcript_start=lines, last_checkpoint_id="a" * 12)
    world.gitcp("enable")
    a.turn("three", {"a.txt": text(1)})
    [one] = world.commit("a.txt")
    assert calls(world, one, a.sid) == answers(a) - before
    assert calls(world, one, a.sid, "token_usage") == answers(a)


def test_a_session_taken_over_in_its_turn_keeps_what_its_transcript_says_it_wrote(
    world: World, a: Agent
) -> None:
    a.say({"type": "user", "message": {"role": "user", "content": "write it"}})
    a.write("a.txt", text(1, 2))
    world.write("mine.txt", text(3))
    foreign(world, a, phase="active", turn_id="5e9397fd9379", first_prompt="write it")
    world.gitcp("enable")
    [one] = world.commit("a.txt", "mine.txt")
    assert touched(world, one, a.sid) == ["a.txt"]
    assert shares(world) == {a.sid: 2, "person": 1}
    a.write("b.txt", text(4))
    a.stop()
    assert "done" in sessions(world, one)[a.sid]["transcript"]
    [two] = world.commit("b.txt")
    assert shares(world) == {a.sid: 1}
    assert calls(world, one, a.sid) + calls(world, two, a.sid) == answers(a)


BETWEEN = """#!/bin/sh
case $1 in committed) ;; *) exit 0 ;; esac
grep -q refs/heads/main || exit 0
rm "$0"
unset GIT_DIR GIT_INDEX_FILE
exec {hook} <{payload} >{said} 2>&1
"""


@pytest.mark.parametrize("who", ["its own subagent", "another client"])
def test_an_event_between_a_commit_and_its_post_commit_condenses_nothing_itself(
    world: World, a: Agent, who: str
) -> None:
    a.prompt("write and commit")
    a.write("a.txt", text(1, 2))
    if who == "another client":
        a.event("Stop", stop_hook_active=False)
    event = "PostToolUse" if who == "its own subagent" else "UserPromptSubmit"
    payload = {
        "session_id": a.sid if who == "its own subagent" else "session-b",
        "transcript_path": str(a.transcript if who == "its own subagent" else world.home / "b"),
        "cwd": str(world.path),
        "hook_event_name": event,
        "prompt": "hello",
        "prompt_id": "p1",
        "agent_id": "sub1" if who == "its own subagent" else "",
        "tool_name": "Read",
        "tool_input": {"file_path": str(world.path / "a.txt")},
        "tool_use_id": "toolu_between",
    }
    (world.home / "payload").write_text(json.dumps(payload))
    hook = world.path / ".git/hooks/reference-transaction"
    command = f"{sys.executable} -I -S {ENTRY} claude-code {event}"
    places = {"payload": world.home / "payload", "said": world.home / "said"}
    hook.write_text(BETWEEN.format(hook=command, **places))
    hook.chmod(0o755)
    world.git("add", "a.txt")
    if who == "its own subagent":
        own(a, "commit", "-q", "-m", "one")
        a.event("Stop", stop_hook_active=False)
    else:
        world.git("commit", "-q", "-m", "one")
    assert (world.home / "said").read_text() == "" and not hook.exists(), "it ran"
    [one] = world.ids("HEAD")
    subjects = world.git("log", "--format=%s", V1).splitlines()
    assert subjects.count(f"Checkpoint: {one}") == 1
    assert calls(world, one, a.sid) == answers(a)
    assert sessions(world, one)[a.sid]["initial_attribution"]["agent_lines"] == 2
    sound(world)
