"""The files of a worktree, without following symbolic links."""

from __future__ import annotations

import os
import stat
import time

from gitcp import console, files, git
from gitcp.core import formats
from gitcp.core.formats import COMMIT, EXECUTABLE, FILE, GONE, LINK
from gitcp.errors import Error, GitError, Late
from gitcp.files import put_file
from gitcp.git import Running, build_person_env, build_reading_env, decode_name, encode_name
from gitcp.store import private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from gitcp.core.formats import Row, Status
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

        from gitcp import jj

        return os.path.isdir(full + b"/.jj") and jj.begins_workspace(os.fsdecode(full))

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


class Change:
    """A path that differs from HEAD in the worktree, or may differ.

    mode: GONE without a file.  oid: None until hashed.  kind: 'tracked' (by HEAD) or 'untracked'.
    was: HEAD's entry.  sure: git has compared contents; otherwise hashing decides.
    """

    __slots__ = ("kind", "mode", "oid", "st", "sure", "was")

    def __init__(
        self, mode: str, head_entry: Entry | None, st: os.stat_result | None = None
    ) -> None:
        self.mode, self.was, self.st = mode, head_entry, st
        self.oid: str | None = None
        self.kind = "tracked" if head_entry else "untracked"
        self.sure = True


class Scan:
    """A scan of the worktree.

    head: HEAD's commit, None if unborn.  branch: its name, None if detached.  changes: path ->
    Change, in no order.  omitted: [{'path', 'reason'}] of the paths that a snapshot leaves out
    (doc/behaviour.md "Temporary checkpoints").
    """

    __slots__ = ("branch", "changes", "head", "omitted", "worktree")

    def __init__(self, worktree: Worktree, seen: Status) -> None:
        self.worktree, self.head, self.branch = worktree, seen.head, seen.branch
        self.changes: dict[str, Change] = {}
        self.omitted: list[dict[str, str]] = []

    def omit_path(self, path: str, reason: str) -> None:
        self.omitted.append({"path": path, "reason": reason})

    def take_rows(self, rows: Iterable[Row]) -> list[str]:
        """Add the rows of the snapshot's index; return the paths that it has and HEAD lacks.

        Those are from an earlier HEAD, and untracked or ignored now.
        """
        index_only = []
        for row in rows:
            st = None if row.y == "D" else self.look_at(row.path)
            if row.head is None:
                if st:
                    index_only.append(row.path)
            elif st is None:
                self.changes[row.path] = Change(GONE, row.head)
            else:
                self.take_present(row.path, row.head, st, sure=row.x == ".")
        return index_only

    def look_at(self, path: str) -> os.stat_result | None:
        """lstat() of a path, None without a file; raises Error if permission is denied."""
        try:
            return self.worktree.look_at(path)
        except PermissionError:
            raise Error(f"cannot read '{path}': Permission denied") from None

    def take_untracked(self, path: str) -> None:
        """Add a path that the snapshot's index lacks; a nested repository ends in '/'."""
        name = path.rstrip("/")
        workspace = self.worktree.find_workspace(name)
        if workspace:
            left_out = {"path": workspace, "reason": "worktree"}
            self.omitted += [left_out] if left_out not in self.omitted else []
            return
        change = self.changes.get(name)
        if change is None or change.mode == GONE:
            st = self.look_at(name)
            if st:
                self.take_present(name, change.was if change else None, st)

    def take_present(
        self, path: str, was: Entry | None, st: os.stat_result, sure: bool = True
    ) -> None:
        """Add an existing path.  was: HEAD's entry."""
        mode = self.worktree.choose_mode(st, was)
        if mode == COMMIT:
            self._take_folder(path, was)
            return
        if mode is None:
            self.omit_path(path, self.worktree.name_special(st))
            if was:
                self.changes[path] = Change(GONE, was)
            return
        self.changes[path] = change = Change(mode, was, st)
        change.sure = sure

    def _take_folder(self, path: str, was: Entry | None) -> None:
        if not self.worktree.has_git(path):
            if was and was[0] != COMMIT:  # a directory replaced a file
                self.changes[path] = Change(GONE, was)
            return  # a submodule that is not checked out has not changed
        oid, why = self.worktree.read_nested(path)
        if oid and (COMMIT, oid) != was:
            self.changes[path] = change = Change(COMMIT, was)
            change.oid = oid
        elif not oid:
            self.omit_path(path, why)

    def list_specials(self, folders: Iterable[str]) -> list[tuple[str, str]]:
        """(path, reason) of the fifos, sockets and devices in these directories."""
        listed = []
        for folder in folders:
            try:
                with os.scandir(self.worktree.join_full(folder)) as entries:
                    specials = [e for e in entries if not _is_plain(e)]
            except OSError:
                continue
            for entry in specials:
                path = os.path.join(folder, decode_name(entry.name))
                listed.append((path, self.worktree.name_special(entry.stat(follow_symlinks=False))))
        return listed


