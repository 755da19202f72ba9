"""What git or the content itself names keeps its link, however little of the words is left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.harness import World
from tests.support.linking import ids, noted, shell, sound

TEXT = "the first line of the session\nthe second line of the session\n"
OTHER = "nothing of what was there before\nis here any more\n"
MIDST = "GIT_EDITOR=: git -c rebase.autoStash=false"


def worked(world: World, files: dict[str, str | None], sid: str = "session-a") -> str:
    world.agent(sid).turn("work", files)
    [one] = world.commit()
    return one


def links(world: World, commit: str = "HEAD") -> list[str]:
    return [*ids(world, commit), *noted(world, commit)]


def later(world: World) -> None:
    world.agent("observer").start()


@pytest.mark.parametrize(
    "git",
    [
        "git commit --no-edit",
        "git commit -m other",
        "git -c core.hooksPath=. commit -m other",
        "rm -r .git/logs; git -c core.logAllRefUpdates=0 -c core.hooksPath=. commit -m other",
    ],
)
def test_an_amend_to_wholly_other_content_keeps_its_id(world: World, git: str) -> None:
    one = worked(world, {"new.py": TEXT})
    world.write("new.py", OTHER)
    shell(world, f"{git} -q -a --amend")
    later(world)
    assert links(world) == [one]
    sound(world)


def test_a_note_follows_a_rebase_onto_a_renamed_file(world: World) -> None:
    world.git("config", "gitcp.link", "note")
    world.git("switch", "-q", "-c", "side")
    world.agent("session-a").turn("write", {"src/lib.py": world.read("src/lib.py") + TEXT})
    shell(world, "git commit -qam work")
    one = links(world)
    shell(world, "git switch -q main; git mv src/lib.py src/moved.py; git commit -qm moved")
    shell(world, "git switch -q side; git rebase -q main")
    assert links(world) == one != []
    sound(world)


def test_a_rebase_conflict_resolved_in_other_words_keeps_its_id(world: World) -> None:
    world.git("branch", "upstream")
    one = worked(world, {"src/lib.py": TEXT})
    shell(world, "git switch -q upstream; echo theirs >src/lib.py; git commit -qam theirs")
    shell(world, "git switch -q main; ! git rebase -q upstream 2>/dev/null")
    world.write("src/lib.py", OTHER)
    shell(world, f"git add .; {MIDST} rebase --continue >/dev/null 2>&1")
    later(world)
    assert links(world) == [one] and links(world, "HEAD~") == []
    sound(world)


AFTER_RESET: dict[str, tuple[str, dict[str, str | None]]] = {
    "a deletion": (":", {"src/lib.py": None}),
    "an empty file": (":", {"empty": ""}),
    "a binary file": (":", {"blob.bin": "a\0b"}),
    "a file that is renamed and changed a little": (
        "git mv new.py power.py; echo '# more' >>power.py; git add .",
        {"new.py": TEXT + "and a third line\n"},
    ),
    "a file that is moved": ("mkdir d; git mv new.py d/moved.py", {"new.py": TEXT}),
}


@pytest.mark.parametrize("how", ["--soft", "--mixed"])
@pytest.mark.parametrize("name", AFTER_RESET)
def test_what_is_no_text_is_linked_again_after_a_reset(world: World, name: str, how: str) -> None:
    script, files = AFTER_RESET[name]
    one = worked(world, files)
    world.write("person.txt", "x\n")
    world.commit()
    shell(world, f"git reset -q {how} HEAD~2; git add .; {script}; git commit -qm again")
    assert links(world) == [one]
    sound(world)


def test_a_mode_is_linked_again_after_a_reset_and_another_mode_is_not(world: World) -> None:
    agent = world.agent("session-a", tools=True)
    agent.prompt("make it run")
    given = {"command": "chmod +x src/lib.py"}
    agent.event("PreToolUse", tool_name="Bash", tool_input=given, tool_use_id="t1")
    (world.path / "src/lib.py").chmod(0o755)
    agent.event("PostToolUse", tool_name="Bash", tool_input=given, tool_use_id="t1")
    agent.stop()
    [one] = world.commit()
    shell(world, "git reset -q --mixed HEAD~; git add .; git commit -qm again")
    assert links(world) == [one]
    shell(world, "chmod +x src/app.py; git commit -qam own")
    assert links(world) == []


def test_a_file_that_a_second_session_wrote_all_anew_is_linked_to_both(world: World) -> None:
    a, b = world.agent("session-a", tools=True), world.agent("session-b", tools=True)
    a.turn("write", {"src/lib.py": TEXT})
    b.turn("write all anew", {"src/lib.py": OTHER})
    [one] = world.commit()
    assert [*world.committed(one)] == ["session-a", "session-b"]


def test_what_is_stashed_and_taken_up_in_another_worktree_is_linked(
    world: World, tmp_path: Path
) -> None:
    world.agent("session-a").turn("work", {"new.py": TEXT, "src/lib.py": OTHER})
    aside = tmp_path / "aside"
    shell(world, f"git stash -q -u; git worktree add -q {aside}")
    shell(world, "git stash pop -q; git add .; git commit -qm elsewhere", cwd=aside)
    world.agent("session-b", cwd=aside).start()
    found = [*ids(world, cwd=aside), *noted(world, "aside")]
    assert len(found) == 1
    assert list(world.committed(found[0])) == ["session-a"]
    status = world.gitcp("status")
    assert "not committed" not in status
    sound(world)


def test_work_of_a_worktree_that_was_removed_is_linked_where_its_stash_is_taken_up(
    world: World, tmp_path: Path
) -> None:
    aside = tmp_path / "aside"
    shell(world, f"git worktree add -q {aside}")
    world.agent("session-a", cwd=aside).turn("work", {"new.py": TEXT, "src/lib.py": OTHER})
    shell(world, "git stash -q -u", cwd=aside)
    shell(world, f"git worktree remove --force {aside}; git stash pop -q")
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]
    world.write("src/lib.py", OTHER + "the person's own line\n")
    assert world.commit() == []
    sound(world)


def test_a_session_that_moves_brings_its_stashed_work_along(world: World, tmp_path: Path) -> None:
    a, aside = world.agent("session-a"), tmp_path / "aside"
    a.turn("work", {"new.py": TEXT, "src/lib.py": OTHER})
    shell(world, f"git stash -q -u; git worktree add -q {aside}")
    moved = world.agent("session-a", cwd=aside)
    moved.turn("go on there", {"more.py": "more = 1\n"})
    shell(world, "git stash pop -q", cwd=aside)
    found = world.commit("new.py", "src/lib.py", cwd=aside)
    assert [list(world.committed(one)) for one in found] == [["session-a"]]
    found = world.commit("more.py", cwd=aside)
    assert [list(world.committed(one)) for one in found] == [["session-a"]]
    assert world.open() == []


def test_work_that_lies_in_another_worktree_is_not_in_a_commit_like_it(
    world: World, tmp_path: Path
) -> None:
    aside = tmp_path / "aside"
    shell(world, f"git worktree add -q {aside}")
    world.agent("session-a").turn("work", {"new.py": TEXT})
    world.agent("session-b", cwd=aside).turn("the same", {"new.py": TEXT})
    [one] = world.commit(cwd=aside)
    assert list(world.committed(one)) == ["session-b"]
    [one] = world.commit()
    assert list(world.committed(one)) == ["session-a"]


def test_a_file_that_was_settled_is_the_persons_when_the_journal_is_gone(world: World) -> None:
    worked(world, {"src/lib.py": TEXT})
    (world.path / ".git/gitcp/journal").unlink()
    world.write("src/lib.py", TEXT + "the person's own line\n")
    world.git("commit", "-q", "-a", "-m", "own")
    later(world)
    assert links(world) == []


@pytest.mark.parametrize("seen", [True, False])
def test_a_hotfix_on_another_branch_after_a_restore_is_the_persons(
    world: World, seen: bool
) -> None:
    world.git("branch", "hotfix", "HEAD~")
    world.agent("session-a", tools=True).turn("work", {"src/app.py": TEXT})
    shell(world, "git restore .; git switch -q hotfix")
    if seen:
        world.agent("session-b", tools=True).turn("look", {"b.txt": TEXT})
    shell(world, "echo fixed >>src/app.py; git commit -qam hotfix")
    later(world)
    assert links(world) == []


@pytest.mark.parametrize("how", ["-qm squashed", "-q --no-edit"])
@pytest.mark.parametrize("beside", [False, True])
def test_a_squash_merge_takes_the_ids_that_notes_link(world: World, how: str, beside: bool) -> None:
    world.git("switch", "-q", "-c", "side")
    want = []
    if beside:
        world.agent("session-a").turn("write a", {"a.py": "alpha = 1\nbeta = 2\n"})
        want += world.commit()
    world.write("own.txt", "the person's\n")
    world.commit()
    world.agent("session-b").turn("write b", {"b.py": "gamma = 3\ndelta = 4\n"})
    want += world.commit()
    shell(world, "GIT_SEQUENCE_EDITOR='sed -i 2s/pick/fixup/' git rebase -qi HEAD~2")
    assert noted(world) == want[-1:]
    world.git("switch", "-q", "main")
    shell(world, f"git merge -q --squash side; GIT_EDITOR=true git commit {how}")
    assert sorted(ids(world)) == sorted(want)
    sound(world)
