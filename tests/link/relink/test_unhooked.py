"""Commits that no hook of ours saw, or finished, are linked by whatever comes next."""

from __future__ import annotations

import pytest

from tests.support.commit_forms import ALL, BOTH
from tests.support.harness import World
from tests.support.linking import files, ids, linked, noted, shell, sound, v1

BARE = "git -c core.hooksPath=/dev/null"
PLUMBING = "git add .; t=$(git write-tree); c=$(git commit-tree -p HEAD -m gui $t)"


@pytest.fixture
def world(worked: World) -> World:
    return worked


UNHOOKED = {
    "a git without hooks": f"git add .; {BARE} commit -qm gui",
    "plumbing with a reason": f"{PLUMBING}; git update-ref -m gui refs/heads/main $c",
    "plumbing without one": f"{PLUMBING}; git update-ref HEAD $c",
    "commit -n in a git without hooks, two of them": (
        f"git add README.md; {BARE} commit -qm a; git add .; {BARE} commit -qm b"
    ),
}


def another_session(world: World) -> None:
    world.agent("session-b").start()


def a_prompt(world: World) -> None:
    world.agent("session-b").prompt("something else")


def a_search(world: World) -> None:
    assert "content" in world.gitcp("relink", "--dry-run")
    assert not any(noted(world, c) for c in world.git("rev-list", "-3", "HEAD").split())
    world.gitcp("relink")


@pytest.mark.parametrize("event", [another_session, a_prompt, a_search])
@pytest.mark.parametrize("name", UNHOOKED)
def test_a_commit_without_hooks_after_the_session_ended_is_found(
    world: World, name: str, event: type
) -> None:
    base = world.head
    world.agent("session-a").end()
    shell(world, UNHOOKED[name])
    event(world)
    found = linked(world, base)
    assert (
        found == [[f"({ALL})"]]
        if len(found) == 1
        else found
        == [
            ["(new.py src/app.py)"],
            ["(README.md)"],
        ]
    )
    sound(world)


@pytest.mark.parametrize("when", ["after the turn", "in the turn"])
def test_a_commit_without_hooks_is_linked_though_one_with_hooks_follows_it(
    world: World, when: str
) -> None:
    base, a = world.head, world.agent("session-c", tools=True)
    a.prompt("write")
    a.write("README.md", world.read("README.md") + "a line of the session\n")
    if when == "after the turn":
        a.stop()
    shell(world, f"{BARE} commit -qm 'without hooks' README.md")
    world.write("README.md", world.read("README.md") + "a line of the person\n")
    world.git("commit", "-q", "-m", "with hooks", "README.md")
    if when == "in the turn":
        a.stop()
    assert linked(world, base) == [[], ["(README.md)"]]
    sound(world)


GUI = f"{BARE} commit -qm gui"
MOVED = {
    "a switch": f"{BARE} switch -q -c side HEAD~; git add .; {GUI}",
    "a switch, and followed": (
        f"{BARE} switch -q -c side HEAD~; git add .; {GUI}; {BARE} commit -qm more --allow-empty"
    ),
    "a reset": f"{BARE} reset -q --soft HEAD~; git add .; {GUI}",
    "a rebase": f"{BARE} rebase -q --autostash --onto HEAD~2 HEAD~; git add .; {GUI}",
    "an amend, and a reset to itself": f"git add .; {GUI} --amend; git reset -q",
}


@pytest.mark.parametrize("event", [another_session, a_search])
@pytest.mark.parametrize("name", MOVED)
def test_a_commit_without_hooks_that_does_not_follow_the_last_head_is_found(
    world: World, name: str, event: type
) -> None:
    world.write("other", "of the person\n")
    shell(world, f"git add other; {BARE} commit -qm other")
    world.agent("session-c").start()
    shell(world, MOVED[name])
    event(world)
    oid = world.git("log", "-1", "--format=%H", "--", "new.py")
    assert linked(world, f"{oid}~")[-1] == [f"({ALL})"]
    sound(world)