def _is_plain(entry: os.DirEntry[bytes]) -> bool:
    return (
        entry.is_file(follow_symlinks=False)
        or entry.is_dir(follow_symlinks=False)
        or entry.is_symlink()
    )


# The files that git may convert on their way into a blob, found without asking git.
#
# A file is plain if no core.autocrlf is set and no attributes file applies.  Any other file is
# left to git, which reads the attributes.
_SYSTEM = ("/etc/gitattributes", "/usr/local/etc/gitattributes")
_FALSE = ("false", "no", "off", "0", "")
_KEYS = ("core.autocrlf", "core.eol", "core.checkroundtripencoding")
_FILTER = rb"filter=([^\s]+)"
_FILTER_HOUR = 3600
_KINDS = (".clean", ".process")


class Filters:
    """Names the conversions of files by the settings that decide them."""

    def __init__(self, worktree: Worktree, head: Callable[[str], Entry | None]) -> None:
        self._work, self._repo, self._head = worktree, worktree.repo, head
        config = worktree.repo.config
        self._converts = config.get("core.autocrlf", "no").lower() not in _FALSE
        self._sparse = config.get_flag("core.sparsecheckout")
        self._everywhere = b"\0".join(filter(None, map(_read_file, self._list_global_files())))
        self._absent: set[str] = set()
        self._folders: dict[str, bytes] = {}
        self._conversions: dict[bytes, str] = {}

    def name_conversion(self, path: str) -> str:
        """A hash of the settings that decide a file's conversion; '' for a plain file."""
        attributes = self._read_attributes(path.rpartition("/")[0])
        if not attributes and not self._converts:
            return ""
        if attributes not in self._conversions:
            self._conversions[attributes] = self._repo.objects.hash_object(
                "blob", self._join_settings(attributes)
            )
        return self._conversions[attributes]

    def list_from_head(self, path: str) -> list[str]:
        """The .gitattributes above path that a sparse checkout leaves only in HEAD."""
        folders = path.split("/")[:-1]
        names = ["/".join([*folders[:n], ".gitattributes"]) for n in range(len(folders) + 1)]
        return [name for name in names if name in self._absent]

    def _read_attributes(self, folder: str) -> bytes:
        """The attributes that apply in a folder, concatenated; b'' for none."""
        if folder not in self._folders:
            above = folder.rpartition("/")[0]
            inherited = self._read_attributes(above) if folder else self._everywhere
            name = f"{folder}/.gitattributes".lstrip("/")
            content = _read_file(self._work.join_full(name))
            if content is None and self._sparse:  # git reads it from the index
                entry = self._head(name)
                content = self._repo.objects.need(entry[1], "blob") if entry else None
                self._absent.update([name] if content else [])
            # The folder's name keeps equal rules of different folders apart.
            own = b"%s\0%s\0" % (encode_name(folder), content) if content else b""
            self._folders[folder] = inherited + own
        return self._folders[folder]

    def _join_settings(self, attributes: bytes) -> bytes:
        config = self._work.repo.config
        parts = [config.get(key) for key in _KEYS]
        import re

        for word in sorted(set(re.findall(_FILTER, attributes))):
            name = word.decode("utf-8", "surrogateescape")
            parts += [config.get(f"filter.{name}.{key}") for key in ("clean", "process")]
        return b"\0".join([*map(encode_name, parts), attributes])

    def _list_global_files(self) -> list[bytes]:
        repo, env = self._work.repo, self._work.repo.git.env
        own_file = os.path.expanduser(repo.config.get("core.attributesfile"))
        if own_file and not os.path.isfile(os.path.join(repo.worktree, own_file)):
            self._converts = True  # git may find it elsewhere
        base = env.get("XDG_CONFIG_HOME") or os.path.join(env.get("HOME", ""), ".config")
        own_file = own_file or os.path.join(base, "git", "attributes")
        paths = (*_SYSTEM, own_file, os.path.join(repo.common, "info", "attributes"))
        return [encode_name(os.path.join(repo.worktree, path)) for path in paths]


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
    return seconds / 2 if seconds is not None and list_off_options(repo) else seconds


