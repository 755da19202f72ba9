"""json.loads and json.dumps at what a hook can pay: the same C code, without the module.

`import json` brings `re` and `enum` along, 8 ms of a hook's 20.  What the C code does not take
as it is (another encoding, a mistake to be named) is left to the module itself.
"""

from __future__ import annotations

from gitcp.start import stdlib
from gitcp.start.cpython import json_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLANK = " \t\n\r"


class _Options:
    """What the scanner asks its decoder for."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = float, int

    @staticmethod
    def parse_constant(name: str) -> float:
        return float(name.replace("Infinity", "inf"))


def _refuse(value: object) -> Any:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


try:
    _scan: Any = json_parts.make_scanner(_Options)
    _ascii, _plain = json_parts.encode_basestring_ascii, json_parts.encode_basestring

    def _make_encoder(colon: str, comma: str) -> Any:
        return json_parts.make_encoder(
            None, _refuse, _ascii, None, colon, comma, False, False, True
        )

    _spaced, _dense = _make_encoder(": ", ", "), _make_encoder(":", ",")
except (AttributeError, TypeError):  # another Python keeps its C code elsewhere
    _scan = None


def loads(data: bytes | str) -> Any:
    """The value of a JSON text; raise ValueError, or RecursionError, for what is none."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")
        text = text.strip(_BLANK)
        if _scan:
            value, end = _scan(text, 0)
            if end == len(text):
                return value
    except (ValueError, StopIteration, SystemError):
        pass  # SystemError: it finds no json.decoder for its error before that is imported
    return stdlib.json.loads(data)


def dumps(
    value: object,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    ensure_ascii: bool = True,
) -> str:
    """The JSON text of a value whose keys are texts, as json.dumps() makes it.

    indent: spaces a level; separators: None, or (",", ":"); ensure_ascii=False: with an indent.
    """
    if not _scan:
        return stdlib.json.dumps(
            value, indent=indent, separators=separators, ensure_ascii=ensure_ascii
        )
    if indent:
        return _format_indented(value, "\n", " " * indent, _ascii if ensure_ascii else _plain)
    if isinstance(value, str):
        return str(_ascii(value))
    return "".join((_dense if separators else _spaced)(value, 0))


def _format_indented(value: Any, line: str, step: str, quote: Callable[[str], str]) -> str:
    inner = line + step
    if isinstance(value, dict) and value:
        items = [f"{quote(k)}: {_format_indented(v, inner, step, quote)}" for k, v in value.items()]
        return "{" + inner + ("," + inner).join(items) + line + "}"
    if isinstance(value, (list, tuple)) and value:
        items = [_format_indented(one, inner, step, quote) for one in value]
        return "[" + inner + ("," + inner).join(items) + line + "]"
    return quote(value) if isinstance(value, str) else dumps(value)
