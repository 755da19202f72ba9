"""The undo log: what is in force, what is undone next, and that no branch of it is lost."""

from __future__ import annotations

import json

import pytest

from gitcp.errors import Error
from gitcp.steps.step import Effect, HeadMove, IndexFacts, LogPlace, Step, parse_effect, parse_step
from gitcp.steps.undo_tree import UndoTree


def log(text: str) -> list[Step]:
    """A log of words: `a` is a step named a, `-a` its undo, `+a` its redo."""
    steps: list[Step] = []
    for word in text.split():
        tree = UndoTree(steps)
        here = tree.position
        name = word.lstrip("+-")
        if word.startswith("-"):
            parent = tree.steps[name].parent
            step = Step(word, "undo", "", parent=here, position=parent, targets=[name])
        elif word.startswith("+"):
            step = Step(word, "redo", "", parent=here, position=name, targets=[name])
        else:
            step = Step(word, "rewind", "", parent=here)
        steps.append(step)
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
    tree = UndoTree(log(text))
    if undo:
        assert [step.id for step in tree.list_to_undo()] == [undo]
    else:
        with pytest.raises(Error, match="nothing to undo"):
            tree.list_to_undo()
    if redo:
        assert tree.find_to_redo().id == redo
    else:
        with pytest.raises(Error, match="nothing to redo"):
            tree.find_to_redo()


def test_every_branch_that_was_undone_here_can_be_named() -> None:
    tree = UndoTree(log("a -a ab -ab b -b"))
    assert tree.find_to_redo("b").id == "b"
    assert tree.find_to_redo("ab").id == "ab"
    with pytest.raises(Error, match="ambiguous step 'a': a ab"):
        tree.find_to_redo("a")
    with pytest.raises(Error, match="no such step to redo: 'z'"):
        tree.find_to_redo("z")


def test_the_steps_in_force_are_those_that_the_last_one_stands_on() -> None:
    assert UndoTree(log("a b -b c")).in_force == ["c", "a"]
    assert UndoTree(log("a -a")).in_force == []


def test_several_steps_are_undone_together_or_none() -> None:
    steps = log("1234a 5678b 9abcd")

    def undone(name: str) -> list[str]:
        return [step.id for step in UndoTree(steps).list_to_undo(name)]

    assert undone("2") == ["9abcd", "5678b"]
    assert undone("5678") == ["9abcd", "5678b"]
    assert undone("9abcd") == ["9abcd"]
    with pytest.raises(Error, match="only 3 steps can be undone"):
        undone("4")
    for name in ("0", "ffff", "9a"):
        with pytest.raises(Error, match=f"no such step to undo: '{name}'"):
            undone(name)
    steps = log("1234a 9abc0 9abcd")
    with pytest.raises(Error, match="ambiguous step '9abc': 9abcd 9abc0"):
        undone("9abc")


def test_what_was_undone_together_is_redone_step_by_step() -> None:
    steps = log("a b")
    steps.append(Step("-2", "undo", "", parent="b", position="", targets=["b", "a"]))
    assert UndoTree(steps).find_to_redo().id == "a"
    redo = Step("+a", "redo", "", parent="", position="a", targets=["a"])
    assert UndoTree([*steps, redo]).find_to_redo().id == "b"


def test_a_step_is_stored_and_read_again() -> None:
    move = HeadMove("1" * 40, "2" * 40, "refs/heads/main")
    effects = [
        Effect("note", "3" * 40, None, "4" * 40),
        Effect("file", "/repo/.env", "5" * 40, None, mode=0o600),
        Effect("stash", "6" * 40, None, "6" * 40, path="/repo/.git/logs/refs/stash"),
        Effect("index", "e3b0c4", "7" * 40, "8" * 40, "index", index=IndexFacts("9", ("a",), move)),
    ]
    raw = {"a.py": (0o600, None)}
    step = Step("1234a", "undo", "r", effects, "a", "", ["b", "a"], "9", "main", raw=raw)
    assert parse_step(json.loads(json.dumps(step.make_record())), LogPlace()) == step
    assert [effect.invert().invert() for effect in effects] == effects


def test_an_effect_of_an_unknown_kind_is_kept_apart() -> None:
    assert parse_effect({"old": None, "new": "1"}).kind == ""