def list_off_options(repo: Repo) -> list[str]:
    """The options of git that switch off every filter; [] if none is configured."""
    return list_unfiltered_options(repo, *_KINDS)


def list_unfiltered_options(repo: Repo, *kinds: str) -> list[str]:
    """The options of git that switch off every filter with a key of kinds, by default every
    required one."""
    lists = (repo.config.list_keys("filter.", kind) for kind in kinds or (".required",))
    names = {key.rpartition(".")[0] for keys in lists for key in keys}
    values = ("clean=", "process=", "required=false")
    return [word for name in sorted(names) for v in values for word in ("-c", f"{name}.{v}")]


def note_hang(repo: Repo) -> bool:
    """After git did not end in time, run it without filters for an hour, and warn.  Returns False
    if there are none, or they were switched off already."""
    if has_hung(repo) or not list_off_options(repo):
        return False
    private.touch_private(repo, _locate_mark(repo))
    message = "a filter of git did not end in time: for an hour checkpoints leave out its files"

    from gitcp.store import hook_warnings

    hook_warnings.keep_warning(repo, message)
    console.warn(message)
    return True


def _locate_mark(repo: Repo) -> str:
    return repo.join_own("filters-hang")


# The snapshot's own index, with which a scan compares the worktree
# (doc/git.md "The index of a snapshot").
#
# It is <git-dir>/gitcp/index.  No flag of the person hides a file in it, and git never locks it.
# A stale one is still correct, but slow.
_STATUS = (
    "status --porcelain=v2 -z --branch --no-ahead-behind -uall --no-renames"
    " --ignore-submodules=dirty"
).split()
_A_SECOND = 1 << 20  # bytes of an index whose files a slow disk can stat in a second
_GROWN = 2.0  # seconds after which the times of a file are trusted
_STALE = 200  # paths that differ from HEAD's before the index is seeded again
_TAIL = 1 << 20  # bytes at the end of an index: the cache tree of 20,000 directories and more
_STAT = 40  # bytes of stat data before the object name; the size comes last
# Settings that keep git from trusting the index instead of the file.
HONEST = (
    "-c core.untrackedCache=false -c status.showUntrackedFiles=all -c core.fsmonitor=false"
    " -c core.splitIndex=false -c index.sparse=false -c core.trustctime=true"
    " -c core.checkStat=default -c core.ignoreStat=false -c core.hooksPath=/dev/null"
    " -c sparse.expectFilesOutsideOfPatterns=false -c core.useReplaceRefs=false"
).split()
_DAY = 86400.0  # seconds: no process of gitcp runs that long
_HOUR = 3600.0  # seconds: a turn that begins may not have its marker yet


def start_status(repo: Repo, converting: bool = True) -> Running:
    """Start the scan of the worktree against the index, which is seeded first if there is none.

    converting: False to switch off required filters, because git dies when one fails.  The files
    that they convert then count as changed until they are hashed.
    """
    if not os.path.isfile(locate_index(repo)):  # git would hang on a pipe
        seed_index(repo, force=True)
    git.extend_deadline(_read_size(locate_index(repo)) / _A_SECOND)
    options = list_off_options(repo) if has_hung(repo) else []
    return _start_status(
        repo,
        build_person_env(repo.git.env),
        options if converting else list_unfiltered_options(repo),
    )


def ask_complaints(repo: Repo) -> bytes:
    """Git's untranslated warnings of a scan, which runs again without the person's filters: their
    output must not be translated."""
    running = _start_status(repo, repo.git.env, list_unfiltered_options(repo, ".clean", ".process"))
    running.finish(ok=range(256))
    return running.errors


