"""The undo log: what is in force, what is undone next, and that no branch of it is lost."""

from __future__ import annotations

import pytest

from gitcp.errors import Error
from gitcp.steps.back import plan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.steps.back.plan import Step


def log(text: str) -> list[Step]:
    """A log of words: `a` is a step named a, `-a` its undo, `+a` its redo."""
    steps: list[Step] = []
    for word in text.split():
        here = plan.get_position(steps)
        name = word.lstrip("+-")
        known = plan.map_steps(steps)
        if word.startswith("-"):
            move = {"kind": "undo", "target": name, "position": known[name]["parent"]}
        elif word.startswith("+"):
            move = {"kind": "redo", "target": name, "position": name}
        else:
            move = {"kind": "rewind", "position": name}
        steps.append({"id": word, "parent": here, **move})
    return steps


@pytest.mark.parametrize(
    ("text", "undo", "redo"),
    [
        ("", "", ""),
        ("a", "a", ""),
        ("a b", "b", ""),
        ("a b -b", "a", "b"),
        ("a b -b -a", "", "a"),
        ("a b -b -a +a", "a", "b"),
        ("a b -b c", "c", ""),
        ("a b -b c -c", "a", "c"),
        ("a -a b -b", "", "b"),
        ("a -a b -b +a -a", "", "a"),
    ],
)
def test_what_comes_next(text: str, undo: str, redo: str) -> None:
    steps = log(text)
    if undo:
        assert [step["id"] for step in plan.list_steps_to_undo(steps)] == [undo]
    else:
        with pytest.raises(Error, match="nothing to undo"):
            plan.list_steps_to_undo(steps)
    if redo:
        assert plan.find_step_to_redo(steps)["id"] == redo
    else:
        with pytest.raises(Error, match="nothing to redo"):
            plan.find_step_to_redo(steps)


def test_every_branch_that_was_undone_here_can_be_named() -> None:
    steps = log("a -a ab -ab b -b")
    assert plan.find_step_to_redo(steps, "b")["id"] == "b"
    assert plan.find_step_to_redo(steps, "ab")["id"] == "ab"
    with pytest.raises(Error, match="ambiguous step 'a': a ab"):
        plan.find_step_to_redo(steps, "a")
    with pytest.raises(Error, match="no such step to redo: 'z'"):
        plan.find_step_to_redo(steps, "z")


def test_the_steps_in_force_are_those_that_the_last_one_stands_on() -> None:
    assert plan.list_in_force(log("a b -b c")) == ["c", "a"]
    assert plan.list_in_force(log("a -a")) == []


def test_several_steps_are_undone_together_or_none() -> None:
    steps = [{"id": n, "kind": "rewind", "position": n} for n in ("1234a", "5678b", "9abcd")]
    for step, parent in zip(steps, ("", "1234a", "5678b"), strict=True):
        step["parent"] = parent

    def undone(name: str) -> list[str]:
        return [step["id"] for step in plan.list_steps_to_undo(steps, name)]

    assert undone("2") == ["9abcd", "5678b"]
    assert undone("5678") == ["9abcd", "5678b"]
    assert undone("9abcd") == ["9abcd"]
    with pytest.raises(Error, match="only 3 steps can be undone"):
        undone("4")
    for name in ("0", "ffff", "9a"):
        with pytest.raises(Error, match=f"no such step to undo: '{name}'"):
            undone(name)
    steps[1]["id"] = steps[1]["position"] = steps[2]["parent"] = "9abc0"
    with pytest.raises(Error, match="ambiguous step '9abc': 9abcd 9abc0"):
        undone("9abc")


def test_what_was_undone_together_is_redone_step_by_step() -> None:
    steps = log("a b")
    undo = {"id": "-2", "kind": "undo", "parent": "b", "position": "", "target": "a"}
    steps.append({**undo, "targets": ["b", "a"]})
    assert plan.find_step_to_redo(steps)["id"] == "a"
    redo = {"id": "+a", "kind": "redo", "parent": "", "position": "a", "target": "a"}
    assert plan.find_step_to_redo([*steps, redo])["id"] == "b"
