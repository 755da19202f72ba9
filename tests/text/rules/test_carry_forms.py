"""What a change of form is, and what is an edit: a line a case."""

from __future__ import annotations

import pytest

from gitcp.text.carry import gaps
from gitcp.text.carry.text import Text
from tests.support.carrying import pair, split

NEXT = "something_else = that_is_changed(here)"


def _list_origins(before: str, after: str) -> list[int]:
    return pair(before, after).origins


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f(a, b)", "x = f(\n    a,\n    b,\n)"),
        ("x = f(\n    a,\n    b,\n)", "x = f(a, b)"),
        ("call('a')", 'call("a");'),
        ("if (a) return b", "if (a) {\n  return b\n}"),
        ("x = (1,)", "(x) = 1"),
        ("long_name = u'text'", 'long_name = "text"'),
        ("total = first + \\\n    second", "total = (\n    first\n    + second\n)"),
        ("let f = x => x", "let f = (x) => x"),
    ],
)
def test_soft_signs_and_line_breaks_are_form(before: str, after: str) -> None:
    assert -1 not in _list_origins(before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("limit = 0XFF00AA", "limit = 0xff00aa"),
        ("long_name_of_it = 1E5", "long_name_of_it = 1e5"),
        ("long_name = u'text_of_it'", 'long_name = "text_of_it"'),
        ("first_part = second_part( )", "first_part = second_part()"),
    ],
)
def test_beside_an_edit_a_line_is_known_by_its_tokens(before: str, after: str) -> None:
    changed = NEXT.replace("changed", "edited")
    assert _list_origins(f"{before}\n{NEXT}", f"{after}\n{changed}") == [0, -1]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("timeout_of_it = connect(5)", "timeout_of_it = connect(6)"),
        ("if minimum_of < maximum_of:", "if minimum_of <= maximum_of:"),
        ("handler_of = make_handler", "handler_of = make_handler()"),
        ("return make_handler(first)", "make_handler(first)"),
        ("make_handler(first)", "return make_handler(first)"),
        ("make_handler(first, second)", "make_handler(first)"),
        ("long_name_of_it = Value", "long_name_of_it = value"),
        ("long_name_of_it = other  # noqa: B950", "long_name_of_it = other"),
        ("first_name.second_name", "second_name.first_name"),
        ("# connect_handler(first, second)", "connect_handler(first, second)"),
        ("connect_handler(first, second)", "# connect_handler(first, second)"),
        ("    // connect_handler(first)", "    connect_handler(first)"),
    ],
)
@pytest.mark.parametrize("around", ["", NEXT], ids=["alone", "beside a line"])
def test_one_token_more_less_or_other_is_an_edit(before: str, after: str, around: str) -> None:
    old = f"{before}\n{around}" if around else before
    new = f"{after}\n{around.replace('changed', 'edited')}" if around else after
    assert _list_origins(old, new)[0] == -1


def test_less_than_ten_bytes_beside_an_edit_prove_nothing() -> None:
    assert _list_origins("a = 'b'\nother_thing = 5", 'a = "b"\nother_thing = 6') == [-1, -1]
    longer = _list_origins("long_name = 'b'\nother_thing = 5", 'long_name = "b"\nother_thing = 6')
    assert longer == [0, -1]


def test_light_lines_beside_each_other_prove_it_together() -> None:
    after = "x = [\n  110,\n  22,\n  33,\n  44\n]\ny = 6"
    assert _list_origins("x = [110, 22, 33, 44]\ny = 5", after) == [0, 0, 0, 0, 0, 0, -1]


def test_of_several_equal_lines_each_has_its_own() -> None:
    old = "call_it(first, second)\ncall_it(first, second)\nother_thing = 5"
    new = "call_it(first,\n  second)\ncall_it(first,\n  second)\nother_thing = 6"
    assert _list_origins(old, new) == [0, 0, 1, 1, -1]


def test_a_comment_that_is_wrapped_stays_its_authors() -> None:
    old = "# one comment of several words that is too long for a line"
    new = "# one comment of several words\n# that is too long for a line"
    assert _list_origins(old, new) == [0, 0]
    assert _list_origins(old.replace("#", "//"), new.replace("#", "//")) == [0, 0]
    block = "/* one comment of words\n * that is long */"
    assert _list_origins("/* one comment of words that is long */", block) == [0, 0]
    beside = "value_of = call_it()  // one comment of words"
    wrapped = "value_of = call_it()  // one comment\n                      // of words"
    assert _list_origins(beside, wrapped) == [0, 0]


def test_a_product_at_the_start_of_a_line_is_no_comment() -> None:
    old = "add(first_part(x)*\n    second_part(x))\nadd(other)"
    new = "add(\n    first_part(x)\n    * second_part(x)\n)\nadd(others)"
    assert _list_origins(old, new)[:3] == [0, 0, 1]


def test_a_directive_is_no_comment() -> None:
    old = "#  define LONG_NAME \\\n   (value_of_it)\n#define OTHER_NAME 1"
    new = "#define LONG_NAME (value_of_it)\n#define OTHER_NAME 2"
    assert _list_origins(old, new) == [0, -1]


@pytest.mark.parametrize(("third", "count"), [("repeated_line", 1), ("other_line", 2)])
def test_a_line_alone_that_is_there_twice_does_not_part_a_gap(third: str, count: int) -> None:
    before = Text(split(f"a\nrepeated_line\nb\n{third}\nc"))
    after = Text(split("d\nrepeated_line\ne"))
    assert len(gaps.find_gaps(before, after, [-1, 1, -1])) == count


def test_a_comment_that_is_put_above_its_line_stays_its_authors() -> None:
    old = "value_of = call_it(first)  # type: ignore\nother_thing = 5"
    new = "# type: ignore\nvalue_of = call_it(first)\nother_thing = 6"
    assert _list_origins(old, new) == [0, 0, -1]
    without = "# type: skip\nvalue_of = call_it(first)\nother_thing = 6"
    assert _list_origins(old, without) == [-1, -1, -1]
