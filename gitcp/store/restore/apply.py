"""A plan carried out, file by file.

None of it follows a symbolic link or replaces a file that is not the one that was looked at.
What is replaced is kept aside until all is done, so that a failure in the middle takes back
what was done: the very files, with their dates.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from gitcp.core.rewind.plan import effective
from gitcp.errors import Changed
from gitcp.record import raw
from gitcp.store.git import files
from gitcp.store.restore.folders import Folders
from gitcp.store.restore.present import signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.core.rewind.plan import Action
    from gitcp.store.restore.present import Signature
    from gitcp.store.restore.staging import Staging

    Progress = Callable[[int, int], None]

_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)


class Apply:
    """The carrying out of one plan below top; run() does it, or leaves all as it was.

    signs: what each path was when its content was known.
    """

    def __init__(
        self,
        top: bytes,
        staging: Staging,
        actions: Sequence[Action],
        signs: Mapping[str, Signature],
    ) -> None:
        self._top, self._staging, self._signs = top, staging, signs
        # What makes room goes first, the deepest before what is above it.
        todo = sorted(effective(actions), key=lambda a: a["path"])
        gone = [a for a in reversed(todo) if a["now"] is None]
        self._todo = [*gone, *(a for a in todo if a["now"] is not None)]
        self._done: list[tuple[int, Action]] = []
        self._folders = Folders(top)

    def run(self, progress: Progress) -> None:
        """Do all of it.  Raises Changed or OSError, with everything as it was before."""
        os.makedirs(self._staging.old, exist_ok=True)
        try:
            for number, action in enumerate(self._todo):
                self._one(number, action)
                progress(number + 1, len(self._todo))
        except BaseException:
            self.take_back()
            raise

    def _one(self, number: int, action: Action) -> None:
        path, write = action["path"], action["now"] is not None
        above = path.rpartition("/")[0]
        folder = self._folders.open(above, make=write)
        if folder is None:
            if self._signs.get(path):
                raise Changed(f"'{path}' is not where it was")
            return
        try:
            self._replace(number, action, folder)
        finally:
            os.close(folder)
        if not write:
            self._folders.prune(above)

    def _replace(self, number: int, action: Action, folder: int) -> None:
        path, sign = action["path"], self._signs.get(action["path"])
        name = raw(path.rpartition("/")[2])
        if sign and stat.S_ISDIR(sign[0]):  # its files are gone by now
            self._folders.make_room(path)
            sign = None
        if signature(name, folder) != sign:
            raise Changed(f"'{path}' has changed since it was looked at")
        if sign:
            _keep(folder, name, self._staging.aside(number))
        self._done.append((number, action))
        if action["now"] is not None:
            _place(self._staging.file(path), folder, name)
        elif sign:
            os.unlink(name, dir_fd=folder)

    def take_back(self) -> None:
        """Let everything be as it was before run(); what was taken back already is done."""
        for number, action in reversed(self._done):
            path, aside = action["path"], self._staging.aside(number)
            full = os.path.join(self._top, raw(path))
            if os.path.lexists(aside):
                self._folders.again(path.rpartition("/")[0])
                self._folders.gone(path)
                os.rename(aside, full)
            elif action["now"] is not None and not os.path.isdir(full):
                files.remove(full)
        self._folders.take_back()
        self._done, self._folders = [], Folders(self._top)


def _keep(folder: int, name: bytes, aside: bytes) -> None:
    """A second name for the file that is about to be replaced; a copy across file systems."""
    try:
        os.link(name, aside, src_dir_fd=folder, follow_symlinks=False)
    except OSError as e:
        if e.errno not in _NO_LINKS:
            raise
        _copy(name, aside, source_in=folder)


def _place(staged: bytes, folder: int, name: bytes) -> None:
    try:
        os.rename(staged, name, dst_dir_fd=folder)
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        beside = b".gitcp-%d-%s" % (os.getpid(), os.urandom(4).hex().encode())
        try:
            _copy(staged, beside, target_in=folder)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            raise


def _copy(
    source: bytes, target: bytes, source_in: int | None = None, target_in: int | None = None
) -> None:
    st = os.stat(source, dir_fd=source_in, follow_symlinks=False)
    if stat.S_ISLNK(st.st_mode):
        os.symlink(os.readlink(source, dir_fd=source_in), target, dir_fd=target_in)
        return
    reads, writes = os.O_RDONLY | os.O_NOFOLLOW, os.O_WRONLY | os.O_CREAT | os.O_EXCL
    old = os.open(source, reads | os.O_CLOEXEC, dir_fd=source_in)
    with open(old, "rb") as f, open(os.open(target, writes, dir_fd=target_in), "wb") as copy:
        while data := f.read(1 << 20):
            copy.write(data)
        os.fchmod(copy.fileno(), stat.S_IMODE(st.st_mode))
    os.utime(target, ns=(st.st_atime_ns, st.st_mtime_ns), dir_fd=target_in)
