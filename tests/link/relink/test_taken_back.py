"""What is taken back and committed again keeps its link, and nothing else gets it."""

from __future__ import annotations

import pytest

from tests.support.commit_forms import ALL, NEW
from tests.support.harness import World
from tests.support.linking import NOTES, editor, ids, linked, noted, shell, sound, types


@pytest.fixture
def world(worked: World) -> World:
    return worked


SETTLED = "git add .; git commit -qm work"  # nothing of the session is left to commit
AGAIN = {
    "soft": ("git reset -q --soft HEAD~; git commit -qm again", [[ALL]]),
    "mixed, in two commits": (
        "git reset -q HEAD~; git commit -qm a README.md; git add .; git commit -qm b",
        [[ALL], [ALL]],
    ),
    "two steps back": (
        "echo m >m; git add m; git commit -qm own; git reset -q --soft HEAD~2;"
        " git commit -qm again",
        [[ALL]],
    ),
    "with the file changed a little": (
        "git reset -q --soft HEAD~; echo '# more' >>new.py; git add .; git commit -qm again",
        [[ALL]],
    ),
    "with the file renamed and changed a little": (
        "git reset -q --soft HEAD~; git mv new.py power.py; echo '# more' >>power.py;"
        " git checkout -q HEAD README.md src; git add .; git commit -qm again",
        [[ALL]],
    ),
    "after a stash": (
        "git reset -q HEAD~; git stash -q -u; echo m >m; git add m; git commit -qm own;"
        " git stash pop -q; git add .; git commit -qm again",
        [[ALL], []],
    ),
    "amended without a file, which comes later alone": (
        "git rm -q --cached new.py; git commit -q --amend -m less; git add .; git commit -qm more",
        [[ALL], [ALL]],
    ),
    "thrown away, then written by hand": (
        "git reset -q --hard HEAD~; echo x >README.md; git commit -qam own",
        [[]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AGAIN)
def test_what_was_taken_back_is_linked_again(world: World, name: str) -> None:
    script, want = AGAIN[name]
    base = world.head
    shell(world, SETTLED)
    assert linked(world, base) == [[ALL]] and world.open() == []
    shell(world, script)
    assert linked(world, base) == want
    sound(world, lost=not any(want))


def test_a_commit_that_is_made_again_as_it_was_is_linked_each_time(world: World) -> None:
    shell(world, SETTLED)
    [one] = ids(world)
    for _ in range(3):
        shell(world, "git reset -q --soft HEAD~; git commit -qm again")
        assert ids(world) == [one]
    assert world.git("rev-parse", "ORIG_HEAD") == world.head


def test_what_is_changed_a_little_while_an_agent_looks_on_is_linked_again(world: World) -> None:
    base = world.head
    shell(world, f"{SETTLED}; git reset -q HEAD~; echo '# more' | tee -a {ALL} >/dev/null")
    world.agent("session-b").turn("what is this?")
    shell(world, "git add .; git commit -qm again")
    assert linked(world, base) == [[ALL]]
    sound(world)


def test_the_agents_file_gets_the_id_again_and_the_persons_does_not(world: World) -> None:
    base = world.head
    shell(world, f"echo m >m; {SETTLED}; git reset -q HEAD~; git add m; git commit -qm own")
    assert linked(world, base) == [[]]
    shell(world, "git add .; git commit -qm agents")
    assert linked(world, base) == [[ALL], []]
    sound(world)


def test_a_commit_with_nothing_to_come_starts_python_no_more(world: World) -> None:
    shell(
        world, f"{SETTLED}; git reset -q --soft HEAD~; git commit -qm again; echo m >m; git add m"
    )
    shell(world, "git commit -qm own")
    world.env["GITCP_TRACE"] = str(world.home / "trace")
    shell(world, "echo n >m; git commit -qam own")
    assert not (world.home / "trace").exists()


def test_an_amend_killed_before_its_last_hook_has_its_link(world: World) -> None:
    base = world.head
    shell(world, SETTLED)
    hook = world.path / ".git" / "hooks" / "post-rewrite"
    hook.write_text("#!/bin/sh\nkill -9 $PPID\n")
    shell(world, "git commit -q --amend -m other || :")
    assert world.git("log", "-1", "--format=%s") == "other"
    assert linked(world, base) == [[ALL]]
    sound(world)


COPIED = {
    "-C HEAD of other content": ("echo m >m; git add m; git commit -q -C HEAD", [[], [ALL]]),
    "-c HEAD of other content": (
        "echo m >m; git add m; GIT_EDITOR=true git commit -q -c HEAD",
        [[], [ALL]],
    ),
    "-C ORIG_HEAD of the same": ("git reset -q --soft HEAD~; git commit -q -C ORIG_HEAD", [[ALL]]),
    "-C, reverted and made again": (
        "git revert --no-edit HEAD >/dev/null; git checkout -q HEAD~ -- .; git commit -q -C HEAD~",
        [[ALL], [], [ALL]],
    ),
}


@pytest.mark.parametrize("name", COPIED)
def test_a_copied_message_keeps_the_id_only_with_its_content(world: World, name: str) -> None:
    script, want = COPIED[name]
    base = world.head
    shell(world, f"{SETTLED}; {script}")
    assert linked(world, base) == want
    sound(world)


@pytest.mark.parametrize("between", ["", "echo m >m; git add m; git commit -qm own; "])
def test_one_stash_applied_on_two_branches_links_both(world: World, between: str) -> None:
    stash = "git stash -qu; git stash apply -q; git add .; git commit -qm one; "
    shell(world, f"{stash}{between}git switch -qc t main~{2 if between else ''}")
    assert world.open() == []
    shell(world, "echo n >n; git add n; git commit -qm mine; git stash apply -q; git add .")
    shell(world, "git commit -qm two")
    [one] = ids(world, "main~" if between else "main")
    assert ids(world, "t") == [one] and ids(world, "t~") == []
    shell(world, "git stash drop -q; echo u >n; git commit -qam more")
    assert not (world.path / ".git/gitcp/taken-back").exists()
    sound(world)


def test_a_stash_of_other_files_keeps_no_commit_in_mind(world: World) -> None:
    other = "echo o >>src/lib.py; git stash push -q src/lib.py; "
    shell(world, f"{other}{SETTLED}; {other}echo m >m; git add m; git commit -qm own")
    assert not (world.path / ".git/gitcp/taken-back").exists()
    assert ids(world) == []
    sound(world)


PICKED = {
    "cherry-pick -n, then -m": "git cherry-pick -n t; git commit -qm again",
    "a conflict, then commit -m": (
        "echo m >README.md; git commit -qam own; ! git cherry-pick t >/dev/null 2>&1;"
        " git checkout -q --theirs README.md; git add .; git commit -qm again"
    ),
}


@pytest.mark.parametrize("name", PICKED)
def test_what_is_picked_keeps_its_id(world: World, name: str) -> None:
    shell(world, f"git switch -qc t; {SETTLED}; git switch -qC main main~; {PICKED[name]}")
    [one] = ids(world, "t")
    assert ids(world) == [one]
    sound(world)


def test_what_is_picked_keeps_the_id_of_a_note(world: World) -> None:
    world.git("config", "gitcp.link", "note")
    shell(world, f"git switch -qc t; {SETTLED}; git switch -qC main main~")
    shell(world, "git cherry-pick -n t; git commit -qm again")
    [one] = noted(world, "t")
    assert [*ids(world), *noted(world)] == [one]
    sound(world)


def test_what_is_picked_keeps_its_id_while_the_ref_of_notes_is_damaged(world: World) -> None:
    shell(world, f"git switch -qc t; {SETTLED}; git switch -qC main main~")
    world.git("update-ref", NOTES, world.git("hash-object", "-w", "README.md"))
    shell(world, "git cherry-pick -n t; git commit -qm again")
    assert ids(world) == ids(world, "t") != []


@pytest.mark.parametrize("how", ["-qm again", "-q --no-edit"])
def test_all_that_one_cherry_pick_brings_keeps_its_id(world: World, how: str) -> None:
    shell(world, "git switch -qc t; git commit -qm a README.md; git add new.py; git commit -qm b")
    shell(world, f"echo m >m; git add m; git commit -qm own; {SETTLED}; git switch -qC main main~")
    own = [one for commit in ("t~3", "t~2", "t") for one in ids(world, commit)]
    shell(world, f"git cherry-pick -n t~4..t; git commit {how}")
    assert len(set(own)) == 3 and sorted(ids(world)) == sorted(own)
    sound(world)


@pytest.mark.parametrize("how", ["-qm again", "-q --no-edit"])
def test_what_is_picked_onto_a_renamed_file_keeps_its_id(world: World, how: str) -> None:
    shell(
        world, "git switch -qc t; git commit -qm work README.md; git stash -qu; git switch -q main"
    )
    shell(world, "git mv README.md manual; git commit -qm own; git cherry-pick -n t")
    shell(world, f"git commit {how}")
    assert ids(world) == ids(world, "t") != []
    sound(world)


@pytest.mark.parametrize("how", ["-qm again", "-q --no-edit"])
def test_all_that_is_picked_onto_a_renamed_file_keeps_its_id(world: World, how: str) -> None:
    shell(world, "git stash -qu; seq 30 >list; git add .; git commit -qm own; git switch -qc t")
    a, lines, own = world.agent("session-c"), [*map(str, range(1, 31))], list[str]()
    for at, word in enumerate(("first", "middle", "last")):
        lines.insert(10 * at + 5, word)
        a.turn(word, {"list": "\n".join(lines) + "\n"})
        own += world.commit()
    shell(world, "git switch -q main; git mv list file; git commit -qm moved")
    shell(world, f"git cherry-pick -n main..t; git commit {how}")
    assert len(own) == 3 and sorted(ids(world)) == sorted(own)
    sound(world)


@pytest.mark.parametrize("back", ["switch -qC main t", "merge -q --ff-only t"])
def test_a_reset_that_is_made_twice_gives_the_id_twice(world: World, back: str) -> None:
    shell(world, f"{SETTLED}; git tag t; git reset -q --hard HEAD~")
    shell(world, f"echo o >o; git add o; git commit -qm own; git switch -qC main HEAD~; git {back}")
    shell(world, "git reset -q --soft HEAD~; git commit -qm again")
    assert ids(world) == ids(world, "t") != []
    sound(world)


def test_what_nobody_picked_gives_no_id(world: World) -> None:
    shell(world, "git switch -qc t; git commit -qm a README.md; git add new.py; git commit -qm b")
    shell(world, f"{SETTLED}; git switch -qC main main~")
    shell(world, "git cherry-pick -n t; echo other >README.md; git add .; git commit -qm again")
    assert ids(world) == ids(world, "t")
    sound(world)


def test_what_is_typed_into_an_unchecked_message_is_linked_by_a_note(world: World) -> None:
    base = world.head
    world.env["GIT_EDITOR"] = types(world, "subject\n")
    shell(world, "git add .; git commit -q -n")
    assert world.git("log", "-1", "--format=%B") == "subject\n" or ids(world) == []
    assert linked(world, base) == [[f"({ALL})"]]
    sound(world)


@pytest.mark.parametrize("cleanup", ["verbatim", "whitespace"])
def test_where_git_keeps_comments_we_write_none(world: World, cleanup: str) -> None:
    world.env["GIT_EDITOR"] = types(world, "subject\n")
    shell(world, f"git add .; git commit -q --cleanup={cleanup}")
    assert "Remove the line" not in world.git("log", "-1", "--format=%B")
    [_] = ids(world)


def test_a_line_deleted_in_an_amend_stays_deleted(world: World) -> None:
    base = world.head
    shell(world, SETTLED)
    world.env["GIT_EDITOR"] = editor(world, 'sed -i /^Entire/d "$1"')
    shell(world, "git commit -q --amend")
    assert linked(world, base) == [[]]
    world.agent("session-b").turn("later", {"b.py": NEW})
    assert linked(world, base) == [[]], "nor at the next event"
    assert world.gitcp("relink") == "", "nor by a search"
    assert linked(world, base) == [[]]
