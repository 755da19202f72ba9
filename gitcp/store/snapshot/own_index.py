"""gitcp's own index, by which git compares the worktree with HEAD: it is filled from the person's,
without its flags, so that git tells of every change.
"""

from __future__ import annotations

import os
import time

from gitcp import files
from gitcp.core import formats
from gitcp.errors import Error, GitError, Late
from gitcp.files import put_file
from gitcp.git import decode_name
from gitcp.gitdir import plain
from gitcp.store import packs, snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gitcp.repo import Repo

_STAT = 40  # bytes of stat data before the object name; the size comes last
_DAY = 86400.0  # seconds: no process of gitcp runs that long
_ENTRIES = ("ls-files", "-s", "-z")
_HOUR = 3600.0  # seconds: a turn that begins may not have its marker yet


def seed_index(repo: Repo, force: bool = False) -> bool:
    """Make the index from the person's and HEAD, if that is needed; return whether it was.

    It is needed without an index, after note_stale(), after a change of the sparse checkout, and
    if the person's index is newer.  Never called in a turn.
    """
    person_index, own_index = os.path.join(repo.git_dir, "index"), snapshot.locate_index(repo)
    if not (force or os.path.exists(repo.join_own("index-stale"))) and snapshot.fits_sparse(repo):
        seeded, changed = _read_change_time(own_index), _read_change_time(person_index)
        if seeded and seeded > changed:
            return False
    sweep_leftovers(repo)
    scratch = f"{own_index}.{os.getpid()}"
    try:
        repo.make_folder(os.path.dirname(own_index))
        patterns = snapshot.read_patterns(repo)
        young = fill_index(repo, person_index, scratch)
        put_file(repo.common, scratch, own_index)
        # After the index: an old mark only makes the next scan seed it again.
        snapshot.write_mark(repo, snapshot.locate_patterns(repo), patterns)
        snapshot.write_mark(repo, repo.join_own("index-stale"), b"")
        snapshot.note_stale(repo, young)
    except OSError as e:
        raise Error(f"cannot write '{own_index}': {e.strerror}") from None
    finally:
        for path in (scratch, scratch + ".lock"):
            files.remove_file(path)
    return True


def _read_change_time(path: str) -> int:
    try:
        return os.stat(path).st_ctime_ns
    except FileNotFoundError:
        return 0


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
    if repo.config.get_flag("core.sparsecheckout") or not snapshot.has_tree_of_head(repo, scratch):
        head = repo.git.run("rev-parse", "-q", "--verify", "HEAD^{tree}", ok=(0, 1, 128))[1]
        run_honest(repo, scratch, "read-tree", "--reset", head.decode().strip() or repo.empty_tree)
    if mtime is not None:
        distrust_entries(repo, scratch, mtime // 10**9)
        os.utime(scratch, ns=(mtime, mtime))  # racy entries stay racy
    # Write even if nothing was refreshed: writing marks the racy entries that differ, and the new
    # date would hide them without the marks.
    run_honest(repo, scratch, "update-index", "-q", "--refresh", "--force-write-index", ok=(0, 1))
    young = distrust_entries(repo, scratch, before // 10**9)
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


def distrust_entries(repo: Repo, path: str, since: int) -> int:
    """Make git compare the contents of entries whose ctime is since (seconds) or later.

    Git does so by itself for an mtime of since or later.  Returns the number of both, which every
    scan reads.  Raises OSError; a file of an unknown format stays as it is.
    """
    if repo.uses_git_alone:
        listing = run_honest(repo, path, "ls-files", "-s", "-z", "--debug")
        young_rows, doubted_rows = plain.list_young(listing, since)
        if doubted_rows:  # without stat data
            args = "update-index", "-z", "--index-info"
            run_honest(repo, path, *args, stdin=b"".join(doubted_rows))
        return len(young_rows)
    with open(path, "rb") as f:
        data = bytearray(f.read())
    entries = list_entries(data, repo.algo)
    young = [(at, dated) for at, changed, dated in entries if changed >= since or dated >= since]
    doubted = [offset for offset, dated in young if dated < since]
    for offset in doubted:
        data[offset + _STAT - 4 : offset + _STAT] = bytes(4)  # size 0, git's own mark
    if doubted:
        width = len(repo.empty_tree) // 2
        import hashlib

        data[-width:] = hashlib.new(repo.algo, data[:-width]).digest()
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


def read_names(repo: Repo, path: str) -> dict[str, str]:
    """path -> oid of the entries of an index file of version 2 without flags of its own; empty if
    there is no file."""
    if repo.uses_git_alone:
        return plain.list_entries(repo.git.run(*_ENTRIES, env={"GIT_INDEX_FILE": path})[1])
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return {}
    width, names = len(repo.empty_tree) // 2, dict[str, str]()
    for offset, _, _ in list_entries(data, repo.algo):
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
    options = snapshot.list_off_options(repo) if snapshot.has_hung(repo) else []

    def run() -> bytes:
        argv, env = (*snapshot.HONEST, *options, *args), snapshot.build_environment(index)
        running = repo.git.start(*argv, feed=bool(stdin), env=env, filters=True)
        return running.finish(stdin, ok, snapshot.compute_patience(repo))[1]

    try:
        return run()
    except Late:
        if not snapshot.note_hang(repo):
            raise
        options = snapshot.list_off_options(repo)
    except GitError:
        if not (options := snapshot.list_unfiltered_options(repo)):
            raise
    return run()


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
    paths = ((session_id,), ("~aside", session_id))  # session.RESTING
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
