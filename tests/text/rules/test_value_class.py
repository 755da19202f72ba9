"""Classes of values for modules that hooks load."""

from __future__ import annotations

import pytest

from gitcp.text import map_fields, replace, value_class


@value_class
class Place:
    """Where a line is."""

    path: str
    line: int
    revision: str = "HEAD"

    def move(self, count: int) -> Place:
        return Place(self.path, self.line + count, self.revision)


def test_fields_come_by_order_and_by_name_and_have_defaults() -> None:
    place = Place("a.py", line=3)
    assert (place.path, place.line, place.revision) == ("a.py", 3, "HEAD")
    assert Place("a.py", 3, "v1").revision == Place(revision="v1", line=3, path="a.py").revision
    assert place.move(2) == Place("a.py", 5)


def test_equal_are_two_of_one_class_with_equal_fields() -> None:
    assert Place("a", 1) == Place("a", 1, "HEAD") != Place("a", 2)
    other: object = ("a", 1, "HEAD")
    assert Place("a", 1) != other
    with pytest.raises(TypeError):
        hash(Place("a", 1))


def test_it_shows_its_fields() -> None:
    assert repr(Place("a", 1)) == "Place(path='a', line=1, revision='HEAD')"
    assert Place.__doc__ == "Where a line is." and Place.__qualname__ == "Place"


def test_nothing_else_fits_in() -> None:
    with pytest.raises(AttributeError):
        setattr(Place("a", 1), "column", 4)  # noqa: B010
    for values in (["a"], ["a", 1, "b", 2]):
        with pytest.raises(TypeError):
            Place(*values)
    with pytest.raises(TypeError):
        Place(line=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Place("a", 1, column=4)  # type: ignore[call-arg]


def test_a_copy_has_other_values_of_some_fields() -> None:
    place = Place("a", 1)
    assert replace(place, line=2) == Place("a", 2)
    assert map_fields(place) == {"path": "a", "line": 1, "revision": "HEAD"}
    with pytest.raises(AttributeError):
        replace(place, column=1)
