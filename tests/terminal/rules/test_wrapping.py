"""Text fitted to a width: cut and broken between words, whatever they are made of."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.checkpoints.format import line_authors
from gitcp.steps.back.point import Point
from gitcp.terminal import answers, going_back
from gitcp.terminal.rows import fit_line
from gitcp.terminal.stats import draw_stats
from gitcp.text.short_ids import shorten_id
from gitcp.text.spans import COMMAND, count_cells, fit_words, pad, shorten, wrap_line


@pytest.mark.parametrize(
    ("text", "size", "wanted"),
    [
        ("one two three", 13, "one two three"),
        ("one two three", 12, "one two…"),
        ("one two three", 8, "one two…"),
        ("one two three", 7, "one…"),
        ("unbreakable", 6, "unbre…"),
        ("日本語 です", 9, "日本語…"),
        ("  one\n two ", 20, "one two"),
    ],
)
def test_a_text_is_cut_between_words(text: str, size: int, wanted: str) -> None:
    assert fit_words(text, size) == wanted


@pytest.mark.parametrize(
    ("line", "size", "rows"),
    [
        ([("modify ", "red"), ("src/a.py", ""), ("  changed since", "dim")], 40, 1),
        ([("modify ", "red"), ("src/a.py", ""), ("  changed since", "dim")], 17, 2),
        ([("a" * 25, "")], 10, 3),
        ([("日本語" * 5, "")], 9, 5),
        ([("\tindented code", "")], 12, 2),
        ([], 9, 1),
    ],
)
def test_a_line_is_wrapped_between_words(line: list[tuple[str, str]], size: int, rows: int) -> None:
    drawn = ["".join(text for text, _ in row) for row in wrap_line(line, size)]
    assert all(count_cells(row) <= size for row in drawn), drawn
    assert len(drawn) == rows, drawn
    text = "".join(text for text, _ in line)
    assert "".join("".join(drawn).split()) == "".join(text.split())


def test_a_line_with_a_command_is_not_wrapped() -> None:
    line = [("  go on: ", ""), ("claude -r 12345678", COMMAND)]
    assert list(wrap_line(line, 12)) == [line]


def test_a_text_is_measured_as_it_is_shown() -> None:
    hostile = "one \x1b[31mred\x1b[0m two"
    shown = "one \\x1b[31mred\\x1b[0m two"
    assert shorten(hostile, len(shown)) == fit_words(hostile, len(shown)) == shown
    assert fit_words(hostile, 9) == "one…"
    assert fit_words("sh rm src/pup_mcp/tools/rum.py", 20) == "sh rm src/pup_mcp/t…"
    assert fit_words("tidy the settings up", 14) == "tidy the…"
    assert pad("\x07", 5) == "\\x07 "
    rows = wrap_line([(hostile, "")], 22)
    assert [[text for text, _ in row] for row in rows] == [
        ["one", " \\x1b[31mred\\x1b[0m"], ["  ", "two"]
    ]  # fmt: skip
    assert fit_line([("a\n", ""), ("\x07b", "")], 6) == [("a\\n", ""), ("\\x0", "")]


def make_point(kind: str, **more: Any) -> Point:
    return Point(more.pop("id", "abcdef0123"), kind, session_id="12345678-a", **more)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_point_is_a_row_that_fits_with_the_id_first(width: int) -> None:
    asked = {"session_prompt": "rearrange the settings " * 9}
    points = [make_point("prompt", **asked), make_point("temporary", id="abcdef1123", **asked)]
    points += [make_point("tool", message="before editing a.py", id="toolu_0123", lacking=["."])]
    agents = {"12345678-a": "Claude Code"}
    drawn = going_back.draw_points(points, agents, lambda _: "5m ago", width)
    *lines, hint = ["".join(text for text, _ in line) for line in drawn]
    assert all(count_cells(line) <= width for line in lines), lines
    assert [line.split()[0] for line in lines] == ["abcdef01", "abcdef11", shorten_id("toolu_0123")]
    assert "Claude Code   > rearrange" in lines[0] and "  after > rearrange" in lines[1]
    assert "Claude" not in lines[2] and "    editing a.py" in lines[2]
    assert len({line.index("5m ago") for line in lines}) == 1
    assert hint.startswith("'gitcp rewind -n --to abcdef01' ") and count_cells(hint) <= 78


@pytest.mark.parametrize("width", [50, 60, 63, 80, 200])
@pytest.mark.parametrize("count", [1, 99_999, 10**9])
def test_the_bars_of_sums_leave_room_for_the_numbers_before_them(width: int, count: int) -> None:
    shares = {"agent": count, "person": 0, "unknown": 0, "unrecorded": count}
    stats: Any = {
        **dict.fromkeys(("commits", "linked", "checkpoints", "turns"), 1),
        "added": shares,
        "removed": shares,
        "tokens": {},
        "attested": [],
        **{key: [] for key in ("models", "sessions", "files", "days")},
    }
    lines = ["".join(text for text, _ in line) for line in draw_stats(stats, width, {}, 2026)]
    bars = [line for line in lines if "█" in line]
    assert len(bars) == 2 and max(map(count_cells, bars)) <= width, bars


def test_a_session_is_named_by_its_short_id() -> None:
    short = shorten_id("8f76b0e8-b8f1-4a87-9186-848bdd83d62e")
    author: Any = {"agent": "A", "session_id": "8f76b0e8-b8f1-4a87-9186-848bdd83d62e", "number": 2}
    assert line_authors.format_label(author) == f"A {short} #2"
    line: Any = {**author, "who": "session", "prompt": "Write"}
    assert answers.name_author(line) == f"A, session {short} #2: Write"
