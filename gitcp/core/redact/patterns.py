"""Regular expressions compiled once for all hooks: to import `re` and compile ours costs 15 ms.

What `re` makes of a pattern is kept in one file beside this module's own bytecode, where only
who may change the code may write.  It is for one build of Python and checked like bytecode; a
pattern that is not in it, or a file that does not fit, costs the import and is kept anew.
"""

from __future__ import annotations

import marshal
import os
import stat
import sys
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    Code = tuple[int, bytes, int]  # flags, machine words of the regex machine, groups

_LARGEST = 1 << 22  # bytes, many times what all rules need


def compiled(source: bytes) -> re.Pattern[bytes]:
    """re.compile(source), for a pattern of ours, without named groups."""
    if (kept := _kept.get(source)) and (made := _made(source, *kept)):
        return made
    import re

    try:
        _kept[source] = _code(source)
    except (ImportError, AttributeError, TypeError):
        return re.compile(source)  # a Python that does it otherwise
    _write(_place(), _kept)
    return _made(source, *_kept[source]) or re.compile(source)


def _place() -> str:
    cached = __spec__.cached if __spec__ else None
    return os.path.join(os.path.dirname(cached or ""), f"patterns.{sys.implementation.cache_tag}")


def _mark(data: bytes) -> bytes:
    """What stands before data where it was written by this Python, and whole."""
    import _sre  # type: ignore[import-not-found]

    parts = (sys.hexversion, _sre.MAGIC, _sre.CODESIZE, sys.byteorder, crc32(data))
    return b"gitcp patterns %x %d %d %s %08x\n" % (*parts[:3], parts[3].encode(), parts[4])


def _read(path: str) -> dict[bytes, Code]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb", buffering=0) as f:
            mark, _, data = (f.read(_LARGEST) if _ours(os.fstat(fd)) else b"").partition(b"\n")
    except OSError:
        return {}
    if mark + b"\n" != _mark(data):
        return {}
    found = marshal.loads(data)
    return found if isinstance(found, dict) else {}


def _ours(st: os.stat_result) -> bool:
    """Whether nobody writes the file who does not write this module too."""
    alone = not st.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return alone and stat.S_ISREG(st.st_mode) and st.st_uid in (0, os.stat(__file__).st_uid)


def _made(source: bytes, *kept: Any) -> re.Pattern[bytes] | None:
    import _sre

    try:
        flags, words, groups = kept
        code = memoryview(words).cast("I").tolist()
        made: re.Pattern[bytes] = _sre.compile(
            source, flags, code, groups, {}, (None,) * (groups + 1)
        )
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return made


def _code(source: bytes) -> Code:
    from array import array
    from re import _compiler, _parser  # type: ignore[attr-defined]

    parsed = _parser.parse(source, 0)
    words = array("I", _compiler._code(parsed, 0)).tobytes()
    return parsed.state.flags, words, parsed.state.groups - 1


def _write(path: str, kept: dict[bytes, Code]) -> None:
    """Keep them, with what another process has kept meanwhile; where we may not, do without."""
    if sys.dont_write_bytecode:
        return
    kept.update({**_read(path), **kept})
    data, new = marshal.dumps(kept), f"{path}.{os.getpid()}"
    try:
        with open(
            new, "wb", opener=lambda name, flags: os.open(name, flags | os.O_EXCL, 0o644)
        ) as f:
            f.write(_mark(data) + data)
        os.rename(new, path)
    except OSError:
        pass


_kept = _read(_place())
