"""Text fitted to a width: cut and broken between words, whatever they are made of."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gitcp.checkpoints.format import line_authors
from gitcp.steps.back import plan
from gitcp.terminal import answers, history
from gitcp.terminal.history import fit_line
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


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_a_point_fits_its_line_and_gives_up_its_session_first(width: int) -> None:
    point = plan.EMPTY.copy()
    point["kind"], point["session_id"] = "prompt", "12345678-a"
    point["id"] = "abcdefghij"
    point["session_prompt"] = "rearrange the settings " * 9
    line = answers.draw_point(
        point,
        "abcdefghij",
        {"create": 1, "modify": 2, "delete": 0, "keep": 0},
        lambda _: "5m ago",
        width,
        has_session=answers.has_session_column([point], width),
    )
    text = "".join(part for part, _ in line)
    assert count_cells(text) <= max(width, 24), text
    has = [part in text for part in ('before "rearrange', shorten_id("12345678-a"), "changes 2")]
    assert has == [width > 50, width > 100, width > 60], text


@pytest.mark.parametrize("width", [60, 79, 80, 100, 120, 0])
def test_all_points_of_a_list_have_their_session_or_none_has(width: int) -> None:
    prompts = (
        "Add a test",
        "Rearrange the settings, and add a page for each kind of them",
        "Tidy up",
    )
    points = []
    for number, prompt in enumerate(prompts):
        point = plan.EMPTY.copy()
        point["kind"], point["session_id"] = "prompt", f"{number}2345678-a"
        point["session_prompt"], point["id"] = prompt, f"{number}bcdef0123"
        points.append(point)
    changes = {"create": 1, "modify": 0, "delete": 0, "keep": 0}
    drawn = answers.draw_points(points, lambda _: changes, lambda _: "5m ago", width)
    lines = ["".join(text for text, _ in line) for line in drawn]
    names = [shorten_id(point["session_id"]) for point in points]
    shown = {name in line for name, line in zip(names, lines, strict=True)}
    assert shown == {width in (0, 100, 120)}
    assert all("(creates 1)" in line for line in lines)
    assert {line.index("before") for line in lines} == {lines[0].index("before")}


@pytest.mark.parametrize(("width", "words"), [(60, "before src/app.py"), (38, "src/app.py")])
def test_where_there_is_no_room_a_call_is_told_by_its_file(width: int, words: str) -> None:
    point = plan.EMPTY.copy()
    point["kind"], point["message"] = "tool", "before src/app.py"
    line = answers.draw_point(
        point, "toolu_0123", None, lambda _: "5m ago", width, has_session=False
    )
    assert "".join(part for part, _ in line).split("ago")[1].strip(" -").startswith(words)


@pytest.mark.parametrize("width", [50, 60, 63, 80, 200])
@pytest.mark.parametrize("count", [1, 99_999, 10**9])
def test_the_bars_of_sums_leave_room_for_the_numbers_before_them(width: int, count: int) -> None:
    shares = {"agent": count, "person": 0, "unknown": 0, "unrecorded": count}
    stats = {
        **dict.fromkeys(("commits", "linked", "checkpoints", "turns"), 1),
        "added": shares,
        "removed": shares,
        "tokens": {},
        "attested": [],
        **{key: [] for key in ("models", "sessions", "files", "days")},
    }
    lines = ["".join(text for text, _ in line) for line in history.draw_stats(stats, width)]
    bars = [line for line in lines if "█" in line]
    assert len(bars) == 2 and max(map(count_cells, bars)) <= width, bars


def test_a_session_is_named_by_its_short_id() -> None:
    short = shorten_id("8f76b0e8-b8f1-4a87-9186-848bdd83d62e")
    author = {"agent": "A", "session_id": "8f76b0e8-b8f1-4a87-9186-848bdd83d62e", "number": 2}
    assert line_authors.format_label(cast("Any", author)) == f"A {short} #2"
    told = answers.name_author({**author, "who": "session", "prompt": "Write"})
    assert told == f"A, session {short} #2: Write"
