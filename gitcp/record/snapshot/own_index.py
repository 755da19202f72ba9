"""gitcp's own index, with which git compares the worktree and HEAD: a copy of the person's without
its flags, so that git reports every change.
"""

from __future__ import annotations

import os
import time

from gitcp import git
from gitcp.checkpoints.transcripts import locate_copy
from gitcp.errors import Error, GitError, Late
from gitcp.git import files, status
from gitcp.git.files import locate_exports, locate_scratch, put_file
from gitcp.git.gitdir import index_file, packs, plain
from gitcp.git.gitdir.packs import locate_mark
from gitcp.record import snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.git.repo import Repo

_DAY = 86400.0  # seconds: no process of gitcp runs that long
_KEPT = 14 * 86400.0  # seconds; git prunes older objects by default
_HOUR = 3600.0  # seconds: a turn that begins may not have its marker yet


def seed_index(repo: Repo, force: bool = False) -> bool:
    """Make the index from the person's and HEAD, if that is needed; return whether it was.

    It is needed if there is no index, if note_stale() has asked for it, if the sparse checkout has
    changed, and if the person's index is newer.  Not to be called during a turn.
    """
    person_index = os.path.join(repo.git_dir, "index")
    own_index = snapshot.locate_index(repo)
    if not (
        force or os.path.exists(repo.join_own_cache("index-stale"))
    ) and snapshot.is_sparse_unchanged(repo):
        seeded = _read_change_time(own_index)
        changed = _read_change_time(person_index)
        if seeded and seeded > changed:
            return False
    sweep_leftovers(repo)
    scratch = f"{own_index}.{os.getpid()}"
    try:
        repo.make_folder(os.path.dirname(own_index))
        patterns = snapshot.read_patterns(repo)
        distrusted = fill_index(repo, person_index, scratch)
        put_file(repo.common, scratch, own_index)
        # The marks after the index: if a kill leaves them old, the index is only seeded again.
        snapshot.write_mark(repo, snapshot.locate_patterns(repo), patterns)
        snapshot.write_mark(repo, repo.join_own_cache("index-stale"), b"")
        snapshot.note_stale(repo, distrusted)
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
    """Make the index file scratch: HEAD's entries, with the stat data of the person's index, which
    may be missing.

    Returns the number of paths that changed too shortly before to be trusted, as in a fresh clone;
    a later seeding can trust them.  Raises OSError, GitError.
    """
    # A second earlier, since the file system's clock is coarser.
    just_before = (int(time.time()) - 1) * 10**9
    mtime = copy_with_mtime(person_index, scratch)
    if mtime is not None:
        _clear_flags(repo, scratch)
    if repo.config.get_flag("core.sparsecheckout") or not snapshot.has_tree_of_head(repo, scratch):
        head = repo.git.run("rev-parse", "-q", "--verify", "HEAD^{tree}", ok=(0, 1, 128))[1]
        run_without_trust(
            repo, scratch, "read-tree", "--reset", head.decode().strip() or repo.empty_tree
        )
    if mtime is not None:
        _distrust(repo, scratch, mtime // 10**9)
        os.utime(scratch, ns=(mtime, mtime))  # racy entries stay racy
    # Write even if nothing was refreshed: writing marks the racy entries that differ, and the new
    # date would hide them without the marks.
    run_without_trust(
        repo, scratch, "update-index", "-q", "--refresh", "--force-write-index", ok=(0, 1)
    )
    distrusted = _distrust(repo, scratch, just_before // 10**9)
    os.utime(scratch, ns=(just_before, just_before))
    return distrusted


def _distrust(repo: Repo, scratch: str, since: int) -> int:
    """Make git read the files that changed at since (seconds) or later; return their number."""
    if not repo.uses_git_alone:
        return index_file.distrust_entries(scratch, since, repo.algo)
    changed, doubted = plain.list_young(
        run_without_trust(repo, scratch, "ls-files", "-s", "-z", "--debug"), since
    )
    if doubted:  # they lose their stat data
        run_without_trust(
            repo, scratch, "update-index", "-z", "--index-info", stdin=b"".join(doubted)
        )
    return len(changed)


def _clear_flags(repo: Repo, scratch: str) -> None:
    """Make git compare files, too, that the person marked assume-unchanged or skip-worktree."""
    assumed, skipped = status.parse_marked(run_without_trust(repo, scratch, "ls-files", "-v", "-z"))
    if repo.config.get_flag("core.sparsecheckout"):
        skipped = []
    for flag, paths in ("--no-assume-unchanged", assumed), ("--no-skip-worktree", skipped):
        if paths:
            run_without_trust(
                repo, scratch, "update-index", flag, "-z", "--stdin", stdin=_join_paths(paths)
            )


def _join_paths(paths: list[bytes]) -> bytes:
    return b"\0".join(paths) + b"\0"


def copy_with_mtime(source: str, target: str) -> int | None:
    """Copy a file and its mtime; return the mtime in ns, None if there is no file."""
    try:
        with open(source, "rb", buffering=0) as f, open(target, "wb") as g:
            mtime = os.fstat(f.fileno()).st_mtime_ns
            while True:
                data = f.read(1 << 20)
                if not data:
                    break
                g.write(data)
    except FileNotFoundError:
        return None
    os.utime(target, ns=(mtime, mtime))
    return mtime


def run_without_trust(
    repo: Repo, index: str, *args: str, stdin: bytes = b"", ok: tuple[int, ...] = (0,)
) -> bytes:
    """The output of git on this index file, with the settings TRUST_NO_INDEX.

    If a required filter fails, or any filter hangs, git runs again without filters.
    """
    if snapshot.has_hung(repo):
        options = snapshot.list_off_options(repo)
    else:
        options = []

    def run() -> bytes:
        argv = (*snapshot.TRUST_NO_INDEX, *options, *args)
        env = snapshot.build_environment(index)
        running = repo.git.start(*argv, feed=bool(stdin), env=env, filters=True)
        return running.finish(stdin, ok, snapshot.compute_patience(repo))[1]

    try:
        return run()
    except Late:
        if not snapshot.note_hang(repo):
            raise
        options = snapshot.list_off_options(repo)
    except GitError:
        options = snapshot.list_unfiltered_options(repo)
        if not options:
            raise
    return run()


def sweep_leftovers(repo: Repo) -> None:
    """Remove scratch files and quarantines older than a day, and the unredacted exports of clients
    for sessions that are not open."""
    tmp = locate_scratch(repo)
    for name in _list_old(tmp):
        path = os.path.join(tmp, name)
        for folder, folders, names in os.walk(path, topdown=False):
            for file in names:
                _try_remove(os.unlink, os.path.join(folder, file))
            for inner in folders:
                _try_remove(os.rmdir, os.path.join(folder, inner))
        _try_remove(os.rmdir if os.path.isdir(path) else os.unlink, path)

    _sweep_packs(repo)
    folders = [locate_copy(repo)]
    for folder in {repo.join_own(), repo.join_shared()}:
        folders += (folder, os.path.join(folder, git.CACHE))
    for folder_path in folders:
        for name in _list_old(folder_path):
            # <file>.<pid> was written to replace <file>.
            prefix, _, pid = name.removesuffix(".lock").rpartition(".")
            if prefix and pid.isdigit():
                _try_remove(os.unlink, os.path.join(folder_path, name))
    exports = locate_exports(repo)
    for client in _list_old(exports, 0):
        for name in _list_old(os.path.join(exports, client), _HOUR):
            if not _is_open(repo, name.rpartition(".")[0]):
                _try_remove(os.unlink, os.path.join(exports, client, name))


def _sweep_packs(repo: Repo) -> None:
    """Leave old packs of gitcp's to git, and remove those that a kill left without an index."""
    for name in packs.list_packs(repo):
        path = os.path.join(packs.locate_folder(repo), name)
        marks = (f"{path}.keep", locate_mark(repo, name))
        if files.is_older(f"{path}.idx", _KEPT):
            packs.release_pack(repo, name)
        elif not os.path.exists(f"{path}.idx") and any(files.is_older(m, _DAY) for m in marks):
            packs.remove_pack(path)
            packs.release_pack(repo, name)


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
