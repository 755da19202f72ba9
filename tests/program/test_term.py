"""Text for eyes."""

from __future__ import annotations

import pytest

from gitcp.text import console, term


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
    assert term.format_age(seconds) == text


def test_a_stored_text_cannot_drive_the_terminal() -> None:
    assert console.escape_unprintable("\x1b[31m \u202eab") == "\\x1b[31m \\u202eab"
    assert console.escape_unprintable("\udcff.bin \ud800") == "\\xff.bin \\ud800"


def test_emoji_with_joiners_and_other_scripts_are_shown_as_they_are() -> None:
    for text in (
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u0645\u06cc\u200c\u062e",
        "日本語",
    ):
        assert console.escape_unprintable(text) == text


def test_colours_come_only_when_they_are_on() -> None:
    assert term.paint("x", "red") == "\033[31mx\033[0m"
    assert term.paint("", "red") == ""
