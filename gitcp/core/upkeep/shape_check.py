"""What is wrong with a value that is not of a shape.

A shape is a type; a test, which takes a value; [shape] for a list of it; {None: shape} for an
object of any keys; or an object of known keys, where `key?` may be absent or null and keys that
are not named may hold anything.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Shape = Any

_NAMES = {str: "text", int: "number", bool: "boolean", dict: "object", list: "list"}
_FIELDS: dict[int, tuple[Shape, dict[str, Shape], frozenset[str]]] = {}  # a shape lives on


def wrong(value: object, shape: Shape, at: str = "") -> str:
    """What is wrong with a value, '' for nothing: `'streams[0].files' is no object`."""
    if isinstance(shape, dict):
        return _object(value, shape, at)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _no(at, "list")
        for number, one in enumerate(value):
            if wrong(one, shape[0]):  # where it stands is put into words for a mistake alone
                return wrong(one, shape[0], f"{at}[{number}]")
        return ""
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not (isinstance(value, bool) and shape is not bool)
        return "" if fits else _no(at, _NAMES[shape])
    return "" if shape(value) else _no(at, shape.__name__.replace("_", " "))


def _object(value: object, shape: Shape, at: str) -> str:
    if not isinstance(value, dict):
        return _no(at, "object")
    if None in shape:
        for key, one in value.items():
            if wrong(one, shape[None]):
                return wrong(one, shape[None], f"{at}[{key!a}]")
        return ""
    fields, needed = _fields(shape)
    if missing := needed.difference(value):
        return f"'{_below(at, min(missing))}' is missing"
    for key, one in value.items():
        inner = fields.get(key)
        if inner is None or type(one) is inner or (one is None and key not in needed):
            continue
        if wrong(one, inner):
            return wrong(one, inner, _below(at, key))
    return ""


def _fields(shape: dict[str, Shape]) -> tuple[dict[str, Shape], frozenset[str]]:
    """(the shape of each known key, those that must be there), worked out once for a shape."""
    if id(shape) not in _FIELDS:
        fields = {name.removesuffix("?"): inner for name, inner in shape.items()}
        _FIELDS[id(shape)] = shape, fields, frozenset(fields) & frozenset(shape)
    return _FIELDS[id(shape)][1:]


def _below(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _no(at: str, what: str) -> str:
    return f"'{at}' is no {what}" if at else f"it is no {what}"
