"""The cases by name, in each kind of working copy
(doc/scenarios.md "004 Concurrent sessions in one working copy")."""

from __future__ import annotations

import shutil

import pytest

from tests.guard.working_copies import A, B, Copy, post, pre, reason, run

CHANGE = f"Work of A\n\nClaude-Session-Id: {A}\n"
WORKSPACE = f"[Claude Workspace] Temporary workspace for session {A}\n"


# Should fail


def test_concurrent_session_on_temp_workspace(copy: Copy) -> None:
    a, b = copy.pair()
    copy.go_to_new(WORKSPACE)
    assert pre(a).status == 0
    assert reason(pre(b, "other.txt")).startswith("Error: Temporary workspace detected\n")


def test_concurrent_session_on_claude_change(copy: Copy) -> None:
    a, b = copy.pair()
    copy.go_to_new(CHANGE)
    copy.go_back()
    assert (pre(b).status, post(b).status) == (0, 0)
    copy.go_to_new(CHANGE)  # as `jj edit` of it would
    said = reason(pre(b))
    assert said.startswith("Error: Concurrent Claude session detected\n")
    assert "This session:   bbbbbbbb\nOther session:  aaaaaaaa" in said
    assert a.state["phase"] == "active"


def test_poisoned_original_working_copy(copy: Copy) -> None:
    a, _ = copy.pair()
    assert pre(a).status == 0
    copy.describe(f"Corrupted\n\nClaude-Session-Id: {B}\n")
    done = post(a)
    assert done.status == 2
    assert "Error: Concurrent Claude session detected" in done.stderr
    assert "stored original working copy" in done.stderr


# Should succeed


def test_sequential_sessions(copy: Copy) -> None:
    a, _ = copy.pair()
    a.write("a.txt", "by A\n")
    a.stop()
    a.end()
    b = copy.pair()[1]
    b.write("a.txt", "by B\n")
    assert copy.claims() == []


def test_same_session_continuation(copy: Copy) -> None:
    a, _ = copy.pair()
    a.write("a.txt", "first\n")
    a.write("a.txt", "second\n")
    assert copy.read("a.txt") == "second\n"
    assert copy.claims() == []


def test_session_with_own_claude_change(copy: Copy) -> None:
    a, _ = copy.pair()
    copy.go_to_new(CHANGE)
    a.write("a.txt", "first\n")
    a.write("b.txt", "second\n")
    assert copy.claims() == []


# Edge cases


def test_a_trailer_that_a_person_added_by_hand_is_a_different_session(copy: Copy) -> None:
    """In git a name that no live session has is history: there is nobody to collide with."""
    _, b = copy.pair()
    copy.go_to_new("Mine\n\nClaude-Session-Id: written by hand/../x\n")
    said = reason(pre(b))
    assert bool(said) is copy.uses_jj
    if said:
        assert "Other session:  written " in said


def test_own_files_that_are_deleted_mid_session_end_in_an_early_return(copy: Copy) -> None:
    a, _ = copy.pair()
    assert pre(a).status == 0
    shutil.rmtree(copy.own / "claims")
    copy.go_to_new(WORKSPACE)
    done = post(a)
    assert (done.status, done.stderr) == (0, "")


def test_the_working_copy_is_moved_mid_session(copy: Copy) -> None:
    a, b = copy.pair()
    b.write("b.txt", "by B\n")
    copy.go_to_new(WORKSPACE)
    assert "Temporary workspace detected" in reason(pre(b))
    copy.go_back()
    b.write("b.txt", "by B again\n")
    assert a.state["phase"] == "active"


def test_several_commits_with_one_session_id_are_all_its_own(copy: Copy) -> None:
    a, _ = copy.pair()
    copy.go_to_new(CHANGE)
    copy.go_to_new(CHANGE)
    a.write("a.txt", "by A\n")
    copy.jj("edit", "@-") if copy.uses_jj else copy.git("switch", "-q", "tmp-1")
    a.write("a.txt", "again by A\n")


@pytest.mark.parametrize(
    "description",
    [f"[Claude Workspace] Temporary workspace for session {A}", "wip: [Claude Workspace]\n\nnotes"],
)
def test_the_marker_anywhere_in_a_description_makes_a_temporary_workspace(
    git_copy: Copy, description: str
) -> None:
    _, b = git_copy.pair()
    git_copy.go_to_new(description)
    assert "Temporary workspace detected" in reason(pre(b))


# What git has of its own


