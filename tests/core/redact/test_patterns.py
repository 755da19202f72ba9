"""Patterns kept on disk: the same as `re` makes them, and none that does not fit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gitcp.core.redact import patterns, rules
from tests.support.paths import TOP

FOLDER = TOP / "gitcp" / "core" / "redact"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of its own to keep patterns in."""
    path = tmp_path / "patterns"
    monkeypatch.setattr(patterns, "_place", lambda: str(path))
    monkeypatch.setattr(patterns, "_kept", {})
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return path


def anew(place: Path, monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """What another process finds kept."""
    kept = patterns._read(str(place))
    monkeypatch.setattr(patterns, "_kept", kept)
    return set(kept)


def test_every_rule_is_kept_and_comes_back_as_re_makes_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [rule["pattern"].encode() for rule in rules.rules()]
    for source in sources:
        patterns.compiled(source)
    assert anew(place, monkeypatch) == set(sources)
    monkeypatch.setitem(sys.modules, "re", None)  # whoever needs it now fails
    assert [patterns.compiled(source) for source in sources] == [*map(re.compile, sources)]


def test_a_pattern_that_is_not_kept_is_added_to_those_another_process_kept(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns.compiled(b"one")
    monkeypatch.setattr(patterns, "_kept", {})
    assert patterns.compiled(b"tw(o)").groups == 1
    assert anew(place, monkeypatch) == {b"one", b"tw(o)"}


def _damaged(place: Path) -> None:
    data = bytearray(place.read_bytes())
    data[-1] ^= 1
    place.write_bytes(data)


def _of_another_python(place: Path) -> None:
    mark, _, data = place.read_bytes().partition(b"\n")
    words = mark.split(b" ")
    words[2] = b"30b00f0"
    place.write_bytes(b" ".join(words) + b"\n" + data)


def _writable_for_others(place: Path) -> None:
    place.chmod(0o666)


def _a_link(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to(place.with_name("elsewhere"))


def _a_pipe(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


SPOILT = [_damaged, _of_another_python, _writable_for_others, _a_link, _a_pipe]


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_file_that_does_not_fit_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch, spoil: object
) -> None:
    patterns.compiled(b"a+")
    assert callable(spoil)
    spoil(place)
    assert anew(place, monkeypatch) == set()
    assert patterns.compiled(b"a+").fullmatch(b"aaa")
    assert anew(place, monkeypatch) == {b"a+"}


def test_words_that_are_no_pattern_are_compiled_anew(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in (b"\xff" * 8, b"123", b""):
        monkeypatch.setattr(patterns, "_kept", {b"a": (0, wrong, 0)})
        assert patterns.compiled(b"a").search(b"-a")


def test_where_nothing_may_be_written_patterns_work(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(patterns, "_place", lambda: str(tmp_path / "no" / "folder"))
    monkeypatch.setattr(patterns, "_kept", {})
    assert patterns.compiled(b"a+").fullmatch(b"aaa")


def test_redaction_needs_no_re_once_its_patterns_are_kept() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from gitcp.core.redact.redactor import Redactor\n"
        "line = b'{\"a\": \"password = \\'hunter2!x\\' and AKIA' + b'Q' * 16 + b'\"}'\n"
        "found = Redactor().jsonl(line)\n"
        "sys.exit('re' in sys.modules or found.count(b'REDACTED') != 2)"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(TOP)]
    subprocess.run(argv, check=False)  # keeps what was not yet
    subprocess.run(argv, check=True)
