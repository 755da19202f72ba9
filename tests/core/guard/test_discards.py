"""What a command throws away, by its words."""

from __future__ import annotations

import pytest

from gitcp.core.guard import discards
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


@pytest.mark.parametrize(
    ("command", "want"),
    [
        ("jj edit kkkkk", True),
        ("git switch main", True),
        ("  git switch main  \n", True),
        ("jj abandon k; rm -rf src", False),
        ("git stash && make", False),
        ("git log | tee notes.txt", False),
        ("git diff > patch", False),
        ("git commit -m `date`", False),
        ("git switch $(cat branch)", False),
        ("git switch main\nrm x", False),
        ("cd src && jj edit @-", True),
        ("cd src; git switch main 2>&1 | head -5", True),
        ("jj log -r 'heads(mutable())' >/dev/null 2>&1", True),
        ("git status\ncat a.txt | grep -n x", True),
        ("ls -la && pwd", True),
        ("git commit -m 'a; b > c'", True),
        ("cd src && make", False),
        ("git log > notes.txt 2>&1", False),
        ("cat a.txt >> b.txt", False),
        ("cat <<EOF > a\nx\nEOF", False),
        ("grep x <(date)", False),
        ("git commit -m 'open", False),
        ("2>&1", False),
        ("; ;", False),
        ("gitk", False),
        ("make", False),
        ("", False),
    ],
)
def test_moving_and_reading_is_the_way_back(command: str, want: bool) -> None:
    assert discards.only_moves(command) is want
