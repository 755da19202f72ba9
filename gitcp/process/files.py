"""Files that are not git's: read in bounded time, replaced whole or not at all, moved aside."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import time

from gitcp import memory
from gitcp.errors import Error
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    Stamp = list[int]  # inode, size and time (ns) of a file

METHOD: dict[str, str] = memory.get_table("core.fsyncmethod")  # as git's configuration has it


def read_bytes(path: str) -> bytes | None:
    """The bytes of a file; None when there is none, or a link that leads nowhere."""
    try:
        with open(path, "rb") as f:
            return f.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise Error(f"cannot read '{path}': {e.strerror}") from None


def peek(path: str | bytes, at: int = 0, most: int = -1) -> bytes:
    """The bytes of a file from at on, counted from its end where at is negative, at most so many;
    b"" where it cannot be read.  For files that only hint."""
    try:
        with open(path, "rb", buffering=0) as f:
            f.seek(at if at >= 0 else max(0, os.fstat(f.fileno()).st_size + at))
            return f.read(most)
    except (OSError, ValueError):
        return b""


def hash_bytes(data: bytes) -> str:
    """A name for the bytes of a file."""
    return stdlib.hashlib.sha256(data).hexdigest()


def replace_file(
    path: str,
    data: bytes,
    mode: int | None = None,
    tmp: str | None = None,
    durable: bool = True,
) -> None:
    """Make a file hold data: whoever reads it sees the old bytes or the new ones.

    mode None: that of the file there, else what the umask leaves of 0666.  tmp is the name
    the bytes are first written under; that it exists is an Error.  Where they cannot be written
    it goes: as a lock of git's it would be in everybody's way.  durable: as fill_file() has it.
    """
    tmp = tmp or f"{path}.gitcp-{os.getpid()}"
    try:
        if mode is None:
            mode = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else None
        fd = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode or 0o666)
        try:
            if mode is not None:
                os.fchmod(fd, mode)
            fill_file(fd, data, durable)
            os.rename(tmp, path)
        except OSError:
            os.unlink(tmp)
            raise
    except OSError as e:
        raise Error(f"cannot write '{path}': {e.strerror}") from None


def write_at(fd: int, data: bytes, at: int = 0) -> int:
    """Write all of data at a place of a file; return where it ends.  Raises OSError.

    A disk that is almost full takes a part of one write, and says nothing until the next.
    """
    left = memoryview(data)
    while left:
        done = os.pwrite(fd, left, at)
        left, at = left[done:], at + done
    return at


def fill_file(fd: int, data: bytes, durable: bool = False) -> None:
    """Write all of a new file and close it; durable: it has to outlive a power cut.  Raises
    OSError."""
    try:
        write_at(fd, data)
        if durable:
            sync_file(fd)
    finally:
        os.close(fd)


def sync_file(fd: int) -> None:
    """Have a file outlive a power cut, as far as git itself would (core.fsyncMethod)."""
    if needs_disk_flush(sys.platform, METHOD.get("core.fsyncmethod", "")):
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined]
    else:
        os.fsync(fd)


def needs_disk_flush(platform: str, method: str) -> bool:
    """Whether the disk's cache is to be flushed by a call of its own: on a Mac fsync() does not,
    and git by default does neither."""
    return platform == "darwin" and method in ("fsync", "batch")


def compute_program_mode() -> int:
    """The mode of a new program under the umask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o777 & ~mask


def link_aside(path: str, target: str) -> None:
    """Keep the file at path under the name aside as well; path stays until it is replaced.  A file
    of that name with other bytes stays: the new one gets a number."""
    try:
        if os.path.lexists(target):
            if read_bytes(target) == read_bytes(path):
                return
            number = 1
            while os.path.lexists(f"{target}.{number}"):
                number += 1
            os.rename(target, f"{target}.{number}")
        os.link(path, target, follow_symlinks=False)
    except OSError as e:
        raise Error(f"cannot keep '{path}' as '{target}': {e.strerror}") from None


def list_names(folder: str) -> list[str]:
    """The names in a directory, sorted; none where there is no such directory."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_stamp(file: str | int) -> Stamp:
    """What a file, or the one of a descriptor, has as long as nothing is written; [] for none."""
    try:
        st = os.stat(file)
    except (OSError, ValueError):
        return []
    return [st.st_ino, st.st_size, st.st_mtime_ns]


def is_older(path: str, seconds: float) -> bool:
    """Whether nothing has changed a file for so long; of one that is gone: no."""
    try:
        return time.time() - os.lstat(path).st_mtime > seconds
    except OSError:
        return False


def list_missing_folders(folder: str) -> list[str]:
    """The directories that are to be made for a file in folder, outermost first."""
    folders: list[str] = []
    while not os.path.lexists(folder):
        folders.insert(0, folder)
        folder = os.path.dirname(folder)
    return folders


def remove_file(path: str | bytes) -> None:
    """Remove a file; one that is not there is gone already."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def remove_if_empty(folder: str) -> None:
    """Remove a directory; one that has something in it, or is not there, stays as it is."""
    try:
        os.rmdir(folder)
    except OSError:
        pass


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
    is something else, FileNotFoundError where there is nothing, PermissionError for a file of
    another person, OSError for all other causes.
    """
    flags |= os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            fd = os.open(path, flags, 0o600)
        except PermissionError:
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | 0o600)
            fd = os.open(path, flags, 0o600)
    except OSError as e:
        if e.errno not in _NO_FILE or _is_of_another(path):
            raise
        raise Damaged(path, os.strerror(e.errno)) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise Damaged(path, "no regular file")
    return fd


def _is_of_another(path: str) -> bool:
    """Whether it is the private file of another person, who shares the repository."""
    try:
        there = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(there.st_mode) and there.st_uid != os.geteuid() != 0


def read_file(path: str, most: int = LARGEST, tail: int = 0) -> bytes | None:
    """The bytes of a file, of a longer one its last tail bytes; None where there is none, or it is
    another person's.

    Raises Damaged for no regular file, one that must not be read or that is larger than most;
    Error for all other causes.
    """
    try:
        fd = open_file(path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
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


def choose_place_aside(common: str, name: str) -> str:
    """A new name in <common>/gitcp/corrupt, which is there, for what is not to stay where it is;
    name: of a file or a ref."""
    place = os.path.join(common, "gitcp", "corrupt", f"{name.replace('/', '%')}.{time.time_ns()}")
    folder = os.path.dirname(place)
    if not os.path.isdir(folder):
        os.makedirs(folder)
        os.chmod(folder, os.stat(os.path.dirname(folder)).st_mode & 0o7777)  # shared as that is
    return place


def move_aside(common: str, path: str) -> str:
    """Move what stands at path to choose_place_aside(); where it is now.  Raises OSError."""
    place = choose_place_aside(common, os.path.basename(path))
    os.rename(path, place)
    return place


def put_file(common: str, new: str, path: str) -> None:
    """Rename a finished file to the place of a private one; a directory there is moved aside.
    Raises OSError."""
    try:
        os.rename(new, path)
    except IsADirectoryError:
        move_aside(common, path)
        os.rename(new, path)
