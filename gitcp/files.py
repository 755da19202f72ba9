"""Files that are not git's: read them in bounded time, replace them as a whole, move them aside."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import time

from gitcp import memory
from gitcp.errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Stamp = list[int]  # inode, size and time (ns) of a file


# gitcp's packs in an object database: list them, add one, leave one to git.
#
# A `.keep` file keeps a pack from git's pruning and repacking.  A repository that borrows objects
# gets no such file: as soon as one of its packs is kept, git-repack(1) leaves out the objects of
# the lender's kept packs, and they are lost when the repository is made independent.  There
# gitcp's packs are listed in <common>/gitcp/packs, and git prunes their objects by age.


def find_hasher(algo: str, much: bool = False) -> Any:
    """The hash function of the repository's object names; much: for megabytes."""
    if algo == "sha256":
        import hashlib

        return hashlib.sha256
    if not much:
        try:
            import _sha1  # hashlib costs 2.7 ms, and a hook hashes little
        except ImportError:
            pass
        else:
            return _sha1.sha1
    import hashlib

    return lambda data: hashlib.sha1(data, usedforsecurity=False)


METHOD: dict[str, str] = memory.get_table("core.fsyncmethod")  # key -> value in git's configuration


def read_bytes(path: str) -> bytes | None:
    """The bytes of a file; None if there is none, also behind a broken link.  Raises Error."""
    try:
        with open(path, "rb") as f:
            return f.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        raise Error(f"cannot read '{path}': {e.strerror}") from None


def peek(path: str | bytes, start: int = 0, most: int = -1) -> bytes:
    """At most `most` bytes of a file from start on, which counts from the end if negative; b"" if
    the file cannot be read."""
    try:
        with open(path, "rb", buffering=0) as f:
            f.seek(start if start >= 0 else max(0, os.fstat(f.fileno()).st_size + start))
            return f.read(most)
    except (OSError, ValueError):
        return b""


def hash_bytes(data: bytes) -> str:
    """A name for the bytes of a file."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def replace_file(
    path: str,
    data: bytes,
    mode: int | None = None,
    tmp: str | None = None,
    durable: bool = True,
) -> None:
    """Replace the content of a file; a reader sees the old bytes or the new ones.

    mode: None for that of the old file, else that of a new file under the umask.  tmp: the file to
    write first; it is removed if the write fails.  durable: as for fill_file().  Raises Error if
    tmp exists, or the file cannot be written.
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


def write_at(fd: int, data: bytes, offset: int = 0) -> int:
    """Write all of data at an offset of a file; return the offset after it.  Raises OSError.

    A disk that is almost full writes a part of the data without an error.
    """
    left = memoryview(data)
    while left:
        done = os.pwrite(fd, left, offset)
        left, offset = left[done:], offset + done
    return offset


def fill_file(fd: int, data: bytes, durable: bool = False) -> None:
    """Write all of a new file and close it.  durable: it survives a power cut.  Raises OSError."""
    try:
        write_at(fd, data)
        if durable:
            sync_file(fd)
    finally:
        os.close(fd)


def sync_file(fd: int) -> None:
    """Write a file to the disk so that it survives a power cut, by core.fsyncMethod as git does."""
    if needs_disk_flush(sys.platform, METHOD.get("core.fsyncmethod", "")):
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # type: ignore[attr-defined]
    else:
        os.fsync(fd)


def needs_disk_flush(platform: str, method: str) -> bool:
    """Whether a call of its own flushes the disk's cache.  On a Mac fsync() does not flush it, and
    git does so only if it is configured."""
    return platform == "darwin" and method in ("fsync", "batch")


def compute_program_mode() -> int:
    """The mode of a new program under the umask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o777 & ~mask


def link_aside(path: str, target: str) -> None:
    """Link the file at path to target, for a copy that stays when path is replaced.  A file at
    target with other bytes gets a number after its name."""
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
    """The names in a directory, sorted; [] if there is no such directory."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_stamp(file: str | int) -> Stamp:
    """The stamp of a file, by its path or descriptor, which changes with each write; [] for no
    file."""
    try:
        st = os.stat(file)
    except (OSError, ValueError):
        return []
    return [st.st_ino, st.st_size, st.st_mtime_ns]


def is_older(path: str, seconds: float) -> bool:
    """Whether a file exists that has not changed for so many seconds."""
    try:
        return time.time() - os.lstat(path).st_mtime > seconds
    except OSError:
        return False


def list_missing_folders(folder: str) -> list[str]:
    """The directories to make for a file in folder, outermost first."""
    folders: list[str] = []
    while not os.path.lexists(folder):
        folders.insert(0, folder)
        folder = os.path.dirname(folder)
    return folders


def remove_file(path: str | bytes) -> None:
    """Remove a file if it exists."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def remove_if_empty(folder: str) -> None:
    """Remove a directory if it exists and is empty."""
    try:
        os.rmdir(folder)
    except OSError:
        pass


def locate_state(*parts: str) -> str:
    """A path in gitcp's directory for what it keeps of this person on this machine."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # the specification has no relative ones
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "gitcp", *parts)


LARGEST = 32 << 20  # bytes; a hook would read a larger file for seconds
# The errors of opening a path that is not a readable file.
_NO_FILE = (errno.EISDIR, errno.ENXIO, errno.ELOOP, errno.EACCES, errno.EPERM, errno.EOPNOTSUPP)


class Damaged(Error):
    """A private file exists and is not valid; why: the fault."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"'{path}' cannot be read ({why})")
        self.path, self.why = path, why


def open_file(path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file; a pipe is not waited for.

    A file of this user without permissions gets them back.  Raises Damaged for anything but a
    regular file, FileNotFoundError, PermissionError for another user's file, and OSError.
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
    """Whether path is a regular file of another user, who shares the repository."""
    try:
        st = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(st.st_mode) and st.st_uid != os.geteuid() != 0


def read_file(path: str, most: int = LARGEST, tail: int = 0) -> bytes | None:
    """The bytes of a file, or its last tail bytes; None if there is none, or it is another user's.

    Raises Damaged as open_file(), or if the file is larger than most, and Error if it cannot be
    read for another reason.
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
        return os.read(fd, size)  # at once: such a file is replaced, never written to
    finally:
        os.close(fd)


def choose_place_aside(common: str, name: str) -> str:
    """A new path in <common>/gitcp/corrupt, which is created, for the file or ref of that name."""
    folder = os.path.join(common, "gitcp", "corrupt")
    if not os.path.isdir(folder):
        os.makedirs(folder)
        os.chmod(folder, os.stat(os.path.dirname(folder)).st_mode & 0o7777)  # shared alike
    return os.path.join(folder, f"{name.replace('/', '%')}.{time.time_ns()}")


def move_aside(common: str, path: str) -> str:
    """Move a file or directory to choose_place_aside(); return its new path.  Raises OSError."""
    place = choose_place_aside(common, os.path.basename(path))
    os.rename(path, place)
    return place


def put_file(common: str, new: str, path: str) -> None:
    """Rename a written file to path, the place of a private one; a directory there is moved aside.
    Raises OSError."""
    try:
        os.rename(new, path)
    except IsADirectoryError:
        move_aside(common, path)
        os.rename(new, path)
