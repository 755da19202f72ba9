"""Which turns were given up, and how: a table of what a path held."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gitcp.record.journal import credit
from gitcp.record.journal.line_kinds import Edit, build_edit
from gitcp.steps import abandoned_rules
from gitcp.steps.abandoned_rules import FoundWork, Turn, WorkOf
from gitcp.text import ids, line_replay
from gitcp.text.line_evidence import split_text_lines
from gitcp.text.line_replay import Replay, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.text import record_types
    from gitcp.text.record_types import Writer

A1: Writer = ("a", "1", "call")
A2: Writer = ("a", "2", "call")
B1: Writer = ("b", "1", "call")
PERSON, UNKNOWN = ids.PERSON, ids.UNKNOWN
BASE = "def base():\n    return None\n"
ONE = BASE + "def first_try():\n    return first\n"
TWO = BASE + "def second_try():\n    return second\n"
BOTH = ONE + "def second_try():\n    return second\n"
Step = tuple[str, "Writer", dict[str, object]]  # the content ('' for none), its author, more


def make_entry(text: str, mode: str = "100644") -> record_types.Version:
    return (mode, text) if text else None


def read(entry: record_types.Version) -> Version | None:
    text = entry[1] if entry else ""
    return Version(text, split_text_lines("x", text.encode()))


def list_given_up(
    steps: Sequence[Step], kept: Sequence[str], first: str = BASE
) -> abandoned_rules.FoundWork:
    replay = Replay(read(make_entry(first)) or Version("", ()))
    chain: list[Edit] = []
    before = make_entry(first)
    for number, (text, who, more) in enumerate(steps, 1):
        after = make_entry(text, str(more.get("mode", "100644")))
        how = str(more.get("how", "tool"))
        chain.append(build_edit("f", before, after, who, how, number).having(**more))
        replay.add_step(read(after) or Version("", ()), who, line_replay.accepts_any_line)
        before = after
    history = abandoned_rules.EditHistory(chain, lambda: replay, read)
    return history.list_given_up([make_entry(text) for text in kept])


def undone(**more: object) -> Step:
    return BASE, UNKNOWN, {"how": credit.RESTORED, **more}


@pytest.mark.parametrize(
    ("steps", "kept", "wanted"),
    [
        pytest.param([(ONE, A1, {})], [ONE], [], id="it stands in the worktree"),
        pytest.param([(ONE, A1, {}), undone()], [BASE], [("1", "discarded")], id="discarded"),
        pytest.param([(ONE, A1, {}), undone()], [BASE, ONE], [], id="a commit has it"),
        pytest.param(
            [("", A1, {}), undone()],
            [BASE, BASE[:11]],
            [("1", "discarded")],
            id="a deletion, and an older version that lacks a line",
        ),
        pytest.param([("", A1, {}), undone()], [BASE, ""], [], id="a commit has the deletion"),
        pytest.param([(ONE, A1, {}), undone()], [BASE, BOTH], [], id="a commit has its lines"),
        pytest.param([(ONE, A1, {}), undone(step="s")], [BASE], [("1", "rewound")], id="rewound"),
        pytest.param(
            [(ONE, A1, {}), undone(stashed=True)], [BASE], [("1", "stashed")], id="stashed"
        ),
        pytest.param(
            [(ONE, A1, {}), (TWO, A2, {})], [TWO], [("1", "overwritten")], id="the next overwrote"
        ),
        pytest.param([(ONE, A1, {}), (BOTH, A2, {})], [BOTH], [], id="the next added to it"),
        pytest.param(
            [(ONE, A1, {}), (TWO, PERSON, {})], [TWO], [("1", "overwritten")], id="a person did"
        ),
        pytest.param([(ONE, A1, {}), (BASE, A1, {})], [BASE], [], id="it took itself back"),
        pytest.param([(ONE, PERSON, {}), undone()], [BASE], [], id="a person's work"),
        pytest.param(
            [("", A1, {}), undone()], [BASE, TWO], [("1", "discarded")], id="a deletion of all"
        ),
        pytest.param([("", A1, {})], [""], [], id="a deletion that stands"),
        pytest.param(
            [("def base():\n", A1, {}), undone()], [BASE], [("1", "discarded")], id="of a line"
        ),
        pytest.param(
            [("def base():\n", A1, {}), undone()], [BASE, "def base():\n    x\n"], [], id="kept"
        ),
        pytest.param(
            [(BASE, A1, {"mode": "100755"}), undone()], [BASE], [("1", "discarded")], id="a mode"
        ),
    ],
)
def test_a_turn_is_given_up_if_nothing_has_its_change(
    steps: list[Step], kept: list[str], wanted: list[tuple[str, str]]
) -> None:
    found = list_given_up(steps, kept)
    assert [(part.turn.turn, part.how) for part in found.given_up] == wanted
    assert not {work.turn for work in found.left} & {part.turn for part in found.given_up}


def test_what_was_given_up_is_counted_and_tells_who_ended_it() -> None:
    found = list_given_up([(ONE, A1, {}), (TWO, B1, {})], [TWO])
    (part,) = found.given_up
    assert (part.turn, part.by, part.at) == (Turn("a", "1"), Turn("b", "1"), 1)
    assert (part.added, part.removed) == (2, 0)
    assert found.left == {WorkOf(Turn("b", "1"), "f")}


def test_files_that_were_moved_to_each_other_are_one_group() -> None:
    def edit(path: str, follows: str = "") -> Edit:
        line = build_edit(path, None, ("100644", "x"), A1, "tool", 1)
        return line.having(follows=follows) if follows else line

    edits = [edit("a"), edit("x"), edit("b", "a"), edit("y"), edit("c", "b"), edit("x")]
    found = abandoned_rules.group_edits(edits)
    groups = [(sorted(group.paths), len(group.edits)) for group in found]
    assert groups == [(["a", "b", "c"], 3), (["x"], 2), (["y"], 1)]


def test_work_on_a_moved_file_counts_where_the_file_is() -> None:
    gone = list_given_up([(ONE, A1, {}), undone()], [BASE])
    (part,) = gone.given_up
    assert abandoned_rules.unite([gone]) == [[part]]
    assert abandoned_rules.unite([gone, FoundWork([], {WorkOf(part.turn, part.path)})]) == []


@pytest.mark.parametrize(
    ("prompt", "named"),
    [
        ("mend src/parser.c", ["src/parser.c"]),
        ("mend @parser.c, please.", ["src/parser.c"]),
        ("what of `Makefile`?", []),
        ("look at ./Makefile.", ["Makefile"]),
        ("arser.c and c/parser.c", []),
        ("end of it...", []),
    ],
)
def test_a_prompt_names_a_file_by_its_last_parts(prompt: str, named: list[str]) -> None:
    paths = ["Makefile", "src/parser.c", "new\nline/parser.c"]  # the last would forge a line
    assert abandoned_rules.find_named(prompt, paths) == named
