"""A conversation on a page: what is shown of it, and how much."""

from __future__ import annotations

from typing import Any

from gitcp.checkpoints.redact import images
from gitcp.extras.page.sessions import PageSession
from gitcp.extras.page.talk import Talk, make_anchor, name_talk

PIXEL = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def draw(*parts: Any, prompt: str = "Look") -> str:
    session = PageSession("s", "Claude Code")
    turn: Any = {"number": 1, "prompt": prompt, "start": "2026-01-02T10:00:00Z"}
    turn["parts"] = [*parts]
    session.turns = [turn]
    return str(Talk(session, lambda value: value).draw())


def call(**facts: Any) -> Any:
    return {"kind": "call", "name": "Edit", "ids": ["u1"], **facts}


def test_images_are_shown_up_to_a_size_and_never_fetched() -> None:
    pictures: list[tuple[str, str]] = [
        ("image/gif", PIXEL),
        ("image/gif", "https://example.com/a.gif"),
        ("image/svg+xml", "PHN2Zz4="),
        ("image/png", "AAAA" * 100_001),
        ("image/png", images.MARK.decode() + "0" * 64),
        ("image/png", images.DOT.body.decode()),
    ]
    html = draw(*({"kind": "image", "type": kind, "data": data} for kind, data in pictures))
    assert html.count("<img ") == 1 and f'src="data:image/gif;base64,{PIXEL}"' in html
    assert html.count("not shown") == 3 and html.count("gitcp.images leaves out") == 2
    assert "example.com" not in html


def test_a_tool_use_is_one_line_with_its_diff_or_its_result_below() -> None:
    edit = call(path="a.py", diff=[("-", "old"), ("+", "new"), ("+", "<b>")], result="done")
    shell = {**call(given="make test", result="x" * 60_000, ended="exit 2"), "name": "Bash"}
    html = draw(edit, shell, {"kind": "answer", "text": "**All** done."})
    assert "<summary>2 tool uses, 1 failed</summary>" in html
    assert "<summary><b>Edit</b> a.py <u>+2</u> <em>&minus;1</em></summary>" in html
    assert "<span class=a>+ &lt;b&gt;\n</span>" in html and "<b>Bash</b> make test" in html
    assert "… 10000 more characters" in html and len(html) < 52_000
    assert html.endswith("<strong>All</strong> done.</p></div></article>"), "the answer stands last"
    assert f"<article id={make_anchor('s', 1)}>" in html


def test_a_conversation_is_called_by_its_title_or_its_first_prompt() -> None:
    session = PageSession("s", "Claude Code")
    assert name_talk(session) == "Claude Code"
    turn: Any = {"number": 1, "prompt": "First line\nand more", "start": "", "parts": []}
    session.turns = [turn]
    assert name_talk(session) == "First line"
    session.title = "A title"
    assert name_talk(session) == "A title"


def test_words_are_those_before_a_tool_use_else_those_after_it() -> None:
    session = PageSession("s", "Claude Code")
    task = {"kind": "call", "name": "Task", "ids": ["u3"], "task": [call(ids=["u4"])]}
    parts: Any = [
        call(ids=["u1", "named"]),
        {"kind": "answer", "text": " It is written. "},
        call(ids=["u2"]),
        task,
    ]
    session.turns = [{"number": 1, "prompt": "", "start": "", "parts": parts}]  # type: ignore[typeddict-item]
    words = {name: session.find_words(name) for name in ("u1", "named", "u2", "u3", "u4", "u9")}
    assert words == {
        **dict.fromkeys(("u1", "named", "u2", "u3"), "It is written."),
        "u4": "",
        "u9": "",
    }
