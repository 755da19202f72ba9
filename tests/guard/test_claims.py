"""Claims: who holds a path, and that nobody is locked out by one that nobody stands behind."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gitcp.text.short_ids import shorten_id
from tests.guard.working_copies import A, B, Copy, call, post, pre, reason
from tests.support import warm
from tests.support.harness import Agent
from tests.support.paths import ENTRY

EDITING = "Error: Another session is editing this working copy\n"


def rewrite(copy: Copy, **change: Any) -> Path:
    """Change the one claim that lies here."""
    (claim,) = copy.claims()
    path = copy.own / "claims" / str(claim["key"])
    path.write_text(json.dumps({**claim, **change}))
    return path


def locked(copy: Copy) -> tuple[Agent, Agent]:
    """A holds a.txt, and B is refused it."""
    a, b = copy.pair()
    assert pre(a).status == 0
    assert reason(pre(b)).startswith(EDITING)
    return a, b


def test_one_path_is_written_by_one_call_at_a_time(copy: Copy) -> None:
    a, b = locked(copy)
    assert pre(b, "b.txt").status == 0
    assert post(a).status == 0
    assert pre(b, use="toolu_2").status == 0
    assert reason(pre(a)).startswith(EDITING)


@pytest.mark.parametrize("end", ["call", "turn"])
def test_a_claim_ends_with_its_call_or_turn_if_the_guard_is_off_by_then(
    copy: Copy, end: str
) -> None:
    a, b = locked(copy)
    copy.set("gitcp.guard", "off")
    ended = post(a) if end == "call" else a.stop()
    assert (ended.status, ended.stdout) == (0, "")
    assert copy.claims() == []
    copy.set("gitcp.guard", "deny")
    assert pre(b, use="toolu_2").status == 0


def test_the_refusal_names_path_owner_and_process(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    assert pre(a, "src/app.py").status == 0
    lines = reason(pre(b, "src/app.py")).splitlines()
    assert "Path:           src/app.py" in lines
    assert "Other session:  aaaaaaaa" in lines
    assert any(x.startswith("Claimed:") and x.endswith(f"by process {a.pid}") for x in lines)


def test_a_path_is_the_same_from_a_subdirectory_and_through_a_link(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    link = git_copy.path.parent / "link"
    link.symlink_to(git_copy.path)
    (git_copy.path / "inner").symlink_to("src")
    assert pre(a, "src/app.py").status == 0
    b.cwd = link / "src"
    assert pre(b, "app.py").status == 2
    assert pre(b, "../inner/app.py").status == 2
    (git_copy.path / "alias.py").symlink_to("src/app.py")
    assert pre(b, "../alias.py").status == 2
    assert pre(b, "other.py").status == 0


def test_a_path_in_another_worktree_is_claimed_there(git_copy: Copy) -> None:
    """The target counts, not the session's directory; also in one that lies inside."""
    there = git_copy.path / ".claude" / "worktrees" / "x"
    git_copy.git("worktree", "add", "-q", str(there), "-b", "side")
    a = git_copy.pair()[0]
    b = git_copy.agent("cccccccc-3", there)
    b.prompt("B works there")
    assert pre(a, ".claude/worktrees/x/src/app.py").status == 0
    assert reason(pre(b, "src/app.py")).startswith(EDITING)
    assert pre(a, "src/app.py", "toolu_2").status == 0
    assert post(a, ".claude/worktrees/x/src/app.py").status == 0
    assert pre(b, "src/app.py").status == 0


def test_a_call_that_is_refused_in_one_worktree_holds_nothing_in_another(git_copy: Copy) -> None:
    there = git_copy.path / ".claude" / "worktrees" / "x"
    git_copy.git("worktree", "add", "-q", str(there), "-b", "side")
    b = git_copy.agent("cccccccc-3", there)
    b.prompt("B works there")
    assert pre(b, "src/app.py").status == 0

    def tell(event: str, **more: Any) -> int:
        record = {"type": "event", "event": event, "agent": "greeter", "session_id": "greeter-1"}
        argv = [sys.executable, "-I", "-S", str(ENTRY), "event"]
        line = json.dumps({**record, **more})
        return subprocess.run(
            argv, cwd=git_copy.path, input=line, text=True, capture_output=True
        ).returncode

    assert tell("turn-start", prompt="greet") == 0
    paths = ["a.txt", str(there / "src" / "app.py")]
    call = {"id": "w1", "name": "both", "kind": "write", "input_paths": paths}
    assert tell("tool-start", tool=call) != 0
    assert git_copy.claims() == []
    assert pre(git_copy.pair()[0], "a.txt").status == 0


