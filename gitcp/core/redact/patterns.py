"""Regular expressions from what `re` once made of them: to import it and compile costs 15 ms.

READY is filled by whoever keeps them between processes; what is not there is compiled.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    Code = tuple[int, bytes, int]  # flags, words of the regex machine, number of groups

READY: dict[bytes, Code] = {}  # source -> code
COMPILED: list[bytes] = []  # what this process had to compile, and added


def compiled(source: bytes) -> re.Pattern[bytes]:
    """re.compile(source), for a pattern of ours, without named groups."""
    pattern = _from_code(source, *READY[source]) if source in READY else None
    if pattern is None:
        import re

        pattern = re.compile(source)
        if code := _code(source):
            READY[source] = code
            COMPILED.append(source)
    return pattern


def _from_code(source: bytes, *code: Any) -> re.Pattern[bytes] | None:
    """The pattern; None where the code is none: its words are checked before they run."""
    import _sre  # type: ignore[import-not-found]

    try:
        flags, words, groups = code
        names = (None,) * (groups + 1)
        words = memoryview(words).cast("I").tolist()
        pattern: re.Pattern[bytes] = _sre.compile(source, flags, words, groups, {}, names)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return pattern


def _code(source: bytes) -> Code | None:
    try:
        from array import array
        from re import _compiler, _parser  # type: ignore[attr-defined]

        parsed = _parser.parse(source, 0)
        words = array("I", _compiler._code(parsed, 0)).tobytes()
        return parsed.state.flags, words, parsed.state.groups - 1
    except (ImportError, AttributeError, TypeError):
        return None  # a Python that does it otherwise
