"""What a command says of the files that it writes."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.agents.transcripts import agent_words

HERE = "<<'EOF'\ndef f():\n    return '$x > y'\nEOF\n"
TEXT = "def f():\n    return '$x > y'\n"


@pytest.mark.parametrize(
    ("command", "written"),
    [
        (f"cat > a.py {HERE}", [("a.py", TEXT)]),
        (f"cat {HERE.replace(chr(10), ' > a.py' + chr(10), 1)}", [("a.py", TEXT)]),
        (f"cd src && cat >'a b.py' {HERE}git add -A", [("src/a b.py", TEXT)]),
        (f"tee a.py {HERE}", [("a.py", TEXT)]),
        ("cat > a <<-X\n\tone\n\tX\ncat > b <<X\ntwo\nX", [("a", "one\n"), ("b", "two\n")]),
        ("echo one two > a.txt && git add -A", [("a.txt", "one two\n")]),
        ("echo one >> a.txt", []),
        ("echo $HOME > a.txt", []),
        ("echo one > $HOME/a.txt", []),
        ("test -f a || echo one > a", []),
        ("if true; then echo one > a; fi", []),
        ("python3 make.py > a.txt; cat b > c; echo one > /dev/null; echo 2>&1 x > y", []),
        ("echo 'one > a", []),
        ("cat > a <<X\nno end", [("a", "no end\n")]),
    ],
)
def test_a_command_tells_what_it_writes_in_words_of_its_own(
    command: str, written: list[tuple[str, str]]
) -> None:
    assert list(agent_words.find_written(command)) == written


MADE: dict[str, Any] = {"content": "one two\n", "created": True}
EDITED: dict[str, Any] = {"edits": [["head\nold\n", "head\nnew line\n", False]]}


@pytest.mark.parametrize(
    ("command", "change", "own"),
    [
        ("echo one two > a", MADE, MADE),
        ("cp b a", MADE, {"content": "one two\n"}),
        ("git checkout side -- a # one two", MADE, None),
        ("git add a && git commit -m 'one two'", MADE, MADE),
        ("sed -i 's/old/new line/' a", EDITED, EDITED),
        ("make format", EDITED, None),
        ("git stash pop", EDITED, None),
        ("git stash pop 'new line", EDITED, None),
    ],
)
def test_of_what_a_command_changed_only_its_own_words_are_its_own(
    command: str, change: dict[str, Any], own: dict[str, Any] | None
) -> None:
    expected = [("a", own)] if own else []
    assert list(agent_words.keep_own([("a", change)], command)) == expected


@pytest.mark.parametrize(
    ("before", "after", "command", "own"),
    [
        ("a\nold\nb\n", "a\nnew line\nb\n", "sed -i 's/old/new line/' f", "a\nnew line\nb\n"),
        ("x = foo(1)\n", "x = bar(1)\n", "sed -i s/foo/bar/ f", "x = bar(1)\n"),
        ("parse()\n", "purse()\n", "sed -i s/parse/purse/ f", "purse()\n"),
        ("parse()\n", "purse()\n", "sed -i s/a/u/ f", "parse()\n"),
        ("one\n", "one\ntwo\n", "echo two >> f", "one\ntwo\n"),
        ("one\n", "one\ntwo\nmine\n", "echo two >> f", "one\n"),
        ("one\nend\n", "mine\none\nend\ntwo\n", "echo two >> f", "one\nend\ntwo\n"),
        ("", "a = 1\nb = 2\n", "printf 'a = 1\\nb = 2\\n' > f", "a = 1\nb = 2\n"),
        ("one\ntwo\n", "one\n", "sed -i 2d f", "one\ntwo\n"),
        ("one\n", "two\n", "python3 make.py f", "one\n"),
        ("one\n", "twofold\n", "echo fold > f", "one\n"),
    ],
)
def test_of_what_a_file_became_only_a_commands_own_words_are_taken(
    before: str, after: str, command: str, own: str
) -> None:
    assert agent_words.take_own(before, after, command) == own


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cat a.py", "a.py"),
        ("cd src && sed -i 's/a/b/' a.py && cat a.py", "src/a.py"),
        ("echo one > a; cat a", "a"),
        ("python3 make.py; cat a", ""),
        ("cat a b", ""),
        ("cat a | head", ""),
        ("cat -n a", ""),
        ("cat 'a", ""),
        ("ls", ""),
    ],
)
def test_a_command_shows_a_file_where_it_prints_nothing_else(command: str, path: str) -> None:
    assert agent_words.find_shown(command) == path
