"""The snapshot of every kind of edit is what `git add -A` gives from a fresh index."""
# ruff: noqa: E501 (a case is a line of sh)

from __future__ import annotations

from pathlib import Path

from tests.support.snapshots import assert_exact, both_ways, seed, sh

# name of the case -> what to commit first, what to do then
CASES = {
    "nothing has changed": ("", ""),
    "a modified file": ("", "echo more >>README.md"),
    "a modified file below the top": ("", "echo more >>src/app.py"),
    "a deleted file": ("", "rm README.md"),
    "the last file of a directory is deleted": ("", "rm src/*"),
    "everything is deleted": ("", "rm -r README.md src"),
    "an untracked file": ("", "echo new >new"),
    "untracked files in new directories": ("", "mkdir -p a/b/c; echo 1 >a/b/c/d; echo 2 >a/e"),
    "an empty directory": ("", "mkdir -p a/b"),
    "an empty file": ("", ": >empty"),
    "a file that became empty": ("", ": >README.md"),
    "added and committed by the person": ("", "echo n >n; git add n; git commit -qm n"),
    "staged, not committed": ("", "echo n >n; git add n; echo 2 >>README.md; git add README.md"),
    "staged, then changed again": ("", "echo n >n; git add n; echo m >n"),
    "staged, then deleted": ("", "echo n >n; git add n; rm n"),
    "deleted in the index, kept in the worktree": ("", "git rm -q --cached README.md"),
    "renamed": ("", "mv src/app.py src/main.py"),
    "renamed in the index": ("", "git mv src lib"),
    "a case-only rename": ("", "mv README.md readme.md"),
    "names that differ in case only": ("", "echo 1 >a; echo 2 >A; mkdir b B; echo 3 >b/x; echo >B/x"),
    "the executable bit comes": ("", "chmod +x src/app.py"),
    "the executable bit goes": ("chmod +x src/app.py", "chmod -x src/app.py"),
    "an untracked executable": ("", "echo new >new; chmod 755 new"),
    "the bit of group and others only": ("", "chmod 654 src/app.py"),
    "core.fileMode=false, the bit comes": ("git config core.fileMode false", "chmod +x src/app.py"),
    "core.fileMode=false, the bit goes and the content changes": (
        "chmod +x src/app.py; git add .; git config core.fileMode false",
        "chmod -x src/app.py; echo >>src/app.py",
    ),
    "core.fileMode=false, an untracked executable": (
        "git config core.fileMode false",
        "echo >n; chmod +x n",
    ),
    "core.symlinks=false, a link written as a file": (
        "ln -s README.md l",
        "git config core.symlinks false; rm l; printf src >l",
    ),
    "a new symlink": ("", "ln -s README.md l"),
    "a changed symlink": ("ln -s README.md l", "ln -sfn src l"),
    "a dangling symlink": ("", "ln -s nowhere l"),
    "a symlink to a directory": ("", "ln -s src l"),
    "a symlink out of the worktree": ("", "ln -s /etc l"),
    "a file becomes a symlink": ("", "rm README.md; ln -s src/app.py README.md"),
    "a symlink becomes a file": ("ln -s src l", "rm l; echo l >l"),
    "a symlink to a directory becomes a directory": ("ln -s src l", "rm l; mkdir l; echo 1 >l/f"),
    "a directory becomes a symlink": ("", "mv src lib; ln -s lib src"),
    "a directory becomes a symlink to nowhere": ("", "rm -r src; ln -s nowhere src"),
    "a directory becomes a link that leads to itself": ("", "rm -r src; ln -s src/app.py src"),
    "a file becomes a directory": ("", "rm README.md; mkdir README.md; echo 1 >README.md/f"),
    "a file becomes an empty directory": ("", "rm README.md; mkdir README.md"),
    "a directory becomes a file": ("", "rm -r src; echo 1 >src"),
    "an ignored file": ("echo '*.o' >.gitignore", "echo 1 >a.o; echo 1 >src/b.o; echo 1 >c"),
    "an ignored directory": ("echo build/ >.gitignore", "mkdir build; echo 1 >build/x"),
    "a file un-ignored": ("printf '*.o\\n!k.o\\n' >.gitignore", "echo 1 >a.o; echo 2 >k.o"),
    "ignored since now": ("", "echo new >new; echo new >.gitignore"),
    "ignored but tracked": ("echo 1 >a.o; git add .; echo '*.o' >.gitignore", "echo 2 >a.o"),
    "ignored but tracked, deleted": ("echo 1 >a.o; git add .; echo '*.o' >.gitignore", "rm a.o"),
    "a tracked file inside an ignored directory": (
        "mkdir build; echo 1 >build/k; git add .; echo build/ >.gitignore",
        "echo 2 >build/k; echo 3 >build/other",
    ),
    ".git/info/exclude": ("mkdir -p .git/info; echo '*.x' >.git/info/exclude", "echo 1 >a.x; echo >b"),
    "core.excludesFile": (
        "git config core.excludesFile ../ex; echo '*.x' >../ex",
        "echo 1 >a.x; echo >b",
    ),
    "global excludes": (
        'mkdir -p "$HOME/.config/git"; echo "*.x" >"$HOME/.config/git/ignore"',
        "echo 1 >a.x; echo >b",
    ),
    "a name with a newline": ("", "f=$(printf 'a\\nb'); echo 1 >\"$f\""),
    "names with tab, quote, backslash and spaces": (
        "",
        "f=$(printf 'a\\tb'); echo 1 >\"$f\"; echo 2 >'a\"b'; echo 3 >'\"q\"'; echo 4 >'a\\b'; echo 5 >' '",
    ),
    "names like options and magic": ("", "echo 1 >./-rf; echo 2 >./--; echo 3 >:top; echo 4 >':(x)'; echo 5 >'*'"),
    "a name that is not UTF-8": ("", "f=$(printf 'a\\377b'); echo 1 >\"$f\"; mkdir \"d$f\"; echo 2 >\"d$f/x\""),
    "a tracked name that is not UTF-8": (
        "f=$(printf 'a\\377b'); echo 1 >\"$f\"",
        "f=$(printf 'a\\377b'); echo 2 >\"$f\"",
    ),
    "a name of 255 bytes": ("", "f=$(printf '%0255d' 1); echo 1 >\"$f\""),
    "names around a directory in git's order": ("", "echo 1 >src.c; echo 2 >src-a; echo 3 >src0; echo >>src/app.py"),
    "core.precomposeunicode": (
        "git config core.precomposeunicode true",
        "f=$(printf 'e\\314\\201'); echo 1 >\"$f\"",
    ),
    "a hidden file and a directory": ("", "echo 1 >.hidden; mkdir .d; echo 2 >.d/f"),
}  # fmt: skip


@both_ways(CASES)
def test_exact_with(case: str, seeded: bool, repo: Path) -> None:
    before, then = CASES[case]
    if before:
        sh(f"{before}; git add -A; git diff --cached --quiet || git commit -qm before")
    if seeded:
        seed()
    sh(then)
    assert_exact(repo)
    sh("git add -A; git commit -qm after --allow-empty")
    assert_exact(repo)


def test_what_a_link_that_leads_to_itself_has_replaced_is_gone(repo: Path) -> None:
    """git finds too many levels of links there, and lists no deletion."""
    sh("rm -r src; ln -s src/app.py src")
    scan = assert_exact(repo)
    assert {path: change.mode for path, change in scan.changes.items()} == {
        "src": "120000",
        "src/app.py": "000000",
        "src/lib.py": "000000",
    }