def test_relink_looks_in_the_range_it_is_given(world: World) -> None:
    base = world.head
    world.agent("session-a").end()
    shell(world, f"git add README.md; {BARE} commit -qm a; git add .; {BARE} commit -qm b")
    world.gitcp("relink", f"{base}..HEAD~")
    assert linked(world, base) == [[], ["(README.md)"]]
    world.gitcp("relink", "HEAD~..HEAD")
    assert linked(world, base) == [["(new.py src/app.py)"], ["(README.md)"]]
    sound(world)


def test_a_foreign_stage_that_fails_stops_no_link(world: World) -> None:
    base = world.head
    pipe = "match-commit | !false | condense | carry-forward"
    world.git("config", "gitcp.post-commit.pipeline", pipe)
    world.git("commit", "-qam", "work", warns="'!false': exit status 1")
    assert linked(world, base) == [[BOTH]]
    sound(world)


@pytest.mark.parametrize("event", [another_session, a_prompt, a_search])
def test_what_a_killed_hook_promised_is_stored_by_whatever_comes_next(
    world: World, event: type
) -> None:
    hook = world.path / ".git" / "hooks" / "post-commit"
    text = hook.read_text()
    hook.write_text("#!/bin/sh\nexit 0\n")
    shell(world, "git commit -qam work")
    hook.write_text(text)
    [one] = ids(world)
    assert files(world, one) == ["DANGLING"]
    if event is a_search:
        world.gitcp("relink")
    else:
        event(world)
    assert ids(world) == [one] and files(world, one) == BOTH.split()
    assert noted(world) == []
    sound(world)


def test_what_the_agents_own_commit_promised_is_stored_without_evidence(world: World) -> None:
    a = world.agent("session-own")
    a.prompt("commit it")
    a.ran("git commit -m own")
    world.write("m", "nobody's\n")
    hook = world.path / ".git" / "hooks" / "post-commit"
    text = hook.read_text()
    hook.write_text("#!/bin/sh\nexit 0\n")
    world.env |= {"CLAUDE_CODE_SESSION_ID": a.sid, "CLAUDE_PID": str(a.pid)}
    shell(world, "git add m; git commit -qm own")
    hook.write_text(text)
    del world.env["CLAUDE_CODE_SESSION_ID"], world.env["CLAUDE_PID"]
    [one] = ids(world)
    a.stop()
    assert files(world, one) == ["m"]


def test_a_log_says_truly_what_is_missing(world: World) -> None:
    shell(world, "git commit -qam work")
    world.git("update-ref", "-d", "refs/heads/entire/checkpoints/v1")
    assert "a session is not here: 'gitcp fetch' may bring it" in world.gitcp("log")


def test_an_amend_without_its_hooks_is_mended_by_the_next_event(world: World) -> None:
    base = world.head
    shell(world, f"git add .; git commit -qm work; {BARE} commit -q --amend -m other")
    assert linked(world, base) == [[]]
    world.agent("session-b").prompt("something else")
    assert linked(world, base) == [[f"({ALL})"]]
    sound(world)


def test_what_is_squashed_by_a_forge_is_found_for_reading_only(world: World) -> None:
    shell(world, "git commit -qm a README.md; git commit -qam b")
    one, two = ids(world, "HEAD~"), ids(world)
    lines = [
        f"Entire-Checkpoint: {one[0]}",
        "",
        "* b",
        "",
        f"Entire-Checkpoint: {two[0]}",
        "",
        "end",
    ]
    body = "\n".join(["squash (#1)", "", "* a", "", *lines])
    shell(world, "git switch -qc side HEAD~2; git merge -q --squash main 2>/dev/null")
    shell(world, f"{BARE} commit -qm '{body}'")
    assert ids(world) == []
    log = world.gitcp("log", "--json", "HEAD~..HEAD")
    assert one[0] in log and two[0] in log
    assert world.head in world.gitcp("find-commits", *one)
    stray = body.replace(one[0], "0" * 12)
    shell(world, f"{BARE} commit -q --allow-empty -m '{stray}'")
    assert "0" * 12 not in world.gitcp("log", "--json", "HEAD~..HEAD"), "no such checkpoint"


