"""Every form of `git commit` and of --amend links what it has, and only that."""

from __future__ import annotations

import pytest

from tests.support import commit_forms
from tests.support.commit_forms import ALL, BOTH, Form
from tests.support.harness import World


@pytest.fixture
def world(worked: World) -> World:
    return worked


# script, what the commits carry (newest first), what is left
PLAIN: dict[str, Form] = {
    "-m": ("git commit -qam x", [[BOTH]], "new.py"),
    "-m with a colon": ("git commit -qam 'fix: x'", [[BOTH]], "new.py"),
    "-m of paragraphs": ("git commit -qa -m x -m 'body\nof it'", [[BOTH]], "new.py"),
    "-m with trailers": ("git commit -qa -m x -m 'Acked-by: Me <m@x>'", [[BOTH]], "new.py"),
    "--trailer": ("git commit -qam x --trailer 'Acked-by: Me <m@x>'", [[BOTH]], "new.py"),
    "-s": ("git commit -qsam x", [[BOTH]], "new.py"),
    "-F": ("printf 'x\n\nbody' >../m; git commit -qaF ../m", [[BOTH]], "new.py"),
    "-F -": ("printf 'x' | git commit -qaF -", [[BOTH]], "new.py"),
    "--no-verify": ("git commit -qnam x", [[BOTH]], "new.py"),
    "a path": ("git commit -qm x README.md", [["README.md"]], "new.py src/app.py"),
    "-o with more staged": (
        "git add src/app.py; git commit -qm x -o README.md",
        [["README.md"]],
        "new.py src/app.py",
    ),
    "-i with more staged": ("git add new.py; git commit -qm x -i README.md src", [[ALL]], ""),
    "in two": (
        "git commit -qm x README.md; git add .; git commit -qm y",
        [["new.py src/app.py"], ["README.md"]],
        "",
    ),
    "--allow-empty": ("git commit -qm x --allow-empty", [[]], ALL),
    "--allow-empty-message": (
        "git commit -qa --allow-empty-message -m ''",
        [[f"({BOTH})"]],
        "new.py",
    ),
    "from a subdirectory": ("cd src; git commit -qam x", [[BOTH]], "new.py"),
    "a path in a subdirectory": (
        "cd src; git commit -qm x app.py",
        [["src/app.py"]],
        "README.md new.py",
    ),
    "git -C": ('cd /; git -C "$OLDPWD" commit -qam x', [[BOTH]], "new.py"),
    "GIT_DIR and GIT_WORK_TREE": (
        "export GIT_DIR=$PWD/.git GIT_WORK_TREE=$PWD; cd /; git commit -qam x",
        [[BOTH]],
        "new.py",
    ),
    "GIT_DIR relative": ("GIT_DIR=.git git commit -qam x", [[BOTH]], "new.py"),
    "GIT_INDEX_FILE": (
        "export GIT_INDEX_FILE=$PWD/../index; git read-tree HEAD; git add new.py; git commit -qm x",
        [["new.py"]],
        BOTH,
    ),
    "on a new branch": ("git switch -qc topic; git commit -qam x", [[BOTH]], "new.py"),
    "detached": ("git checkout -q --detach; git commit -qam x", [[BOTH]], "new.py"),
    "-p": ("printf 'y\nn\n' | git commit -qp -m x", [["README.md"]], "new.py src/app.py"),
    "an alias": ("git config alias.ci 'commit -q'; git ci -am x", [[BOTH]], "new.py"),
    "an index of version 4, split": (
        "git update-index --index-version 4 --split-index; git commit -qam x",
        [[BOTH]],
        "new.py",
    ),
    "stash and pop": (
        "git stash -qu; git stash pop -q; git commit -qam x",
        [[BOTH]],
        "new.py",
    ),
    "a stash applied elsewhere": (
        "git stash -qu; git switch -qc t HEAD~; git stash pop -q; git add .; git commit -qm x",
        [[ALL]],
        "",
    ),
    "a sparse checkout": (
        "git sparse-checkout set --no-cone /README.md /new.py /src 2>/dev/null; git commit -qam x",
        [[BOTH]],
        "new.py",
    ),
    "signed": (
        'git config gpg.program "$HOME/gpg"; git config user.signingKey k; git commit -q -S -am x;'
        " git cat-file commit HEAD | grep -q ^gpgsig",
        [[BOTH]],
        "new.py",
    ),
    "with everything off": (
        "git config core.fsmonitor false; git -c core.untrackedCache=true -c index.version=4"
        " -c diff.noprefix=true -c diff.external=false -c trailer.separators=% commit -qam x",
        [[BOTH]],
        "new.py",
    ),
    "not ours": ("echo mine >mine.txt; git add mine.txt; git commit -qm x", [[]], ALL),
    "not ours, then ours": (
        "echo mine >mine.txt; git add mine.txt; git commit -qm x; git commit -qam y",
        [[BOTH], []],
        "new.py",
    ),
}
AMEND: dict[str, Form] = {
    "--amend --no-edit": ("git commit -qam x; git commit -q --amend --no-edit", [[BOTH]], "new.py"),
    "--amend with new content": (
        "git commit -qam x; git add new.py; git commit -q --amend --no-edit",
        [[ALL]],
        "",
    ),
    "--amend -m": ("git commit -qam x; git commit -q --amend -m y", [[BOTH]], "new.py"),
    "--amend -m with new content": (
        "git commit -qam x; git add new.py; git commit -q --amend -m y",
        [[ALL]],
        "",
    ),
    "--amend -F": ("git commit -qam x; echo y | git commit -q --amend -F -", [[BOTH]], "new.py"),
    "--amend of the person's own content": (
        "git commit -qam x; echo m >m; git add m; git commit -q --amend --no-edit",
        [[BOTH]],
        "new.py",
    ),
    "--amend of what is not ours": (
        "echo m >m; git add m; git commit -qm x; git commit -qa --amend --no-edit",
        [[BOTH]],
        "new.py",
    ),
    "--amend twice": (
        "git commit -qam x; git commit -q --am -m y; git add .; git commit -q --amend -m z",
        [[ALL]],
        "",
    ),
    "--amend by an alias": (
        "git config alias.oops 'commit -q --amend -m y'; git commit -qam x; git oops",
        [[BOTH]],
        "new.py",
    ),
    "-C": (
        "git commit -qam x; git add new.py; git commit -q -C HEAD",
        [["new.py"], [BOTH]],
        "",
    ),
    "-C of what is not ours": ("git commit -qa -C HEAD", [[BOTH]], "new.py"),
    "--fixup": (
        "git commit -qam x; git add .; git commit -q --fixup HEAD",
        [["new.py"], [BOTH]],
        "",
    ),
    "--fixup and autosquash": (
        "git commit -qam x; git add .; git commit -q --fixup HEAD;"
        " git rebase -q -i --autosquash HEAD~2",
        [[BOTH, "(new.py)"]],
        "",
    ),
    "--squash and autosquash": (
        "git commit -qam x; git add .; git commit -q --squash HEAD -m y;"
        " git rebase -q -i --autosquash HEAD~2",
        [[BOTH, "new.py"]],
        "",
    ),
    "reset --soft and again": (
        "git commit -qam x; git reset -q --soft HEAD~; git add new.py; git commit -qm y",
        [[BOTH, "new.py"]],
        "",
    ),
    "reset --soft and again in two": (
        "git commit -qam x; git reset -q HEAD~; git commit -qm y README.md; git add .;"
        " git commit -qm z",
        [[BOTH, "new.py"], [BOTH]],
        "",
    ),
    "reset of two, one again": (
        "git commit -qm x README.md; git commit -qm y src; git reset -q @~2; git commit -qm z src",
        [["src/app.py"]],
        "new.py",
    ),
    "reset and something else": (
        "git commit -qam x; git reset -q --hard HEAD~; echo m >README.md; git commit -qam y",
        [[]],
        "new.py",
    ),
}


@pytest.mark.parametrize("name", PLAIN | AMEND)
def test_each_form_of_a_commit_links_what_it_has(world: World, name: str) -> None:
    lost = name in ("reset and something else", "reset of two, one again")
    commit_forms.holds(world, (PLAIN | AMEND)[name], lost=lost)
