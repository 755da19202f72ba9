"""What a scan of the worktree asks: the kinds of its files, without following symbolic links, the
filters that git runs on them, and the state of gitcp's index."""

from __future__ import annotations

import os
import stat
import time

from gitcp import git
from gitcp.errors import GitError
from gitcp.git import WITHOUT_HOOKS, build_reading_env, decode_name, encode_name, files, gitdir
from gitcp.text.ids import COMMIT, EXECUTABLE, FILE, LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry

_SPECIAL = {stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}


class Worktree:
    """The files of a worktree.  Paths are relative to its root, as git prints them."""

    __slots__ = (
        "_exec_bit",
        "_folders",
        "_links",
        "_prefix",
        "_repositories",
        "_workspaces",
        "repo",
        "top",
    )

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.top = os.fsencode(repo.worktree)
        self._prefix = os.path.join(self.top, b"")
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
        folder = path.rpartition("/")[0]
        is_inside = self._folders.get(folder)
        if is_inside is None:
            is_inside = self._is_inside(folder)
        if not is_inside:
            return None
        try:
            return os.lstat(self._prefix + encode_name(path))
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
        """The directories on the way from the root to path where another repository begins."""
        folder = path.rpartition("/")[0]
        if folder and folder not in self._repositories:
            begins = self.has_git(folder) or self._has_jj(folder)
            above = self.list_repositories(folder)
            if begins:
                self._repositories[folder] = [*above, folder]
            else:
                self._repositories[folder] = above
        return self._repositories.get(folder, [])

    def find_workspace(self, path: str) -> str:
        """The topmost directory on the way from the root to path that is a workspace of jj, which
        git does not take for another repository; '' for none."""
        folder = path.rpartition("/")[0]
        if folder not in self._workspaces:
            above = self.find_workspace(folder)
            self._workspaces[folder] = above or (folder if self._has_jj(folder) else "")
        return self._workspaces[folder]

    def _has_jj(self, folder: str) -> bool:
        """Whether a workspace of jj begins at folder; a `.jj` that git tracks is none."""
        full = self.join_full(folder)

        from gitcp.git import jj

        return os.path.isdir(full + b"/.jj") and jj.begins_workspace(os.fsdecode(full))

    def has_git(self, folder: str) -> bool:
        """Whether another repository's worktree begins at folder."""
        return os.path.lexists(self.join_full(folder) + b"/.git")

    def drop_tracked(self, paths: Iterable[str]) -> list[str]:
        """The paths without those that the person's index certainly has; git is asked about the
        others."""
        if self.repo.uses_git_alone or "GIT_INDEX_FILE" in self.repo.git.env:
            return [*paths]
        return gitdir.drop_listed(os.path.join(self.repo.git_dir, "index"), paths)

    def list_ignored(
        self, paths: Iterable[str], *options: str, ok: tuple[int, ...] = (0, 1)
    ) -> set[str]:
        """The paths that git ignores.  options: of check-ignore."""
        # check-ignore has no literal pathspecs; "./" keeps a name from being magic.
        names = b"".join(b"./%s\0" % encode_name(path) for path in paths)
        if not names:
            return set()
        args = ("check-ignore", "-z", "--stdin", *options)
        env = {"GIT_LITERAL_PATHSPECS": "0"}
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
            if head_entry and head_entry[0] in (FILE, EXECUTABLE):
                return head_entry[0]
            return FILE
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
        asked = self.repo.git.copy_with(None, {**env, **objects_env})
        try:
            status, out = asked.run("rev-parse", "-q", "--verify", "HEAD", ok=(0, 1, 128))
        except GitError:
            status = 128
            out = b""
        oid = out.decode().strip()
        width = len(self.repo.empty_tree)
        if status == 0 and len(oid) == width:
            return (oid, "")
        return (None, "nested-repository")


# The files that git may convert on their way into a blob, found without asking git.
#
# A file is plain if no core.autocrlf is set and no attributes file applies.  Where some apply, but
# none that can do more than replace CRLF, git stores a file without CRLF as it is, too.  Any other
# file is left to git, which reads the attributes.
_SYSTEM = ("/etc/gitattributes", "/usr/local/etc/gitattributes")
_FALSE = ("false", "no", "off", "0", "")
_KEYS = ("core.autocrlf", "core.eol", "core.checkroundtripencoding")
_FILTER = rb"filter=([^\s]+)"
_MORE_THAN_CRLF = (b"filter", b"ident", b"encoding")  # words of attributes that change more
_FILTER_HOUR = 3600
_KINDS = (".clean", ".process")


