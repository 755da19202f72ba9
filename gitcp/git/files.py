"""Files that are not git's: read them in bounded time, replace them as a whole, move them aside;
gitcp's private files, and the locks that several processes take.

A private file is checked against its shape when it is read.  A damaged cache counts as absent, and
the next one replaces it.  Any other damaged file is moved to <common>/gitcp/corrupt, with a
warning.

A lock is the one that filelock >= 4 takes; filelock itself, 38 ms to import, is loaded only by a
process that has to wait (doc/git.md "Locks and refs").  Locks are taken in the order of ORDER,
several of one kind in the order of their names, so that no two processes wait for each other.
Under GITCP_TRACE any other order fails.
"""

from __future__ import annotations

import errno
import fcntl
import marshal
import os
import stat
import sys
import time
from zlib import crc32

from gitcp import git, memory
from gitcp.errors import Busy, Error
from gitcp.text.json import loads
from gitcp.text.shapes import find_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from gitcp.git import Location
    from gitcp.text.shapes import Shape

    Result = TypeVar("Result")
    Stamp = list[int]  # inode, size and time (ns) of a file


def locate_scratch(repo: Location, *name: str) -> str:
    """Where files are that are being written: one of a name, or the directory of all."""
    return repo.join_shared("tmp", *name)


def locate_lock(repo: Location, *name: str) -> str:
    """The file of a lock, or the directory of all."""
    return repo.join_shared("lock", *name)


def locate_aside(common: str) -> str:
    """The directory of damaged files that were set aside, for people."""
    return os.path.join(common, "gitcp", "corrupt")


def locate_exports(repo: Location, *client: str) -> str:
    """Where a client's exports are, not redacted, or the directory of all."""
    return repo.join_shared("exports", *client)


def locate_warnings(repo: Location) -> str:
    """The warnings of hooks that failed (hook_warnings)."""
    return repo.join_shared("warnings")


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
            mode = None
            if os.path.exists(path):
                mode = os.stat(path).st_mode & 0o7777
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
        left = left[done:]
        offset = offset + done
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


def list_names(folder: str) -> list[str]:
    """The names in a directory, sorted; [] if there is no such directory."""
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_stamp(file: str | bytes | int) -> Stamp:
    """The stamp of a file, by its path or descriptor, which changes with each write; [] for no
    file."""
    try:
        st = os.stat(file)
    except (OSError, ValueError):
        return []
    return [st.st_ino, st.st_size, st.st_mtime_ns]


# ns for which the time of a file or directory may stay the same though it changes: where times are
# of seconds, and elsewhere.
_COARSE = 2_000_000_000
_FINE = 100_000_000
# Path -> its stamp, and what was read there.
_READ: dict[str | bytes, tuple[Stamp, Any]] = memory.get_table("files that were read")


def is_settled(changed: int) -> bool:
    """Whether a file or directory that changed at a time, in ns, has another time if it changes
    once more."""
    moment = _FINE
    if changed % 1_000_000_000 == 0:
        moment = _COARSE
    return time.time_ns() - changed >= moment


def read_once(path: str | bytes, read: Callable[[], Result], missing: Result) -> Result:
    """The result of read(), which reads a file or directory that others replace as a whole; missing
    if there is none.  This process reads it again only if it has changed."""
    stamp = read_stamp(path)
    if not stamp:
        return missing
    known = _READ.get(path)
    if known and known[0] == stamp:
        result: Result = known[1]
        return result
    _READ.pop(path, None)
    will_show = is_settled(stamp[2])  # before it is read: a change after that has another stamp
    result = read()
    if will_show:
        _READ[path] = stamp, result
    return result


def is_older(path: str, seconds: float) -> bool:
    """Whether a file exists that has not changed for so many seconds."""
    try:
        return time.time() - os.lstat(path).st_mtime > seconds
    except OSError:
        return False


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
        self.path = path
        self.why = why


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
    folder = locate_aside(common)
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


# Private files: checked against their shape when they are read, and replaced as a whole.
_WRITES = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def load_json(path: str, shape: Shape) -> Any:
    """The value in a file of JSON; None if there is no file.

    Raises Damaged if it does not have that shape, is no regular file or far too large, and Error if
    it cannot be read for another reason.
    """
    data = read_file(path)
    if data is None:
        return None
    return parse_checked(path, data, shape)


