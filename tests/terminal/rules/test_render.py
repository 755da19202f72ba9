"""Records become lines for eyes."""

from __future__ import annotations

from typing import Any

import pytest

from gitcp.terminal import explained, history, origins, shown, shown_others
from gitcp.terminal.status import draw_status
from gitcp.terminal.usage import format_usage
from gitcp.text import spans
from gitcp.text.short_ids import shorten_id

Json = dict[str, Any]


def drawn(lines: Any) -> str:
    """Lines without colour, as they would be escaped."""
    return "".join(spans.paint_lines(lines, lambda text, colour: text))


def ago(then: float) -> str:
    return f"{then:.0f}s"


def test_every_text_goes_through_the_ink_with_its_colour() -> None:
    lines: list[spans.Line] = [[("a", ""), ("b", "red")], []]
    painted = spans.paint_lines(lines, lambda text, colour: f"<{colour}|{text}>")
    assert list(painted) == ["<|a><red|b>\n", "\n"]


@pytest.mark.parametrize(
    ("text", "size", "short"),
    [
        ("", 5, ""),
        ("abcde", 5, "abcde"),
        ("abcdef", 5, "abcd…"),
        ("a \n\t b", 5, "a b"),
        ("abc  defghi", 5, "abc…"),
    ],
)
def test_a_text_is_cut_on_one_line(text: str, size: int, short: str) -> None:
    assert spans.shorten(text, size) == short


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (9_949, "9.9k"),
        (9_950, "10k"),
        (34_400, "34k"),
        (5_600_000, "5.6M"),
        (2_000_000_000, "2.0G"),
    ],
)
def test_a_number_is_short(count: int, expected: str) -> None:
    assert spans.format_number(count) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, ""),
        ([], ""),
        ({}, ""),
        ({"input_tokens": 0, "output_tokens": 0}, ""),
        ({"input_tokens": 5, "output_tokens": 7}, "5 tokens in, 7 out"),
        ({"output_tokens": 7, "api_call_count": 1}, "0 tokens in, 7 out, 1 request"),
        (
            {"cache_read_tokens": 900, "cache_creation_tokens": 100},
            "0 tokens in, 0 out, 1.0k cached",
        ),
        ({"input_tokens": 1, "subagent_tokens": {"input_tokens": 2}}, "3 tokens in, 0 out"),
        ({"input_tokens": "x", "output_tokens": -3, "subagent_tokens": 4}, ""),
    ],
)
def test_tokens_in_words(usage: object, expected: str) -> None:
    assert format_usage(usage) == expected


ABOUT: Json = {
    "state": "enabled",
    "strategy": "manual-commit",
    "branch": "main",
    "head": "1234567890",
    "worktree_path": "/r",
    "worktree_id": "",
    "worktree": "e3b0c4",
    "settled": 0,
    "more_streams": 0,
    "unpushed": 0,
}


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({}, "on main at 12345678, recording\n"),
        ({"agents": ["Codex"]}, "on main at 12345678, recording Codex\n"),
        ({"agents": [*"abcde"]}, "on main at 12345678, recording a, b and 3 more\n"),
        ({"branch": "", "head": ""}, "on detached HEAD, no commit yet, recording\n"),
        ({"strategy": "auto-commit"}, ", recording; each prompt ends with a commit\n"),
        ({"state": "disabled"}, "on main at 12345678, disabled: 'gitcp enable' wakes it\n"),
        ({"state": "not set up"}, "on main at 12345678, not recording: 'gitcp enable' begins\n"),
        (
            {"state": "not set up", "stored": 3},
            "3 commits recorded: 'gitcp log' shows them\n",
        ),
        ({}, "no session yet: one begins with the next prompt of an agent"),
        (
            {"settled": 2},
            "nobody is at work; 2 earlier sessions, all committed: 'gitcp sessions -a'\n",
        ),
        (
            {"places": [{"url": "/u", "label": "o", "unpushed": 1}]},
            "conversations go to 'o'; 1 is not sent yet: 'gitcp push'\n",
        ),
        (
            {"places": [{"url": "/u", "label": "o", "unpushed": 0}]},
            "conversations go to 'o'; all are sent\n",
        ),
        (
            {"places": [{"url": "/u", "label": "/u", "unpushed": 0, "each_push": True}]},
            "conversations go to '/u' at each push; all are sent\n",
        ),
        ({"places": [{"url": "/u", "label": "o"}]}, "conversations go to 'o'\n"),
        (
            {"places": [{"url": "/u", "label": "o"}], "remote": "f", "remote_url": "/f"},
            "none go to 'f': 'gitcp push --to f' sends them there, too\n",
        ),
        ({"destination": "none"}, "conversations stay here (gitcp.remote is none)"),
        ({"remote": "o"}, "conversations stay here: 'gitcp push --to o' sends them\n"),
        (
            {"destination": "o", "remote": ""},
            "gitcp.remote names 'o', which is not a remote"
            " ('gitcp push --to <remote>' names another)",
        ),
    ],
)
def test_the_head_of_a_status(changed: Json, line: str) -> None:
    assert line in drawn(draw_status({**ABOUT, **changed}, [], [], ago))


