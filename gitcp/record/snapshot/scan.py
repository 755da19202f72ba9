"""A scan of the worktree against HEAD, the oids of what it finds, and its tree (doc/behaviour.md
"Temporary checkpoints").
"""

from __future__ import annotations

import errno
import os
import stat
import time

from gitcp import git
from gitcp.errors import Error, GitError, Late
from gitcp.git import Running, build_person_env, decode_name, files
from gitcp.git import status as status_
from gitcp.git.objects import TREE, Lookup, edit_tree, find_file, find_tree, hash_stream
from gitcp.git.status import Row, Status
from gitcp.record import snapshot
from gitcp.record.snapshot import Worktree, limits
from gitcp.text.ids import COMMIT, GONE, LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entries, Entry

    Record = tuple[int, int, int, int, int, str, str]  # stat data, conversion, oid
    FindEntry = Callable[[str], Entry | None]


class Change:
    """A path that differs from HEAD in the worktree, or may differ.

    mode: GONE without a file.  oid: None until hashed.  kind: 'tracked' (by HEAD) or 'untracked'.
    head_entry: HEAD's entry.  sure: git has compared contents; otherwise hashing decides.
    """

    __slots__ = ("head_entry", "kind", "mode", "oid", "st", "sure")

    def __init__(
        self, mode: str, head_entry: Entry | None, st: os.stat_result | None = None
    ) -> None:
        self.mode = mode
        self.head_entry = head_entry
        self.st = st
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

    def __init__(self, worktree: snapshot.Worktree, seen: Status) -> None:
        self.worktree = worktree
        self.head = seen.head
        self.branch = seen.branch
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

    def take_untracked(self, paths: Iterable[str]) -> None:
        """Add paths that the snapshot's index lacks, best in their order; a nested repository ends
        in '/'."""
        folder = None
        workspace = ""
        for path in paths:
            name = path.rstrip("/")
            above = name.rpartition("/")[0]
            if above != folder:
                folder = above
                workspace = self.worktree.find_workspace(name)
            if workspace:
                self._omit_workspace(workspace)
                continue
            change = self.changes.get(name)
            if change is None or change.mode == GONE:
                st = self.look_at(name)
                if st:
                    self.take_present(name, change.head_entry if change else None, st)

    def _omit_workspace(self, folder: str) -> None:
        left_out = {"path": folder, "reason": "worktree"}
        if left_out not in self.omitted:
            self.omitted.append(left_out)

    def take_present(
        self, path: str, head_entry: Entry | None, st: os.stat_result, sure: bool = True
    ) -> None:
        """Add an existing path."""
        mode = self.worktree.choose_mode(st, head_entry)
        if mode == COMMIT:
            self._take_folder(path, head_entry)
            return
        if mode is None:
            self.omit_path(path, self.worktree.name_special(st))
            if head_entry:
                self.changes[path] = Change(GONE, head_entry)
            return
        self.changes[path] = change = Change(mode, head_entry, st)
        change.sure = sure

    def _take_folder(self, path: str, head_entry: Entry | None) -> None:
        if not self.worktree.has_git(path):
            if head_entry and head_entry[0] != COMMIT:  # a directory replaced a file
                self.changes[path] = Change(GONE, head_entry)
            return  # a submodule that is not checked out has not changed
        oid, why = self.worktree.read_nested(path)
        if oid and (COMMIT, oid) != head_entry:
            self.changes[path] = change = Change(COMMIT, head_entry)
            change.oid = oid
        elif not oid:
            self.omit_path(path, why)

    def list_specials(self, folders: Iterable[str]) -> list[tuple[str, str]]:
        """(path, reason) of the fifos, sockets and devices in these directories."""
        listed = []
        for folder in folders:
            try:
                with os.scandir(self.worktree.join_full(folder)) as entries:
                    # Most are files, which are told without a call of ours.
                    others = [e for e in entries if not e.is_file(follow_symlinks=False)]
            except OSError:
                continue
            for entry in others:
                if entry.is_dir(follow_symlinks=False) or entry.is_symlink():
                    continue
                path = os.path.join(folder, decode_name(entry.name))
                listed.append((path, self.worktree.name_special(entry.stat(follow_symlinks=False))))
        return listed