def parse_checked(path: str, data: bytes, shape: Shape) -> Any:
    """The value in the data of a file; raises Damaged if it does not have that shape."""
    if len(data) > LARGEST:
        raise Damaged(path, f"larger than {LARGEST} bytes")
    try:
        value = loads(data)
    except (ValueError, RecursionError) as e:
        raise Damaged(path, str(e)) from None
    why = find_fault(value, shape)
    if why:
        raise Damaged(path, why)
    return value


def load_cache(path: str, shape: Shape) -> Any:
    """load_json() of a cache; None also for a damaged one."""
    try:
        return load_json(path, shape)
    except Error as e:
        git.append_trace("files", str(e))
        return None


def read_cache(path: str, tail: int = 0) -> bytes:
    """The bytes of a cache, or its last tail bytes; b"" if it cannot be read."""
    try:
        return read_file(path, tail=tail) or b""
    except Error as e:
        git.append_trace("files", str(e))
        return b""


def seal_value(version: int, value: Any) -> bytes:
    """A value as marshal writes it, after a line with the version and a checksum: marshal reads
    damaged data without a check, and may allocate any amount of memory for it."""
    data = marshal.dumps(value, 4)
    return b"gitcp %d %x\n" % (version, crc32(data)) + data


def load_sealed(path: str, version: int) -> Any:
    """The value that seal_value() wrote with this version; None for any other file."""
    mark, _, data = read_cache(path).partition(b"\n")
    if mark == b"gitcp %d %x" % (version, crc32(data)):
        return marshal.loads(data)
    return None


def read_or_set_aside(repo: Location, read: Callable[[], Any]) -> Any:
    """The result of read(); None if it raises Damaged, after that file was set aside."""
    try:
        return read()
    except Damaged as e:
        set_aside(repo, e)
        return None


def set_aside(repo: Location, error: Damaged) -> None:
    """Move a damaged file to <common>/gitcp/corrupt, with a warning."""
    try:
        place = move_aside(repo.common, error.path)
    except OSError as e:
        raise Error(f"cannot set aside '{error.path}': {e.strerror}") from None
    from gitcp.text import console

    console.warn(f"{error}; kept as '{place}'")


def write_private(repo: Location, path: str, data: bytes, durable: bool = False) -> None:
    """Replace a private file by data; a reader sees the old bytes or the new ones.

    durable: the file survives a power cut, as a state has to.  A directory or link in its place is
    moved to <common>/gitcp/corrupt.
    """
    tmp = locate_scratch(repo, f"{os.getpid()}-{time.monotonic_ns()}")
    try:
        fd = os.open(tmp, _WRITES, 0o600)
    except FileNotFoundError:
        repo.make_folder(os.path.dirname(tmp))
        fd = os.open(tmp, _WRITES, 0o600)
    try:
        fill_file(fd, data, durable)
        if _is_for_all(repo, path):
            repo.share_file(tmp)
        try:
            put_file(repo.common, tmp, path)
        except FileNotFoundError:
            repo.make_folder(os.path.dirname(path))
            put_file(repo.common, tmp, path)
    except OSError:
        remove_file(tmp)
        raise


def open_private(repo: Location, path: str, flags: int) -> int:
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
    if _is_for_all(repo, path):
        repo.share_file(path)
    return fd


def _is_for_all(repo: Location, path: str) -> bool:
    """Whether a private file is for everybody who shares the repository."""
    if not repo.config.get("core.sharedrepository"):
        return False

    from gitcp.git import private_files

    return private_files.is_shared(path.rpartition("/gitcp/")[2])


def touch_private(repo: Location, path: str) -> None:
    """Create a file that is a marker, or set its time to now.  Whatever else has the name, except a
    link, counts as the file."""
    try:
        os.utime(path)
    except OSError:
        if os.path.islink(path):
            os.unlink(path)
        os.close(open_private(repo, path, os.O_WRONLY))
        os.utime(path)


def remove_private(repo: Location, path: str) -> None:
    """Remove a private file; a directory in its place is moved to <common>/gitcp/corrupt."""
    try:
        remove_file(path)
    except (IsADirectoryError, PermissionError):
        if not os.path.isdir(path) or os.path.islink(path):
            raise
        move_aside(repo.common, path)


