"""Adds a value to JSON text, or removes one, and leaves every other byte.

Removing an added value restores the text, except for the white space of an empty list or object.
Comments, and a comma after the last item, are allowed.
"""

from __future__ import annotations

import json
import re

from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Path = tuple[str | int, ...]

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?\*/", re.S)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.S)
_BLANK = " \t\r\n"
_scan = json.JSONDecoder().raw_decode


class _Item:
    """A member or an element.  start: the position of its key; value: that of its value."""

    def __init__(self, key: str | int, start: int, value: int, end: int) -> None:
        self.key = key
        self.start = start
        self.value = value
        self.end = end


def parse(text: str, comments: bool = False) -> dict[str, Any]:
    """The object of a text, which may have comments; raises InputError for any other value
    or a repeated key."""
    try:
        plain = (_make_plain(text) if comments else text).removeprefix("\ufeff")
        parsed = json.loads(plain, object_pairs_hook=_make_object)
    except (ValueError, RecursionError) as e:
        raise InputError(f"not JSON: {e}") from None
    if not isinstance(parsed, dict):
        raise InputError("not an object of JSON")
    return parsed


def add_value(text: str, path: Path, value: object) -> str:
    """The text of an object with a value added at path: at the end of a list, else under a new key.

    Missing objects on the path are added.
    """
    at = _find_object(text)
    keys_left = list(path)
    while keys_left:
        member = next((item for item in _list_items(text, at) if item.key == keys_left[0]), None)
        if member is None:
            break
        at = member.value
        keys_left.pop(0)
    for part in reversed(keys_left[1:]):
        value = {part: value}
    return _append(text, at, keys_left[0] if keys_left else None, value)


def cut_value(text: str, path: Path) -> str:
    """The text without the value at path, of keys and numbers, which must exist."""
    at = _find_object(text)
    for part in path[:-1]:
        at = next(item.value for item in _list_items(text, at) if item.key == part)
    items = _list_items(text, at)
    number = next(n for n, item in enumerate(items) if item.key == path[-1])
    start = items[number].start
    end = items[number].end
    if number + 1 < len(items):
        return text[:start] + text[items[number + 1].start :]
    begin = len(text[:start].rstrip(_BLANK))
    comma = _find_comma(text, end)
    if comma is not None:
        return text[:begin] + text[comma + 1 :]
    if number:
        before = _find_comma(text, items[number - 1].end) or begin
        return text[:before] + text[before + 1 : begin] + text[end:]
    if begin == at + 1:
        after = text[end:].lstrip(_BLANK)
    else:
        after = text[end:]
    return text[:begin] + after


def _append(text: str, at: int, key: str | int | None, value: object) -> str:
    """The text with an item added at the end of the object or list that begins at `at`."""
    items = _list_items(text, at)
    eol = "\r\n" if "\r\n" in text else "\n"
    if not items:
        return _fill(text, at, key, value, eol)
    lead = text[at + 1 : items[0].start]
    if "\n" not in lead:
        body = _format_item(key, value, None, "")
        glue = " "
    else:
        indent = lead.rpartition("\n")[2]
        body = _format_item(key, value, _find_indent(text), eol + indent)
        glue = eol + indent
    end = items[-1].end
    comma = _find_comma(text, end)
    last = "" if comma is None else ","
    if comma is None:
        comma = end
        text = f"{text[:end]},{text[end:]}"
    if "\n" in lead:
        where = _find_line_end(text, comma + 1)
    else:
        where = comma + 1
    return text[:where] + glue + body + last + text[where:]


def _fill(text: str, at: int, key: str | int | None, value: object, eol: str) -> str:
    """The text with a first item added to the empty object or list that begins at `at`."""
    close = _skip_blanks(_blank_comments(text), at + 1)
    inner = text[at + 1 : close].rstrip(_BLANK)
    if "\n" not in text.strip() and text.strip(_BLANK + "\ufeff") != "{}":
        return text[: at + 1] + inner + _format_item(key, value, None, "") + text[close:]
    line = text[text.rfind("\n", 0, at) + 1 : at]
    outer = eol + line[: len(line) - len(line.lstrip(" \t"))]
    indent = outer + _find_indent(text)
    body = _format_item(key, value, _find_indent(text), indent)
    return text[: at + 1] + inner + indent + body + outer + text[close:]


def _format_item(key: str | int | None, value: object, unit: str | None, indent: str) -> str:
    """An item as text, on lines of its own if there is a unit of indentation."""
    if key is None:
        head = ""
    else:
        head = json.dumps(key, ensure_ascii=False) + ": "
    text = head + json.dumps(value, indent=unit, ensure_ascii=False)
    if any("\ud800" <= c <= "\udfff" for c in text):  # an escaped half of a pair
        text = head + json.dumps(value, indent=unit)
    return text.replace("\n", indent) if unit else text


def _find_indent(text: str) -> str:
    """The unit of a text's indentation."""
    indented = re.search(r"\n([ \t]+)\S", text)
    return indented[1] if indented else "  "


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InputError(f"duplicate key '{twice}'")
    return members


def _blank_comments(text: str) -> str:
    """The text with its comments replaced by blanks of the same length."""
    return _COMMENT.sub(lambda match: match[1] or re.sub(r"\S", " ", match[0]), text)


def _make_plain(text: str) -> str:
    """The text with each comma after a last item replaced by a blank."""
    return _LAST_COMMA.sub(lambda match: match[1] or " ", _blank_comments(text))


def _find_object(text: str) -> int:
    return _blank_comments(text).index("{")


def _list_items(text: str, at: int) -> list[_Item]:
    """The items of the object or list that begins at `at`, in order."""
    plain = _make_plain(text)
    items: list[_Item] = []
    start = _skip_blanks(plain, at + 1)
    while plain[start] not in "}]":
        key = len(items)
        value = start
        if plain[at] == "{":
            key, colon = _scan(plain, start)
            value = _skip_blanks(plain, _skip_blanks(plain, colon) + 1)
        _, end = _scan(plain, value)
        items.append(_Item(key, start, value, end))
        start = _skip_blanks(plain, end)
        if plain[start] == ",":
            start = _skip_blanks(plain, start + 1)
    return items


def _find_comma(text: str, at: int) -> int | None:
    """The position of the comma after a value; None without one."""
    bare = _blank_comments(text)
    follows = _skip_blanks(bare, at)
    return follows if bare[follows] == "," else None


def _find_line_end(text: str, at: int) -> int:
    """The end of a comment that ends the line; `at` without one."""
    end = text.find("\n", at)
    comment = text[at:end].rstrip()
    if comment and not _blank_comments(text)[at:end].strip():
        return at + len(comment)
    return at


def _skip_blanks(text: str, at: int) -> int:
    """The position of the next character that is not white space."""
    return len(text) - len(text[at:].lstrip(_BLANK))