def _start_status(repo: Repo, env: Mapping[str, str], options: Sequence[str]) -> Running:
    argv = ("git", "-C", repo.worktree, *HONEST, *options, *_STATUS)
    return Running(argv, {**env, **build_environment(locate_index(repo))}, False)


def _read_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def locate_index(repo: Repo) -> str:
    return repo.join_own("index")


def fits_sparse(repo: Repo) -> bool:
    """Whether the sparse checkout has not changed since the index was seeded.

    Git obeys the skip-worktree bits of the index, and would miss changes of those files.
    """
    return private.read_cache(_locate_patterns(repo)) == _read_patterns(repo)


def note_stale(repo: Repo, count: int) -> None:
    """Request the next seed_index() if count, the paths that differ from HEAD's, is large."""
    if count > _STALE:
        git.append_note("index", f"{count} stale entries")
        _write_mark(repo, repo.join_own("index-stale"), b"1")


def seed_index(repo: Repo, force: bool = False) -> bool:
    """Make the index from the person's and HEAD, if that is needed; return whether it was.

    It is needed without an index, after note_stale(), after a change of the sparse checkout, and
    if the person's index is newer.  Never called in a turn.
    """
    person_index, own_index = os.path.join(repo.git_dir, "index"), locate_index(repo)
    if not (force or os.path.exists(repo.join_own("index-stale"))) and fits_sparse(repo):
        seeded, changed = _read_change_time(own_index), _read_change_time(person_index)
        if seeded and seeded > changed:
            return False
    sweep_leftovers(repo)
    scratch = f"{own_index}.{os.getpid()}"
    try:
        repo.make_folder(os.path.dirname(own_index))
        patterns = _read_patterns(repo)
        young = fill_index(repo, person_index, scratch)
        put_file(repo.common, scratch, own_index)
        # After the index: an old mark only makes the next scan seed it again.
        _write_mark(repo, _locate_patterns(repo), patterns)
        _write_mark(repo, repo.join_own("index-stale"), b"")
        note_stale(repo, young)
    except OSError as e:
        raise Error(f"cannot write '{own_index}': {e.strerror}") from None
    finally:
        for path in (scratch, scratch + ".lock"):
            files.remove_file(path)
    return True


def seed_stale(repo: Repo) -> None:
    """Seed a stale index again at a prompt, once files that were too young when it was noted have
    trusted times."""
    try:
        age = time.time() - os.lstat(repo.join_own("index-stale")).st_mtime
    except FileNotFoundError:
        return
    if age >= _GROWN:
        seed_index(repo)


def _read_change_time(path: str) -> int:
    try:
        return os.stat(path).st_ctime_ns
    except FileNotFoundError:
        return 0


def _read_patterns(repo: Repo) -> bytes:
    """The settings and patterns of the sparse checkout; b'' without one."""
    if not repo.config.get_flag("core.sparsecheckout"):
        return b""
    cone = repo.config.get("core.sparsecheckoutcone").encode()
    patterns = files.read_bytes(os.path.join(repo.git_dir, "info", "sparse-checkout")) or b""
    return b"%s\n%s" % (cone, patterns)


def _write_mark(repo: Repo, path: str, content: bytes) -> None:
    """Write a file; remove it if the content is empty."""
    if content:
        private.write_private(repo, path, content)
    else:
        private.remove_private(repo, path)


def _locate_patterns(repo: Repo) -> str:
    return repo.join_own("index-sparse")