def read_words(path: str, fits: Callable[[object], bool]) -> list[str]:
    """The words of a cache that write_words() wrote; [] if it cannot be read, or a word does not
    fit."""
    words = read_cache(path).decode("utf-8", "replace").split()
    return words if all(map(fits, words)) else []


def write_words(repo: Location, path: str, words: Iterable[str]) -> None:
    """Replace a private file by these words, one a line."""
    write_private(repo, path, "".join(f"{word}\n" for word in words).encode())


# Exclusion between processes, for what git's ref transactions cannot guard.
# Kinds of locks: the name, or its part before the first dash (`session-<id>`).
ORDER = (
    "bisect split install rewind auto session claims abandoned"
    " transcript journal stream v1 notes packs search unheard kept"
).split()
_HELD: dict[tuple[int, str], bool] = memory.get_table("locks")
_GIVEN_UP: dict[str, bool] = memory.get_table("locks that were waited for in vain")


class exclusive:
    """Hold the named lock of this repository, shared by all of its worktrees, in a `with`.

    Waits up to timeout seconds, then raises Busy.  The file is never unlinked.
    """

    __slots__ = ("_fd", "_name", "_path", "_rank", "_repo", "_timeout", "_waited")

    def __init__(self, repo: Location, name: str, timeout: float = 10.0) -> None:
        self._name = name
        self._timeout = timeout
        self._rank = rank_lock(name)
        self._path = locate_lock(repo, name.replace("/", "%"))
        self._repo = repo
        self._fd: int | None = None
        self._waited: Any = None  # filelock's own lock, where it was needed

    def __enter__(self) -> None:
        if git.is_tracing():
            _check_order(self._rank)
        try:
            try:
                self._fd = _try_lock(self._path)
            except FileNotFoundError:
                self._make_file()
                self._fd = _try_lock(self._path)
            except Damaged:
                move_aside(self._repo.common, self._path)
                self._make_file()
                self._fd = _try_lock(self._path)
        except OSError as e:
            raise Error(f"cannot lock '{self._name}': {e.strerror}") from None
        if self._fd is None:
            self._wait()
        _HELD[self._rank] = True

    def __exit__(self, *_: object) -> None:
        _HELD.pop(self._rank, None)
        if self._fd is None:
            self._waited.release()
        else:
            fd = self._fd
            self._fd = None
            os.close(fd)  # releases the flock

    def _make_file(self) -> None:
        self._repo.make_folder(os.path.dirname(self._path))
        os.close(open_file(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW))
        self._repo.share_file(self._path)

    def _wait(self) -> None:

        from gitcp.packages import find_package

        find_package("filelock")
        import filelock

        git.append_trace("lock", f"waiting for '{self._name}'")
        path = self._path
        timeout = self._timeout
        limit = git.count_seconds_left()
        if limit is not None:  # a hook waits in vain once only for the same lock
            if path in _GIVEN_UP:
                timeout = 0.0
            else:
                timeout = min(timeout, limit)
        self._waited = filelock.FileLock(path, timeout, poll_interval=0.01, fallback_to_soft=False)
        try:
            self._waited.acquire()
        except filelock.Timeout:
            if self._timeout:
                _GIVEN_UP[path] = True
            raise Busy(f"'{self._name}' is locked by another process") from None


def rank_lock(name: str) -> tuple[int, str]:
    """The place of a lock in the order; raise ValueError for an unknown kind."""
    kind = name.partition("-")[0]
    if kind not in ORDER:
        raise ValueError(f"lock '{name}' is of no kind in files.ORDER")
    return ORDER.index(kind), name


def _check_order(rank: tuple[int, str]) -> None:
    git.append_trace("lock", f"'{rank[1]}'")
    last = max(_HELD, default=(-1, ""))
    if rank <= last:
        raise AssertionError(f"lock '{rank[1]}' is taken after '{last[1]}'")


def _try_lock(path: str) -> int | None:
    """A locked descriptor of the file; None if another process has the lock, or replaced the
    file."""
    fd = open_file(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held = os.fstat(fd)
        named = os.stat(path)
        if (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None
