"""Files of ours alone: read, and checked against their shape before anything relies on them;
written whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
import time

from gitcp import trace
from gitcp.errors import Error
from gitcp.store.git import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.upkeep.shape_check import Shape
    from gitcp.repo import Repo

LARGEST = 64 << 20  # bytes: nothing of ours comes near


class Damaged(Error):
    """A private file that is there and is not what it must be; why says what it is not."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"'{path}' cannot be read ({why})")
        self.path, self.why = path, why


def load(path: str, shape: Shape) -> Any:
    """The content of a file of JSON; None when there is none.

    Raises Damaged for one that is not of that shape, no regular file or far too large; Error
    when it must not be read.
    """
    data = _bytes(path)
    if data is None:
        return None
    return checked(path, data, shape)


def checked(path: str, data: bytes, shape: Shape) -> Any:
    """What data says, of the file named path; raise Damaged where it is not of that shape."""
    from gitcp.core.json import loads
    from gitcp.core.upkeep.shape_check import wrong

    try:
        value = loads(data)
    except (ValueError, RecursionError) as e:
        raise Damaged(path, str(e)) from None
    if why := wrong(value, shape):
        raise Damaged(path, why)
    return value


def _bytes(path: str) -> bytes | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise Error(f"cannot read '{path}': {e.strerror}") from None
    try:
        now = os.fstat(fd)
        if not stat.S_ISREG(now.st_mode):
            raise Damaged(path, "no regular file")
        if now.st_size > LARGEST:
            raise Damaged(path, f"larger than {LARGEST} bytes")
        return os.read(fd, now.st_size)  # nobody writes into one: it is replaced
    finally:
        os.close(fd)


def cached(path: str, shape: Shape) -> Any:
    """load() of what can be had anew: None also where it is damaged."""
    try:
        return load(path, shape)
    except Error as e:
        trace.note("files", str(e))
        return None


def aside(repo: Repo, name: str) -> str:
    """A new name in <common>/gitcp/corrupt, which is there, for what is not to stay where it is;
    name: of a file or a ref."""
    place = repo.shared("corrupt", f"{name.replace('/', '%')}.{time.time_ns()}")
    os.makedirs(os.path.dirname(place), exist_ok=True)
    return place


def set_aside(repo: Repo, error: Damaged) -> None:
    """Move a damaged file out of the way, to <common>/gitcp/corrupt, and say so."""
    try:
        place = aside(repo, os.path.basename(error.path))
        os.rename(error.path, place)
    except OSError as e:
        raise Error(f"cannot set aside '{error.path}': {e.strerror}") from None
    print(f"warning: {error}; kept as '{place}'", file=sys.stderr)


def write(repo: Repo, path: str, data: bytes, durable: bool = False) -> None:
    """Replace a file of ours by data: whoever reads sees the old bytes or the new ones.

    durable: it has to outlive a power cut, as a state does; what is told anew need not.
    """
    tmp = repo.shared("tmp", f"{os.getpid()}-{time.monotonic_ns()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        fd = os.open(tmp, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(tmp), exist_ok=True)
        fd = os.open(tmp, flags, 0o600)
    files.fill(fd, data, durable)
    try:
        os.rename(tmp, path)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o750, exist_ok=True)
        os.rename(tmp, path)


def words(path: str) -> list[str]:
    """The words of a file, as write_words() left them; none where it cannot be read."""
    return files.peek(path).decode("utf-8", "replace").split()


def write_words(repo: Repo, path: str, each: Iterable[str]) -> None:
    """Replace a file of ours by these words, one a line."""
    write(repo, path, "".join(f"{word}\n" for word in each).encode())
