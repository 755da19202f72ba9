"""What the guard says: the fixed texts, and the same for git."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gitcp.guard import guard_rules, words

if TYPE_CHECKING:
    from gitcp.guard.guard_rules import Base

ME, OTHER = "def45678-90ab-4cde", "abc12345-6789-4def"
CHANGE = "abc123456789klmnopq"
CONCURRENT = """\
Error: Concurrent Claude session detected

The working copy is a Claude change from another session.
Another Claude Code session is likely active in this repo.

To fix:
1. Complete or cancel the other Claude session
2. Run `jj edit <your-work>` to return to your working copy
3. Retry this session

Current change: abc123456789
This session:   def45678
Other session:  abc12345"""
WORKSPACE = """\
Error: Temporary workspace detected

The working copy is a temporary Claude workspace.
This indicates an interrupted or concurrent session.

To fix:
1. Run `jj edit <your-work>` to return to your working copy
2. Optionally abandon the temp workspace: `jj abandon abc123456789`
3. Retry this session

Current change: abc123456789
This session:   def45678"""
EDITING = """\
Error: Another session is editing this working copy

A tool call of another session, or of another agent of this one, holds the path.
It has begun and not ended; two writers at once would lose an edit.

To fix:
1. Wait until the other tool call has ended, or cancel it
2. A person can release it: `gitcp release-claim --session abc12345`
3. Retry this session

Path:           src/app.py
Claimed:        7 s ago, by process 4711
This session:   def45678
Other session:  abc12345"""
MOVED = """\
Error: The base moved during the edit

The working copy is not at the commit that this edit began on.
The edit is done, and nothing of it is lost.

To fix:
1. Look at what is there now: `git log -1`
2. Run `git switch main` if the edit belongs there, or go on from here

Was:            main abc123456789
Now:            side abc123456789
Edit kept:      src/app.py
This session:   def45678"""


def seen(vcs: str, message: str, name: str = "refs/heads/main") -> Base:
    return guard_rules.make_base(
        vcs, CHANGE if vcs == "jj" else name, CHANGE, message.encode(), guard_rules.KEYS
    )


CARRIES = f"x\n\nClaude-Session-Id: {OTHER}\n"
TEMPORARY = f"[Claude Workspace] Temporary workspace for session {OTHER}\n"


def start(look: Base) -> str:
    return words.format_refusal(guard_rules.judge_start(look, ME, {OTHER}), ME)


def test_the_words_of_the_seed_for_another_sessions_change() -> None:
    assert start(seen("jj", CARRIES)) == CONCURRENT


def test_the_words_of_the_seed_for_a_temporary_workspace() -> None:
    assert start(seen("jj", TEMPORARY)) == WORKSPACE


def test_git_has_its_own_commands_and_a_commit() -> None:
    want = CONCURRENT.replace("jj edit <your-work>", "git switch <your-branch>")
    assert start(seen("git", CARRIES)) == want.replace("Current change:", "Current commit:")
    want = WORKSPACE.replace("jj edit <your-work>", "git switch <your-branch>")
    want = want.replace("abandon the temp workspace: `jj abandon abc123456789`", "delete it")
    want = want.replace("Current change:", "Current commit:")
    said = start(seen("git", TEMPORARY, "refs/heads/tmp/x"))
    assert said.replace("delete the temp workspace: `git branch -D tmp/x`", "delete it") == want


def test_a_detached_temporary_workspace_leaves_nothing_to_delete() -> None:
    said = start(seen("git", TEMPORARY, "HEAD"))
    assert "git branch -D" not in said
    assert "\n2. Retry this session\n" in said


def test_a_tool_end_speaks_of_the_stored_original() -> None:
    for message in (CARRIES, TEMPORARY):
        now = seen("jj", message)
        judged = guard_rules.judge_end(seen("jj", "mine"), now, now, ME, set())
        want = start(now).replace("The working copy is", "The stored original working copy is")
        assert words.format_refusal(judged, ME) == want


def test_another_session_is_editing() -> None:
    claim: Any = {"session_id": OTHER, "process": {"pid": 4711}}
    block = guard_rules.Block(claim, "src/app.py")
    judged = guard_rules.judge_editing(seen("git", "mine"), block)
    assert words.format_refusal(judged, ME, age="7 s") == EDITING
    claim["process"] = None
    assert "\nClaimed:        7 s ago\n" in words.format_refusal(judged, ME, age="7 s")


def test_the_base_moved() -> None:
    was, now = seen("git", "mine"), seen("git", "mine", "refs/heads/side")
    judged = guard_rules.judge_end(was, was, now, ME, set())
    assert words.format_refusal(judged, ME, moved_path="src/app.py") == MOVED


def test_the_way_back_is_named_as_where_it_leads() -> None:
    detached, now = seen("git", "x", "HEAD"), seen("git", "x")
    judged = guard_rules.judge_end(detached, detached, now, ME, set())
    assert "`git switch --detach abc123456789`" in words.format_refusal(judged, ME)
    was, now = seen("jj", "x"), guard_rules.make_base("jj", "zz", "zz", b"", guard_rules.KEYS)
    judged = guard_rules.judge_end(was, was, now, ME, set())
    assert "`jj edit abc123456789`" in words.format_refusal(judged, ME)
    here = seen("git", "x")
    judged = guard_rules.judge_end({**here, "id": "old"}, here, here, ME, set())
    assert "2. Go on from here\n" in words.format_refusal(judged, ME)
