"""The compiled patterns of redaction, kept in one file beside their module's own bytecode.

Only who may change the code may write there.  The file is for one build of Python and one table
of rules, and checked like bytecode: one that does not fit is made again, whole.
"""

from __future__ import annotations

import marshal
import os
import stat
import sys
from zlib import crc32

from gitcp.core.redact import patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.redact.patterns import Code

_LARGEST = 1 << 22  # bytes, many times what all rules need


def load() -> None:
    """Have what is kept ready, before the modules that compile patterns are imported."""
    patterns.READY.update(_read(place()))


def save() -> None:
    """Keep every pattern where one had to be compiled; where we may not write, do without."""
    if not patterns.COMPILED or sys.dont_write_bytecode:
        return
    from gitcp.core.redact import rules

    for rule in rules.rules():
        patterns.compiled(rule["pattern"].encode())
    patterns.COMPILED.clear()
    data, new = marshal.dumps(patterns.READY), f"{place()}.{os.getpid()}"
    try:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        with open(fd, "wb", buffering=0) as f:
            f.write(_mark(data) + data)
        os.rename(new, place())
    except OSError:
        pass


def place() -> str:
    """Where they are kept, by this kind of Python."""
    spec = patterns.__spec__
    folder = os.path.dirname(spec.cached or "" if spec else "")
    return os.path.join(folder, f"patterns.{sys.implementation.cache_tag}")


def _mark(data: bytes) -> bytes:
    """What stands before data where it was written by this Python for these rules, and whole."""
    import _sre  # type: ignore[import-not-found]

    table = os.stat(os.path.join(os.path.dirname(patterns.__file__), "secrets.json"))
    python = (sys.hexversion, _sre.MAGIC, _sre.CODESIZE, sys.byteorder)
    parts = ("gitcp", *python, table.st_size, table.st_mtime_ns, crc32(data))
    return " ".join(map(str, parts)).encode() + b"\n"


def _read(path: str) -> dict[bytes, Code]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb", buffering=0) as f:
            mark, _, data = (f.read(_LARGEST) if _trusted(fd) else b"").partition(b"\n")
        if mark + b"\n" != _mark(data):
            return {}
    except OSError:
        return {}
    kept = marshal.loads(data)
    return kept if isinstance(kept, dict) else {}


def _trusted(fd: int) -> bool:
    """Whether nobody writes the file who does not write the code too."""
    st, code = os.fstat(fd), os.stat(patterns.__file__)
    alone = not st.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return alone and stat.S_ISREG(st.st_mode) and st.st_uid in (0, code.st_uid)
