"""Carrying out a plan in the worktree, file by file.

Symbolic links are not followed, and a file that has changed since it was read is not replaced:
each directory on the way is held open.  Replaced files stay in the step's own directory until the
plan is done; after a failure they are moved back, with their dates.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from gitcp.errors import Changed
from gitcp.git import encode_name, files
from gitcp.steps.back.kept_bytes import USUAL
from gitcp.steps.back.plan import list_effective
from gitcp.steps.back.signatures import read_signature

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gitcp.steps.back.plan import Action
    from gitcp.steps.back.signatures import Signature
    from gitcp.steps.back.staging import Staging
    from gitcp.steps.step import Raw

    Progress = Callable[[int, int], None]

_NO_LINKS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


class Apply:
    """Carries out one plan below top, all of it or nothing.

    signs: the signature that each path had when its content was read.  raw: the permissions of
    directories that are made.
    """

    def __init__(
        self,
        top: bytes,
        staging: Staging,
        actions: Sequence[Action],
        signs: Mapping[str, Signature],
        raw: Mapping[str, Raw],
    ) -> None:
        self._top = top
        self._staging = staging
        self._signs = signs
        self._raw = raw
        # Deletions come first, the deepest path first: they make room for the writes.
        todo = sorted(list_effective(actions), key=lambda action: action.path)
        deletions = [action for action in reversed(todo) if action.now is None]
        writes = [action for action in todo if action.now is not None]
        self._todo = [*deletions, *writes]
        self._done: list[tuple[int, Action]] = []
        self._folders = Folders(top, raw)

    def carry_out(self, progress: Progress) -> None:
        """Do every action.  Raises Changed or OSError, with the worktree as it was before."""
        os.makedirs(self._staging.old, exist_ok=True)
        try:
            for number, action in enumerate(self._todo):
                self._do_action(number, action)
                progress(number + 1, len(self._todo))
        except BaseException:
            self.take_back()
            raise

    def _do_action(self, number: int, action: Action) -> None:
        path = action.path
        write = action.now is not None
        above = path.rpartition("/")[0]
        folder = self._folders.open_folder(above, make=write)
        if folder is None:
            if self._signs.get(path):
                raise Changed(f"'{path}' was moved meanwhile")
            return
        try:
            self._replace_file(number, action, folder)
        finally:
            os.close(folder)
        if not write:
            self._folders.prune_empty(above)

    def _replace_file(self, number: int, action: Action, folder: int) -> None:
        path = action.path
        sign = self._signs.get(action.path)
        name = encode_name(path.rpartition("/")[2])
        if sign and stat.S_ISDIR(sign[0]):  # its files are gone by now
            self._folders.make_room(path)
            sign = None
        if read_signature(name, folder) != sign:
            raise Changed(f"'{path}' has changed since it was looked at")
        if sign:
            _keep_file(folder, name, self._staging.get_replaced_path(number))
        self._done.append((number, action))
        if action.now is not None:
            _place_file(self._staging.get_path(path), folder, name)
        elif sign:
            os.unlink(name, dir_fd=folder)

    def take_back(self) -> None:
        """Put the worktree back as it was before carry_out(); a second call does nothing."""
        for number, action in reversed(self._done):
            path = action.path
            replaced = self._staging.get_replaced_path(number)
            full = os.path.join(self._top, encode_name(path))
            if os.path.lexists(replaced):
                self._folders.make_again(path.rpartition("/")[0])
                self._folders.remove_made(path)
                os.rename(replaced, full)
            elif action.now is not None and not os.path.isdir(full):
                files.remove_file(full)
        self._folders.take_back()
        self._done = []
        self._folders = Folders(self._top, self._raw)


def _keep_file(folder: int, name: bytes, replaced: bytes) -> None:
    """Link the file that is about to be replaced into the step's directory, or copy it there."""
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
    reads = os.O_RDONLY | os.O_NOFOLLOW
    writes = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    old = os.open(source, reads | os.O_CLOEXEC, dir_fd=source_in)
    with open(old, "rb") as f, open(os.open(target, writes, dir_fd=target_in), "wb") as copy:
        while True:
            data = f.read(1 << 20)
            if not data:
                break
            copy.write(data)
        os.fchmod(copy.fileno(), stat.S_IMODE(st.st_mode))
    os.utime(target, ns=(st.st_atime_ns, st.st_mtime_ns), dir_fd=target_in)


class Folders:
    """Opens and makes directories below top, and removes those that become empty.

    created and removed list them, so that take_back() can undo it.  raw: the permissions of those
    that are made.
    """

    def __init__(self, top: bytes, raw: Mapping[str, Raw]) -> None:
        self._top = top
        self._raw = raw
        self.created: list[str] = []
        self.removed: dict[str, int] = {}  # folder -> its mode

    def open_folder(self, folder: str, make: bool) -> int | None:
        """Return a descriptor of a directory; make: create it and its parents where absent.

        None if it does not exist and make is false.  Raises Changed if a file is in its place.
        """
        descriptor = os.open(self._top, _DIRECTORY)
        parts: list[str] = []
        if folder:
            parts = folder.split("/")
        for n in range(len(parts)):
            try:
                below = self._open_child(descriptor, "/".join(parts[: n + 1]), make)
            finally:
                os.close(descriptor)
            if below is None:
                return None
            descriptor = below
        return descriptor

    def _open_child(self, parent: int, path: str, make: bool) -> int | None:
        name = encode_name(path.rpartition("/")[2])
        try:
            return os.open(name, _DIRECTORY, dir_fd=parent)
        except OSError as e:
            if e.errno not in _NOTHING:
                raise
            if not make:
                return None
            if e.errno != errno.ENOENT:
                raise Changed(f"'{path}' is not a directory any more") from None
        os.mkdir(name, dir_fd=parent)
        mode = self._raw.get(path, USUAL)[0]
        if mode is not None:
            os.chmod(name, mode, dir_fd=parent)
        self.created.append(path)
        return os.open(name, _DIRECTORY, dir_fd=parent)

    def make_room(self, path: str) -> None:
        """Remove the empty directories at path and below, where a file will be written."""
        full = os.path.join(self._top, encode_name(path))
        for folder, _, _ in os.walk(full, topdown=False):
            self._remove_folder(folder)

    def prune_empty(self, folder: str) -> None:
        """Remove an empty directory and its empty parents, but not the current directory."""
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
        """Make a directory and its parents again, with their modes; files in their place go."""
        parts: list[str] = []
        if folder:
            parts = folder.split("/")
        for n in range(1, len(parts) + 1):
            path = "/".join(parts[:n])
            full = os.path.join(self._top, encode_name(path))
            if os.path.lexists(full) and not os.path.isdir(full):
                os.unlink(full)
            if not os.path.lexists(full):
                os.mkdir(full)
                os.chmod(full, self.removed.get(path, 0o777))

    def remove_made(self, folder: str) -> None:
        """Remove the created directories at folder and below that are empty."""
        for path in reversed(self.created):
            if not folder or f"{path}/".startswith(f"{folder}/"):
                with suppress(OSError):  # another program's file is in it, or it is gone already
                    os.rmdir(os.path.join(self._top, encode_name(path)))

    def take_back(self) -> None:
        """Remove the created directories that are empty, and make the removed ones again."""
        self.remove_made("")
        for path in reversed(self.removed):
            self.make_again(path)


def _find_cwd() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return ""
