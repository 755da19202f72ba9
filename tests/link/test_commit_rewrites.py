"""Merges, cherry-picks, reverts and rebases: ids follow what is replayed, none is made anew."""

from __future__ import annotations

import pytest

from tests.support import commit_forms
from tests.support.commit_forms import ALL, BOTH, Form
from tests.support.harness import World


@pytest.fixture
def world(worked: World) -> World:
    return worked


MERGES: dict[str, Form] = {
    "merge, fast-forward": (
        "git switch -qc t; git commit -qam x; git switch -q main; git merge -q t",
        [[BOTH]],
        "new.py",
    ),
    "merge --no-ff": (
        "git switch -qc t; git commit -qam x; git switch -q main; git merge -q --no-ff t",
        [[], [BOTH]],
        "new.py",
    ),
    "merge of the unrelated": (
        "git switch -qc t; echo m >m; git add m; git commit -qm x; git switch -q main;"
        " git merge -q --no-ff --no-edit t; git commit -qam y",
        [[BOTH], [], []],
        "new.py",
    ),
    "merge --no-commit with agent content": (
        "git switch -qc t; echo m >m; git add m; git commit -qm x; git switch -q main;"
        " git merge -q --no-ff --no-commit t; git add new.py; git commit -q --no-edit",
        [["(new.py)"], []],
        BOTH,
    ),
    "merge after an aborted commit": (
        "git switch -qc t; echo m >m; git add m; git commit -qm x; git switch -q main;"
        " ! GIT_EDITOR=false git commit -qa 2>/dev/null;"
        " git merge -q --no-ff --no-commit t; git commit -q --no-edit",
        [[], []],
        ALL,
    ),
    "cherry-pick -n with agent content": (
        "git switch -qc t; git commit -qam x; git switch -qC main main~;"
        " git cherry-pick -n t >/dev/null; git add new.py; git commit -q --no-edit",
        [[BOTH, "(new.py)"]],
        "",
    ),
    "merge with a conflict": (
        "git switch -qc t; git commit -qam x; git switch -q main; echo m >README.md;"
        " git commit -qam y; ! git merge -q t; git checkout -q --theirs README.md;"
        " git add README.md; git commit -q --no-edit",
        [[], [], [BOTH]],
        "new.py",
    ),
    "merge --squash": (
        "git switch -qc t; git commit -qam x; git add .; git commit -qm y; git switch -q main;"
        " git merge -q --squash t; git commit -q --no-edit",
        [["new.py", BOTH]],
        "",
    ),
    "merge --squash and -m": (
        "git switch -qc t; git commit -qam x; git add .; git commit -qm y; git switch -q main;"
        " git merge -q --squash t; git commit -q -m z",
        [["new.py", BOTH]],
        "",
    ),
    "revert": (
        "git commit -qam x; git revert --no-edit HEAD >/dev/null",
        [[], [BOTH]],
        "new.py",
    ),
    "revert of a revert": (
        "git commit -qam x; git revert --no-edit HEAD >/dev/null;"
        " git revert --no-edit HEAD >/dev/null",
        [[], [], [BOTH]],
        "new.py",
    ),
    "cherry-pick": (
        "git switch -qc t; git commit -qam x; git switch -qC main main~;"
        " git cherry-pick t >/dev/null",
        [[BOTH]],
        "new.py",
    ),
    "cherry-pick -e": (
        "git switch -qc t; git commit -qam x; git switch -qC main main~;"
        " git cherry-pick -e t >/dev/null",
        [[BOTH]],
        "new.py",
    ),
    "cherry-pick -x": (
        "git switch -qc t; git commit -qam x; git switch -qC main main~;"
        " git cherry-pick -x t >/dev/null",
        [[BOTH]],
        "new.py",
    ),
    "cherry-pick -n": (
        "git switch -qc t; git commit -qam x; git switch -qC main main~;"
        " git cherry-pick -n t >/dev/null; git commit -q --no-edit",
        [[BOTH]],
        "new.py",
    ),
    "cherry-pick with a conflict": (
        "git switch -qc t; git commit -qam x; git switch -qC main main~; echo m >README.md;"
        " git commit -qam y; ! git cherry-pick t >/dev/null 2>&1;"
        " git checkout -q --theirs README.md;"
        " git add .; git cherry-pick --continue >/dev/null",
        [[ALL], []],
        "",
    ),
}
TWO = "git commit -qam x; git add .; git commit -qm y; "
STEPS = 'export GIT_SEQUENCE_EDITOR="$HOME/steps"; '
REBASES: dict[str, Form] = {
    "rebase": (
        "git switch -qc t HEAD~; git stash -qu; echo m >m; git add m; git commit -qm m;"
        " git switch -q main; git stash pop -q; " + TWO + "git rebase -q t",
        [["new.py"], [BOTH], [], []],
        "",
    ),
    "reword": (
        TWO
        + STEPS
        + 'printf "reword\npick\n" >"$HOME/todo"; GIT_EDITOR="sed -i s/^x/z/" git rebase -qi @~2',
        [["new.py"], [BOTH]],
        "",
    ),
    "reword that drops the line": (
        TWO + STEPS + "printf 'reword\npick\n' >\"$HOME/todo\";"
        ' GIT_EDITOR="sed -i /^Entire/d" git rebase -q -i HEAD~2',
        [["new.py"], [f"({BOTH})"]],
        "",
    ),
    "squash": (
        TWO + STEPS + "printf 'pick\nsquash\n' >\"$HOME/todo\"; git rebase -q -i HEAD~2",
        [[BOTH, "new.py"]],
        "",
    ),
    "fixup": (
        TWO + STEPS + "printf 'pick\nfixup\n' >\"$HOME/todo\"; git rebase -q -i HEAD~2",
        [[BOTH, "(new.py)"]],
        "",
    ),
    "drop": (
        TWO + STEPS + "printf 'drop\npick\n' >\"$HOME/todo\"; git rebase -q -i HEAD~2",
        [["new.py"]],
        "",
    ),
    "reorder": (
        TWO + "export GIT_SEQUENCE_EDITOR='sed -i -e 1h -e 1d -e 2G'; git rebase -q -i HEAD~2",
        [[BOTH], ["new.py"]],
        "",
    ),
    "edit and amend": (
        TWO + STEPS + "printf 'edit\npick\n' >\"$HOME/todo\"; git rebase -q -i HEAD~2 2>/dev/null;"
        " echo m >m; git add m; git commit -q --amend --no-edit;"
        " git rebase --continue >/dev/null 2>&1",
        [["new.py"], [BOTH]],
        "",
    ),
    "edit and a commit of its own": (
        "git commit -qm x README.md; git commit -qm y src; "
        + STEPS
        + "printf 'edit\npick\n' >\"$HOME/todo\"; git rebase -q -i HEAD~2 2>/dev/null;"
        " git add new.py; git commit -qm z; git rebase --continue >/dev/null 2>&1",
        [["src/app.py"], ["(new.py)"], ["README.md"]],
        "",
    ),
    "edit and amend with agent content": (
        "git commit -qm x README.md; git commit -qm y src; "
        + STEPS
        + "printf 'edit\npick\n' >\"$HOME/todo\"; git rebase -q -i HEAD~2 2>/dev/null;"
        " git add new.py; git commit -q --amend --no-edit; git rebase --continue >/dev/null 2>&1",
        [["src/app.py"], ["README.md new.py"]],
        "",
    ),
    "--exec": (
        "git commit -qam x; git rebase -q --exec 'git add new.py;"
        " git commit -qm z' HEAD~ 2>/dev/null",
        [["(new.py)"], [BOTH]],
        "",
    ),
    "--exec behind a commit that is made again": (
        "git commit -qam x; git rebase -q --no-ff --exec 'git add new.py;"
        " git commit -qm z' HEAD~ 2>/dev/null",
        [["(new.py)"], [BOTH]],
        "",
    ),
    "a conflict and --continue": (
        "git commit -qam x; git switch -qc t HEAD~; echo m >README.md; git commit -qam m;"
        " git switch -q main; ! git rebase -q t 2>/dev/null; git checkout -q --theirs README.md;"
        " git add README.md; git rebase --continue >/dev/null 2>&1",
        [[BOTH], []],
        "new.py",
    ),
    "--root": (TWO + "git rebase -q --root --no-ff", [["new.py"], [BOTH]], ""),
    "--root of what was there before": (
        "git stash -qu; GIT_COMMITTER_DATE='1112354999 +0200' git rebase -q --root --no-ff;"
        " git stash pop -q",
        [[], []],
        ALL,
    ),
    "pull --rebase": (
        "git switch -qc t; git stash -qu; echo m >m; git add m; git commit -qm m;"
        " git switch -q main; git stash pop -q; git commit -qam x;"
        " git pull -q --rebase --autostash . t",
        [[BOTH], []],
        "new.py",
    ),
    "--autostash, then a commit": (
        "git switch -qc t; git stash -qu; echo m >m; git add m; git commit -qm m;"
        " git switch -q main; git stash pop -q; git commit -qm x README.md;"
        " git rebase -q --autostash t 2>/dev/null; git add .; git commit -qm y",
        [["new.py src/app.py"], ["README.md"], []],
        "",
    ),
    "--skip": (
        "git commit -qm x README.md; git commit -qm y src; git switch -qc t HEAD~2;"
        " echo m >README.md; git commit -qam m; git switch -q main; ! git rebase -q t 2>/dev/null;"
        " git rebase --skip >/dev/null 2>&1",
        [["src/app.py"], []],
        "new.py",
    ),
    "--skip of the last": (
        "git commit -qm x README.md; git commit -qm y src; git switch -qc t HEAD~2;"
        " echo m >src/app.py; git commit -qam m; git switch -q main;"
        " ! git rebase -q t 2>/dev/null; git rebase --skip >/dev/null 2>&1",
        [["README.md"], []],
        "new.py",
    ),
    "--abort": (
        "git commit -qam x; git switch -qc t HEAD~; echo m >README.md; git commit -qam m;"
        " git switch -q main; ! git rebase -q t 2>/dev/null; git rebase --abort",
        [[BOTH]],
        "new.py",
    ),
    "--apply": (
        "git switch -qc t HEAD~; git stash -qu; echo m >m; git add m; git commit -qm m;"
        " git switch -q main; git stash pop -q; " + TWO + "git rebase -q --apply t",
        [["new.py"], [BOTH], [], []],
        "",
    ),
    "am": (
        TWO + 'git format-patch -q -o "$HOME/p" HEAD~2; git reset -q --hard HEAD~2;'
        ' git am -q "$HOME"/p/*',
        [["new.py"], [BOTH]],
        "",
    ),
}


@pytest.mark.parametrize("name", MERGES | REBASES)
def test_ids_follow_what_is_merged_picked_or_rebased(world: World, name: str) -> None:
    form = (MERGES | REBASES)[name]
    commit_forms.holds(
        world, form, later=name == "--exec", lost=name in ("drop", "--skip", "--skip of the last")
    )
