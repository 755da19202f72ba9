"""Private files opened and read as what they must be: regular, readable, of bounded size."""

from __future__ import annotations

import errno
import os
import stat
import time

from gitcp.errors import Error

LARGEST = 32 << 20  # bytes; what is larger would take a hook seconds
# What opening a path says where something else than a readable file is there.
_NO_FILE = (errno.EISDIR, errno.ENXIO, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EOPNOTSUPP)


class Damaged(Error):
    """A private file that is there and is not what it must be; why says what it is not."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"'{path}' cannot be read ({why})")
        self.path, self.why = path, why


def open_file(path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file; it never waits for the other end of a pipe.

    A file of the person's that lost its permissions gets them back.  Raises Damaged where there
    is something else, FileNotFoundError where there is nothing, OSError for all other causes.
    """
    flags |= os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            fd = os.open(path, flags, 0o600)
        except PermissionError:
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | 0o600)
            fd = os.open(path, flags, 0o600)
    except OSError as e:
        if e.errno not in _NO_FILE:
            raise
        raise Damaged(path, os.strerror(e.errno)) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Damaged(path, "no regular file")
    return fd


def read_file(path: str, most: int = LARGEST, tail: int = 0) -> bytes | None:
    """The bytes of a file, of a longer one its last tail bytes; None where there is none.

    Raises Damaged for no regular file, one that must not be read or that is larger than most;
    Error for all other causes.
    """
    try:
        fd = open_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise Error(f"cannot read '{path}': {e.strerror}") from None
    try:
        size = os.fstat(fd).st_size
        if tail:
            return os.pread(fd, tail, max(0, size - tail))
        if size > most:
            raise Damaged(path, f"larger than {most} bytes")
        return os.read(fd, size)  # nobody writes into one: it is replaced
    finally:
        os.close(fd)


def place_aside(common: str, name: str) -> str:
    """A new name in <common>/gitcp/corrupt, which is there, for what is not to stay where it is;
    name: of a file or a ref."""
    place = os.path.join(common, "gitcp", "corrupt", f"{name.replace('/', '%')}.{time.time_ns()}")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    return place


def move_aside(common: str, path: str) -> str:
    """Move what stands at path to place_aside(); where it is now.  Raises OSError."""
    place = place_aside(common, os.path.basename(path))
    os.rename(path, place)
    return place


def put_file(common: str, new: str, path: str) -> None:
    """Rename a finished file to the place of a private one; a directory there is moved aside.
    Raises OSError."""
    try:
        os.rename(new, path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o750, exist_ok=True)
        os.rename(new, path)
    except IsADirectoryError:
        move_aside(common, path)
        os.rename(new, path)