def test_a_trailer_on_head_fails_only_while_that_session_is_in_a_turn(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    git_copy.go_to_new(CHANGE)
    assert "Concurrent Claude session detected" in reason(pre(b))
    a.stop()
    assert (pre(b).status, post(b).status) == (0, 0)
    a = git_copy.restarted(a)
    assert "Concurrent Claude session detected" in reason(pre(b))
    git_copy.kill(a)
    assert (pre(b).status, post(b).status) == (0, 0)


def test_a_live_session_of_another_worktree_is_not_in_the_way(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    a.end()
    there = git_copy.path.parent / "there"
    git_copy.git("worktree", "add", "-q", str(there), "-b", "side")
    a = git_copy.agent(A, there)
    a.prompt("work there")
    git_copy.go_to_new(CHANGE)
    assert pre(b).status == 0


def test_warn_says_the_same_and_lets_the_call_run(git_copy: Copy) -> None:
    a, b = git_copy.pair()
    git_copy.set("gitcp.guard", "warn")
    git_copy.go_to_new(CHANGE)
    done = pre(b)
    assert (done.status, done.stderr) == (0, "")
    assert done.said.startswith("Error: Concurrent Claude session detected\n")
    done = post(b)
    assert (done.status, done.stderr) == (0, "")
    assert "The stored original working copy is a Claude change" in done.said
    git_copy.go_back()
    assert pre(a, "c.txt").status == 0
    done = pre(b, "c.txt")
    assert done.said.startswith("Error: Another session is editing this working copy\n")
    assert len(git_copy.claims()) == 2


def test_the_default_is_warn_in_git_and_deny_in_jj(copy: Copy) -> None:
    a, b = copy.pair()
    argv = ["git", f"--git-dir={copy.store}", "config", "--unset", "gitcp.guard"]
    run(argv, copy.path)
    assert pre(a).status == 0
    assert pre(b).status == (2 if copy.uses_jj else 0)


def test_off_looks_at_nothing(git_copy: Copy) -> None:
    _, b = git_copy.pair()
    git_copy.set("gitcp.guard", "off")
    git_copy.go_to_new(WORKSPACE)
    done = pre(b)
    assert (done.status, done.stdout) == (0, "")
    assert git_copy.claims() == []


def test_the_base_moved_during_the_edit(copy: Copy) -> None:
    a, _ = copy.pair()
    assert pre(a).status == 0
    copy.write("a.txt", "by A\n")
    copy.go_to_new("somewhere else")
    done = post(a)
    assert done.status == 2
    assert done.stderr.startswith("Error: The base moved during the edit\n")
    assert "Edit kept:      a.txt" in done.stderr
    assert copy.read("a.txt") == "by A\n"


def test_a_command_may_move_head(git_copy: Copy) -> None:
    a, _ = git_copy.pair()
    assert pre(a, "make", tool="Bash").status == 0
    git_copy.go_to_new("the command's own commit")
    assert post(a, "make", tool="Bash").status == 0


def test_the_way_back_is_open_in_a_shell_and_not_told_off(copy: Copy) -> None:
    _, b = copy.pair()
    copy.go_to_new(WORKSPACE)
    assert pre(b, "echo x >a.txt", tool="Bash").status == 2
    way = "jj edit @-" if copy.uses_jj else "git switch main"
    for command in (way, f"cd src && {way} 2>&1", f"{way}; ls src | head -3"):
        assert pre(b, command, tool="Bash").status == 0
    assert pre(b, f"{way} && rm -r src", tool="Bash").status == 2
    copy.go_back()
    done = post(b, command, tool="Bash")
    assert (done.status, done.stderr) == (0, "")


def test_tools_that_only_read_are_not_judged(git_copy: Copy) -> None:
    _, b = git_copy.pair()
    git_copy.go_to_new(WORKSPACE)
    assert pre(b, tool="Read").status == 0


def test_the_prompt_already_tells_of_what_would_be_refused_and_of_who_is_here(
    git_copy: Copy,
) -> None:
    a, b = git_copy.pair()
    assert pre(a).status == 0
    git_copy.go_to_new(WORKSPACE)
    done = b.prompt("go on")
    assert done.status == 0
    assert done.said.startswith("Error: Temporary workspace detected\n")
    assert done.said.endswith(
        "gitcp: another session is at work in this working copy: aaaaaaaa (editing a.txt)"
    )
    a.stop()
    git_copy.go_back()
    assert b.prompt("go on").said == ""
