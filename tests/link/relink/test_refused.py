"""What a person unlinked stays so, whatever git copies a message to afterwards."""

from __future__ import annotations

import pytest

from gitcp.git.objects import Objects
from gitcp.git.repo import Repo
from gitcp.record import match
from gitcp.record.match import Target, sources
from gitcp.record.match.sources import Making, MatchCase
from tests.support.harness import World
from tests.support.linking import shell

OTHER = "git switch -qc other HEAD~; echo u >u; git add u; git commit -qm u;"
BARE = "git -c core.hooksPath=/dev/null"
WAYS = {
    "amended": "echo m >m; git add m; git commit -q --amend --no-edit",
    "amended with words": "git commit -q --amend -m 'in other words'",
    "amended without hooks": "echo m >m; git add m;"
    "git -c core.hooksPath=/dev/null commit -q --amend --no-edit",
    "rebased": f"{OTHER} git switch -q main; git rebase -q other",
    "rebased without hooks": f"{OTHER} git switch -q main; {BARE} rebase -q other",
    "picked": f"{OTHER} git cherry-pick main >/dev/null",
    "picked without hooks": f"{OTHER} {BARE} cherry-pick main >/dev/null",
    "picked twice without hooks": f"{OTHER} {BARE} cherry-pick main; git switch -qc third HEAD~;"
    f"git commit -qm t --allow-empty; {BARE} cherry-pick other",
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


def test_what_is_refused_of_one_commit_stays_on_picks_without_hooks_of_another(
    world: World,
) -> None:
    world.agent("session-a").turn("write", {"new.py": "def new():\n    return 'new'\n"})
    [one] = world.commit()
    shell(world, f"git branch old; {WAYS['rebased']}")
    world.gitcp("unlink", "main", one)
    shell(world, f"git switch -q other; git commit -qm more --allow-empty; {BARE} cherry-pick old")
    world.agent("session-b").start()
    assert world.head in world.gitcp("find-commits", one)


@pytest.mark.parametrize("place", ["a message that is left", "a copied commit"])
def test_an_id_that_a_person_refused_is_not_copied_from(world: World, place: str) -> None:
    """Its checkpoint is not in this store, so nothing else speaks against it."""
    one, text = "abcdef012345", "work\n\nEntire-Checkpoint: abcdef012345\n"
    world.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", text)
    copied = world.head if place == "a copied commit" else ""
    if not copied:
        (world.path / ".git/MERGE_MSG").write_text(text)
    repo = Repo.find(str(world.path))
    with Objects(repo):
        target = Target(repo.objects, parent=world.head, read=dict)  # a commit that is being made
        case = MatchCase(repo, making=Making(target, copied=copied))
        found = [[*answer.ids] for answer in sources.list_copied(case)]
        match.write_refused(repo, [one])
        left = [[*answer.ids] for answer in sources.list_copied(case)]
    assert (found, left) == ([[one]], [[]])


def test_a_merge_is_not_taken_for_a_pick_of_several_commits(world: World) -> None:
    world.git("switch", "-q", "-c", "feature")
    world.agent("session-a").turn("write", {"new.py": "def new():\n    return 'new'\n"})
    [one] = world.commit()
    oid = world.head
    world.git("switch", "-q", "main")
    world.git("merge", "-q", "--no-commit", "--no-ff", "feature")
    repo = Repo.find(str(world.path))

    def ask() -> list[str]:
        with Objects(repo):
            made = Target(repo.objects, oid)
            changes = made.changes
            target = Target(repo.objects, "", made.parent, lambda: changes)
            case = MatchCase(repo, making=Making(target))
            return [i for answer in sources.list_picked_before(case) for i in answer.ids]

    assert ask() == []
    (world.path / ".git/MERGE_HEAD").unlink()
    assert ask() == [one], "as a pick without a commit leaves it"
