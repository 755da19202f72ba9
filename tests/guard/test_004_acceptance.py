"""The acceptance criteria of doc/guard.md, each in git and in jj with and without git."""

from __future__ import annotations

import os

from tests.guard.working_copies import A, B, Copy, post, pre, reason

CHANGE = f"Work of A\n\nClaude-Session-Id: {A}\n"
WORKSPACE = f"[Claude Workspace] Temporary workspace for session {A}\n"


# Detection requirements


def test_detects_the_stored_original_is_a_temporary_workspace(copy: Copy) -> None:
    a, b = copy.pair()
    for agent, use in ((a, "toolu_a"), (b, "toolu_b")):  # also when it is the session's own
        assert pre(agent, f"{use}.txt", use).status == 0
    copy.describe(WORKSPACE)
    for agent, use in ((a, "toolu_a"), (b, "toolu_b")):
        done = post(agent, f"{use}.txt", use)
        assert done.status == 2
        assert "Error: Temporary workspace detected" in done.stderr
        assert "The stored original working copy is a temporary Claude" in done.stderr


def test_detects_a_poisoned_original_also_when_the_working_copy_left_it(copy: Copy) -> None:
    _, b = copy.pair()
    assert pre(b).status == 0
    copy.describe(CHANGE)
    copy.go_to_new("elsewhere")
    assert "The stored original working copy is a Claude change" in post(b).stderr


def test_allows_a_normal_user_commit(copy: Copy) -> None:
    _, b = copy.pair()
    copy.go_to_new("A person's work\n\nSigned-off-by: P <p@example.com>\n")
    assert (pre(b).status, post(b).status) == (0, 0)


# Error handling


def test_fails_before_storing_the_original_and_before_creating_any_commits(copy: Copy) -> None:
    _, b = copy.pair()
    copy.go_to_new(WORKSPACE)
    before, refs, place = copy.read_records(), copy.every_ref(), copy.place()
    assert pre(b).status == 2
    assert copy.read_records() == before
    assert copy.claims() == []
    assert (copy.every_ref(), copy.place()) == (refs, place)


def test_fails_before_squashing_at_a_tool_end(copy: Copy) -> None:
    _, b = copy.pair()
    assert pre(b).status == 0
    copy.write("a.txt", "by B\n")
    copy.describe(CHANGE)
    refs, place = copy.every_ref(), copy.place()
    assert post(b).status == 2
    assert (copy.every_ref(), copy.place()) == (refs, place)
    assert copy.read("a.txt") == "by B\n"


def refusals(copy: Copy) -> list[tuple[str, str]]:
    """(title, message) of both refusals at a tool-start."""
    _, b = copy.pair()
    found = []
    for title, message in (
        ("Concurrent Claude session detected", CHANGE),
        ("Temporary workspace detected", WORKSPACE),
    ):
        copy.go_to_new(message)
        found.append((title, reason(pre(b))))
    return found


def test_the_error_explains_shows_ids_cut_short_and_says_how_to_fix_it(copy: Copy) -> None:
    for title, said in refusals(copy):
        lines = said.splitlines()
        # clearly explains what is wrong
        assert lines[:2] == [f"Error: {title}", ""]
        assert lines[2].startswith("The working copy is a ")
        # conflicting session ids, 8 characters
        assert "This session:   bbbbbbbb" in lines
        if title.startswith("Concurrent"):
            assert "Other session:  aaaaaaaa" in lines
        assert A not in said and B not in said
        # change ids, 12 characters
        (shown,) = [line.split()[-1] for line in lines if line.startswith("Current ")]
        assert len(shown) == 12
        if title.startswith("Temporary"):
            assert copy.place().split()[-1].startswith(shown)
        # step by step
        at = lines.index("To fix:")
        assert [line[:3] for line in lines[at + 1 : at + 4]] == ["1. ", "2. ", "3. "]
        assert ("`jj edit <your-work>`" in said) is copy.uses_jj
        assert ("`git switch <your-branch>`" in said) is not copy.uses_jj


# Correct operation


def test_a_session_continues_on_its_own_temporary_workspace(copy: Copy) -> None:
    a, b = copy.pair()
    copy.go_to_new(WORKSPACE)
    for use in ("toolu_1", "toolu_2"):
        assert (pre(a, use=use).status, post(a, use=use).status) == (0, 0)
    assert pre(b).status == 2


def test_does_not_interfere_with_normal_operations(copy: Copy) -> None:
    a, _ = copy.pair()
    place, operations = copy.place(), operations_of(copy)
    assert pre(a).status == 0
    copy.write("a.txt", "by A\n")
    assert post(a).status == 0
    a.stop()
    assert (copy.place(), operations_of(copy)) == (place, operations)
    copy.write("own.txt", "by the person\n")
    if copy.uses_jj:
        copy.jj("commit", "-m", "the person's", "own.txt")
        assert "A a.txt" in copy.jj("status")
        log = copy.jj("log")
        assert "divergent" not in log and "conflict" not in log
    else:
        assert copy.git("status", "--porcelain") == "?? a.txt\n?? own.txt"
        copy.git("add", "own.txt")
        copy.git("commit", "-q", "-m", "the person's")
        assert copy.git("status", "--porcelain") == "?? a.txt"
    assert not os.path.exists(copy.path / ".git" / "index.lock")


def operations_of(copy: Copy) -> str:
    """What jj's operation log says; '' in git."""
    ask = ("--ignore-working-copy", "op", "log", "--no-graph", "-T", 'id ++ "\n"')
    return copy.jj(*ask) if copy.uses_jj else ""
