"""A plan carried out, file by file.

None of it follows a symbolic link or replaces a file that is not the one that was looked at:
each directory on the way is held open.  What is replaced stays in a directory of the step until
all is done, so that a failure takes back what was done: the very files, with their dates.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from gitcp.core.back.plan import list_effective
from gitcp.errors import Changed
from gitcp.process import files
from gitcp.record import encode_name
from gitcp.store.back.present import read_signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.core.back.plan import Action
    from gitcp.store.back.carry_out import Staging
    from gitcp.store.back.present import Signature

    Progress = Callable[[int, int], None]


_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


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
        todo = sorted(list_effective(actions), key=lambda a: a["path"])
        gone = [a for a in reversed(todo) if a["now"] is None]
        self._todo = [*gone, *(a for a in todo if a["now"] is not None)]
        self._done: list[tuple[int, Action]] = []
        self._folders = Folders(top)

    def carry_out(self, progress: Progress) -> None:
        """Do all of it.  Raises Changed or OSError, with everything as it was before."""
        os.makedirs(self._staging.old, exist_ok=True)
        try:
            for number, action in enumerate(self._todo):
                self._do_action(number, action)
                progress(number + 1, len(self._todo))
        except BaseException:
            self.take_back()
            raise

    def _do_action(self, number: int, action: Action) -> None:
        path, write = action["path"], action["now"] is not None
        above = path.rpartition("/")[0]
        folder = self._folders.open_folder(above, make=write)
        if folder is None:
            if self._signs.get(path):
                raise Changed(f"'{path}' is not where it was")
            return
        try:
            self._replace_file(number, action, folder)
        finally:
            os.close(folder)
        if not write:
            self._folders.prune_empty(above)

    def _replace_file(self, number: int, action: Action, folder: int) -> None:
        path, sign = action["path"], self._signs.get(action["path"])
        name = encode_name(path.rpartition("/")[2])
        if sign and stat.S_ISDIR(sign[0]):  # its files are gone by now
            self._folders.make_room(path)
            sign = None
        if read_signature(name, folder) != sign:
            raise Changed(f"'{path}' has changed since it was looked at")
        if sign:
            _keep_file(folder, name, self._staging.get_replaced_path(number))
        self._done.append((number, action))
        if action["now"] is not None:
            _place_file(self._staging.get_path(path), folder, name)
        elif sign:
            os.unlink(name, dir_fd=folder)

    def take_back(self) -> None:
        """Let everything be as it was before run(); what was taken back already is done."""
        for number, action in reversed(self._done):
            path, replaced = action["path"], self._staging.get_replaced_path(number)
            full = os.path.join(self._top, encode_name(path))
            if os.path.lexists(replaced):
                self._folders.make_again(path.rpartition("/")[0])
                self._folders.remove_made(path)
                os.rename(replaced, full)
            elif action["now"] is not None and not os.path.isdir(full):
                files.remove_file(full)
        self._folders.take_back()
        self._done, self._folders = [], Folders(self._top)


def _keep_file(folder: int, name: bytes, replaced: bytes) -> None:
    """A second name for the file that is about to be replaced; a copy across file systems."""
    try:
        os.link(name, replaced, src_dir_fd=folder, follow_symlinks=False)
    except OSError as e:
        if e.errno not in _NO_LINKS:
            raise
        _copy_file(name, replaced, source_in=folder)


def _place_file(staged: bytes, folder: int, name: bytes) -> None:
    try:
        os.rename(staged, name, dst_dir_fd=folder)
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        beside = b".gitcp-%d-%s" % (os.getpid(), os.urandom(4).hex().encode())
        try:
            _copy_file(staged, beside, target_in=folder)
            os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            raise


def _copy_file(
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


class Folders:
    """The directories below top: opened, made, and removed when they become empty.

    created and removed tell which, so that it can be taken back.
    """

    def __init__(self, top: bytes) -> None:
        self._top = top
        self.created: list[str] = []
        self.removed: dict[str, int] = {}  # folder -> its mode

    def open_folder(self, folder: str, make: bool) -> int | None:
        """A descriptor of a directory; make: it and those above it are made where absent.

        None where there is none and none is to be made.  Raises Changed where something else
        stands in the way of making it.
        """
        at = os.open(self._top, _DIRECTORY)
        parts = folder.split("/") if folder else []
        for n in range(len(parts)):
            try:
                below = self._step_down(at, "/".join(parts[: n + 1]), make)
            finally:
                os.close(at)
            if below is None:
                return None
            at = below
        return at

    def _step_down(self, at: int, path: str, make: bool) -> int | None:
        name = encode_name(path.rpartition("/")[2])
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
        full = os.path.join(self._top, encode_name(path))
        for folder, _, _ in os.walk(full, topdown=False):
            self._remove_folder(folder)

    def prune_empty(self, folder: str) -> None:
        """Remove a directory that a deletion emptied and those above it; never where we are."""
        here = _find_cwd() + os.sep
        while folder:
            full = os.path.join(self._top, encode_name(folder))
            if here.startswith(os.path.realpath(os.fsdecode(full)) + os.sep):
                return
            if not self._remove_folder(full):
                return
            folder = folder.rpartition("/")[0]

    def _remove_folder(self, full: bytes) -> bool:
        try:
            mode = stat.S_IMODE(os.lstat(full).st_mode)
            os.rmdir(full)
        except OSError:
            return False
        self.removed[os.fsdecode(os.path.relpath(full, self._top))] = mode
        return True

    def make_again(self, folder: str) -> None:
        """Let a directory stand as it did; a file that came in its place goes."""
        parts = folder.split("/") if folder else []
        for n in range(1, len(parts) + 1):
            path = "/".join(parts[:n])
            full = os.path.join(self._top, encode_name(path))
            if os.path.lexists(full) and not os.path.isdir(full):
                os.unlink(full)
            if not os.path.lexists(full):
                os.mkdir(full)
                os.chmod(full, self.removed.get(path, 0o777))

    def remove_made(self, place: str) -> None:
        """Remove the directories that were made at place and below, as far as they are empty."""
        for path in reversed(self.created):
            if not place or f"{path}/".startswith(f"{place}/"):
                try:
                    os.rmdir(os.path.join(self._top, encode_name(path)))
                except OSError:
                    pass  # somebody else's file is in it, or it is gone already

    def take_back(self) -> None:
        """Remove the directories that were made, as far as they are empty, and make the
        removed ones again."""
        self.remove_made("")
        for path in reversed(self.removed):
            self.make_again(path)


def _find_cwd() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return ""
