"""Regular expressions as stored code: importing `re` and compiling the rules of redaction costs a
hook 15 ms.

Their file lies beside gitcp's own bytecode and fits one build of Python and one version of the
rules.  A pattern that it lacks is compiled, and so are all of them in a Python that works otherwise
inside.
"""

from __future__ import annotations

import marshal
import os
import stat
import sys
from zlib import crc32

from gitcp import memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any

    Code = tuple[int, bytes, int]  # flags, words of the regex machine, number of groups

try:
    import _sre  # type: ignore[import-not-found]
except ImportError:
    _sre = None

READY: dict[bytes, Code] = memory.get_table("patterns")  # source -> code
# What checkpoints/redact makes of secrets.json, by its use; stored too, as parsing costs 0.5 ms.
FORMATS: dict[str, Any] = memory.get_table("formats")
COMPILED: dict[bytes, bool] = memory.get_table("compiled")  # by this process, and added
RULES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "checkpoints", "redact")
FILES = ("secrets.json", "__init__.py", "rules.py", "assigned.py", "encoded.py", "random_runs.py")
_LARGEST = 1 << 22  # bytes, many times what all rules need
_PYTHON = f"gitcp {sys.hexversion:x} {sys.byteorder} ".encode()


def load_pattern(source: bytes) -> re.Pattern[bytes]:
    """re.compile(source), for a built-in pattern, without named groups."""
    pattern = None
    if source in READY:
        pattern = _build(source, *READY[source])
    if pattern is None:
        import re

        pattern = re.compile(source)
        code = _compile(source)
        if code:
            READY[source] = code
            COMPILED[source] = True
    return pattern


def load_patterns() -> None:
    """Read the stored patterns, before the modules that compile patterns are imported."""
    stored = _read(locate_patterns())
    if stored:
        READY.update(stored[0])
        FORMATS.update(stored[1])


def save_patterns(prepare: Callable[[], None]) -> None:
    """Store READY and FORMATS if a pattern had to be compiled; prepare() fills both."""
    if not COMPILED:
        return
    prepare()
    COMPILED.clear()
    path = locate_patterns()
    if path and not sys.dont_write_bytecode:
        data = marshal.dumps((READY, FORMATS))
        _write(path, build_mark(data) + data)


def locate_patterns() -> str:
    """The file with the stored patterns of this build of Python; '' if it keeps no bytecode."""
    cached = __spec__.cached if __spec__ else None
    tag = sys.implementation.cache_tag
    if cached and tag:
        return os.path.join(os.path.dirname(cached), f"patterns.{tag}")
    return ""


def stat_table() -> tuple[int, ...]:
    """(bytes, time of change in ns) of the file with the rules and of the modules that search."""
    stats = [os.stat(os.path.join(RULES, name)) for name in FILES]
    return tuple(number for st in stats for number in (st.st_size, st.st_mtime_ns))


def build_mark(data: bytes) -> bytes:
    """The line before the data: the build of Python, the files of rules and a checksum."""
    machine = getattr(_sre, "MAGIC", 0), getattr(_sre, "CODESIZE", 0)
    parts = (*machine, *stat_table(), crc32(data))
    return _PYTHON + b"%d " * len(parts) % parts + b"\n"


def _read(path: str) -> tuple[dict[bytes, Code], dict[str, Any]] | None:
    """The patterns and formats in a file; None if it does not fit."""
    try:
        with open(_open_own(path), "rb", buffering=0) as f:
            mark, _, data = f.read(_LARGEST).partition(b"\n")
        if mark + b"\n" != build_mark(data):
            return None
    except OSError:
        return None
    stored: tuple[dict[bytes, Code], dict[str, Any]] = marshal.loads(data)
    return stored


def _open_own(path: str) -> int:
    """A descriptor of a file, to read; raises OSError if another user could write it."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    st = os.fstat(fd)
    is_shared = st.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not is_shared and stat.S_ISREG(st.st_mode) and st.st_uid in (0, os.stat(__file__).st_uid):
        return fd
    os.close(fd)
    raise PermissionError(path)


def _write(path: str, content: bytes) -> None:
    """Replace a file as a whole, if it can be written."""
    new = f"{path}.{os.getpid()}"
    try:
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with open(fd, "wb") as f:
                f.write(content)
            os.rename(new, path)
        except OSError:
            os.unlink(new)  # on a full disk each hook would leave one
    except OSError:
        pass


def _build(source: bytes, *code: Any) -> re.Pattern[bytes] | None:
    """A pattern from its code; None for invalid code, which Python checks."""
    try:
        flags, words, groups = code
        names = (None,) * (groups + 1)
        words = memoryview(words).cast("I").tolist()
        pattern: re.Pattern[bytes] = _sre.compile(source, flags, words, groups, {}, names)
    except (AttributeError, TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return pattern


def _compile(source: bytes) -> Code | None:
    """The code for _build(); None if this Python compiles in another way."""
    try:
        from array import array
        from re import _compiler, _parser  # type: ignore[attr-defined]

        parsed = _parser.parse(source, 0)
        words = array("I", _compiler._code(parsed, 0)).tobytes()
        return parsed.state.flags, words, parsed.state.groups - 1
    except (ImportError, AttributeError, TypeError):
        return None
