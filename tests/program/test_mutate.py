"""make mutate: what it changes, how it knows which test enters what, that no old code is run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from mutate import rooms
from mutate.__main__ import instrumented
from mutate.operators import mutations
from mutate.slots import Slot
from tests.support.paths import TOP


def changed(source: str) -> list[str]:
    """Every mutation of a piece of code, as the line that it becomes."""
    data = source.encode()
    return [m.apply(data).decode().removesuffix("\n") for m in mutations("x.py", data)]


@pytest.mark.parametrize(
    ("source", "becomes"),
    [
        ("a = b == c", ["a = (b != c)"]),
        ("a = b < c", ["a = (b <= c)"]),
        ("a = b in (c, d)", ["a = (b not in (c, d))", "a = b in (d,)", "a = b in (c,)"]),
        ("a = b and c", ["a = (c)", "a = (b)"]),
        ("a = not b", ["a = (b)"]),
        ("a = b + 1", ["a = (b - 1)", "a = b + 2"]),
        ("a = b | c", ["a = (b)", "a = (c)"]),
        ("a = b[c:d]", ["a = b[:d]", "a = b[c:]"]),
        ("a = True", ["a = False"]),
        ("f(x)", ["pass"]),
        ("a.b = c", ["pass"]),
        ("if a: b()", ["if (not a): b()", "if a: pass"]),
        ("ünïcode(é == a)", ["pass", "ünïcode((é != a))"]),
    ],
)
def test_each_small_change_is_made_once(source: str, becomes: list[str]) -> None:
    assert changed(source) == becomes


@pytest.mark.parametrize(
    "source",
    [
        "TYPE_CHECKING = False",
        "if TYPE_CHECKING:\n    a = 1 == 2",
        'git.append_trace("a", f"{b == c}")',
        'append_trace("a", f"{b == c}")',
        'raise Error("a" + b)',
        "from a import b",
        '"""One and two."""',
    ],
)
def test_what_changes_no_behaviour_is_left_alone(source: str) -> None:
    assert changed(source) == []


def test_every_file_with_rules_is_there_and_has_tests() -> None:
    files = [TOP / file for file, _ in rooms.rules(TOP)]
    assert all(path.exists() and rooms.tests(TOP, path) for path in files)


def test_a_mutation_says_where_it_is() -> None:
    one = next(mutations("gitcp/x.py", b"def f(a):\n    return a == 1\n"))
    assert (one.line, one.function) == (2, "f")
    assert str(one).startswith("gitcp/x.py:2: ")


def test_instrumented_code_tells_which_functions_were_entered(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    source = (
        b'def f():\n    """Doc."""\n    return g()\ndef g():\n    return 1\ndef h():\n    pass\n'
    )
    space: dict[str, object] = {}
    exec(instrumented("x.py", source, calls), space)
    f = space["f"]
    assert callable(f)
    assert f() == 1
    assert calls.read_text().split() == ["x.py:f", "x.py:g"]


def test_a_file_of_the_same_size_and_second_is_not_taken_from_the_cache(tmp_path: Path) -> None:
    slot, file = Slot(tmp_path), tmp_path / "x.py"
    values = []
    for source in (b"a = 1\n", b"a = 2\n", b"a = 3\n"):
        slot.write("x.py", source)
        spec = importlib.util.spec_from_file_location("x", file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        values.append(module.a)
    assert values == [1, 2, 3]
