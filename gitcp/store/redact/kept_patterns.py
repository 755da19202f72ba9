"""The compiled patterns of redaction, kept in a file beside our bytecode.

It is for one build of Python and one table of rules: one that does not fit is made again, whole.
"""

from __future__ import annotations

import marshal
import os
from zlib import crc32

from gitcp.core.redact import patterns
from gitcp.start import cpython

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.start.cpython import Code

_LARGEST = 1 << 22  # bytes, many times what all rules need


def load() -> None:
    """Have what is kept ready, before the modules that compile patterns are imported."""
    patterns.READY.update(_read(place()))


def save() -> None:
    """Keep every pattern, where one had to be compiled."""
    if not patterns.COMPILED:
        return
    from gitcp.core.redact import rules

    for rule in rules.rules():
        patterns.compiled(rule["pattern"].encode())
    patterns.COMPILED.clear()
    cpython.write(place(), lambda: _mark(data := marshal.dumps(patterns.READY)) + data)


def place() -> str:
    """Where they are kept, by this kind of Python."""
    return cpython.path("patterns")


def table() -> tuple[int, int]:
    """(bytes, time of change in ns) of the table of rules: another one where that changes."""
    st = os.stat(os.path.join(os.path.dirname(patterns.__file__), "secrets.json"))
    return st.st_size, st.st_mtime_ns


def _mark(data: bytes) -> bytes:
    """What stands before data where it was written by this Python for these rules, and whole."""
    parts = (*cpython.pattern_build(), *table(), crc32(data))
    return cpython.MARK + b"%d %d %d %d %d\n" % parts


def _read(path: str) -> dict[bytes, Code]:
    try:
        with open(cpython.opened(path), "rb", buffering=0) as f:
            mark, _, data = f.read(_LARGEST).partition(b"\n")
        if mark + b"\n" != _mark(data):
            return {}
    except OSError:
        return {}
    kept = marshal.loads(data)
    return kept if isinstance(kept, dict) else {}
