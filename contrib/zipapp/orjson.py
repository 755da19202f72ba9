"""What gitcp asks of orjson, by Python's own json, where no orjson is installed."""

import json
from json import JSONDecodeError, loads
from typing import Any

__all__ = ["JSONDecodeError", "dumps", "loads"]
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1


def dumps(value: Any) -> bytes:
    """A JSON text; raise TypeError for surrogates and integers of more than 64 bits."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        _check(value)
        return text.encode()
    except ValueError as e:
        raise TypeError(str(e)) from None


def _check(value: Any) -> None:
    if isinstance(value, dict):
        for one in value.values():
            _check(one)
    elif isinstance(value, list | tuple):
        for one in value:
            _check(one)
    elif isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise TypeError("an integer of more than 64 bits")