def test_a_session_in_a_status() -> None:
    session: Json = {
        "session_id": "s1",
        "worktree_path": "/r",
        "phase": "active",
        "agent_type": "",
        "last": 9,
        "prompt": "x" * 80,
        "files_touched": ["a", "b", "c", "d"],
        "stream": "refs/heads/entire/1234567-e3b0c4",
        "streams": [{"files": {"b": {}}}, {"files": {"a": {}}}],
        "last_verdict": {"verdict": "reset", "reason": "clean worktree at prompt start"},
    }
    rows = drawn(draw_status(ABOUT, [session], [], ago, 80)).splitlines()[-2:]
    assert rows == [
        f"  {shorten_id('s1')}  9s         Agent         > {'x' * 40}…",
        f"{' ' * 37}working  a  b  c  d",
    ]
    told = drawn(draw_status(ABOUT, [session], [], ago, verbose=True))
    below = [line.strip() for line in told.splitlines()[-3:]]
    assert below == [
        "working  a  b  c  d",
        "1 uncommitted file on entire/1234567-e3b0c4, 2 more of this turn, 1 more that it has not",
        "reset: clean worktree at prompt start",
    ]
    bare = {"session_id": "s2", "phase": "", "unreadable": "no JSON", "worktree_path": ""}
    assert f"{shorten_id('s2')}  cannot be read: no JSON" in drawn(
        draw_status(ABOUT, [bare], [], ago)
    )


def test_a_stream_in_a_status() -> None:
    stream: Json = {
        "kind": "archived",
        "ref": "refs/gitcp/archive/1234567-cc9ec4/1",
        "worktree": "cc9ec4",
        "checkpoints": 2,
        "files": ["a"],
        "time": 7,
        "sessions": ["s" * 30],
    }
    (line,) = drawn(draw_status(ABOUT, [], [stream], ago, verbose=True)).splitlines()[-3:-2]
    where = "refs/gitcp/archive/1234567-cc9ec4/1"
    said = f"  archived  {where}  2 checkpoints, 1 file, 7s  {'s' * 12}…  (another worktree)"
    assert line == said


ASKED = ["[Image #1]", "Implement the following plan:\n\n# one\nwhy", "two", "three"]
PART: Json = {"session_id": "s1", "agent": "Codex", "files": {"a": {}, "b": {}}, "asked": ASKED}
COMMIT: Json = {
    "oid": "f" * 40,
    "time": 0,
    "author": "A",
    "message": "m",
    "checkpoints": [
        {"checkpoint_id": "0" * 12, "contents": [PART]},
        {"checkpoint_id": "1" * 12, "missing": True},
    ],
}


def logged(commit: Json, width: int) -> list[str]:
    return drawn(history.draw_log(commit, lambda _: "5m ago", width, (12, 3))).splitlines()


def test_a_log_shows_the_first_of_several_prompts_that_were_typed() -> None:
    assert logged(COMMIT, 0) == [
        "ffffffff  5m ago     A             m  +12 -3",
        f"  {shorten_id('s1')}           Codex         > one  3 prompts",
        "  a session is not here: 'gitcp fetch' may bring it",
    ]


def test_two_sessions_of_a_commit_have_a_row_and_the_others_are_counted() -> None:
    parts = [{**PART, "session_id": f"s{n}"} for n in range(30)]
    lines = {"sessions": {f"s{n}": n for n in range(30)}}
    parts[29] |= {"asked": [], "title": "What its client calls it", "task_count": 20}
    rows = logged({**COMMIT, "lines": lines, "checkpoints": [{"contents": parts}]}, 0)
    assert rows[1].endswith("  What its client calls it  and 20 tasks")
    assert rows[2].startswith(f"  {shorten_id('s28')} ") and rows[3:] == ["  and 28 more sessions"]


def test_a_pipe_has_names_uncut() -> None:
    name = "A person with a long name"
    assert logged({**COMMIT, "author": name}, 0)[0] == f"ffffffff  5m ago     {name}  m  +12 -3"


def test_sessions_of_several_worktrees_name_theirs() -> None:
    record = {"repository": "/r", "state": "waiting", "files_touched": ["a.txt"], "tasks": 0}
    record |= {"prompt": "one", "last": 1, "agent": "Codex"}
    records = [{**record, "session_id": name, "worktree": name} for name in ("here", "there")]

    def draw(chosen: list[Json]) -> str:
        return drawn(history.draw_sessions(chosen, ago, 0, with_places=False))

    assert "waiting  a.txt  in here\n" in draw(records)
    assert "waiting  a.txt\n" in draw(records[:1])


