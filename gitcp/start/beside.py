"""Files kept beside our own bytecode and trusted like it: who can write there writes the code.

Each is for one build of Python.  Where nothing may be written, whoever wants one does without.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What a file of this build of Python begins with.
MARK = f"gitcp {sys.hexversion:x} {sys.byteorder} ".encode()


def path(name: str) -> str:
    """Where the file of that name is, for this kind of Python."""
    cached = __spec__.cached if __spec__ else None
    return os.path.join(os.path.dirname(cached or ""), f"{name}.{sys.implementation.cache_tag}")


def opened(file: str) -> int:
    """A descriptor of the file, to read; raise OSError for one that anybody else could write."""
    fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    st = os.fstat(fd)
    alone = not st.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if alone and stat.S_ISREG(st.st_mode) and st.st_uid in (0, os.stat(__file__).st_uid):
        return fd
    os.close(fd)
    raise PermissionError(file)


def write(file: str, content: Callable[[], bytes]) -> None:
    """Make the file anew, whole or not at all; content is asked for where that can be done."""
    new = f"{file}.{os.getpid()}"
    try:
        if sys.dont_write_bytecode:
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
