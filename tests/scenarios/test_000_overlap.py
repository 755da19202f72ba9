"""doc/scenarios.md "000 Overlap": its corruptions, phases, matrix, scenarios."""

from __future__ import annotations

import pytest

from tests.support.checkpoints import forget
from tests.support.harness import Agent, World

README = "line one\nline two\nline three\n"
MORE = README + "line four of the agent\n"
LOGIN = "def login():\n    return check_password()\n"


# The three corruptions of "Problem".


def test_dismissed_files_leave_no_ghosts_in_the_next_checkpoint(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("write a", {"src/a.py": "a = 1\n", "README.md": MORE})
    world.git("restore", ".")
    world.git("clean", "-qfd")
    b.turn("write b", {"src/b.py": "b = 1\n"})
    assert world.tree(world.branch()) == {"src/b.py": "b = 1\n"}


def test_a_file_dismissed_without_a_reset_is_no_ghost_either(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("write both", {"src/a.py": "a = 1\n", "README.md": MORE})
    (world.path / "src/a.py").unlink()
    b.turn("write b", {"src/b.py": "b = 1\n"})
    assert b.verdict == "continue"
    assert world.tree(world.branch()) == {"README.md": MORE, "src/b.py": "b = 1\n"}


def test_another_sessions_dismissed_line_is_not_removed_by_the_next(
    world: World, a: Agent, b: Agent
) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 41))
    world.write("file.ts", text)
    world.commit("file.ts")
    a.turn("change line 30", {"file.ts": text.replace("line 30\n", "bar\n")})
    world.git("restore", ".")
    b.turn("change line 5", {"file.ts": text.replace("line 5\n", "baz\n")})
    [base] = set(world.trailer(world.branch(), "Base-Commit"))
    diff = world.git("diff", "-U0", base, world.branch(), "--", "file.ts")
    assert [line for line in diff.splitlines()[4:] if line[0] in "+-"] == ["-line 5", "+baz"]
    assert len(world.trailer(world.branch(), "Entire-Session")) == 1


def test_attribution_counts_only_the_stream_that_was_kept(world: World, a: Agent, b: Agent) -> None:
    a.turn("ten lines", {"src/a.py": "".join(f"a{n} = {n}\n" for n in range(10))})
    world.git("clean", "-qfd")
    b.turn("two lines", {"src/b.py": "b = 1\nc = 2\n"})
    [one] = world.commit()
    found = world.committed(one)
    assert list(found) == ["session-b"]
    assert found["session-b"]["initial_attribution"]["agent_lines"] == 2
    assert found["session-b"]["initial_attribution"]["agent_percentage"] == 100


# Phases 1-3 and the decision matrix.


@pytest.mark.parametrize(
    ("after", "flag", "left"),
    [
        pytest.param(["git restore ."], True, ["src/b.py"], id="clean: reset"),
        pytest.param(
            ["git restore .", "echo x >src/app.py"],
            True,
            ["src/app.py", "src/b.py"],
            id="modified, no overlap: reset",
        ),
        pytest.param(
            ["echo mine >>README.md"], False, ["README.md", "src/b.py"], id="overlap: continue"
        ),
    ],
)
def test_the_flag_of_the_prompt_is_obeyed_at_the_checkpoint_and_cleared(
    world: World, a: Agent, b: Agent, after: list[str], flag: bool, left: list[str]
) -> None:
    a.turn("change the readme", {"README.md": MORE})
    for command in after:
        world.git("-c", f"alias.do=!{command}", "do")
    before = world.refs("refs/heads/entire")
    b.prompt("write b")
    assert b.flag() is flag
    assert world.refs("refs/heads/entire") == before, "a prompt moves nothing"
    b.write("src/b.py", "b = 1\n")
    b.stop()
    assert not b.flag()
    assert "verdict" not in b.state
    assert sorted(world.tree(world.branch())) == left
    assert len(world.archives) == flag
    assert b.state["checkpoint_count"] == 1
    b.turn("write more", {"src/b.py": "b = 2\n"})
    assert len(world.archives) == flag, "reset only once"
    assert b.state["checkpoint_count"] == 2


def test_without_a_shadow_branch_there_is_nothing_to_check(world: World, a: Agent) -> None:
    a.prompt("hello")
    assert not a.flag()
    assert a.verdict == "none"


def test_an_unreadable_stream_is_reset_with_a_warning(world: World, a: Agent, b: Agent) -> None:
    a.turn("write a", {"src/a.py": "a = 1\n"})
    tree = world.git("rev-parse", f"{world.branch()}^{{tree}}")
    forget(world.path / ".git", tree)
    b.prompt("write b", warns="failed to read shadow branch files")
    b.write("src/b.py", "b = 1\n")
    b.stop()
    assert sorted(world.tree(world.branch())) == ["src/a.py", "src/b.py"]
    assert world.metadata(world.branch()) == ["session-b"]


