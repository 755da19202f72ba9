"""The files of a worktree, without following symbolic links."""

from __future__ import annotations

import os
import stat

from gitcp.core.git.porcelain import COMMIT, EXECUTABLE, FILE, LINK
from gitcp.errors import Error, GitError
from gitcp.process import files
from gitcp.record import decode_name, encode_name
from gitcp.start import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.record_types import Entry
    from gitcp.repo import Repo


_SHORT = 1 << 20  # bytes of an index that is read in less time than git starts
_WHOLE_NAMES = (b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")  # version 4 leaves out what names share
_SPECIAL = {stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}


class Worktree:
    """The files of a worktree.  Paths are relative to its root, as git prints them."""

    __slots__ = ("_exec_bit", "_folders", "_links", "_repositories", "_workspaces", "repo", "top")

    def __init__(self, repo: Repo) -> None:
        self.repo, self.top = repo, os.fsencode(repo.worktree)
        self._exec_bit = repo.config.get_flag("core.filemode", True)
        self._links = repo.config.get_flag("core.symlinks", True)
        self._folders: dict[str, bool] = {"": True}
        self._workspaces: dict[str, str] = {"": ""}
        self._repositories: dict[str, list[str]] = {}

    def join_full(self, path: str) -> bytes:
        return os.path.join(self.top, encode_name(path))

    def look_at(self, path: str) -> os.stat_result | None:
        """lstat() of path; None without a file, or behind a symbolic link.

        Raises PermissionError if a directory above it cannot be searched.
        """
        if not self._is_inside(path.rpartition("/")[0]):
            return None
        try:
            return os.lstat(self.join_full(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_listed(self, path: str) -> bool:
        """Whether the directory has path in exactly this spelling."""
        folder, name = os.path.split(self.join_full(path))
        try:
            return name in os.listdir(folder)
        except OSError:
            return False

    def _is_inside(self, folder: str) -> bool:
        if folder not in self._folders:
            parent = folder.rpartition("/")[0]
            self._folders[folder] = self._is_inside(parent) and self._is_real_folder(folder)
        return self._folders[folder]

    def _is_real_folder(self, folder: str) -> bool:
        try:
            return stat.S_ISDIR(os.lstat(self.join_full(folder)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def list_repositories(self, path: str) -> list[str]:
        """The directories above path, below the root, where another repository begins."""
        folder = path.rpartition("/")[0]
        if folder and folder not in self._repositories:
            begins = self.has_git(folder) or self._has_jj(folder)
            above = self.list_repositories(folder)
            self._repositories[folder] = [*above, folder] if begins else above
        return self._repositories.get(folder, [])

    def find_workspace(self, path: str) -> str:
        """The topmost directory above path, below the root, that is a workspace of jj, into which
        git looks; '' for none."""
        folder = path.rpartition("/")[0]
        if folder not in self._workspaces:
            above = self.find_workspace(folder)
            self._workspaces[folder] = above or (folder if self._has_jj(folder) else "")
        return self._workspaces[folder]

    def _has_jj(self, folder: str) -> bool:
        """Whether a workspace of jj begins at folder; a `.jj` that git tracks is none."""
        full = self.join_full(folder)
        return os.path.isdir(full + b"/.jj") and late.jj.begins_workspace(os.fsdecode(full))

    def has_git(self, folder: str) -> bool:
        """Whether another repository's worktree begins at folder."""
        return os.path.lexists(self.join_full(folder) + b"/.git")

    def drop_tracked(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths that the person's index does not have for sure: git is to be asked of
        them.  A long index is not read, nor one in which a path does not stand whole."""
        try:
            index = files.read_file(os.path.join(self.repo.git_dir, "index"), _SHORT) or b""
        except Error:
            index = b""
        if not index.startswith(_WHOLE_NAMES) or "GIT_INDEX_FILE" in self.repo.git.env:
            return [*paths]
        names = {path: encode_name(path) for path in paths}
        # An entry's flags end with the length of its name, and have no bit set in a plain one.
        lengths = {path: (len(name) & 0xFFFF).to_bytes(2, "big") for path, name in names.items()}
        return [path for path in paths if b"%b%b\0" % (lengths[path], names[path]) not in index]

    def list_ignored(
        self, paths: Iterable[str], *options: str, ok: tuple[int, ...] = (0, 1)
    ) -> set[str]:
        """The paths that git ignores.  options: of check-ignore."""
        # check-ignore has no literal pathspecs; "./" keeps a name from being magic.
        names = b"".join(b"./%s\0" % encode_name(path) for path in paths)
        if not names:
            return set()
        args, env = ("check-ignore", "-z", "--stdin", *options), {"GIT_LITERAL_PATHSPECS": "0"}
        _, out = self.repo.git.run(*args, stdin=names, ok=ok, env=env)
        return {decode_name(path[2:]) for path in out.split(b"\0")[:-1]}

    def choose_mode(self, st: os.stat_result, head_entry: Entry | None) -> str | None:
        """Git's mode of a file, None for a kind that git does not store.

        head_entry: HEAD's entry, which decides without core.fileMode or core.symlinks.
        """
        kind = stat.S_IFMT(st.st_mode)
        if kind == stat.S_IFLNK:
            return LINK
        if kind == stat.S_IFDIR:
            return COMMIT
        if kind != stat.S_IFREG:
            return None
        if head_entry and head_entry[0] == LINK and not self._links:
            return LINK
        if not self._exec_bit:
            return head_entry[0] if head_entry and head_entry[0] in (FILE, EXECUTABLE) else FILE
        return EXECUTABLE if st.st_mode & stat.S_IXUSR else FILE

    def name_special(self, st: os.stat_result) -> str:
        """The reason to leave out a file of a kind without a mode."""
        return _SPECIAL.get(stat.S_IFMT(st.st_mode), "device")

    def read_nested(self, folder: str) -> tuple[str | None, str]:
        """(HEAD's commit of the repository at folder, '') or (None, why it is left out)."""
        gitfile = self.join_full(folder) + b"/.git"
        try:
            with open(gitfile, "rb") as f:
                target = f.read(8192).removeprefix(b"gitdir: ").strip()
            linked = os.path.join(self.join_full(folder), target)
            common = os.fsencode(os.path.realpath(self.repo.common))
            if os.path.dirname(os.path.realpath(linked)) == common + b"/worktrees":
                return None, "worktree"
        except OSError:
            pass  # a directory: a repository of its own
        # GIT_DIR is set so that git does not take this repository for a broken one.
        env = {"GIT_DIR": os.fsdecode(gitfile), "GIT_WORK_TREE": None}
        objects_env = {"GIT_OBJECT_DIRECTORY": None, "GIT_ALTERNATE_OBJECT_DIRECTORIES": None}
        git = self.repo.git.copy_with(None, {**env, **objects_env})
        try:
            status, out = git.run("rev-parse", "-q", "--verify", "HEAD", ok=(0, 1, 128))
        except GitError:
            status, out = 128, b""
        oid = out.decode().strip()
        width = len(self.repo.empty_tree)
        return (oid, "") if status == 0 and len(oid) == width else (None, "nested-repository")
