"""Text for eyes."""

from __future__ import annotations

import pytest

from gitcp.console import term


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "just now"),
        (0, "just now"),
        (59, "just now"),
        (60, "1m ago"),
        (3599, "59m ago"),
        (3600, "1h ago"),
        (86400 * 2.5, "2d ago"),
        (86400 * 60, "2mo ago"),
        (86400 * 800, "2y ago"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(seconds: float, text: str) -> None:
    assert term.ago(seconds) == text


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("abcdef", 1, "…"),
        ("abcdef", 0, ""),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301tude", 5, "e\u0301tude"),
    ],
)
def test_a_text_is_cut_by_the_cells_it_takes(text: str, room: int, cut: str) -> None:
    assert term.cut(text, room) == cut
    assert term.cells(cut) <= room


def test_columns_are_aligned_and_only_the_last_is_cut() -> None:
    rows = [["a", "日本", "the first prompt"], ["bbb", "x", "second"], ["c"]]
    assert term.columns(rows, room=18) == ["a    日本  the fi…", "bbb  x     second", "c"]
    assert term.columns(rows)[0].endswith("the first prompt")
    assert term.columns([]) == []


def test_a_stored_text_cannot_drive_the_terminal() -> None:
    (line,) = term.columns([["x", "red \x1b[31m\x07\nnext\u202e"]])
    assert line == "x  red �[31m� next�"


def test_colours_come_only_when_they_are_on() -> None:
    assert term.paint("x", "red", True) == "\033[31mx\033[0m"
    assert term.paint("x", "red", False) == term.paint("x", "red", on=False) == "x"
    assert term.paint("", "red", True) == ""


@pytest.mark.parametrize(("value", "columns"), [("132", 132), ("0", 80), ("wide", 80), ("", 80)])
def test_the_width_is_what_columns_says(
    value: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", value)
    monkeypatch.setattr("os.get_terminal_size", lambda _: (_ for _ in ()).throw(OSError))
    assert term.width() == columns
