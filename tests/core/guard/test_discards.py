"""What a command throws away, by its words."""

from __future__ import annotations

import pytest

from gitcp.core.guard.discards import ANY, TRACKED, UNTRACKED, covers, find_discards


@pytest.mark.parametrize(
    ("command", "reach", "paths"),
    [
        ("git checkout -- f.txt", TRACKED, ["f.txt"]),
        ("git checkout .", TRACKED, []),
        ("git checkout HEAD~1 -- a b", TRACKED, ["a", "b"]),
        ("git checkout -f main", TRACKED, []),
        ("git switch --discard-changes main", TRACKED, []),
        ("git restore f.txt", TRACKED, ["f.txt"]),
        ("git restore --staged --worktree .", TRACKED, []),
        ("git reset -q --hard", TRACKED, []),
        ("git clean -fdq", UNTRACKED, []),
        ("git clean -f sub", UNTRACKED, ["sub"]),
        ("git stash", TRACKED, []),
        ("git stash push -u -- f.txt", ANY, ["f.txt"]),
        ("rm -rf build 'a b'", ANY, ["build", "a b"]),
        ("cd sub && rm f.txt", ANY, ["sub/f.txt"]),
        ("mv new.txt f.txt", ANY, ["f.txt"]),
        ("truncate -s0 f.txt", ANY, ["f.txt"]),
        ("echo x > f.txt", ANY, ["f.txt"]),
        (": >f.txt", ANY, ["f.txt"]),
        ("true; git reset --hard # all", TRACKED, []),
    ],
)
def test_what_a_command_discards(command: str, reach: str, paths: list[str]) -> None:
    (discard,) = find_discards(command)
    assert (discard["reach"], discard["paths"], discard["loses"]) == (reach, paths, True)


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git checkout -b new",
        "git restore --staged f.txt",
        "git reset f.txt",
        "git clean -n",
        "git stash pop",
        "echo more >>f.txt",
        "make 2>/dev/null",
        "ls 'rm f.txt'",
        "echo 'unfinished",
    ],
)
def test_what_discards_nothing(command: str) -> None:
    assert find_discards(command) == []


def test_sed_in_place_may_change_a_file_and_does_not_lose_it() -> None:
    (discard,) = find_discards("sed -i s/a/b/ f.txt")
    assert (discard["paths"], discard["loses"]) == (["f.txt"], False)


def test_which_paths_are_among_them() -> None:
    (everything,), (folder,) = find_discards("git reset --hard"), find_discards("rm -r src")
    (pattern,) = find_discards("rm *.txt")
    assert covers(everything, "a", tracked=True) and not covers(everything, "a", tracked=False)
    assert covers(folder, "src/a", tracked=False) and not covers(folder, "srcs", tracked=True)
    assert covers(pattern, "f.txt", tracked=False) and not covers(pattern, "f.py", tracked=False)
