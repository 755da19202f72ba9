"""Texts and plain values; here what makes a class of values."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform():
        """Nothing where no types are checked."""
        return lambda decorator: decorator


@dataclass_transform()
def value_class(cls: type[T]) -> type[T]:
    """Make a class of values, as `@dataclass(slots=True)` does: the names that it annotates are the
    fields, in their order, and what it gives them is their default.

    It is for modules that hooks load: `import dataclasses` costs a hook as much as Python's own
    start.  Where objects are made by the thousand, `__slots__` and `__init__` by hand are faster.
    """
    names = tuple(cls.__annotations__)
    members = {name: value for name, value in cls.__dict__.items() if name not in _OWN}
    defaults = {name: members.pop(name) for name in names if name in members}
    members |= {"__slots__": names, "_defaults": defaults, "__hash__": None}
    members |= {"__init__": _fill, "__eq__": _is_equal, "__repr__": _show}
    made: type[T] = type(cls.__name__, cls.__bases__, members)
    return made


def map_fields(value: Any) -> dict[str, object]:
    """name -> value of the fields of such a class."""
    fields = {}
    for name in value.__slots__:
        fields[name] = getattr(value, name)
    return fields


def replace(value: T, **changed: object) -> T:
    """A copy of a value of such a class, with other values of some fields."""
    fields = map_fields(value)
    fields.update(changed)
    return type(value)(**fields)


_OWN = ("__dict__", "__weakref__")  # what the class with slots has not, or has of its own


def _fill(self: Any, *values: object, **named: object) -> None:
    names = self.__slots__
    if len(values) + len(named) != len(names):
        named = {**self._defaults, **named}
        for name in names[: len(values)]:
            named.pop(name, None)
        _check_fields(self, len(values), named)
    for name, value in zip(names, values, strict=False):
        setattr(self, name, value)
    for name in named:
        setattr(self, name, named[name])


def _check_fields(self: Any, count: int, named: dict[str, object]) -> None:
    """Raise TypeError unless values, as many as count, and these names are all fields."""
    missing = [name for name in self.__slots__[count:] if name not in named]
    if missing or count > len(self.__slots__):
        what = ", ".join(missing) or "at most this many values"
        raise TypeError(f"{type(self).__name__}() needs {what}")


def _is_equal(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return False
    return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)


def _show(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
    return f"{type(self).__name__}({fields})"