def test_a_merge_of_a_forge_gets_the_ids_of_its_branch(world: World) -> None:
    base = world.head
    shell(world, "git switch -qc topic; git commit -qm a README.md; git add .; git commit -qm b")
    shell(world, "git switch -q main; echo m >m; git add m; git commit -qm own")
    shell(world, f"git merge -q --squash topic; {BARE} commit -qm 'squash (#1)'; git reset -q")
    assert "blobs" in world.gitcp("relink", "--dry-run", "--onto", "HEAD", "topic")
    assert linked(world, base) == [[], []]
    world.gitcp("relink", "--onto", "HEAD", "topic")
    assert linked(world, base) == [["(README.md)", "(new.py src/app.py)"], []]
    assert world.gitcp("relink", "--onto", "HEAD", "topic") == ""


def test_a_rebase_merge_of_a_forge_gives_each_commit_its_own(world: World) -> None:
    base = world.head
    shell(world, "git switch -qc topic; git commit -qm a README.md; git add .; git commit -qm b")
    shell(world, "git switch -q main; echo m >m; git add m; git commit -qm own")
    for commit, name in (("topic~", "a"), ("topic", "b")):
        shell(world, f"{BARE} cherry-pick -n {commit}; {BARE} commit -qm {name}")
    world.gitcp("relink", "--onto", "HEAD", "topic")
    assert linked(world, base) == [["(new.py src/app.py)"], ["(README.md)"], []]
    sound(world)


