"""What hooks take from inside CPython, because the modules around it cost milliseconds to import;
and files kept beside our own bytecode, for one build of Python.

Where another Python has no such part the standard library does the same, later: each part here
is None then, or the public module.
"""

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from typing import Any

    Code = tuple[int, bytes, int]  # flags, words of the regex machine, number of groups


def _find_part(name: str) -> "Any":
    try:
        return __import__(name)
    except ImportError:
        return None


signals = _find_part("_signal") or __import__("signal")
json_parts = _find_part("_json")
_sre = _find_part("_sre")


def build_pattern(source: bytes, *code: "Any") -> "re.Pattern[bytes] | None":
    """The pattern; None where the code is none: its words are checked before they run."""
    try:
        flags, words, groups = code
        names = (None,) * (groups + 1)
        words = memoryview(words).cast("I").tolist()
        pattern: re.Pattern[bytes] = _sre.compile(source, flags, words, groups, {}, names)
    except (AttributeError, TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return pattern


def compile_pattern(source: bytes) -> "Code | None":
    """What build_pattern() makes the pattern of; None in a Python that does it otherwise."""
    try:
        from array import array
        from re import _compiler, _parser  # type: ignore[attr-defined]

        parsed = _parser.parse(source, 0)
        words = array("I", _compiler._code(parsed, 0)).tobytes()
        return parsed.state.flags, words, parsed.state.groups - 1
    except (ImportError, AttributeError, TypeError):
        return None


def get_regex_build() -> "tuple[int, int]":
    """What tells the regex machine of another build of Python."""
    return getattr(_sre, "MAGIC", 0), getattr(_sre, "CODESIZE", 0)


# What a file of this build of Python begins with.
MARK = f"gitcp {sys.hexversion:x} {sys.byteorder} ".encode()


def get_path(name: str) -> str:
    """Where the file of that name is, for this kind of Python; '' where that keeps no bytecode."""
    cached = __spec__.cached if __spec__ else None
    tag = sys.implementation.cache_tag
    return os.path.join(os.path.dirname(cached), f"{name}.{tag}") if cached and tag else ""


def open_own(file: str) -> int:
    """A descriptor of the file, to read; raise OSError for one that anybody else could write."""
    fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    st = os.fstat(fd)
    alone = not st.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if alone and stat.S_ISREG(st.st_mode) and st.st_uid in (0, os.stat(__file__).st_uid):
        return fd
    os.close(fd)
    raise PermissionError(file)


def write(file: str, content: "Callable[[], bytes]") -> None:
    """Make the file anew, whole or not at all; content is asked for where that can be done."""
    new = f"{file}.{os.getpid()}"
    try:
        if sys.dont_write_bytecode or not file:
            return
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with open(fd, "wb") as f:
                f.write(content())
            os.rename(new, file)
        except OSError:
            os.unlink(new)  # the disk is full: each hook would leave one
    except OSError:
        pass
