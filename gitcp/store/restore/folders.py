"""Directories of the worktree, held open while a file in them is replaced.

Each step on the way is opened without following a link, so that a directory that becomes a
symbolic link meanwhile leads nowhere.
"""

from __future__ import annotations

import errno
import os
import stat

from gitcp.errors import Changed
from gitcp.record import raw

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Folders:
    """The directories below top: opened, made, and removed when they become empty.

    created and removed tell which, so that it can be taken back.
    """

    def __init__(self, top: bytes) -> None:
        self._top = top
        self.created: list[str] = []
        self.removed: dict[str, int] = {}  # folder -> its mode

    def open(self, folder: str, make: bool) -> int | None:
        """A descriptor of a directory; make: it and those above it are made where absent.

        None where there is none and none is to be made.  Raises Changed where something else
        stands in the way of making it.
        """
        at = os.open(self._top, _DIRECTORY)
        parts = folder.split("/") if folder else []
        for n in range(len(parts)):
            try:
                below = self._step(at, "/".join(parts[: n + 1]), make)
            finally:
                os.close(at)
            if below is None:
                return None
            at = below
        return at

    def _step(self, at: int, path: str, make: bool) -> int | None:
        name = raw(path.rpartition("/")[2])
        try:
            return os.open(name, _DIRECTORY, dir_fd=at)
        except OSError as e:
            if e.errno not in _NOTHING:
                raise
            if not make:
                return None
            if e.errno != errno.ENOENT:
                raise Changed(f"'{path}' is not a directory any more") from None
        os.mkdir(name, dir_fd=at)
        self.created.append(path)
        return os.open(name, _DIRECTORY, dir_fd=at)

    def make_room(self, path: str) -> None:
        """Remove the directory at path where a file is to come; nothing but empty ones go."""
        full = os.path.join(self._top, raw(path))
        for folder, _, _ in os.walk(full, topdown=False):
            self._remove(folder)

    def prune(self, folder: str) -> None:
        """Remove a directory that a deletion emptied and those above it; never where we are."""
        here = _here() + os.sep
        while folder:
            full = os.path.join(self._top, raw(folder))
            if here.startswith(os.path.realpath(os.fsdecode(full)) + os.sep):
                return
            if not self._remove(full):
                return
            folder = folder.rpartition("/")[0]

    def _remove(self, full: bytes) -> bool:
        try:
            mode = stat.S_IMODE(os.lstat(full).st_mode)
            os.rmdir(full)
        except OSError:
            return False
        self.removed[os.fsdecode(os.path.relpath(full, self._top))] = mode
        return True

    def again(self, folder: str) -> None:
        """Let a directory stand as it did; a file that came in its place goes."""
        parts = folder.split("/") if folder else []
        for n in range(1, len(parts) + 1):
            path = "/".join(parts[:n])
            full = os.path.join(self._top, raw(path))
            if os.path.lexists(full) and not os.path.isdir(full):
                os.unlink(full)
            if not os.path.lexists(full):
                os.mkdir(full)
                os.chmod(full, self.removed.get(path, 0o777))

    def gone(self, place: str) -> None:
        """Remove the directories that were made at place and below, as far as they are empty."""
        for path in reversed(self.created):
            if not place or f"{path}/".startswith(f"{place}/"):
                try:
                    os.rmdir(os.path.join(self._top, raw(path)))
                except OSError:
                    pass  # somebody else's file is in it, or it is gone already

    def take_back(self) -> None:
        """Remove the directories that were made, as far as they are empty, and make the
        removed ones again."""
        self.gone("")
        for path in reversed(self.removed):
            self.again(path)


def _here() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return ""