class Filters:
    """Names how git converts files: by a hash of the settings that decide it.

    head: finds HEAD's entry of a path.
    """

    def __init__(self, worktree: Worktree, head: Callable[[str], Entry | None]) -> None:
        self._work = worktree
        self._repo = worktree.repo
        self._head = head
        config = worktree.repo.config
        self._converts = config.get("core.autocrlf", "no").lower() not in _FALSE
        # Whether git reads attributes from the files that are read here, and from nowhere else.
        self._knows_all = True
        if config.get("attr.tree") or "GIT_ATTR_SOURCE" in self._repo.git.env:
            self._note_unknown()
        self._sparse = config.get_flag("core.sparsecheckout")
        self._absent: set[str] = set()
        self._folders: dict[str, bytes] = {}
        self._conversions: dict[bytes, str] = {}

    def name_conversion(self, path: str) -> str:
        """A hash of the settings that decide a file's conversion; '' for a plain file."""
        attributes = self._read_attributes(path.rpartition("/")[0])
        if not attributes and not self._converts and not self._repo.uses_git_alone:
            return ""
        if attributes not in self._conversions:
            self._conversions[attributes] = self._repo.objects.hash_object(
                "blob", self._join_settings(attributes)
            )
        return self._conversions[attributes]

    def keeps_without_crlf(self, path: str) -> bool:
        """Whether git certainly stores the bytes of a file as they are if it has no CRLF."""
        attributes = self._read_attributes(path.rpartition("/")[0])
        if not self._knows_all or self._repo.uses_git_alone:
            return False
        return not any(word in attributes for word in _MORE_THAN_CRLF)

    def list_from_head(self, path: str) -> list[str]:
        """The .gitattributes above path that a sparse checkout leaves only in HEAD."""
        folders = path.split("/")[:-1]
        names = ["/".join([*folders[:n], ".gitattributes"]) for n in range(len(folders) + 1)]
        return [name for name in names if name in self._absent]

    def _read_attributes(self, folder: str) -> bytes:
        """The attributes that apply in a folder, concatenated; b'' for none."""
        if folder not in self._folders:
            above = folder.rpartition("/")[0]
            if folder:
                inherited = self._read_attributes(above)
            else:
                inherited = self._read_global_files()
            name = f"{folder}/.gitattributes".lstrip("/")
            content = _read_file(self._work.join_full(name))
            if content is None and self._sparse:  # git reads it from the index
                entry = self._head(name)
                content = None
                if entry:
                    content = self._repo.objects.need(entry[1], "blob")
                self._absent.update([name] if content else [])
            # The folder's name keeps equal rules of different folders apart.
            rules = b""
            if content:
                rules = b"%s\0%s\0" % (encode_name(folder), content)
            self._folders[folder] = inherited + rules
        return self._folders[folder]

    def _join_settings(self, attributes: bytes) -> bytes:
        config = self._work.repo.config
        parts = [config.get(key) for key in _KEYS]
        if b"filter=" in attributes:
            import re

            for word in sorted(set(re.findall(_FILTER, attributes))):
                name = word.decode("utf-8", "surrogateescape")
                parts += [config.get(f"filter.{name}.{key}") for key in ("clean", "process")]
        return b"\0".join([*map(encode_name, parts), attributes])

    def _note_unknown(self) -> None:
        """Note that git may read attributes that are not known here, so that it is asked."""
        self._converts = True
        self._knows_all = False

    def _read_global_files(self) -> bytes:
        repo = self._work.repo
        env = self._work.repo.git.env
        persons_file = os.path.expanduser(repo.config.get("core.attributesfile"))
        if persons_file and not os.path.isfile(os.path.join(repo.worktree, persons_file)):
            self._note_unknown()  # git may find it elsewhere
        base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")
        persons_file = persons_file or os.path.join(base, "git", "attributes")
        paths = (*_SYSTEM, persons_file, os.path.join(repo.common, "info", "attributes"))
        contents = (_read_file(encode_name(os.path.join(repo.worktree, path))) for path in paths)
        return b"\0".join(filter(None, contents))


def _read_file(path: bytes) -> bytes | None:
    return files.peek(path) or None


def has_hung(repo: Repo) -> bool:
    """Whether a filter has hung lately, so that git runs without filters."""
    try:
        return abs(time.time() - os.lstat(_locate_mark(repo)).st_mtime) < _FILTER_HOUR
    except OSError:
        return False


def compute_patience(repo: Repo) -> float | None:
    """The seconds to wait for a git that may run filters; None without a limit.

    It is half of a hook's remaining time, so that git can run again without filters.
    """
    seconds = git.count_seconds_left()
    if seconds is not None and list_off_options(repo):
        return seconds / 2
    return seconds


