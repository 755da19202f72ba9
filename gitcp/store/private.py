"""Private files: checked against their shape when they are read, and replaced as a whole.

A damaged cache counts as absent, and the next one replaces it.  Any other damaged file is moved to
<common>/gitcp/corrupt, with a warning.
"""

from __future__ import annotations

import marshal
import os
import time
from zlib import crc32

from gitcp import console, files, git
from gitcp.core.formats import find_fault
from gitcp.core.json import loads
from gitcp.errors import Error, hide_passwords
from gitcp.files import LARGEST, Damaged, move_aside, open_file, put_file, read_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gitcp.core.formats import Shape
    from gitcp.repo import Repo

# Files for everybody who shares a repository: none has words of a person or contents of files.
_FOR_ALL = frozenset(
    "open linked unpushed recording recording-unshared dismissed foreign expired pushed searched"
    " heard journal journal-checked clock claims warnings unsigned push-said push-failed"
    " withheld stashes".split()
)
_WRITES = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def load_json(path: str, shape: Shape) -> Any:
    """The value in a file of JSON; None if there is no file.

    Raises Damaged if it does not have that shape, is no regular file or far too large, and Error if
    it cannot be read for another reason.
    """
    data = read_file(path)
    return None if data is None else parse_checked(path, data, shape)


def parse_checked(path: str, data: bytes, shape: Shape) -> Any:
    """The value in the data of a file; raises Damaged if it does not have that shape."""
    if len(data) > LARGEST:
        raise Damaged(path, f"larger than {LARGEST} bytes")
    try:
        value = loads(data)
    except (ValueError, RecursionError) as e:
        raise Damaged(path, str(e)) from None
    if why := find_fault(value, shape):
        raise Damaged(path, why)
    return value


def load_cache(path: str, shape: Shape) -> Any:
    """load_json() of a cache; None also for a damaged one."""
    try:
        return load_json(path, shape)
    except Error as e:
        git.append_note("files", str(e))
        return None


def read_cache(path: str, tail: int = 0) -> bytes:
    """The bytes of a cache, or its last tail bytes; b"" if it cannot be read."""
    try:
        return read_file(path, tail=tail) or b""
    except Error as e:
        git.append_note("files", str(e))
        return b""


def seal_value(version: int, value: Any) -> bytes:
    """A value as marshal writes it, after a line with the version and a checksum: marshal reads
    damaged data without a check, and may allocate any amount of memory for it."""
    data = marshal.dumps(value, 4)
    return b"gitcp %d %x\n" % (version, crc32(data)) + data


def load_sealed(path: str, version: int) -> Any:
    """The value that seal_value() wrote with this version; None for any other file."""
    mark, _, data = read_cache(path).partition(b"\n")
    return marshal.loads(data) if mark == b"gitcp %d %x" % (version, crc32(data)) else None


def read_or_set_aside(repo: Repo, read: Callable[[], Any]) -> Any:
    """The result of read(); None if it raises Damaged, after that file was set aside."""
    try:
        return read()
    except Damaged as e:
        set_aside(repo, e)
        return None


def set_aside(repo: Repo, error: Damaged) -> None:
    """Move a damaged file to <common>/gitcp/corrupt, with a warning."""
    try:
        place = move_aside(repo.common, error.path)
    except OSError as e:
        raise Error(f"cannot set aside '{error.path}': {e.strerror}") from None
    console.warn(f"{error}; kept as '{place}'")


def write_private(repo: Repo, path: str, data: bytes, durable: bool = False) -> None:
    """Replace a private file by data; a reader sees the old bytes or the new ones.

    durable: the file survives a power cut, as a state has to.  A directory or link in its place is
    moved to <common>/gitcp/corrupt.
    """
    tmp = repo.join_shared("tmp", f"{os.getpid()}-{time.monotonic_ns()}")
    try:
        fd = os.open(tmp, _WRITES, 0o600)
    except FileNotFoundError:
        repo.make_folder(os.path.dirname(tmp))
        fd = os.open(tmp, _WRITES, 0o600)
    try:
        files.fill_file(fd, data, durable)
        if _is_for_all(path):
            repo.share_file(tmp)
        try:
            put_file(repo.common, tmp, path)
        except FileNotFoundError:
            repo.make_folder(os.path.dirname(path))
            put_file(repo.common, tmp, path)
    except OSError:
        files.remove_file(tmp)
        raise


def open_private(repo: Repo, path: str, flags: int) -> int:
    """A descriptor of a private file that only grows; a missing one is created.  A directory or
    link in its place is set aside.  Raises OSError."""
    flags |= os.O_NOFOLLOW
    try:
        return open_file(path, flags)
    except FileNotFoundError:
        repo.make_folder(os.path.dirname(path))
    except Damaged as e:
        set_aside(repo, e)
    fd = open_file(path, flags | os.O_CREAT)
    if _is_for_all(path):
        repo.share_file(path)
    return fd


def _is_for_all(path: str) -> bool:
    return path.rpartition("/gitcp/")[2].partition("/")[0] in _FOR_ALL


def touch_private(repo: Repo, path: str) -> None:
    """Create a file that is a marker, or set its time to now.  Whatever else has the name, except a
    link, counts as the file."""
    try:
        os.utime(path)
    except OSError:
        if os.path.islink(path):
            os.unlink(path)
        os.close(open_private(repo, path, os.O_WRONLY))
        os.utime(path)


def remove_private(repo: Repo, path: str) -> None:
    """Remove a private file; a directory in its place is moved to <common>/gitcp/corrupt."""
    try:
        files.remove_file(path)
    except (IsADirectoryError, PermissionError):
        if not os.path.isdir(path) or os.path.islink(path):
            raise
        move_aside(repo.common, path)


def escape_remote(remote: str) -> str:
    """The name of a file about a remote; remote: its name or URL, whose password is left out."""
    return hide_passwords(remote).replace("%", "%25").replace("/", "%2F")[-200:]


def read_words(path: str, fits: Callable[[object], bool]) -> list[str]:
    """The words of a cache that write_words() wrote; [] if it cannot be read, or a word does not
    fit."""
    words = read_cache(path).decode("utf-8", "replace").split()
    return words if all(map(fits, words)) else []


def write_words(repo: Repo, path: str, words: Iterable[str]) -> None:
    """Replace a private file by these words, one a line."""
    write_private(repo, path, "".join(f"{word}\n" for word in words).encode())
