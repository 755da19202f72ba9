"""A file system as a Mac's: names differ by more than case and normal form, and stay as written.

python filesystem.py BACKING MOUNT shows the directory BACKING so, until it is unmounted.  It needs
mfusepy and libfuse 3.
"""

from __future__ import annotations

import errno
import os
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

import mfusepy

SECONDS = "seconds"  # below a directory of this name times are whole seconds, as on HFS+
_NOW, _OMIT = (1 << 30) - 1, (1 << 30) - 2  # instead of a time: utimensat(2)
_SAME = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_frsize")


def fold(name: str) -> str:
    """What two names of one file have in common."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


class Mac(mfusepy.Operations):  # type: ignore[misc]
    """Operations on the files below a directory."""

    use_ns = True

    def __init__(self, top: str) -> None:
        self._top = top

    def _at(self, path: str) -> str:
        """Where a path lies: each component as it is spelled there, or as it is given."""
        at = self._top
        for name in filter(None, path.split("/")):
            at = os.path.join(at, self._spelled(at, name))
        return at

    def _spelled(self, folder: str, name: str) -> str:
        if os.path.lexists(os.path.join(folder, name)):
            return name
        try:
            names: Iterable[str] = os.listdir(folder)
        except OSError:
            return name
        return next((there for there in names if fold(there) == fold(name)), name)

    def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:
        st = os.fstat(fh) if fh is not None else os.lstat(self._at(path))
        found = {name: getattr(st, name) for name in dir(st) if name.startswith("st_")}
        unit = 1_000_000_000 if f"/{SECONDS}/" in path else 1
        times = {f"st_{kind}time": found[f"st_{kind}time_ns"] // unit * unit for kind in "amc"}
        return {**{k: v for k, v in found.items() if not k.endswith("_ns")}, **times}

    def access(self, path: str, amode: int) -> int:
        if not os.access(self._at(path), amode):
            raise mfusepy.FuseOSError(errno.EACCES)
        return 0

    def readdir(self, path: str, fh: int) -> Iterator[tuple[str, dict[str, int], int]]:
        folder = self._at(path)
        for name in (".", "..", *os.listdir(folder)):
            st = os.lstat(os.path.join(folder, name))
            yield name, {"st_ino": st.st_ino, "st_mode": st.st_mode}, 0

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        return os.open(self._at(path), os.O_RDWR | os.O_CREAT, mode)

    def open(self, path: str, flags: int) -> int:
        return os.open(self._at(path), flags & ~(os.O_APPEND | os.O_CREAT | os.O_EXCL))

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        return os.pread(fh, size, offset)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        return os.pwrite(fh, data, offset)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        os.truncate(self._at(path) if fh is None else fh, length)
        return 0

    def release(self, path: str, fh: int) -> int:
        os.close(fh)
        return 0

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        return 0

    def flush(self, path: str, fh: int) -> int:
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        os.mkdir(self._at(path), mode)
        return 0

    def rmdir(self, path: str) -> int:
        os.rmdir(self._at(path))
        return 0

    def unlink(self, path: str) -> int:
        os.unlink(self._at(path))
        return 0

    def rename(self, old: str, new: str, flags: int = 0) -> int:
        there, name = self._at(old), os.path.basename(new)
        folder = self._at(os.path.dirname(new))
        replaced = os.path.join(folder, self._spelled(folder, name))
        os.rename(there, replaced)
        os.rename(replaced, os.path.join(folder, name))  # it is spelled as it was asked for
        return 0

    def link(self, target: str, source: str) -> int:
        os.link(self._at(source), self._at(target))
        return 0

    def symlink(self, target: str, source: str) -> int:
        os.symlink(source, self._at(target))
        return 0

    def readlink(self, path: str) -> str:
        return os.readlink(self._at(path))

    def mknod(self, path: str, mode: int, dev: int) -> int:
        os.mknod(self._at(path), mode, dev)
        return 0

    def chmod(self, path: str, mode: int) -> int:
        os.chmod(self._at(path), mode)
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        os.chown(self._at(path), uid, gid, follow_symlinks=False)
        return 0

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        at = self._at(path)
        st, now = os.lstat(at), time.time_ns()
        was = st.st_atime_ns, st.st_mtime_ns
        asked = [{_NOW: now, _OMIT: old}.get(t, t) for t, old in zip(times or [], was, strict=True)]
        os.utime(at, ns=(asked[0], asked[1]), follow_symlinks=False)
        return 0

    def statfs(self, path: str) -> dict[str, int]:
        st = os.statvfs(self._at(path))
        return {name: getattr(st, name) for name in _SAME}


if __name__ == "__main__":
    # What a file is, and that there is none, is asked each time: the kernel does not know that two
    # names are one file.
    mfusepy.FUSE(
        Mac(os.path.abspath(sys.argv[1])),
        sys.argv[2],
        foreground=True,
        nothreads=True,
        entry_timeout=1,
        attr_timeout=0,
        negative_timeout=0,
        use_ino=True,
        default_permissions=True,
        allow_other=True,
    )
