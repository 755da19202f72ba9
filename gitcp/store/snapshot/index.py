"""The snapshot's own index, with which a scan compares the worktree
(doc/git.md "The index of a snapshot").

It is <git-dir>/gitcp/index.  No flag of the person hides a file in it, and git never locks it.  A
stale one is still correct, but slow.
"""

from __future__ import annotations

import os
import time

from gitcp import trace
from gitcp.core.git import porcelain
from gitcp.errors import Error, GitError, Late
from gitcp.git import build_person_env, build_reading_env
from gitcp.process import deadline, files
from gitcp.process.files import put_file
from gitcp.process.running import Running
from gitcp.record import decode_name
from gitcp.start import late, stdlib
from gitcp.store.git import private
from gitcp.store.git.objects import Objects
from gitcp.store.snapshot import filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gitcp.repo import Repo


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
    deadline.extend(_read_size(locate_index(repo)) / _A_SECOND)
    options = filters.list_off_options(repo) if filters.has_hung(repo) else []
    return _start_status(
        repo,
        build_person_env(repo.git.env),
        options if converting else filters.list_unfiltered_options(repo),
    )


def ask_complaints(repo: Repo) -> bytes:
    """Git's untranslated warnings of a scan, which runs again without the person's filters: their
    output must not be translated."""
    running = _start_status(
        repo, repo.git.env, filters.list_unfiltered_options(repo, ".clean", ".process")
    )
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
        trace.append_note("index", f"{count} stale entries")
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
    assumed, skipped = porcelain.parse_marked(run_honest(repo, scratch, "ls-files", "-v", "-z"))
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
        commit = Objects.get_shared(repo).peek("HEAD")
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
        data[-width:] = stdlib.hashlib.new(algo, data[:-width]).digest()
        with open(path, "wb") as f:
            f.write(data)
    return len(young)


def list_entries(data: bytes | bytearray, algo: str) -> Iterator[tuple[int, int, int]]:
    """(offset, ctime, mtime) of each entry of an index file, in seconds (gitformat-index(5)).

    algo: 'sha1' or 'sha256'.  Yields nothing for an unknown format.
    """
    signature, version, count = stdlib.struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return
    fixed = _STAT + (32 if algo == "sha256" else 20) + 2
    read_entry = stdlib.struct.Struct(f">I4xI{fixed - 14}xH").unpack_from
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
    options = filters.list_off_options(repo) if filters.has_hung(repo) else []

    def run() -> bytes:
        argv, env = (*HONEST, *options, *args), build_environment(index)
        running = repo.git.start(*argv, feed=bool(stdin), env=env, filters=True)
        return running.finish(stdin, ok, filters.compute_patience(repo))[1]

    try:
        return run()
    except Late:
        if not filters.note_hang(repo):
            raise
        options = filters.list_off_options(repo)
    except GitError:
        if not (options := filters.list_unfiltered_options(repo)):
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
    late.upkeep.sweep_packs(repo)
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
