"""The guard's verdicts: each check as a row, and what a repair looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gitcp.guard import guard_rules

if TYPE_CHECKING:
    from gitcp.guard.guard_rules import Base

ME, OTHER = "aaaaaaaa-1111", "bbbbbbbb-2222"
PLAIN = b"Fix the parser\n"


def trailer(session: str, key: str = "Claude-Session-Id") -> bytes:
    return b"Fix the parser\n\nWhy it broke.\n\n%s: %s\n" % (key.encode(), session.encode())


def workspace(session: str) -> bytes:
    return b"[Claude Workspace] Temporary workspace for session %s\n" % session.encode()


def look(message: bytes, vcs: str = "git", name: str = "refs/heads/main", oid: str = "c1") -> Base:
    if vcs == "jj":
        name = oid
    return guard_rules.make_base(vcs, name, oid, message, guard_rules.KEYS)


@pytest.mark.parametrize("vcs", ["git", "jj"])
@pytest.mark.parametrize(
    ("message", "live", "want"),
    [
        (PLAIN, [], "allow"),
        (PLAIN, [OTHER], "allow"),
        (trailer(ME), [ME], "allow"),
        (trailer(OTHER), [OTHER], "session"),
        (trailer(OTHER, "claude-SESSION-id"), [OTHER], "session"),
        (trailer(OTHER) + b"Claude-Session-Id: aaaaaaaa-1111\n", [OTHER], "allow"),
        (b"Talks of\n\nClaude-Session-Id: x\n\nbut ends so\n", ["x"], "allow"),
        (b"Claude-Session-Id: is no trailer in a subject\n", ["is"], "allow"),
        (workspace(ME), [], "allow"),
        (workspace(OTHER), [], "workspace"),
        (workspace(OTHER), [OTHER], "workspace"),
        (workspace(ME + "0"), [], "workspace"),
        (b"[Claude Workspace]\n", [], "workspace"),
        (b"wip [Claude Workspace] of somebody\n", [], "workspace"),
        (workspace(ME) + b"\nClaude-Session-Id: bbbbbbbb-2222\n", [OTHER], "session"),
        (b"", [], "allow"),
    ],
)
def test_what_head_says_decides_at_a_tool_start(
    vcs: str, message: bytes, live: list[str], want: str
) -> None:
    judged = guard_rules.judge_start(look(message, vcs), ME, set(live))
    assert judged["verdict"] == want
    assert judged["reason"]


def test_a_finished_sessions_commit_is_history_in_git_and_unsafe_in_jj() -> None:
    assert guard_rules.judge_start(look(trailer(OTHER), "git"), ME, set())["verdict"] == "allow"
    assert guard_rules.judge_start(look(trailer(OTHER), "jj"), ME, set())["verdict"] == "session"


def test_of_several_named_sessions_the_live_one_is_named() -> None:
    message = trailer("cccccccc-3333") + b"Claude-Session-Id: bbbbbbbb-2222\n"
    assert guard_rules.judge_start(look(message), ME, {OTHER})["other"] == OTHER


def test_other_trailers_can_be_configured() -> None:
    message = trailer(OTHER, "Agent-Session")
    seen = guard_rules.make_base("jj", "c1", "c1", message, ("Claude-Session-Id", "agent-session"))
    assert guard_rules.judge_start(seen, ME, set())["verdict"] == "session"
    assert guard_rules.judge_start(look(message, "jj"), ME, set())["verdict"] == "allow"


START = look(PLAIN)


@pytest.mark.parametrize(
    ("started", "original", "now", "want", "stored"),
    [
        # nothing happened, or nothing can be compared
        (START, START, START, "allow", False),
        (None, START, look(workspace(OTHER)), "allow", False),
        # the stored original was poisoned
        (START, look(trailer(OTHER)), look(trailer(OTHER)), "session", True),
        (START, look(workspace(OTHER)), look(workspace(OTHER)), "workspace", True),
        (START, look(workspace(ME)), look(workspace(ME)), "workspace", True),
        (START, look(trailer(OTHER)), look(PLAIN, name="HEAD", oid="c9"), "session", True),
        # its own workspace, on which it began
        (look(workspace(ME)), look(workspace(ME)), look(workspace(ME)), "allow", False),
        # the base moved
        (START, START, look(PLAIN, name="refs/heads/side"), "moved", False),
        (START, look(PLAIN, oid="c2"), look(PLAIN, oid="c2"), "moved", False),
        (START, None, look(PLAIN, name="HEAD", oid="c1"), "moved", False),
        # somebody else's commit elsewhere is not this edit's base
        (START, START, look(trailer(OTHER), name="refs/heads/side", oid="c3"), "moved", False),
    ],
)
def test_what_became_of_the_stored_original_decides_at_a_tool_end(
    started: Base | None, original: Base | None, now: Base, want: str, stored: bool
) -> None:
    judged = guard_rules.judge_end(started, original, now, ME, {OTHER})
    assert (judged["verdict"], judged["stored"]) == (want, stored)


def test_a_jj_change_that_is_amended_has_not_moved() -> None:
    before, after = look(PLAIN, "jj", oid="kkkk"), look(b"reworded\n", "jj", oid="kkkk")
    assert guard_rules.judge_end(before, after, after, ME, set())["verdict"] == "allow"
    away = look(PLAIN, "jj", oid="llll")
    assert guard_rules.judge_end(before, before, away, ME, set())["verdict"] == "moved"


def test_the_verdict_on_a_claim_names_it() -> None:
    claim: Any = {"session_id": OTHER}
    judged = guard_rules.judge_editing(START, guard_rules.Block(claim, "a.txt"))
    assert (judged["verdict"], judged["claim"], judged["path"]) == ("editing", claim, "a.txt")
