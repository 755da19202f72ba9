"""What a person brings in from a branch of a session: by patch, by paste, by a pick."""

from __future__ import annotations

import pytest

from tests.lines.carried.authors import tell, write_turn
from tests.support.clients.calls import run
from tests.support.harness import World
from tests.support.linking import BARE, editor, ids, noted, shell, sound

BASE = "".join(f"line_{n} = 'there before {n}'\n" for n in range(12))
ITS = "".join(f"value_{n} = compute_for_session({n})\n" for n in range(4))
TOLD = "PPPPPP" + "SSSS" + "PPPPPP"
AT = len(BASE.splitlines(keepends=True)) // 2
WORK = (
    "".join(BASE.splitlines(keepends=True)[:AT])
    + ITS
    + "".join(BASE.splitlines(keepends=True)[AT:])
)


@pytest.fixture
def one(world: World) -> str:
    """A session's work on the branch `feature`; its id.  HEAD is on main, which lacks it."""
    world.write("a.py", BASE)
    world.commit()
    world.git("switch", "-qc", "feature")
    a = world.agent("session-a", tools=True)
    write_turn(a, "write it", a_py=WORK)
    [one] = world.commit()
    world.git("switch", "-q", "main")
    # What has author and time of another commit is a copy of it.
    world.env["GIT_AUTHOR_DATE"] = "@1700000000 +0000"
    return one


WAYS = {
    "git apply": "git diff main feature | git apply; git commit -qam x",
    "git apply --index": "git diff main feature | git apply --index; git commit -qm x",
    "patch": "git diff main feature | patch -s -p1; git commit -qam x",
    "paste": "git show feature:a.py >a.py; git commit -qam x",
    "pick": "git cherry-pick feature",
    "pick --no-commit": "git cherry-pick --no-commit feature; git commit -qm x",
    "pick --no-commit, edited message": "git cherry-pick -n feature; git commit -q --no-edit",
    "checkout": "git checkout -q feature -- a.py; git commit -qm x",
    "restore": "git restore -s feature a.py; git commit -qam x",
}


def check(world: World, one: str, told: str) -> None:
    """A link and the authors of lines, after a session's next event."""
    world.agent("later").start()
    assert ids(world) + noted(world) == [one]
    assert tell(world, "a.py") == told
    assert "wrong-note" not in world.gitcp("fsck")
    sound(world)


@pytest.mark.parametrize("is_busy", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_what_a_person_brings_in_from_a_branch(
    world: World, one: str, way: str, is_busy: bool
) -> None:
    """is_busy: a session has work at hand, so that hooks look at the commit."""
    if is_busy:
        world.agent("session-b", tools=True).turn("work", {"b.py": "other = 1\n"})
    shell(world, WAYS[way])
    check(world, one, TOLD)


@pytest.mark.parametrize("way", [way for way in WAYS if "feature | " in WAYS[way] or "pick" in way])
def test_what_a_person_brings_in_to_another_base(world: World, one: str, way: str) -> None:
    world.agent("session-b", tools=True).turn("work", {"b.py": "other = 1\n"})
    world.write("a.py", "head = 'typed by the person'\n" + BASE)
    world.commit("a.py")
    shell(world, WAYS[way].replace("main feature", "main~1 feature"))
    check(world, one, "P" + TOLD)


def test_what_a_person_brings_in_without_hooks(world: World, one: str) -> None:
    shell(world, f"git diff main feature | git apply; git {' '.join(BARE)} commit -qam x")
    check(world, one, TOLD)


def test_one_line_like_one_of_a_branch_is_the_persons(world: World, one: str) -> None:
    world.agent("session-b", tools=True).turn("work", {"b.py": "other = 1\n"})
    world.write("a.py", BASE + ITS.splitlines(keepends=True)[0])
    world.commit("a.py")
    world.agent("later").start()
    assert ids(world) + noted(world) == []


def test_a_link_that_the_person_removed_stays_removed(world: World, one: str) -> None:
    world.git("switch", "-q", "feature")
    world.git("commit", "-q", "--amend", "-m", "removed")
    world.env["GIT_EDITOR"] = editor(world, 'sed -i /Entire-Checkpoint/d "$1"')
    world.git("commit", "-q", "--amend")
    world.agent("session-b", tools=True).turn("work", {"b.py": "other = 1\n"})
    world.git("switch", "-q", "main")
    shell(world, WAYS["git apply"])
    world.agent("later").start()
    assert ids(world) + noted(world) == []


SESSION = {
    "git apply": "git diff main feature | git apply",
    "patch": "git diff main feature | patch -s -p1",
    "patch of a file": "git diff main feature >../x.patch; patch -s -p1 <../x.patch",
    "pick --no-commit": "git cherry-pick --no-commit feature",
}


@pytest.mark.parametrize("way", SESSION)
def test_what_a_session_brings_in_from_a_branch(world: World, one: str, way: str) -> None:
    b = world.agent("session-b", tools=True)
    b.prompt("bring it")
    run(b, SESSION[way])
    b.stop()
    world.commit()
    check(world, one, TOLD)


AMENDED = {
    "with its trailers": "git log -1 --format='another subject%n%n%b'",
    "without": "echo another subject",
}


@pytest.mark.parametrize("name", AMENDED)
def test_a_message_that_a_graphical_client_amends(world: World, one: str, name: str) -> None:
    """No hook runs, and the reflog names it as the client likes."""
    world.git("switch", "-q", "feature")
    script = f"new=$({AMENDED[name]} | git commit-tree HEAD^{{tree}} -p HEAD~1)"
    shell(world, f"{script}; git update-ref -m 'amend' HEAD $new")
    check(world, one, TOLD)


UNDONE = {
    "undo and redo": [BASE, WORK],
    "undo, another line, redo": [BASE, "mine = 'typed by hand'\n" + BASE, WORK],
    "undo, commit, redo": [BASE, "commit", WORK],
}


@pytest.mark.parametrize("name", UNDONE)
def test_what_a_person_undoes_and_redoes(world: World, name: str) -> None:
    world.write("a.py", BASE)
    world.commit()
    a = world.agent("session-a", tools=True)
    write_turn(a, "write it", a_py=WORK)
    for step in UNDONE[name]:
        if step == "commit":
            world.write("b.py", "mine = 1\n")
            world.commit()
        else:
            world.write("a.py", step)
            world.agent("session-b", tools=True).turn("look")
    found = world.commit()
    assert len(found) == 1
    assert tell(world, "a.py") == TOLD