# The snapshot's own index, with which a scan compares the worktree
# (doc/git.md "The index of a snapshot").
#
# It is <git-dir>/gitcp/cache/index.  No flag of the person hides a file in it, and git never locks
# it.  A stale one is still correct, but slow.
_STATUS = (
    "status --porcelain=v2 -z --branch --no-ahead-behind -uall --no-renames"
    " --ignore-submodules=dirty"
).split()
_A_SECOND = 1 << 20  # bytes of an index whose files a slow disk can stat in a second
_GROWN = 2.0  # seconds after which the times of a file are trusted


def start_status(repo: Repo, converting: bool = True) -> Running:
    """Start the scan of the worktree against the index, which is seeded first if there is none.

    converting: False to switch off required filters, because git dies when one fails.  The files
    that they convert then count as changed until they are hashed.
    """
    if not os.path.isfile(snapshot.locate_index(repo)):  # git would hang on a pipe
        from gitcp.record.snapshot import own_index

        own_index.seed_index(repo, force=True)
    git.extend_deadline(_read_size(snapshot.locate_index(repo)) / _A_SECOND)
    if snapshot.has_hung(repo):
        options = snapshot.list_off_options(repo)
    else:
        options = []
    return _start_status(
        repo,
        build_person_env(repo.git.env),
        options if converting else snapshot.list_unfiltered_options(repo),
    )


def ask_complaints(repo: Repo) -> bytes:
    """Git's warnings of a scan, in English: the scan runs again with gitcp's language settings, and
    without the person's filters, whose output could depend on these."""
    running = _start_status(
        repo, repo.git.env, snapshot.list_unfiltered_options(repo, ".clean", ".process")
    )
    running.finish(ok=range(256))
    return running.errors


def _start_status(repo: Repo, env: Mapping[str, str], options: Sequence[str]) -> Running:
    argv = ("git", "-C", repo.worktree, *snapshot.TRUST_NO_INDEX, *options, *_STATUS)
    return Running(argv, {**env, **snapshot.build_environment(snapshot.locate_index(repo))}, False)


def _read_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def seed_stale(repo: Repo) -> None:
    """Seed the index again if it was noted as stale at least _GROWN seconds ago: by now the times
    of files that were too young then are trusted."""
    try:
        age = time.time() - os.lstat(repo.join_own_cache("index-stale")).st_mtime
    except FileNotFoundError:
        return
    if age >= _GROWN:
        from gitcp.record.snapshot import own_index

        own_index.seed_index(repo)


# A scan of the worktree against HEAD, and its tree (doc/behaviour.md "Temporary checkpoints").
_ANY = "--no-index"  # for check-ignore: disregard the person's index
OURS = ".entire/"  # its files are as in HEAD, untracked ones left out


def write_tree(objects: Objects, head_tree: str | None, entries: Mapping[str, Entry | None]) -> str:
    """HEAD's tree (None when unborn) with entries applied, `.entire/` as in HEAD; its oid."""
    edits = {path: e for path, e in entries.items() if not path.startswith(OURS)}
    return edit_tree(objects, head_tree, edits)


def scan_worktree(repo: Repo) -> Scan:
    """Scan the worktree at the cost of a `git status`; nothing is hashed.

    Writes only the snapshot's index, if that must be seeded.  Raises Error for a worktree that is
    the home directory or the root, and for a tracked path that cannot be read.
    """
    refuse_root(repo.worktree)
    running = start_status(repo)
    if snapshot.has_head(repo):
        running_staged = None
    else:
        running_staged = _start_staged(repo, "HEAD")
    work = Worktree(repo)  # reads the configuration while git scans
    if not snapshot.is_sparse_unchanged(repo):
        running.finish(ok=range(256))
        from gitcp.record.snapshot import own_index

        own_index.seed_index(repo, force=True)
        running = start_status(repo)
    status, warnings = _read_status(repo, running, work)
    result = Scan(work, status)
    rows = [*status.rows, *_take_unseen(repo, result, warnings)]
    staged_paths = _read_staged(repo, running_staged, unborn=status.head is None)
    index_only = result.take_rows(rows)
    if repo.config.get_flag("core.ignorecase"):
        index_only = _follow_case(repo, result, staged_paths, index_only)
    snapshot.note_stale(repo, sum(row.x != "." for row in status.rows))
    _drop_sparse(repo, result)
    ignored = work.list_ignored([path for path in index_only if path not in staged_paths], _ANY)
    result.take_untracked(status.untracked)
    result.take_untracked(staged_paths)
    result.take_untracked([path for path in index_only if path not in ignored])
    _omit_specials(result)
    _drop_excess(repo, result, staged_paths)
    return result


