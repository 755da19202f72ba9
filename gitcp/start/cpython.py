"""Parts from inside CPython, because the public modules around them cost a hook milliseconds to
import; and files for one build of Python, beside gitcp's own bytecode.

In a Python without such a part, it is None here, or the public module, and the standard library
does the same more slowly.
"""

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from typing import Any

    Code = tuple[int, bytes, int]  # flags, words of the regex machine, number of groups


def _find_part(name: str) -> "Any":
    try:
        return __import__(name)
    except ImportError:
        return None


signals = _find_part("_signal") or __import__("signal")
_machinery = _find_part("_frozen_importlib_external")
_sre = _find_part("_sre")


def import_json_parts() -> "Any":
    """The module _json.  A hook imports it when its finder knows find_extension() already."""
    return _find_part("_json")


def find_extension(name: str) -> "ModuleSpec | None":
    """The spec of a module of Python's own that is written in C; None if the directory of these
    lacks it.  The usual search reads two directories with hundreds of files before."""
    if name in sys.builtin_module_names or "." in name:
        return None
    try:
        origin = f"{sys.path[-1]}/{name}{_machinery.EXTENSION_SUFFIXES[0]}"
        if not os.path.exists(origin):
            return None
        spec: ModuleSpec = type(sys.__spec__)(
            name, _machinery.ExtensionFileLoader(name, origin), origin=origin
        )
    except (AttributeError, TypeError):
        return None
    return spec


def build_pattern(source: bytes, *code: "Any") -> "re.Pattern[bytes] | None":
    """A pattern from its code; None for invalid code, which Python checks."""
    try:
        flags, words, groups = code
        names = (None,) * (groups + 1)
        words = memoryview(words).cast("I").tolist()
        pattern: re.Pattern[bytes] = _sre.compile(source, flags, words, groups, {}, names)
    except (AttributeError, TypeError, ValueError, RuntimeError, OverflowError):
        return None
    return pattern


def compile_pattern(source: bytes) -> "Code | None":
    """The code for build_pattern(); None if this Python compiles in another way."""
    try:
        from array import array
        from re import _compiler, _parser  # type: ignore[attr-defined]

        parsed = _parser.parse(source, 0)
        words = array("I", _compiler._code(parsed, 0)).tobytes()
        return parsed.state.flags, words, parsed.state.groups - 1
    except (ImportError, AttributeError, TypeError):
        return None


def get_regex_build() -> "tuple[int, int]":
    """(version, word size) of the regex machine of this build of Python."""
    return getattr(_sre, "MAGIC", 0), getattr(_sre, "CODESIZE", 0)


# The beginning of each file for this build of Python.
MARK = f"gitcp {sys.hexversion:x} {sys.byteorder} ".encode()


def get_path(name: str) -> str:
    """The path of a file for this kind of Python; '' if it writes no bytecode."""
    cached = __spec__.cached if __spec__ else None
    tag = sys.implementation.cache_tag
    return os.path.join(os.path.dirname(cached), f"{name}.{tag}") if cached and tag else ""


def open_own(file: str) -> int:
    """A descriptor of a file, to read; raises OSError if another user could write it."""
    fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    st = os.fstat(fd)
    is_shared = st.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not is_shared and stat.S_ISREG(st.st_mode) and st.st_uid in (0, os.stat(__file__).st_uid):
        return fd
    os.close(fd)
    raise PermissionError(file)


def write(file: str, content: "Callable[[], bytes]") -> None:
    """Replace a file as a whole by content(), which is called only if the file can be written."""
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
            os.unlink(new)  # on a full disk each hook would leave one
    except OSError:
        pass