HOTFIX = "git stash -q -u; {switch}; echo hotfix >README.md; git commit -qam hotfix"
ELSEWHERE = {
    "another branch": HOTFIX.format(switch="git switch -q side"),
    "a new branch": HOTFIX.format(switch="git switch -qc fresh"),
    "the same branch": HOTFIX.format(switch=":"),
    "a mode alone": "git stash -q -u; chmod +x README.md; git commit -qam mode",
    "not stashed, a mode alone": "git stash -q -u; chmod +x src/app.py; git commit -qam mode",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_hotfix_by_hand_while_the_work_is_stashed_is_the_persons(world: World, name: str) -> None:
    world.git("branch", "side", "HEAD~")
    shell(world, ELSEWHERE[name])
    assert ids(world) == [] and noted(world) == []
    shell(world, "git switch -q main; git checkout -q stash@{0} -- src; git commit -qm work")
    assert [files(world, one) for one in ids(world)] == [["src/app.py"]]
    sound(world)


def test_a_replaced_file_is_not_linked_by_braces_and_includes(world: World) -> None:
    a = world.agent("session-c")
    code = [f"int function_number_{n}(void) {{ return {n}; }}" for n in range(30)]
    a.turn(
        "write", {"c.c": "\n".join(["#include <stdio.h>", "#include <stdlib.h>", "{", "}", *code])}
    )
    mine = "#include <stdio.h>\n#include <stdlib.h>\n{\n}\nint mine;\nint not_the_agents(void);\n"
    world.write("c.c", mine)
    shell(world, "git add c.c; git commit -qm replaced")
    assert ids(world) == []


def test_a_new_file_renamed_with_one_more_line_is_linked(world: World) -> None:
    a = world.agent("session-c")
    lines = "".join(f"a line of its own, number {n}\n" for n in range(20))
    a.turn("write", {"long.txt": lines})
    (world.path / "long.txt").unlink()
    world.write("renamed.txt", lines + "one more line\n")
    shell(world, "git add renamed.txt; git commit -qm renamed")
    assert [files(world, one) for one in ids(world)] == [["renamed.txt"]]


def test_a_commit_split_in_a_rebase_is_linked_in_both_parts(world: World) -> None:
    base = world.head
    shell(world, "git add .; git commit -qm work")
    (world.home / "todo").write_text("edit\n")
    world.env["GIT_SEQUENCE_EDITOR"] = str(world.home / "steps")
    shell(world, "git rebase -q -i HEAD~ 2>/dev/null; git reset -q HEAD~; git add README.md")
    shell(world, "git commit -qm one; git add .; git commit -qm two; git rebase --continue 2>&1")
    found = linked(world, base)
    assert [[one.strip("()") for one in each] for each in found] == [[ALL], [ALL]]
    sound(world)


def test_a_conflict_that_the_agent_resolved_is_linked(world: World) -> None:
    shell(world, "git add .; git commit -qm work; echo m >README.md; git commit -qam other")
    shell(world, "git switch -qc t HEAD~2; echo t >README.md; git commit -qam t")
    shell(world, "! git cherry-pick main >/dev/null 2>&1")
    a = world.agent("session-c")
    a.turn("resolve it", {"README.md": "the two of them, put together by the agent\n"})
    shell(world, "git add README.md; git commit -qm picked")
    [*all_ids] = ids(world) + noted(world)
    assert any(files(world, one) == ["README.md"] for one in all_ids)
    assert any("session-c" in world.committed(one) for one in all_ids)


def test_beside_a_pick_with_a_conflict_a_path_that_is_open_alone_is_no_evidence(
    world: World,
) -> None:
    shell(world, "git stash -qu; git switch -qc t; echo t >README.md; git commit -qam t")
    shell(world, "git switch -q main; echo m >README.md; git commit -qm m README.md")
    world.agent("session-c").turn("work", {"src/lib.py": "the_agent = 'wrote all of it'\n"})
    shell(world, "! git cherry-pick t >/dev/null 2>&1; echo both >README.md")
    shell(world, "echo by = hand >src/lib.py; git add README.md src/lib.py; git commit -qm picked")
    assert ids(world) + noted(world) == []


@pytest.mark.parametrize("how", ["git commit -qm reverted", "git revert --continue 2>&1"])
def test_a_revert_that_the_agent_resolved_is_linked(world: World, how: str) -> None:
    shell(world, "git add .; git commit -qm work; echo m >README.md; git commit -qam other")
    shell(world, "! git revert --no-edit HEAD~ >/dev/null 2>&1")
    a = world.agent("session-c")
    a.turn("resolve it", {"README.md": "the two of them, put together by the agent\n"})
    shell(world, f"git add README.md; {how}")
    all_ids = ids(world) + noted(world)
    assert any("session-c" in world.committed(one) for one in all_ids)


def test_nobody_is_asked_again_about_what_was_judged(world: World) -> None:
    """A commit that our hooks judged is not matched once more at the next event."""
    base = world.head
    world.env["GIT_EDITOR"] = "sed -i /^Entire/d"
    shell(world, "git commit -qa -e -m dismissed")
    assert linked(world, base) == [[]]
    world.agent("session-b").prompt("something else")
    world.gitcp("relink")
    assert linked(world, base) == [[]]
    assert v1(world) == {}
    assert world.head in (world.path / ".git" / "gitcp" / "looked").read_text().split()[1:]


@pytest.mark.parametrize("trips", [1, 4])
@pytest.mark.parametrize("lost", ["all", "the oldest"])
def test_a_commit_of_a_branch_that_was_left_is_found_after_the_reflog_lost_entries(
    world: World, lost: str, trips: int
) -> None:
    for n in range(6):
        world.git("switch", "-q", "-c", f"before-{n}")
    world.agent("session-a").turn("something else")
    if lost == "all":
        world.git("reflog", "expire", "--expire=now", "HEAD")
    else:
        for _ in range(5):
            world.git("reflog", "delete", "HEAD@{6}")
    world.git("switch", "-q", "-c", "feature")
    shell(world, f"git add .; {BARE} commit -qm gui")
    made = world.head
    for _ in range(trips):
        world.git("switch", "-q", "before-5")
        world.git("switch", "-q", "feature")
    world.git("switch", "-q", "before-5")
    world.agent("session-a").prompt("something else")
    assert noted(world, made)
