"""A commit that is made anew without a session's content: its id goes, and comes with that."""

from __future__ import annotations

import pytest

from tests.support.harness import World
from tests.support.linking import ids, noted, shell, sound

OUT = "git rm -q --cached a.py"
EDIT = "GIT_SEQUENCE_EDITOR='sed -i s/pick/edit/' git rebase -qi HEAD~1"
GO_ON = "mv a.py ../a.py; git rebase --continue; mv ../a.py a.py"
LEFT_OUT = {
    "amended as it is": f"{OUT}; git commit -q --amend --no-edit",
    "amended with -m": f"{OUT}; git commit -q --amend -m other",
    "amended without hooks": f"{OUT}; git -c core.hooksPath=/dev/null commit -q --amend -m other",
    "reset and made anew in a rebase": f"{EDIT}; git reset -q HEAD^; git add k.txt;"
    f" git commit -qm k; {GO_ON}",
    "amended in a rebase": f"{EDIT}; {OUT}; git commit -q --amend --no-edit; {GO_ON}",
}


@pytest.fixture
def left_id(world: World) -> str:
    """The id of HEAD, which has a session's a.py and the person's k.txt."""
    world.agent("session-a").turn("write", {"a.py": "alpha = 1\nbeta = 2\ngamma = 3\n"})
    world.write("k.txt", "the person's\n")
    [made] = world.commit()
    return made


@pytest.mark.parametrize("how", LEFT_OUT)
def test_a_commit_without_the_sessions_work_loses_its_id_and_the_one_that_gets_it_has_it(
    world: World, left_id: str, how: str
) -> None:
    shell(world, LEFT_OUT[how])
    world.agent("session-b").start()
    assert world.git("show", "--format=", "--name-only", "HEAD") == "k.txt"
    assert (ids(world), noted(world)) == ([], [])
    shell(world, "git add a.py; git commit -qm later")
    assert [*ids(world), *noted(world)] == [left_id]
    sound(world)


@pytest.mark.parametrize("name", ["b.py", "a.py"])
def test_what_is_renamed_or_changed_in_an_amend_keeps_its_id(
    world: World, left_id: str, name: str
) -> None:
    shell(world, f"[ {name} = a.py ] || git mv a.py {name}; echo more = 4 >>{name}; git add .")
    shell(world, "git commit -q --amend --no-edit")
    assert ids(world) == [left_id]
    sound(world)