def refuse_root(top: str) -> None:
    """Raise Error if top is the root or the home directory."""
    home = os.environ.get("HOME")
    if top == "/" or os.path.dirname(top) == top:
        raise Error(f"refusing to snapshot the root directory '{top}'")
    if home and os.path.realpath(home) == os.path.realpath(top):
        raise Error(f"refusing to snapshot the home directory '{top}'")


def _read_status(repo: Repo, running: Running, work: Worktree) -> tuple[Status, bytes]:
    """(status, warnings), after seeding an index that is damaged or has outdated submodules."""
    seeded = False
    converting = True
    while True:
        try:
            status = status_.parse_status(running.finish(limit=snapshot.compute_patience(repo))[1])
            if seeded or not any(_is_misled(row, work) for row in status.rows):
                return status, ask_complaints(repo) if running.errors else b""
        except GitError as e:
            if isinstance(e, Late) and snapshot.note_hang(repo):
                running = start_status(repo)
                continue
            if converting and not isinstance(e, Late):  # a required filter may have failed
                converting = False
                running = start_status(repo, converting=False)
                continue
            if seeded:
                raise
        from gitcp.record.snapshot import own_index

        # The index may be damaged; seeding does not read it.
        own_index.seed_index(repo, force=True)
        seeded = True
        converting = True
        running = start_status(repo)


def _is_misled(row: Row, work: Worktree) -> bool:
    """Whether a stale index misleads git: into a nested repository, or past a directory that is
    taken for one."""
    return row.moved or (row.x in "AD" and bool(work.list_repositories(row.path)))


def _take_unseen(repo: Repo, result: Scan, warnings: bytes) -> list[Row]:
    """Omit the folders that git could not read; return rows for HEAD's files among the paths that
    it could not see."""
    unseen = set()
    for kind, path in status_.list_unreadable(warnings):
        if kind == "closed":
            raise Error(f"cannot read '{path}': Permission denied")
        if kind == "folder":
            result.omit_path(path, "unreadable")
        else:
            unseen.add(path)
    head = result.head if unseen else None
    if head:
        listed = repo.git.read_records("ls-tree", "-r", "-z", head)
    else:
        listed = []
    parts = (decode_name(line).split("\t", 1) for line in listed)
    entries = {path: fields.split() for fields, path in parts if path in unseen}
    return [Row(path, ".D", (mode, oid)) for path, (mode, _, oid) in entries.items()]


def _start_staged(repo: Repo, base: str) -> Running:
    """Start listing the staged paths that base lacks, which may be ignored
    (doc/git.md "The index of a snapshot")."""
    command = "-c core.fsmonitor=false diff-index --cached --ita-visible-in-index"
    return repo.git.start(*command.split(), "--diff-filter=A", "--name-only", "-z", base)


def _read_staged(repo: Repo, staged: Running | None, unborn: bool) -> dict[str, None]:
    if not staged:
        return {}
    status, out = staged.finish(ok=(0, 128) if unborn else (0,))
    if status:
        out = _start_staged(repo, repo.empty_tree).finish()[1]
    return dict.fromkeys(decode_name(path) for path in out.split(b"\0")[:-1])


def _follow_case(
    repo: Repo, result: Scan, staged_paths: dict[str, None], index_only: list[str]
) -> list[str]:
    """Keep one name of a file that was renamed only in case, since both names lead to it: the one
    that its directory lists.  Return the paths of index_only that are not such names."""
    if not (staged_paths or index_only):
        return index_only
    args = "diff-index --cached --raw -z --no-abbrev --no-renames --diff-filter=D".split()
    if result.head:
        words = repo.git.read_records(*args, result.head)
    else:
        words = []
    by_folded = {path.casefold(): path for path in staged_paths}
    for fields, old in zip(words[::2], map(decode_name, words[1::2]), strict=True):
        new = by_folded.get(old.casefold())
        if new and result.worktree.is_listed(old):
            del staged_paths[new]
        elif new:
            mode, _, oid = fields.decode().removeprefix(":").split()[:3]
            result.changes[old] = Change(GONE, (mode, oid))
    changed = (path for path, change in result.changes.items() if change.head_entry)
    tracked = {*by_folded, *map(str.casefold, changed)}
    return [path for path in index_only if path in staged_paths or path.casefold() not in tracked]