def test_the_check_at_prompt_start_sees_what_a_later_check_would_not(
    world: World, a: Agent, b: Agent
) -> None:
    """ "Why Check at Prompt Start?": both sessions write the same file, the first is stashed."""
    a.turn("write file1", {"README.md": MORE})
    world.git("stash")
    b.prompt("implement login in file1")
    b.write("README.md", README + LOGIN)
    b.stop()
    assert b.verdict == "reset"
    assert world.trailer(world.branch(), "Entire-Session") == ["session-b"]
    assert world.tree(world.branch()) == {"README.md": README + LOGIN}


# "Scenarios Covered".


def test_scenario_1_continue_work(world: World, a: Agent, b: Agent) -> None:
    a.turn("start", {"README.md": MORE})
    b.turn("go on", {"README.md": MORE + "and another line of b\n"})
    assert b.verdict == "continue"
    assert world.trailer(world.branch(), "Entire-Session") == ["session-a", "session-b"]
    [one] = world.commit()
    assert sorted(world.committed(one)) == ["session-a", "session-b"]
    assert world.streams == [] and world.archives == []


def test_scenario_2_dismiss_and_start_fresh(world: World, a: Agent, b: Agent) -> None:
    a.turn("start", {"README.md": MORE})
    old = world.refs("refs/heads/entire")["refs/heads/" + world.branch()]
    world.git("restore", ".")
    b.turn("something else", {"src/b.py": "b = 1\n"})
    assert b.verdict == "reset"
    assert world.trailer(world.branch(), "Entire-Session") == ["session-b"]
    [archive] = world.archives
    assert world.refs("refs/gitcp/archive") == {archive: old}
    assert archive == f"refs/gitcp/archive/{world.head[:7]}-e3b0c4/1"
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-b"]
    assert world.refs("refs/gitcp/archive") == {archive: old}, "what was dismissed stays, archived"


def test_scenario_3_partial_dismiss(world: World, a: Agent, b: Agent) -> None:
    a.turn("two files", {"README.md": MORE, "src/app.py": "print('a')\n"})
    world.git("restore", "README.md")
    b.turn("go on", {"src/app.py": "print('b')\n", "src/b.py": "b = 1\n"})
    assert b.verdict == "continue"
    assert world.tree(world.branch()) == {"src/app.py": "print('b')\n", "src/b.py": "b = 1\n"}


def test_scenario_4_stash_answer_questions_unstash(world: World, a: Agent, b: Agent) -> None:
    a.turn("start", {"README.md": MORE})
    before = world.refs("refs/heads/entire")
    world.git("stash")
    b.turn("what does this do?")
    assert b.verdict == "reset"
    assert not b.flag(), "phase 3 clears the flag"
    world.git("stash", "pop")
    c = world.agent("session-c")
    c.prompt("and this?")
    assert c.verdict == "continue"
    c.stop()
    assert world.refs("refs/heads/entire") == before
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]


def test_scenario_5_stash_and_new_work_on_the_same_file(world: World, a: Agent, b: Agent) -> None:
    a.turn("start", {"README.md": MORE})
    world.git("stash")
    b.turn("implement login", {"README.md": README + LOGIN})
    assert world.tree(world.branch()) == {"README.md": README + LOGIN}
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-b"]
    assert a.state["files_touched"] == ["README.md"], "still away, not lost"


def test_scenario_6_stash_and_new_work_on_different_files_keeps_both_sessions(
    world: World, a: Agent, b: Agent
) -> None:
    a.turn("the work of a", {"README.md": MORE, "src/a.py": "a = 'by session a'\n"})
    world.git("stash", "-u")
    b.turn("the work of b", {"src/b.py": "b = 'by session b'\n"})
    assert b.verdict == "reset"
    world.git("stash", "pop")
    [one] = world.commit()
    found = world.committed(one)
    assert sorted(found) == ["session-a", "session-b"]
    assert "the work of a" in found["session-a"]["transcript"]
    assert "the work of b" in found["session-b"]["transcript"]
    assert found["session-a"]["files_touched"] == ["README.md", "src/a.py"]
    assert found["session-b"]["files_touched"] == ["src/b.py"]
    assert a.state.get("files_touched") is None and b.state.get("files_touched") is None
    assert world.open() == [] and world.streams == []


def test_scenario_6_with_another_prompt_after_the_unstash(world: World, a: Agent, b: Agent) -> None:
    a.turn("the work of a", {"README.md": MORE})
    world.git("stash")
    b.turn("the work of b", {"src/b.py": "b = 'by session b'\n"})
    world.git("stash", "pop")
    a.turn("go on", {"README.md": MORE + "line five of the agent\n"})
    [one] = world.commit()
    assert sorted(world.committed(one)) == ["session-a", "session-b"]
    assert world.open() == [] and world.streams == []