def list_off_options(repo: Repo) -> list[str]:
    """The options of git that switch off every filter; [] if none is configured."""
    return list_unfiltered_options(repo, *_KINDS)


def list_unfiltered_options(repo: Repo, *kinds: str) -> list[str]:
    """The options of git that switch off every filter with a key of kinds, by default every
    required one."""
    lists = (repo.config.list_keys("filter.", kind) for kind in kinds or (".required",))
    names = set()
    for keys in lists:
        for key in keys:
            names.add(key.rpartition(".")[0])
    values = ("clean=", "process=", "required=false")
    found: list[str] = []
    for name in sorted(names):
        for v in values:
            found += ("-c", f"{name}.{v}")
    return found


def note_hang(repo: Repo) -> bool:
    """Note that git did not end in time: for an hour it runs without filters.  Warn of that.
    Returns False if there are no filters, or they are switched off already."""
    if has_hung(repo) or not list_off_options(repo):
        return False
    files.touch_private(repo, _locate_mark(repo))
    message = "a filter of git did not end in time: for an hour checkpoints leave out its files"

    from gitcp.git import hook_warnings

    hook_warnings.keep_warning(repo, message)
    from gitcp.text import console

    console.warn(message)
    return True


def _locate_mark(repo: Repo) -> str:
    return repo.join_own_cache("filters-hang")


STALE = 200  # paths that differ from HEAD's before the index is seeded again
# Settings that keep git from trusting the index instead of the file.
_SETTINGS = (
    "-c core.untrackedCache=false -c status.showUntrackedFiles=all -c core.fsmonitor=false"
    " -c core.splitIndex=false -c index.sparse=false -c core.trustctime=true"
    " -c core.checkStat=default -c core.ignoreStat=false"
    " -c sparse.expectFilesOutsideOfPatterns=false -c core.useReplaceRefs=false"
)
TRUST_NO_INDEX = (*_SETTINGS.split(), *WITHOUT_HOOKS)


def locate_index(repo: Repo) -> str:
    return repo.join_own_cache("index")


def is_sparse_unchanged(repo: Repo) -> bool:
    """Whether the sparse checkout has not changed since the index was seeded.

    Git obeys the skip-worktree bits of the index, and would miss changes of those files.
    """
    return files.read_cache(locate_patterns(repo)) == read_patterns(repo)


def note_stale(repo: Repo, count: int) -> None:
    """Request the next seed_index() if count, the paths that differ from HEAD's, is large."""
    if count > STALE:
        git.append_trace("index", f"{count} stale entries")
        write_mark(repo, repo.join_own_cache("index-stale"), b"1")


def read_patterns(repo: Repo) -> bytes:
    """The settings and patterns of the sparse checkout; b'' without one."""
    if not repo.config.get_flag("core.sparsecheckout"):
        return b""
    cone = repo.config.get("core.sparsecheckoutcone").encode()
    patterns = files.read_bytes(os.path.join(repo.git_dir, "info", "sparse-checkout")) or b""
    return b"%s\n%s" % (cone, patterns)


def write_mark(repo: Repo, path: str, content: bytes) -> None:
    """Write a file; remove it if the content is empty."""
    if content:
        files.write_private(repo, path, content)
    else:
        files.remove_private(repo, path)


def locate_patterns(repo: Repo) -> str:
    return repo.join_own_cache("index-sparse")


def has_head(repo: Repo) -> bool:
    """Whether the person's index equals HEAD; False if unknown."""
    person_index = os.path.join(repo.git_dir, "index")
    return "GIT_INDEX_FILE" not in repo.git.env and has_tree_of_head(repo, person_index)


def has_tree_of_head(repo: Repo, path: str) -> bool:
    """Whether an index file equals HEAD; False if unknown."""
    if repo.uses_git_alone:
        tree = b""
    else:
        tree = _read_head_tree(repo)
    return bool(tree) and gitdir.equals_tree(path, tree)


def _read_head_tree(repo: Repo) -> bytes:
    """The bytes of HEAD's tree oid, read without git; b"" if that fails."""
    try:
        commit = repo.objects.peek("HEAD")
        if commit:
            return bytes.fromhex(decode_name(commit[2][5:].partition(b"\n")[0]))
        return b""
    except ValueError:
        return b""


def build_environment(index: str) -> dict[str, str]:
    """The variables that run_without_trust() adds to the person's environment."""
    return {**build_reading_env(), "GIT_INDEX_FILE": index}