def _drop_sparse(repo: Repo, result: Scan) -> None:
    """Drop deletions of files that a sparse checkout leaves out."""
    gone = [path for path, change in result.changes.items() if change.mode == GONE]
    if gone:
        for path in list_sparse(repo).intersection(gone):
            del result.changes[path]


def list_sparse(repo: Repo) -> set[str]:
    """The paths that a sparse checkout leaves out of the worktree."""
    if not repo.config.get_flag("core.sparsecheckout"):
        return set()
    listed = repo.git.read_records("-c", "index.sparse=false", "ls-files", "-t", "-z")
    return {decode_name(line[2:]) for line in listed if line.startswith(b"S ")}


def _omit_specials(result: Scan) -> None:
    """Omit fifos, sockets and devices in changed folders, which git does not list."""
    folders = {"", *(path.rpartition("/")[0] for path in result.changes)}
    specials = dict(result.list_specials(folders))
    omitted = {item["path"] for item in result.omitted}
    ignored = result.worktree.list_ignored(specials, _ANY)
    for path, reason in specials.items():
        if path not in ignored and path not in omitted:
            result.omit_path(path, reason)


def _drop_excess(repo: Repo, result: Scan, staged_paths: Mapping[str, None]) -> None:
    """Drop `.entire/`, and omit untracked files that exceed the limits."""
    for path in [path for path in result.changes if path.startswith(OURS)]:
        del result.changes[path]
    sizes: list[tuple[str, int]] = []
    for path, change in result.changes.items():
        if change.head_entry or change.mode == LINK or path in staged_paths:
            continue
        if change.st:
            sizes.append((path, change.st.st_size))
    limit = repo.config.get_option("gitcp.max-file-size")
    total = repo.config.get_option("gitcp.max-untracked-size")
    for path, reason in limits.list_excess(sizes, limit, total):
        del result.changes[path]
        result.omit_path(path, reason)


