"""What a command throws away, by its words."""

from __future__ import annotations

import pytest

from gitcp.agents.transcripts import shell_words
from gitcp.agents.transcripts.shell_words import ANY, TRACKED, UNTRACKED, covers, find_discards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents.transcripts.shell_words import Discard

ROOT = "/home/user/repo"


def find(command: str, folder: str = ROOT) -> list[Discard]:
    return find_discards(command, folder, ROOT)


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
        ("git -c core.pager= -C sub checkout -- f.txt", TRACKED, ["sub/f.txt"]),
        ("git rm -f f.txt", TRACKED, ["f.txt"]),
        ("git clean -fdq", UNTRACKED, []),
        ("git clean -f sub", UNTRACKED, ["sub"]),
        ("git clean -fd -e '*.log'", UNTRACKED, []),
        ("git clean -fde .env -- sub", UNTRACKED, ["sub"]),
        ("git clean -f --exclude .env -e.idea sub", UNTRACKED, ["sub"]),
        ("git stash", TRACKED, []),
        ("git stash push -u -- f.txt", ANY, ["f.txt"]),
        ("rm -rf build 'a b'", ANY, ["build", "a b"]),
        ("cd sub && rm f.txt", ANY, ["sub/f.txt"]),
        (f"rm {ROOT}/sub/f.txt /tmp/f.txt", ANY, ["sub/f.txt"]),
        (f"cd /tmp && git -C {ROOT} reset --hard", TRACKED, []),
        ("rm -rf ../repo", ANY, []),
        ("rm -rf ..", ANY, []),
        ("mv new.txt f.txt", ANY, ["f.txt", "f.txt/new.txt"]),
        ("cp sub/new.txt folder/", ANY, ["folder", "folder/new.txt"]),
        ("truncate -s0 f.txt", ANY, ["f.txt"]),
        ("echo x > f.txt", ANY, ["f.txt"]),
        (": >f.txt", ANY, ["f.txt"]),
        ("make &>f.txt", ANY, ["f.txt"]),
        ("sed -i s/a/b/ f.txt", ANY, ["f.txt"]),
        ("sed -i -es/a/b/ f.txt g.txt", ANY, ["f.txt", "g.txt"]),
        ("true; git reset --hard # all", TRACKED, []),
        ("LANG=C nice -n 5 /usr/bin/git reset --hard", TRACKED, []),
        ("if true; then time timeout 10s /bin/rm f.txt; fi", ANY, ["f.txt"]),
        ("cd sub && bash -c 'git reset --hard && true'", TRACKED, []),
        ("cd sub && sh -c 'cd x; unlink f.txt'", ANY, ["sub/x/f.txt"]),
        ("make | tee f.txt", ANY, ["f.txt"]),
    ],
)
def test_what_a_command_discards(command: str, reach: str, paths: list[str]) -> None:
    (discard,) = find(command)
    assert (discard["reach"], discard["paths"]) == (reach, paths)


def test_a_root_has_other_names_where_the_disk_ignores_case() -> None:
    command = f"rm {ROOT.upper()}/a; rm b; git checkout ."
    found = find_discards(command, f"{ROOT.upper()}/SUB", ROOT, str.casefold)
    assert [loss["paths"] for loss in found] == [["a"], ["SUB/b"], ["SUB"]]
    assert find_discards("git checkout .", ROOT.upper(), ROOT) == []


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git checkout -b new",
        "git restore --staged f.txt",
        "git reset f.txt",
        "git rm --cached -f f.txt",
        "git clean -n",
        "git stash pop",
        "make | tee -a f.txt",
        "make | tee",
        "sh -c",
        "bash tidy.sh -c",
        "git -C",
        "echo more >>f.txt",
        "make 2>/dev/null",
        "make >/tmp/log 2>&1",
        "cd /tmp && git reset --hard",
        "cd .. && git reset --hard",
        "git -C ../other clean -fdx",
        "rm ../other/f.txt",
        "mv -n a.txt f.txt",
        "sed s/a/b/ f.txt",
        "ls 'rm f.txt'",
        "echo 'unfinished",
    ],
)
def test_what_discards_nothing(command: str) -> None:
    assert find(command) == []


@pytest.mark.parametrize(
    ("command", "path", "tracked", "want"),
    [
        ("git reset --hard", "a", True, True),
        ("git reset --hard", "a", False, False),
        ("git checkout -- '*.txt'", "sub/f.txt", True, True),
        ("rm -r src", "src/a", False, True),
        ("rm -r src", "srcs", True, False),
        ("rm *.txt", "f.txt", False, True),
        ("rm *.txt", "f.py", False, False),
        ("rm *.txt", "sub/f.txt", False, False),
        ("rm -r s*", "src/sub/f.txt", False, True),
        ("mv f.txt sub", "sub/f.txt", True, True),
        ("mv f.txt sub", "sub/g.txt", True, False),
    ],
)
def test_which_paths_are_among_them(command: str, path: str, tracked: bool, want: bool) -> None:
    (discard,) = find(command)
    assert covers(discard, path, tracked) is want


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
    assert shell_words.has_only_moves(command) is want


@pytest.mark.parametrize(
    ("command", "calls"),
    [
        ("make 'a b' \"c\"d e\\ f", [["make", "a b", "cd", "e f"]]),
        ("git add '' \"\"", [["git", "add", "", ""]]),
        ('a \'b\\\' "c\\"\\\\\\d"', [["a", "b\\", 'c"\\\\d']]),
        ("a>b 2>&1", [["a", ">", "b", "2", ">&", "1"]]),
        ("a &&\nb;\nc", [["a"], [], ["b"], [], ["c"]]),
        ("echo 'one\ntwo'", [["echo", "one\ntwo"]]),
        ("make \\\n  all", [["make", "all"]]),
        ("# 'no' comment", [["#", "no", "comment"]]),
        ("", [[]]),
    ],
)
def test_words_of_a_command_are_as_a_shell_reads_them(command: str, calls: list[list[str]]) -> None:
    assert list(shell_words.split_calls(command)) == calls


@pytest.mark.parametrize("command", ["a 'b", 'a "b', 'a "b\\', "a \\"])
def test_a_quotation_that_does_not_end_is_no_command(command: str) -> None:
    with pytest.raises(ValueError):
        list(shell_words.split_calls(command))
