"""What a person unlinked stays so, whatever git copies a message to afterwards."""

from __future__ import annotations

import pytest

from tests.support.harness import World
from tests.support.linking import shell

OTHER = "git switch -qc other HEAD~; echo u >u; git add u; git commit -qm u;"
WAYS = {
    "amended": "echo m >m; git add m; git commit -q --amend --no-edit",
    "amended with words": "git commit -q --amend -m 'in other words'",
    "amended without hooks": "echo m >m; git add m;"
    "git -c core.hooksPath=/dev/null commit -q --amend --no-edit",
    "rebased": f"{OTHER} git switch -q main; git rebase -q other",
    "picked": f"{OTHER} git cherry-pick main >/dev/null",
    "picked -n": f"{OTHER} git cherry-pick -n main; git commit -q --no-edit",
    "squash": f"{OTHER} git merge -q --squash main; git commit -q --no-edit",
    "squash -m": f"{OTHER} git merge -q --squash main; git commit -qm squashed",
    "fixup": "echo more >>new.py; git commit -qa --fixup HEAD;"
    "GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~2",
    "reset": "git reset -q --soft HEAD~; git commit -qm again",
    "copied": f"{OTHER} git checkout -q main -- new.py; git commit -q -C main",
}


@pytest.mark.parametrize("name", WAYS)
def test_what_a_person_unlinked_comes_back_by_no_rewrite(world: World, name: str) -> None:
    world.agent("session-a").turn("write", {"new.py": "def new():\n    return 'new'\n"})
    [one] = world.commit()
    before = world.head
    world.gitcp("unlink", "HEAD", one)
    shell(world, WAYS[name])
    world.agent("session-b").start()
    assert world.head != before
    assert world.head not in world.gitcp("find-commits", one)


@pytest.mark.parametrize("how", ["--no-edit", "-m again"])
def test_what_is_refused_of_one_commit_comes_with_a_pick_of_another_that_has_it(
    world: World, how: str
) -> None:
    world.agent("session-a").turn("write", {"new.py": "def new():\n    return 'new'\n"})
    [one] = world.commit()
    shell(world, f"git branch old; {WAYS['rebased']}")
    world.gitcp("unlink", "main", one)
    more = "echo m >m; git add m"
    shell(world, f"git switch -q other; git cherry-pick -n old; {more}; git commit -q {how}")
    assert world.head in world.gitcp("find-commits", one)