# The oids of the changes of a scan: from the cache, hashed here, or through git.
_PIECE = 1 << 20
_MANY = 200  # changes, from which on all packs are read at once, not asked for each
# Errors of the disk or of this process, not of the file that is read.
_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
_TROUBLE |= {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


class Hasher:
    """Hashes the changes of a scan.  find_at_head and find_held return the entry of a path in HEAD,
    and in a tree that a ref holds."""

    def __init__(
        self,
        objects: Objects,
        scan: Scan,
        find_at_head: FindEntry,
        write: bool,
        find_held: FindEntry | None,
    ) -> None:
        self._objects = objects
        self._scan = scan
        self._work = scan.worktree
        self._find_at_head = find_at_head
        self._write = write
        self._find_held = find_held
        self._filters = snapshot.Filters(scan.worktree, find_at_head)
        self._cache = load_stat_cache(scan.worktree.repo)
        self._to_convert: dict[str, str] = {}  # path -> conversion, of the files for git
        self._held: set[str] = set()  # oids of unchanged files that packs of gitcp have
        self._entries: dict[str, Entry | None] = {}

    def hash_changes(self, complete: bool, caches: bool = True) -> dict[str, Entry | None]:
        """path -> entry of every change, None for a path that is gone.

        Untracked paths that went away or cannot be read are left out.  complete: the scan covers
        the worktree, so that the cache may forget other paths.  caches: whether to write it.
        """
        if self._write and len(self._scan.changes) > _MANY:
            known = self._cache.list_oids(self._scan.changes)
            self._held = self._objects.packs.list_held(known)
        for path, change in self._scan.changes.items():
            if change.mode == GONE:
                self._entries[path] = None
            elif change.oid:
                self._entries[path] = (change.mode, change.oid)
            else:
                self._hash_file(path, change)
        if self._to_convert:
            self._convert_files()
        if caches:
            self._cache.save(complete)
        return self._entries

    def _hash_file(self, path: str, change: Change) -> None:
        if change.st is None or not stat.S_ISREG(change.st.st_mode):
            self._keep_oid(path, change, self._hash_plain(path, change))
            return
        conversion = self._filters.name_conversion(path)
        oid = self._cache.find_oid(path, change.st, conversion)
        if oid and (oid in self._held or self._may_recall(path, oid, change.head_entry)):
            self._entries[path] = (change.mode, oid)
            return
        oid = None
        if conversion and self._filters.keeps_without_crlf(path):
            oid = self._hash_without_crlf(path)
        if oid is None and conversion:
            self._to_convert[path] = conversion
        else:
            self._keep_oid(path, change, oid or self._hash_plain(path, change), conversion)

    def _may_recall(self, path: str, oid: str, head_entry: Entry | None) -> bool:
        """Whether an oid from the cache will do: a blob that neither a held tree nor a pack of
        gitcp has may have been pruned."""
        if not self._write:
            return True
        held_entries = head_entry, self._find_held(path) if self._find_held else None
        if any(entry and entry[1] == oid for entry in held_entries):
            return True
        return self._objects.packs.has(oid)

    def _keep_oid(self, path: str, change: Change, oid: str | None, conversion: str = "") -> None:
        if oid:
            self._entries[path] = (change.mode, oid)
            if change.st and stat.S_ISREG(change.st.st_mode):
                self._cache.put_oid(path, change.st, conversion, oid)
        elif change.head_entry:
            self._entries[path] = None

    def _hash_plain(self, path: str, change: Change) -> str | None:
        """The oid of a link, or of a file without conversion; None if it is gone or omitted."""
        full = self._work.join_full(path)
        for _ in range(3):
            try:
                if change.st is None or stat.S_ISREG(change.st.st_mode):
                    return self._hash_bytes(full)
                data = os.readlink(full)
                if self._write:
                    write = self._objects.write
                else:
                    write = self._objects.hash_object
                return write("blob", data)
            except OSError as e:
                is_foreign = isinstance(e.filename, str | bytes) and e.filename != full
                if is_foreign or e.errno in _TROUBLE:
                    raise
                if isinstance(e, PermissionError):
                    self._omit_closed(path, change)
                    return None
                # It is gone, or of another kind by now.
                st = self._scan.look_at(path)
                mode = None
                if st:
                    mode = self._work.choose_mode(st, change.head_entry)
                if st is None or mode is None or stat.S_ISDIR(st.st_mode):
                    return None
                change.mode = mode
                change.st = st
        raise Error(f"'{path}' changes while it is read")

    def _omit_closed(self, path: str, change: Change) -> None:
        if change.head_entry:
            raise Error(f"cannot read '{path}': Permission denied")
        self._scan.omit_path(path, "unreadable")

    def _hash_without_crlf(self, path: str) -> str | None:
        """The oid of a file of up to 1 MiB that has no CRLF; None for any other, for git to do."""
        try:
            full = self._work.join_full(path)
            fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(fd, "rb", buffering=0) as f:
                st = os.fstat(fd)
                data = f.read(_PIECE + 1)
        except OSError:
            return None
        if not stat.S_ISREG(st.st_mode) or len(data) != st.st_size or len(data) > _PIECE:
            return None
        if b"\r\n" in data:
            return None
        if self._write:
            return self._objects.write("blob", data)
        return self._objects.hash_object("blob", data)

    def _hash_bytes(self, full: bytes) -> str:
        if self._write:
            return self._objects.write_file(full)
        fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(fd, "rb", buffering=0) as f:
            size = os.fstat(fd).st_size
            if size > _PIECE:
                oid = hash_stream(f, size, self._work.repo.algo)
                if oid:
                    return oid
                raise OSError("shrank")
            return self._objects.hash_object("blob", f.read(size))

    def _convert_files(self) -> None:
        changes = self._scan.changes
        work = self._work
        for path in list(self._to_convert):
            full = work.join_full(path)
            if os.path.lexists(full) and not os.access(full, os.R_OK):
                self._omit_closed(path, changes[path])
                del self._to_convert[path]
        try:
            oids = self._ask_git(list(self._to_convert))
        except Late:
            if not snapshot.note_hang(work.repo):
                raise
            oids = self._ask_git(list(self._to_convert))
        self._cache.is_dear = True
        for path, conversion in self._to_convert.items():
            if oids.get(path, "") is None:
                self._scan.omit_path(path, "unconverted")
            else:
                self._keep_oid(path, changes[path], oids.get(path), conversion)

    def _ask_git(self, paths: list[str]) -> dict[str, str | None]:
        """path -> oid of files that git converts; None for a file that it cannot convert.  Files
        that are gone are left out."""
        work = self._work
        oids = dict[str, str | None]()

        from gitcp.record.snapshot import through_git

        if snapshot.has_hung(work.repo):
            oids.update(dict.fromkeys(through_git.list_filtered(work, paths)))
        remaining = [path for path in paths if path not in oids]
        index = {
            path: entry
            for path in remaining
            if (entry := self._scan.changes[path].head_entry) and through_git.has_crlf(work, path)
        }
        for name in {name for path in remaining for name in self._filters.list_from_head(path)}:
            entry = self._find_at_head(name)
            if entry:
                index[name] = entry
        return oids | through_git.hash_files(work, remaining, self._write, index)


_STAT_CACHE = "stat-cache"
_SAFE_AGE = 2 * 10**9  # ns: a younger file may change and keep its times
_VERSION = 2
# In the time that a record of the cache takes to write so many bytes are hashed; to open a file
# takes that time so many times.
_A_RECORD = 256
_TO_HASH = 32


class StatCache:
    """A cache of path -> oid for files whose stat data are unchanged."""

    def __init__(self, repo: Repo, records: dict[str, Record], safe_before: int) -> None:
        """records: those of the last process.  safe_before: ns; a file that changed later may
        change again with the same stat data."""
        self._repo = repo
        self._old = records
        self._safe_before = safe_before
        self._new: dict[str, Record] = {}
        self.is_dear = False  # whether git has converted files, which takes long

    def list_oids(self, paths: Iterable[str]) -> set[str]:
        """The oids that files had when they were last hashed."""
        return {self._old[path][6] for path in paths if path in self._old}

    def find_oid(self, path: str, st: os.stat_result, conversion: str) -> str | None:
        """The oid of a file with the same stat data and conversion; None without one."""
        record = self._old.get(path)
        if record is None:
            return None
        mode, size, mtime, ctime, inode, known_conversion, oid = record
        if ctime != st.st_ctime_ns or mtime != st.st_mtime_ns or size != st.st_size:
            return None
        if inode != st.st_ino or mode != st.st_mode or known_conversion != conversion:
            return None
        self._new[path] = record
        return oid

    def put_oid(self, path: str, st: os.stat_result, conversion: str, oid: str) -> None:
        """Add an oid.  st: from before the file was read."""
        if max(st.st_ctime_ns, st.st_mtime_ns) < self._safe_before:
            self._new[path] = (*_build_key(st), conversion, oid)

    def save(self, complete: bool) -> None:
        """Write the cache if it has changed, unless what is new is soon hashed again.  complete:
        drop the paths that were neither found nor put since it was loaded."""
        if complete:
            records = self._new
        else:
            records = {**self._old, **self._new}
        if records == self._old or not self._is_worth_writing(records):
            return
        try:
            sealed = files.seal_value(_VERSION, records)
            files.write_private(self._repo, self._repo.join_own_cache(_STAT_CACHE), sealed)
        except OSError:
            pass

    def _is_worth_writing(self, records: Mapping[str, Record]) -> bool:
        if self.is_dear or len(records) * 2 < len(self._old):
            return True
        cost = 0
        for path, record in self._new.items():
            if self._old.get(path) is not record:
                cost += _TO_HASH + record[1] // _A_RECORD
        return cost > len(records)


def load_stat_cache(repo: Repo) -> StatCache:
    """The cache that the last process has written."""
    records: dict[str, Record] = files.load_sealed(repo.join_own_cache(_STAT_CACHE), _VERSION) or {}
    return StatCache(repo, records, time.time_ns() - _SAFE_AGE)


def _build_key(st: os.stat_result) -> tuple[int, int, int, int, int]:
    return st.st_mode, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino


def resolve_changes(
    objects: Objects,
    scan: Scan,
    *,
    write: bool,
    find_held: FindEntry | None = None,
    caches: bool = True,
) -> Entries:
    """path -> entry of every change of scan, None if gone.  write: whether to store the blobs.
    caches: whether the next scan is to know the oids.

    Left out are paths that turn out to be as in HEAD, and unreadable untracked ones, which are
    added to scan.omitted.  find_held(path) is an entry that some ref holds: a cached oid equal to
    it is not written again.  Raises Error for a tracked file that cannot be read.
    """
    if not scan.changes:
        return {}
    hasher = Hasher(objects, scan, _make_lookup(objects, scan.head), write, find_held)
    entries = hasher.hash_changes(complete=True, caches=caches)
    return {path: e for path, e in entries.items() if e != scan.changes[path].head_entry}


def confirm_changes(objects: Objects, scan: Scan) -> None:
    """Remove from scan.changes the files that hashing shows to be as in HEAD (Change.sure)."""
    doubtful = {path: c for path, c in scan.changes.items() if not c.sure and c.mode != GONE}
    if doubtful:
        part = Scan(scan.worktree, Status())
        part.changes = doubtful
        hasher = Hasher(objects, part, _make_lookup(objects, scan.head), False, None)
        entries = hasher.hash_changes(complete=False)
        for path, change in doubtful.items():
            if entries.get(path) == change.head_entry:
                del scan.changes[path]


def read_paths(repo: Repo, paths: Iterable[str], *, write: bool, caches: bool = True) -> Entries:
    """path -> entry of these paths of the worktree now, changed or not, without a scan.

    None for a path that is absent, a directory, behind a symbolic link or in a nested repository.
    Paths that a snapshot omits (untracked and too large or unreadable, a fifo) are left out.
    Raises Error as resolve_changes() does.
    """
    return read_paths_and_omitted(repo, paths, write=write, caches=caches)[0]


def read_paths_and_omitted(
    repo: Repo, paths: Iterable[str], *, write: bool, capped: bool = True, caches: bool = True
) -> tuple[Entries, list[dict[str, str]]]:
    """(the result of read_paths(), the paths left out as in Scan.omitted).

    capped: whether gitcp.max-file-size applies.  caches: as for resolve_changes().
    """
    find_entry = _make_lookup(repo.objects, "HEAD")
    scan = Scan(Worktree(repo), Status())
    limit = repo.config.get_option("gitcp.max-file-size")
    entries: Entries = {}

    def find_at_head(path: str) -> Entry | None:
        return find_file(find_entry, path)

    for path in paths:
        if _is_elsewhere(scan.worktree, path, find_entry):
            st = None
        else:
            st = scan.look_at(path)
        head_entry = find_at_head(path) if st else None
        if capped and st and not head_entry and stat.S_ISREG(st.st_mode) and st.st_size > limit:
            scan.omit_path(path, "too-large")
        elif st:
            scan.take_present(path, head_entry, st)
        # A submodule at HEAD's commit has not changed.
        if st and head_entry and head_entry[0] == COMMIT:
            entries[path] = head_entry
        else:
            entries[path] = None
    hasher = Hasher(repo.objects, scan, find_at_head, write, None)
    entries |= hasher.hash_changes(complete=False, caches=caches)
    for item in scan.omitted:
        entries.pop(item["path"], None)
    return entries, scan.omitted


def _is_elsewhere(work: Worktree, path: str, find_at_head: FindEntry) -> bool:
    """Whether path is in a nested repository: one begins above it where HEAD has no tree."""
    return any((find_at_head(folder) or GONE)[0] != TREE for folder in work.list_repositories(path))


def _make_lookup(objects: Objects, commit: str | None) -> FindEntry:
    """Return a function that finds a path's entry in a commit, which is read at its first call."""
    lookups: list[Lookup] = []

    def find_entry(path: str) -> Entry | None:
        if not lookups:
            lookups.append(Lookup(objects, find_tree(objects, commit)))
        return lookups[0](path)

    return find_entry


def list_dirty(repo: Repo, paths: Iterable[str], head: str) -> dict[str, Entry | None]:
    """path -> entry of the paths that differ from the commit head, without a scan."""
    lookup = Lookup(repo.objects, find_tree(repo.objects, head))
    present = read_paths(repo, list(paths), write=True)
    return {path: entry for path, entry in present.items() if entry != lookup(path)}
