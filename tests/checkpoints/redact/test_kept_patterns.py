"""Patterns kept on disk: the same as `re` makes them, and none that does not fit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitcp.checkpoints import redactor
from gitcp.checkpoints.redact import rules
from gitcp.text import patterns
from tests.support.paths import TOP

RULES = [rule["pattern"].encode() for rule in rules.read_table()]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of its own to keep patterns in, and a process that has compiled none."""
    path = tmp_path / "patterns"
    monkeypatch.setattr(patterns, "locate_patterns", lambda: str(path))
    monkeypatch.setattr(patterns, "READY", {})
    monkeypatch.setattr(patterns, "FORMATS", {})
    monkeypatch.setattr(patterns, "COMPILED", {})
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return path


def anew() -> set[bytes]:
    """What another process finds kept."""
    patterns.READY.clear()
    patterns.load_patterns()
    return set(patterns.READY)


def test_where_one_pattern_had_to_be_compiled_every_rule_is_kept(place: Path) -> None:
    patterns.load_pattern(b"tw(o)")
    patterns.save_patterns(redactor._prepare_patterns)
    assert anew() >= {b"tw(o)", *RULES}


def test_what_was_kept_is_what_re_makes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patterns.load_pattern(b"tw(o)")
    patterns.save_patterns(redactor._prepare_patterns)
    anew()
    monkeypatch.setitem(sys.modules, "re", None)  # whoever imports it now fails
    assert [patterns.load_pattern(source) for source in RULES] == [*map(re.compile, RULES)]


def test_a_detector_takes_the_formats_that_were_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns.load_pattern(b"tw(o)")
    patterns.save_patterns(redactor._prepare_patterns)
    made = {**patterns.FORMATS}
    patterns.FORMATS.clear()
    anew()
    assert made == patterns.FORMATS
    monkeypatch.setattr(rules, "read_table", list)
    [(word, (name, *_))] = rules.Rules().find_in_words([b"AKIA" + b"Q" * 16])
    assert (word, name) == (b"AKIA" + b"Q" * 16, "aws-access-key")


def test_nothing_is_written_where_nothing_was_compiled(place: Path) -> None:
    patterns.save_patterns(redactor._prepare_patterns)
    assert not place.exists()


def _damaged(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[-1] ^= 1
    place.write_bytes(data)


def _cut_short(place: Path) -> None:
    place.write_bytes(place.read_bytes()[:-9])


def _of_another_python(place: Path) -> None:
    mark, _, data = place.read_bytes().partition(b"\n")
    words = mark.split(b" ")
    words[1] = b"50000000"
    place.write_bytes(b" ".join(words) + b"\n" + data)


def _writable_for_others(place: Path) -> None:
    place.chmod(0o666)


def _a_link(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))


def _a_pipe(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


SPOILT = (
    _damaged,
    _cut_short,
    _of_another_python,
    _writable_for_others,
    _a_link,
    _a_pipe,
)


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_file_that_does_not_fit_is_made_again(place: Path, spoil: Callable[[Path], None]) -> None:
    patterns.load_pattern(b"a+")
    patterns.save_patterns(redactor._prepare_patterns)
    spoil(place)
    assert anew() == set()
    assert patterns.load_pattern(b"a+").fullmatch(b"aaa")
    patterns.save_patterns(redactor._prepare_patterns)
    assert anew() >= {b"a+"}


def test_another_table_of_rules_makes_the_file_again(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    patterns.load_pattern(b"a+")
    patterns.save_patterns(redactor._prepare_patterns)
    monkeypatch.setattr(patterns, "RULES", str(tmp_path))
    for name in patterns.FILES:
        (tmp_path / name).touch()
    (tmp_path / "secrets.json").write_text("{}")
    assert anew() == set()


def test_words_that_are_no_code_are_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in (b"\xff" * 8, b"123", b""):
        monkeypatch.setattr(patterns, "READY", {b"a": (0, wrong, 0)})
        assert patterns.load_pattern(b"a").search(b"-a")


def test_where_nothing_may_be_written_patterns_work(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(patterns, "locate_patterns", lambda: str(tmp_path / "no" / "folder"))
    assert patterns.load_pattern(b"a+").fullmatch(b"aaa")
    patterns.save_patterns(redactor._prepare_patterns)
    assert anew() == set()


def test_redaction_needs_no_re_once_its_patterns_are_kept() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from gitcp.text import patterns\n"
        "from gitcp.checkpoints.redactor import _prepare_patterns; patterns.load_patterns()\n"
        "from gitcp.checkpoints.redact import Redactor\n"
        "line = b'{\"a\": \"password = \\'hunter2!x\\' and AKIA' + b'Q' * 16 + b'\"}'\n"
        "redacted = Redactor().redact_jsonl(line); patterns.save_patterns(_prepare_patterns)\n"
        "sys.exit('re' in sys.modules or redacted.count(b'REDACTED') != 2)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(TOP)]
    subprocess.run(argv, check=False)  # keeps what was not yet
    subprocess.run(argv, check=True)
