"""loads() and dumps() as in `json`, by the same C code but without importing the module.

`import json` also imports `re` and `enum`, which costs 8 ms of a hook's 20.  The module is
imported only for what the C code does not accept: another encoding, or an error to be described.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# What begins half of a surrogate pair, escaped or not.
_HALVES = (b"\\ud", b"\\uD", b"\xed")
_HALVES_OF_TEXT = ("\\ud", "\\uD")
_BLANK = " \t\n\r"


class _Options:
    """The attributes of a JSONDecoder that the scanner reads."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> float:
        return float(name.replace("Infinity", "inf"))


def _refuse(value: object) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


try:
    import _json

    _parts: Any = _json
    _scan: Any = _parts.make_scanner(_Options)
    _ascii = _parts.encode_basestring_ascii
    _plain = _parts.encode_basestring

    def _make_encoder(quote: Any, colon: str, comma: str) -> Any:
        return _parts.make_encoder(None, _refuse, quote, None, colon, comma, False, False, True)

    _spaced = _make_encoder(_ascii, ": ", ", ")
    _dense = _make_encoder(_ascii, ":", ",")
    _unescaped = _make_encoder(_plain, ":", ",")
except (ImportError, AttributeError, TypeError):  # this Python has no such C code
    _scan = None


def loads(data: bytes | str) -> Any:
    """The value of a JSON text; raise ValueError or RecursionError if it is not JSON."""
    try:
        if isinstance(data, str):
            text = data
        else:
            text = data.decode("utf-8", "surrogatepass")
        text = text.strip(_BLANK)
        if _scan and text:
            value, end = _scan(text, 0)
            if end == len(text):
                return value
    except (ValueError, StopIteration, SystemError):
        pass  # SystemError: the scanner cannot raise JSONDecodeError before json is imported
    if not data:  # of a file that is not there
        raise ValueError("Expecting value: line 1 column 1 (char 0)")
    import json

    return json.loads(data)


def mend_halves(value: Any, text: bytes | str) -> Any:
    """The value of a JSON text, of which another program may have cut texts in the middle of a
    character, with replace_half() in its texts."""
    marks = _HALVES if isinstance(text, bytes) else _HALVES_OF_TEXT
    return _mend_value(value) if any(map(text.__contains__, marks)) else value  # type: ignore[arg-type]


def _mend_value(value: Any) -> Any:
    if isinstance(value, str):
        if value.isascii():
            return value
        return "".join(map(replace_half, value))
    if isinstance(value, dict):
        return {_mend_value(key): _mend_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [*map(_mend_value, value)]
    return value


def replace_half(char: str) -> str:
    """A character; U+FFFD for half of a surrogate pair, from a text that was cut: it is neither a
    character nor a byte of a name."""
    if "\ud800" <= char < "\udc80" or "\udcff" < char <= "\udfff":
        return "\ufffd"
    return char


def dumps(
    value: object,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    ensure_ascii: bool = True,
) -> str:
    """The JSON text of a value, as json.dumps() makes it; all keys must be texts.

    separators: None or (",", ":").  ensure_ascii=False needs one of indent and separators.
    """
    if not _scan:
        import json

        return json.dumps(value, indent=indent, separators=separators, ensure_ascii=ensure_ascii)
    if indent:
        return _format_indented(value, "\n", " " * indent, _ascii if ensure_ascii else _plain)
    if not ensure_ascii:
        return "".join(_unescaped(value, 0))
    if isinstance(value, str):
        return str(_ascii(value))
    return "".join((_dense if separators else _spaced)(value, 0))


def _format_indented(value: Any, line: str, step: str, quote: Callable[[str], str]) -> str:
    if isinstance(value, str):
        return quote(value)
    if type(value) is int:
        return str(value)
    inner = line + step
    if isinstance(value, dict) and value:
        items = [f"{quote(k)}: {_format_indented(v, inner, step, quote)}" for k, v in value.items()]
        return "{" + inner + ("," + inner).join(items) + line + "}"
    if isinstance(value, (list, tuple)) and value:
        items = [_format_indented(item, inner, step, quote) for item in value]
        return "[" + inner + ("," + inner).join(items) + line + "]"
    return dumps(value)


def list_objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list; [] for any other value."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return []


def ensure_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}
