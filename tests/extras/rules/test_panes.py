"""The screen of the browser, by keys and a size alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gitcp.extras.ui.panes import Block, Browser, PaneRow, draw_content
from gitcp.text.spans import count_cells, list_texts

PATCH = ["diff --git a/a.py b/a.py", "@@ -1,2 +1,2 @@", " same", "-old one", "+new one", "+more"]


class Source:
    """A list of so many rows; `asked` counts those that were read."""

    nothing = "there is nothing"

    def __init__(self, name: str, count: int, *, is_live: bool = False) -> None:
        self.name, self.count, self.is_live, self.asked, self.parts = name, count, is_live, 0, 3
        self.completed: list[str] = []

    def list_rows(self) -> Iterator[PaneRow]:
        for n in range(self.count):
            self.asked += 1
            text = f"{self.name} {n} 日本語"
            lines = [[(text, "bold")], [("  of it", "dim")]]
            day = f"day {n // 4}"
            yield PaneRow(f"{n}", day, lines, text, ["show", f"{n}"], None, self.is_live)

    def list_parts(self, row: PaneRow) -> list[PaneRow]:
        names = [f"part {row.id}.{n}" for n in range(self.parts)]
        return [PaneRow(name, "", [[(name, "")]], name, ["show", name], None) for name in names]

    def complete_row(self, row: PaneRow) -> PaneRow | None:
        self.completed.append(row.id)
        text = f"{self.name} {row.id} 日本語"
        return row._replace(lines=[[(text, "bold"), (" +1", "")], *row.lines[1:]])

    def read_content(self, row: PaneRow, part: PaneRow) -> list[Block]:
        return [("text", [f"content of {part.id}"]), ("diff", PATCH), ("code", ["x" * 300])]


def shown(browser: Browser, columns: int = 80, rows: int = 24) -> list[str]:
    """The rows of the screen, when all is read; each has the width of the screen."""
    browser.draw(columns, rows)
    while browser.load():
        pass
    texts = list(list_texts(browser.draw(columns, rows)))
    assert {count_cells(text) for text in texts} == {columns}
    return texts


def press(browser: Browser, keys: str, columns: int = 80) -> list[str]:
    """The rows after keys, which are read one after the other."""
    shown(browser, columns)
    for key in keys.split():
        browser.press(key)
        shown(browser, columns)
    return shown(browser, columns)


def test_a_long_list_is_read_as_far_as_it_is_shown() -> None:
    source = Source("sessions", 20_000)
    browser = Browser([source], "repo")
    assert "sessions 0" in shown(browser)[2]
    assert source.asked < 64
    press(browser, "c-d c-d c-d")
    assert source.asked < 128
    assert "sessions 19999" in "".join(press(browser, "G"))
    assert source.asked == 20_000


@pytest.mark.parametrize("columns", [20, 56, 80, 100, 132, 200])
@pytest.mark.parametrize("rows", [5, 24, 60])
def test_every_row_has_the_width_of_the_screen(columns: int, rows: int) -> None:
    browser = Browser([Source("sessions", 30), Source("commits", 0)], "repo")
    for key in ("", "v", "enter", "enter", "l", "l", "G", "q", "z", "?", "x", "2"):
        browser.press(key)
        assert len(shown(browser, columns, rows)) == rows


def test_the_panes_show_the_marked_row_its_marked_part_and_what_that_changed() -> None:
    browser = Browser([Source("sessions", 30)], "repo")
    texts = "\n".join(press(browser, "j j enter j enter", 140))
    assert "> sessions 2" in texts and "> part 2.1" in texts and "content of part 2.1" in texts
    assert "$ gitcp show 'part 2.1'" in texts


def test_a_search_goes_on_to_rows_that_are_not_read_yet() -> None:
    browser = Browser([Source("sessions", 500)], "repo")
    assert "> sessions 321" in "\n".join(press(browser, "/ 3 3 backspace 2 1 enter"))
    assert "> sessions 321" in "\n".join(press(browser, "n")), "the only one, round the end"
    assert "no match for 'x'" in press(browser, "/ x enter")[-1]


def test_a_filter_shows_only_rows_with_its_words_until_esc() -> None:
    browser = Browser([Source("sessions", 500)], "repo")
    texts = press(browser, "f 4 9 9 enter")
    assert sum("sessions" in text for text in texts[1:-2]) == 1
    assert "filter: 499" in texts[0]
    assert "> sessions 499" in "\n".join(press(browser, "escape"))


def test_a_new_call_of_a_session_at_work_is_marked_and_one_that_is_read_stays() -> None:
    source = Source("sessions", 1, is_live=True)
    browser = Browser([source], "repo")
    assert "content of part 0.0" in "\n".join(shown(browser)), "the row as a whole"
    assert "content of part 0.2" in "\n".join(press(browser, "enter enter"))
    source.parts = 5
    browser.read_again()
    assert "content of part 0.4" in "\n".join(shown(browser))
    press(browser, "q k")
    source.parts = 6
    browser.read_again()
    assert "> part 0.3" in "\n".join(shown(browser))


def test_what_takes_longer_is_added_to_rows_that_are_seen_and_to_no_other() -> None:
    source = Source("sessions", 20_000)
    browser = Browser([source], "repo")
    browser.draw(80, 24)
    while not source.completed:
        assert browser.load()
        texts = list(list_texts(browser.draw(80, 24)))
        assert texts[0].startswith("[1 sessions]   repo   ")
    assert "sessions 0" in texts[2] and "content of part 0.0" in "".join(texts)
    assert "+1" in shown(browser)[2]
    assert len(source.completed) == len(set(source.completed)) <= 21
    press(browser, "c-d c-d c-d")
    assert len(source.completed) == len(set(source.completed)) < 64


def test_the_menu_leaves_the_list_in_sight() -> None:
    browser = Browser([Source("points", 30)], "repo")
    texts = press(browser, "j :", 80)
    assert "> points 1" in "\n".join(texts), "the list stays"
    at = next(n for n, text in enumerate(texts) if "> rewind to here" in text)
    assert texts[at + 1].strip() == "gitcp rewind --to 1"
    assert "content of" not in "\n".join(texts[at:])


def test_a_paste_does_nothing() -> None:
    browser = Browser([Source("sessions", 3)], "repo")
    before = shown(browser)
    browser.press("paste", "qqqGG")
    assert shown(browser)[:-1] == before[:-1]
    assert "pasted" in shown(browser)[-1]


def test_the_two_sides_of_a_patch_stand_beside_each_other() -> None:
    rows = list(list_texts(draw_content([("diff", PATCH)], 41, beside=True)))
    assert rows[2:] == [
        " same               │ same",
        "-old one            │+new one",
        "                    │+more",
    ]
    assert list(list_texts(draw_content([("diff", PATCH)], 41, beside=False))) == PATCH