@pytest.mark.parametrize(("width", "row"), [(30, "f:1      if  a:  return  some…"), (5, "f:1 …")])
def test_a_row_of_code_that_is_too_long_is_cut_at_its_end_alone(width: int, row: str) -> None:
    origin = {"file": "f", "path": "f", "original_line": 1, "first": 1, "last": 1}
    origin |= {"content": ["    if  a:  return  something_long(b)"], "who": "person", "agent": ""}
    origin |= {"model": "", "session_id": "", "number": None, "prompt": "", "author": "A"}
    origin |= {"time": None, "commit": None, "call": None, "resume": ""}
    assert drawn(origins.draw_origins([origin], ago, False, width)).splitlines()[0] == row


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_a_row_is_a_line_at_any_width(width: int) -> None:
    long = "The name 日本語 of what is 👨\u200d👩\u200d👧 asked for, " * 9
    part = {**PART, "asked": [long] * 3, "agent": "An agent with a long name", "task_count": 3}
    commit = {**COMMIT, "message": long, "author": long, "checkpoints": [{"contents": [part]}]}
    rows = logged(commit, width)
    assert all(width - 1 <= spans.count_cells(row) <= width for row in rows)
    if width >= 80:  # else there is no room beside the text
        assert rows[0].endswith("  +12 -3") and rows[1].endswith("  3 prompts, and 3 tasks")


@pytest.mark.parametrize(
    ("full", "lines"), [(False, ["… 8 more lines"]), (True, [str(n) for n in range(12, 20)])]
)
def test_a_long_text_is_cut_unless_all_is_asked_for(full: bool, lines: list[str]) -> None:
    said = "\\n".join(str(n) for n in range(20))
    data = f'{{"type":"user","message":{{"content":"{said}"}}}}'.encode()
    text = drawn(explained.draw_excerpt(data, 0, full)).splitlines()
    assert text[:2] == ["  Transcript:", "    [User] 0"]
    assert text[13:] == [f"      {line}" for line in lines]


def test_what_is_new_since_the_commit_before_is_shown_unless_all_is_asked_for() -> None:
    line = b'{"type":"user","message":{"content":"%d"}}\n'
    data = b"".join(line % n for n in range(3))
    assert drawn(explained.draw_excerpt(data, 2, False)) == "  Transcript:\n    [User] 2\n"
    assert drawn(explained.draw_excerpt(data, 2, True)).count("[User]") == 3
    assert drawn(explained.draw_excerpt(data, 3, False)) == ""


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"initial_attribution": 3, "summary": [], "token_usage": "x"},
        {"initial_attribution": {"agent_percentage": None}, "summary": {"intent": None}},
        {"initial_attribution": {"agent_lines": "4", "agent_removed": [], "total_committed": {}}},
        {"token_usage": {"subagent_tokens": {"subagent_tokens": "x"}}},
    ],
)
def test_strange_metadata_is_no_crash(metadata: Json) -> None:
    part: Json = {"session_id": "s", "agent": "", "hash": "absent", "prompts": [], "files": {}}
    part |= {"linked_turns": [], "asked": []}
    checkpoint: Json = {
        "checkpoint_id": "0" * 12,
        "linked": True,
        "commits": [],
        "branch": "",
        "strategy": "",
        "created_at": "",
        "files_touched": [],
        "contents": [{**part, "tasks": ["toolu/x.json"], "transcript": b"\xff", **metadata}],
    }
    text = drawn(shown.draw_commits([checkpoint], shown.View(str, verbose=True)))
    assert f"session {shorten_id('s')}, Agent\n" in text and "  task toolu/x.json\n" in text


def test_a_temporary_checkpoint_of_a_task() -> None:
    told: Json = {
        "oid": "a" * 40,
        "time": 7,
        "message": "Task: x",
        "agent": "",
        "session_id": "s",
        "stream": "0" * 12,
        "base_commit": "",
        "tool_use_id": "toolu_1",
        "prompt": "",
        "files": {"x": "deleted"},
        "transcript": b"",
        "start": 0,
    }
    text = drawn(shown_others.draw_saved(told, shown.View(str, verbose=True)))
    assert f" on stream {'0' * 12}, task toolu_1\n" in text
    assert text.endswith("\n  D x\n")


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    ("text", "room", "cut"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("ab cdef", 4, "ab…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("e\u0301tude", 5, "e\u0301tude"),
        ("e\u0301tudes", 3, "e\u0301t…"),
        (f"a{FAMILY}b", 4, f"a{FAMILY}b"),
        (f"a{FAMILY}bc", 4, f"a{FAMILY}…"),
        (f"a{FAMILY}bc", 3, "a…"),
        ("\U0001f44d\U0001f3fd ok then", 5, "\U0001f44d\U0001f3fd o…"),
    ],
)
def test_a_text_is_cut_by_the_cells_it_takes_and_never_within_a_sign(
    text: str, room: int, cut: str
) -> None:
    assert spans.shorten(text, room) == cut


def test_what_came_from_a_cache_is_told_apart_for_every_client() -> None:
    usage = {"input_tokens": 100, "cache_read_tokens": 90, "output_tokens": 5, "api_call_count": 1}
    assert format_usage(usage, "Codex") == "100 tokens in, 5 out, 90 cached, 1 request"
    assert format_usage(usage, "Gemini CLI") == "10 tokens in, 5 out, 90 cached, 1 request"