def test_a_shell_call_claims_nothing_and_is_listed(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    assert pre(a, "make -j all", tool="Bash").status == 0
    assert pre(b, "a.txt").status == 0
    held = [json.loads(line) for line in git_copy.gitcp("list-claims").splitlines()]
    assert [(c["session_id"], c["tool"], c["path"]) for c in held] == [
        (A, "Bash", None),
        (B, "Write", "a.txt"),
    ]
    held = [json.loads(line) for line in git_copy.gitcp("list-claims", "--held").splitlines()]
    assert [c["path"] for c in held] == ["a.txt"]


def test_status_and_the_list_say_who_is_here_since_when_on_what(git_copy: Copy) -> None:
    a = git_copy.restarted(git_copy.pair()[0])
    idle = git_copy.agent("cccccccc-3")
    idle.turn("done")
    assert pre(a, "src/app.py").status == 0
    lines = git_copy.gitcp("status").splitlines()
    below = {line.split()[0]: lines[n + 1].strip() for n, line in enumerate(lines[:-1]) if line}
    assert below[shorten_id(B)].startswith("working")
    assert below[shorten_id(A)].startswith("working: Write src/app.py, since ")
    assert below[shorten_id("cccccccc-3")].startswith("waiting")
    assert f"Write src/app.py, since just now, process {a.pid}" in git_copy.gitcp("status", "-v")
    git_copy.kill(a)
    assert "src/app.py" not in git_copy.gitcp("list-claims")


def test_the_list_has_who_is_in_a_turn_since_when_and_nobody_else(git_copy: Copy) -> None:
    git_copy.pair()
    git_copy.agent("cccccccc-3").turn("done", {"c.txt": "open work\n"})
    heard = datetime.fromisoformat(git_copy.state(A)["last_interaction_time"])
    (git_copy.store / "entire-sessions" / f"{B}.json").unlink()
    held = [json.loads(line) for line in git_copy.gitcp("list-claims").splitlines()]
    assert [(c["session_id"], c["created"]) for c in held] == [(B, 0), (A, heard.timestamp())]


def test_parallel_calls_of_one_session_are_in_nobodys_way(git_copy: Copy) -> None:
    a, _ = git_copy.pair()
    for n in range(4):
        assert pre(a, f"{n}.txt", f"toolu_{n}").status == 0
    for n in (2, 0, 3, 1):
        assert post(a, f"{n}.txt", f"toolu_{n}").status == 0
    assert git_copy.claims() == []


def test_the_same_hook_called_twice_is_one_call(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    assert [pre(a).status, pre(a).status] == [0, 0]
    assert len(git_copy.claims()) == 1
    assert [post(a).status, post(a).status] == [0, 0]
    assert pre(b).status == 0


# Nobody is locked out


def test_subagents_share_a_session_id_and_not_a_path(git_copy: Copy) -> None:
    a, _ = git_copy.pair()
    one, other = {"agent_id": "agent-1", "agent_type": "x"}, {"agent_id": "agent-2"}
    assert pre(a, use="toolu_1", **one).status == 0
    assert reason(pre(a, use="toolu_2", **other)).startswith(EDITING)
    assert pre(a, "b.txt", use="toolu_3", **other).status == 0
    assert a.event("SubagentStop", agent_transcript_path="", **one).status == 0
    assert pre(a, use="toolu_4", **other).status == 0


def test_a_person_releases_what_a_live_session_holds(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    assert (pre(a).status, pre(a, "b.txt", "toolu_2").status) == (0, 0)
    assert f"`gitcp release-claim --session {A[:8]}`" in reason(pre(b))
    released = git_copy.gitcp("release-claim", "--session", A[:8]).splitlines()
    assert [json.loads(line)["path"] for line in released] == ["a.txt", "b.txt"]
    assert git_copy.claims() == [] and pre(b).status == 0
    done = warm.run("release-claim", "--session", A[:8], cwd=git_copy.path)
    assert (done.returncode, done.stderr) == (128, f"fatal: no such session: '{A[:8]}'\n")


def test_a_configured_pipeline_holds_a_claim_until_its_last_stage_is_done(git_copy: Copy) -> None:
    a, _ = git_copy.pair()
    listing = "!sh -c 'ls .git/gitcp/claims >held; cat'"
    git_copy.set("gitcp.tool-end.pipeline", f"release-claim | update-session | {listing}")
    assert (pre(a).status, post(a).status) == (0, 0)
    assert len((git_copy.path / "held").read_text().split()) == 1
    assert git_copy.claims() == []


def test_a_claim_is_released_where_a_later_stage_fails(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    git_copy.set("gitcp.tool-end.pipeline", "release-claim | !false")
    assert pre(a).status == 0
    done = a.event(
        "PostToolUse",
        "warning: tool-end: 'release-claim | !false': '!false': exit status 1",
        tool_name="Write",
        tool_input={"file_path": str(a.cwd / "a.txt")},
        tool_use_id="toolu_x",
    )
    assert (done.status, git_copy.claims(), pre(b).status) == (0, [], 0)


@pytest.mark.parametrize(
    "values", [("default", "{refuse}"), ("check-claim | update-session | {refuse}",)]
)
def test_a_call_that_a_later_stage_or_pipeline_refuses_holds_nothing(
    git_copy: Copy, values: tuple[str, ...]
) -> None:
    a, b = git_copy.pair()
    key, refuse = "gitcp.tool-start.pipeline", """!printf '{"type":"refuse","message":"no"}'"""
    for value in values:
        git_copy.git("config", "--add", key, value.format(refuse=refuse))
    assert (reason(pre(a)), git_copy.claims()) == ("no", [])
    git_copy.git("config", "--unset-all", key)
    assert pre(b).status == 0


def test_a_killed_agent_holds_nothing(copy: Copy) -> None:
    b = copy.pair()[1]
    a = copy.restarted(copy.pair()[0])
    assert (pre(a).status, pre(b).status) == (0, 2)
    copy.kill(a)
    assert pre(b).status == 0
    assert len(copy.claims()) == 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"start": "1"}, id="pid reused"),
        # Where no boot has an id, the time at which a process began tells it.
        pytest.param({"boot_id": "another"}, id="another boot", marks=pytest.mark.linux),
        pytest.param({"pid": 2**22 + 1}, id="no such pid"),
        pytest.param({"pid": 0, "start": ""}, id="a group"),
    ],
)
def test_who_is_not_that_process_any_more_holds_nothing(
    git_copy: Copy, change: dict[str, Any]
) -> None:
    _, b = locked(git_copy)
    (claim,) = git_copy.claims()
    rewrite(git_copy, process={**claim["process"], **change})
    assert pre(b).status == 0