def fill_index(repo: Repo, person_index: str, scratch: str) -> int:
    """Make the index file scratch: HEAD's entries, with the stat data of the person's index.

    The person's index may be missing.  Returns the number of paths whose stat data are too young to
    be trusted, as in a fresh clone; a later seeding can trust them.  Raises OSError, GitError.
    """
    # A second earlier, since the file system's clock is coarser.
    before = (int(time.time()) - 1) * 10**9
    mtime = copy_dated(person_index, scratch)
    if mtime is not None:
        _clear_flags(repo, scratch)
    if repo.config.get_flag("core.sparsecheckout") or not _has_tree_of_head(repo, scratch):
        head = repo.git.run("rev-parse", "-q", "--verify", "HEAD^{tree}", ok=(0, 1, 128))[1]
        run_honest(repo, scratch, "read-tree", "--reset", head.decode().strip() or repo.empty_tree)
    if mtime is not None:
        distrust_entries(scratch, mtime // 10**9, repo.algo)
        os.utime(scratch, ns=(mtime, mtime))  # racy entries stay racy
    # Write even if nothing was refreshed: writing marks the racy entries that differ, and the new
    # date would hide them without the marks.
    run_honest(repo, scratch, "update-index", "-q", "--refresh", "--force-write-index", ok=(0, 1))
    young = distrust_entries(scratch, before // 10**9, repo.algo)
    os.utime(scratch, ns=(before, before))
    return young


def _clear_flags(repo: Repo, scratch: str) -> None:
    assumed, skipped = formats.parse_marked(run_honest(repo, scratch, "ls-files", "-v", "-z"))
    if repo.config.get_flag("core.sparsecheckout"):
        skipped = []
    for flag, paths in ("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped):
        if paths:
            run_honest(
                repo, scratch, "update-index", flag, "-z", "--stdin", stdin=_join_paths(paths)
            )


def _join_paths(paths: list[bytes]) -> bytes:
    return b"\0".join(paths) + b"\0"


def copy_dated(source: str, target: str) -> int | None:
    """Copy a file with its mtime, which is returned in ns; None without such a file."""
    try:
        with open(source, "rb", buffering=0) as f, open(target, "wb") as g:
            mtime = os.fstat(f.fileno()).st_mtime_ns
            while data := f.read(1 << 20):
                g.write(data)
    except FileNotFoundError:
        return None
    os.utime(target, ns=(mtime, mtime))
    return mtime


def has_head(repo: Repo) -> bool:
    """Whether the person's index equals HEAD; False if unknown."""
    person_index = os.path.join(repo.git_dir, "index")
    return "GIT_INDEX_FILE" not in repo.git.env and _has_tree_of_head(repo, person_index)


def _has_tree_of_head(repo: Repo, path: str) -> bool:
    """Whether an index file equals HEAD, by its cache tree (gitformat-index(5)); False if
    unknown."""
    if not (tree := _read_head_tree(repo)):
        return False
    count, data = int.from_bytes(files.peek(path, 8, 4)), files.peek(path, -_TAIL)
    root = b"\0%d " % count  # its path, and its number of entries, all of the index
    start = data.rfind(b"TREE")
    while start > 0 and not data.startswith(root, start + 8):
        start = data.rfind(b"TREE", 0, start)
    return start > 0 and data.startswith(tree, data.find(b"\n", start + 8) + 1)


def _read_head_tree(repo: Repo) -> bytes:
    """The bytes of HEAD's tree oid, read without git; b"" if that fails."""
    try:
        commit = repo.objects.peek("HEAD")
        return bytes.fromhex(decode_name(commit[2][5:].partition(b"\n")[0])) if commit else b""
    except ValueError:
        return b""


def distrust_entries(path: str, since: int, algo: str) -> int:
    """Make git compare the contents of entries whose ctime is since (seconds) or later.

    Git does so by itself for an mtime of since or later.  Returns the number of both, which every
    scan reads.  Raises OSError; a file of an unknown format stays as it is.
    """
    with open(path, "rb") as f:
        data = bytearray(f.read())
    entries = list_entries(data, algo)
    young = [(at, dated) for at, changed, dated in entries if changed >= since or dated >= since]
    doubted = [offset for offset, dated in young if dated < since]
    for offset in doubted:
        data[offset + _STAT - 4 : offset + _STAT] = bytes(4)  # size 0, git's own mark
    if doubted:
        width = 32 if algo == "sha256" else 20
        import hashlib

        data[-width:] = hashlib.new(algo, data[:-width]).digest()
        with open(path, "wb") as f:
            f.write(data)
    return len(young)


def list_entries(data: bytes | bytearray, algo: str) -> Iterator[tuple[int, int, int]]:
    """(offset, ctime, mtime) of each entry of an index file, in seconds (gitformat-index(5)).

    algo: 'sha1' or 'sha256'.  Yields nothing for an unknown format.
    """
    import struct

    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return
    fixed = _STAT + (32 if algo == "sha256" else 20) + 2
    read_entry = struct.Struct(f">I4xI{fixed - 14}xH").unpack_from
    offset = 12
    for _ in range(count):
        changed, dated, flags = read_entry(data, offset)
        yield offset, changed, dated
        name = offset + fixed + (2 if flags & 0x4000 else 0)
        if version == 4:  # a number, then the part that differs from the previous name
            while data[name] & 0x80:
                name += 1
            offset = data.index(0, name + 1) + 1
        else:
            length = flags & 0xFFF
            end = name + length if length < 0xFFF else data.index(0, name)
            offset += (end - offset + 8) & ~7


def read_names(path: str, algo: str) -> dict[str, str]:
    """path -> oid of the entries of an index file of version 2 without flags of its own; empty if
    there is no file."""
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return {}
    width, names = 32 if algo == "sha256" else 20, dict[str, str]()
    for offset, _, _ in list_entries(data, algo):
        name = offset + _STAT + width + 2
        oid = data[offset + _STAT : offset + _STAT + width].hex()
        names[decode_name(data[name : data.index(0, name)])] = oid
    return names


def run_honest(
    repo: Repo, index: str, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)
) -> bytes:
    """The output of git on this index file, with the settings of HONEST.

    If a required filter fails, or a filter hangs, git runs again without them.
    """
    options = list_off_options(repo) if has_hung(repo) else []

    def run() -> bytes:
        argv, env = (*HONEST, *options, *args), build_environment(index)
        running = repo.git.start(*argv, feed=bool(stdin), env=env, filters=True)
        return running.finish(stdin, ok, compute_patience(repo))[1]

    try:
        return run()
    except Late:
        if not note_hang(repo):
            raise
        options = list_off_options(repo)
    except GitError:
        if not (options := list_unfiltered_options(repo)):
            raise
    return run()


def build_environment(index: str) -> dict[str, str]:
    """The variables that run_honest() adds to the person's environment."""
    return {**build_reading_env(), "GIT_INDEX_FILE": index}


def sweep_leftovers(repo: Repo) -> None:
    """Remove scratch files and quarantines older than a day, and the unredacted exports of clients
    for sessions that are not open."""
    tmp = repo.join_shared("tmp")
    for name in _list_old(tmp):
        path = os.path.join(tmp, name)
        for folder, folders, names in os.walk(path, topdown=False):
            for file in names:
                _try_remove(os.unlink, os.path.join(folder, file))
            for inner in folders:
                _try_remove(os.rmdir, os.path.join(folder, inner))
        _try_remove(os.rmdir if os.path.isdir(path) else os.unlink, path)

    from gitcp.store import packs

    packs.sweep_packs(repo)
    for folder_path in {repo.join_own(), repo.join_shared(), repo.join_shared("transcript")}:
        for name in _list_old(folder_path):
            # <file>.<pid> was to replace <file>.
            prefix, _, pid = name.removesuffix(".lock").rpartition(".")
            if prefix and pid.isdigit():
                _try_remove(os.unlink, os.path.join(folder_path, name))
    exports = repo.join_shared("exports")
    for client in _list_old(exports, 0):
        for name in _list_old(os.path.join(exports, client), _HOUR):
            if not _is_open(repo, name.rpartition(".")[0]):
                _try_remove(os.unlink, os.path.join(exports, client, name))


def _is_open(repo: Repo, session_id: str) -> bool:
    paths = ((session_id,), ("~aside", session_id))  # store.session.markers
    return any(os.path.lexists(repo.join_shared("open", *path)) for path in paths)


def _list_old(folder: str, age: float = _DAY) -> list[str]:
    since = time.time() - age
    try:
        with os.scandir(folder) as entries:
            return [e.name for e in entries if e.stat(follow_symlinks=False).st_mtime < since]
    except OSError:
        return []


def _try_remove(remove: Callable[[str], None], path: str) -> None:
    try:
        remove(path)
    except OSError:
        pass  # another process was faster
