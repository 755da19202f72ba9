"""The table of settings: how a value is read, what is wrong with one, which name was meant."""

from __future__ import annotations

import pytest

from gitcp.git import config_table
from gitcp.git.config_table import KEYS, find_complaint, read_value
from gitcp.setup import config_check

READ = [
    ("gitcp.max-file-size", [], 10 << 20),
    ("gitcp.max-file-size", ["3"], 3),
    ("gitcp.max-file-size", ["3", "2K"], 2048),
    ("gitcp.max-file-size", ["1g"], 1 << 30),
    ("gitcp.max-file-size", ["ten"], 10 << 20),
    ("gitcp.max-file-size", ["3", "-1"], 10 << 20),
    ("gitcp.max-file-size", [""], 10 << 20),
    ("gitcp.max-file-size", ["\u0661"], 10 << 20),
    ("gitcp.max-file-size", ["9" * 5000], 10 << 20),
    ("gitcp.hook-timeout", ["abc"], 120),
    ("gitcp.hook-timeout", ["0"], 120),
    ("gitcp.hook-timeout", ["900"], 900),
    ("gitcp.guard-wait", ["0"], 0),
    ("gitcp.guard", [], None),
    ("gitcp.guard", ["on"], None),
    ("gitcp.guard", ["Deny"], "deny"),
    ("gitcp.streams", ["foo"], "overlap"),
    ("gitcp.streams", ["suffix"], "suffix"),
    ("gitcp.strategy", ["dual"], "dual"),
    ("gitcp.push", ["no"], False),
    ("gitcp.push", ["nein"], True),
    ("gitcp.push", [""], False),
    ("gitcp.push-check", ["refuse"], "refuse"),
    ("gitcp.push-check", ["true"], True),
    ("gitcp.push-check", ["off"], False),
    ("gitcp.disable-multisession-warning", [], None),
    ("gitcp.summarize", ["cat"], "cat"),
]


@pytest.mark.parametrize(("key", "texts", "want"), READ)
def test_a_value_is_read_and_a_bad_one_is_the_default(
    key: str, texts: list[str], want: object
) -> None:
    assert read_value(key, texts) == want


@pytest.mark.parametrize("key", KEYS)
def test_a_default_is_a_value_of_its_key(key: str) -> None:
    assert not KEYS[key]["default"] or find_complaint(KEYS[key], KEYS[key]["default"]) == ""


WRONG = [
    ("gitcp.max-file-size", "ten", "must be a size such as 10m; the default holds: 10m"),
    ("gitcp.hook-timeout", "0", "must be at least 1; the default holds: 120"),
    ("gitcp.hook-timeout", "90000", "must be at most 86400; the default holds: 120"),
    ("gitcp.archive-expire", "soon", "must be a number; the default holds: 30"),
    ("gitcp.guard", "on", "must be off, warn or deny; the default holds"),
    ("gitcp.push", "nein", "must be true or false; the default holds: true"),
    ("gitcp.push-check", "nein", "must be true, false, warn or refuse; the default holds: true"),
    ("gitcp.turn-end.pipeline", "x", "no such stage: 'x'; the built-in pipeline runs"),
    ("gitcp.turn-end.pipeline", "default", None),
    ("gitcp.turn-end.pipeline", "", None),
    ("gitcp.redact", "a(b)", None),
    ("gitcp.maxfilesize", "3", "no such key: did you mean 'gitcp.max-file-size'?"),
    ("gitcp.max-filesize", "3", "no such key: did you mean 'gitcp.max-file-size'?"),
    ("gitcp.gard", "deny", "no such key: did you mean 'gitcp.guard'?"),
    ("gitcp.xyzzy", "1", "no such key"),
    ("gitcp.turnEnd.pipeline", "x", "no such key: did you mean 'gitcp.turn-end.pipeline'?"),
    ("turnend.pipeline", "x", "no such key: did you mean 'gitcp.turn-end.pipeline'?"),
    ("git-cp.guard", "deny", "no such key: did you mean 'gitcp.guard'?"),
    ("remote.origin.push", "x", None),
    ("push.default", "simple", None),
    ("user.name", "gitcp", None),
    ("branch.gitcp.remote", "x", None),
]


@pytest.mark.parametrize(("key", "text", "want"), WRONG)
def test_what_is_wrong_is_named_with_what_holds(key: str, text: str, want: str | None) -> None:
    expected = [] if want is None else [(key, text, want)]
    assert config_check.list_complaints({key: [text]}) == expected


def test_a_pattern_that_cannot_be_read_says_what_comes_of_it() -> None:
    found = config_check.list_complaints({"gitcp.redact": ["a", "(x"], "gitcp.redact-allow": ["["]})
    assert [(key, text) for key, text, _ in found] == [
        ("gitcp.redact", "(x"),
        ("gitcp.redact-allow", "["),
    ]
    assert found[0][2].endswith("no prompt and no transcript is stored until it can be read")
    assert found[1][2].endswith("it is left out")


def test_only_the_last_value_of_a_key_counts_unless_many_do() -> None:
    assert config_check.list_complaints({"gitcp.streams": ["foo", "suffix"]}) == []
    assert len(config_check.list_complaints({"gitcp.turn-end.pipeline": ["x", "default"]})) == 1


FILE = """\
[core]
\tbare = false
[gitcp]
\tmax-file-size = ten ; why not
\tMax-File-Size = ten
[gitcp "turn-end"] pipeline = x
[Gitcp]
\tguard
"""


@pytest.mark.parametrize(
    ("key", "text", "line"),
    [
        ("gitcp.max-file-size", "ten", 5),
        ("gitcp.turn-end.pipeline", "x", 6),
        ("gitcp.guard", "true", 8),
        ("gitcp.streams", "foo", 0),
    ],
)
def test_the_line_that_sets_a_value_is_found(key: str, text: str, line: int) -> None:
    assert config_check.find_line(FILE, key, text) == line


def test_every_key_says_what_it_is_for() -> None:
    kinds = {"size", "number", "flag", "word", "words", "text", "trailer", "pattern", "command"}
    kinds.add("persons")
    for about in config_table.KEYS.values():
        assert about["kind"] in kinds and about["meaning"]
        assert bool(about.get("values")) == (about["kind"] == "word") or about["kind"] == "flag"