def test_a_live_owner_is_not_robbed_by_age(git_copy: Copy) -> None:
    _, b = locked(git_copy)
    path = rewrite(git_copy, created=time.time() - 10**6)
    os.utime(path, (1, 1))
    assert reason(pre(b)).startswith(EDITING)


def test_a_clock_set_back_changes_nothing(git_copy: Copy) -> None:
    a, b = locked(git_copy)
    rewrite(git_copy, created=time.time() + 10**6)
    assert "Claimed:        0 s ago" in reason(pre(b))
    assert post(a).status == 0
    assert pre(b).status == 0


def test_another_machine_is_believed_for_a_while(git_copy: Copy) -> None:
    """On a shared file system nobody here can see its process."""
    _, b = locked(git_copy)
    (claim,) = git_copy.claims()
    elsewhere = {**claim["process"], "host": f"not-{socket.gethostname()}", "pid": os.getpid()}
    path = rewrite(git_copy, process=elsewhere)
    assert pre(b).status == 2
    os.utime(path, (time.time() - 700,) * 2)
    assert pre(b).status == 0


def test_an_agent_that_cannot_be_told_is_believed_for_a_while(git_copy: Copy) -> None:
    _, b = locked(git_copy)
    path = rewrite(git_copy, process=None)
    assert pre(b).status == 2
    os.utime(path, (time.time() - 700,) * 2)
    assert pre(b).status == 0


@pytest.mark.parametrize("name", ["UserPromptSubmit", "Stop", "SessionEnd"])
def test_the_sessions_next_prompt_stop_or_end_ends_what_it_held(git_copy: Copy, name: str) -> None:
    """Esc and a failed edit send no tool-end."""
    a, b = locked(git_copy)
    assert a.event(name, prompt="go on", prompt_id="p9", stop_hook_active=False).status == 0
    assert git_copy.claims() == []
    assert pre(b).status == 0


RESULT = {"type": "tool_result", "tool_use_id": "toolu_x", "content": "not found", "is_error": True}
ESC = {"type": "text", "text": "[Request interrupted by user for tool use]"}


@pytest.mark.parametrize("block", [RESULT, ESC], ids=["failed edit", "Esc"])
def test_a_waiter_sees_in_the_transcript_that_the_call_is_over(
    git_copy: Copy, block: dict[str, Any]
) -> None:
    a, b = locked(git_copy)
    at = time.strftime("%Y-%m-%dT%H:%M:%S.999Z", time.gmtime(time.time() + 1))
    a.say({"type": "user", "timestamp": at, "message": {"role": "user", "content": [block]}})
    assert pre(b).status == 0


def test_a_later_write_of_the_same_agent_ends_what_its_transcript_shows_ended(
    git_copy: Copy,
) -> None:
    a, b = locked(git_copy)
    assert pre(a, "b.txt", "toolu_2").status == 0
    assert pre(b).status == 2  # nothing says yet that the first call is over
    a.say({"type": "user", "message": {"role": "user", "content": [RESULT]}})
    assert pre(a, "c.txt", "toolu_3").status == 0
    assert sorted(path for c in git_copy.claims() for path in c["paths"]) == ["b.txt", "c.txt"]


def test_a_tool_end_alone_touches_nothing(copy: Copy) -> None:
    a, b = copy.pair()
    assert pre(b).status == 0
    place, refs = copy.place(), persons(copy)
    copy.write("a.txt", "whose is it\n")
    assert post(a).status == 0
    assert (copy.place(), persons(copy)) == (place, refs)
    assert [c["session_id"] for c in copy.claims()] == [b.sid]


def persons(copy: Copy) -> list[str]:
    """All refs but those of the sessions' edits: a lone end is the session's, and on its ref."""
    return [line for line in copy.every_ref().splitlines() if "refs/gitcp/edits/" not in line]


def test_a_failed_edit_with_its_end_event_lets_go(git_copy: Copy) -> None:
    a, b = locked(git_copy)
    assert call(a, "PostToolUseFailure", "a.txt", error="no match").status == 0
    assert pre(b).status == 0


def test_who_waits_is_let_in_when_the_call_ends(git_copy: Copy) -> None:
    a, b = locked(git_copy)
    git_copy.set("gitcp.guard-wait", "30")
    given = {"file_path": str(b.cwd / "a.txt"), "content": "x"}
    payload = {
        "session_id": b.sid,
        "cwd": str(b.cwd),
        "tool_name": "Write",
        "tool_input": given,
        "tool_use_id": "toolu_y",
    }
    argv = [sys.executable, "-I", "-S", str(ENTRY), "claude-code", "PreToolUse"]
    trace = git_copy.path.parent / "trace"
    waiting = subprocess.Popen(
        argv,
        cwd=b.cwd,
        env={**os.environ, "CLAUDE_PID": str(b.pid), "GITCP_TRACE": str(trace)},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert waiting.stdin is not None
    waiting.stdin.write(json.dumps(payload).encode())
    waiting.stdin.close()
    while not trace.exists() or "waiting" not in trace.read_text():
        assert waiting.poll() is None
        time.sleep(0.01)
    # Meanwhile nothing of the waiting session is locked, and the holder can end.
    assert pre(b, "b.txt", "toolu_z").status == 0
    assert post(a).status == 0
    assert waiting.wait() == 0
    assert sorted(p for c in git_copy.claims() for p in c["paths"]) == ["a.txt", "b.txt"]
