"""Our own index: what the scan compares the worktree with (doc/git.md "The index of a snapshot").

It stands in the git directory of the worktree and belongs to nobody else: no flag of the
person hides a file in it, and git never locks it.  A stale one is still right, only slow.
"""

from __future__ import annotations

import os
import time

from gitcp import trace
from gitcp.errors import Error
from gitcp.git import persons
from gitcp.process import deadline
from gitcp.process.regular_file import put_file
from gitcp.process.running import Running
from gitcp.store.git import files, private
from gitcp.store.snapshot import hung_filters
from gitcp.store.snapshot.honest import HONEST, environment
from gitcp.store.snapshot.hung_filters import unfiltered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gitcp.repo import Repo

_STATUS = (
    "status --porcelain=v2 -z --branch --no-ahead-behind -uall --no-renames"
    " --ignore-submodules=dirty"
).split()
_A_SECOND = 1 << 20  # bytes of an index: as many files as a slow disk looks at in a second
_GROWN = 2.0  # seconds after which the times of a file are believed
_STALE = 200  # so many paths where the index is not HEAD's: time to seed anew


def status(repo: Repo, filters: bool = True) -> Running:
    """Start the scan of the worktree against our index, seeded where there is none.

    filters: False where git dies of one that is required and fails; what it would have
    converted is a change then until it is hashed.
    """
    if not os.path.isfile(place(repo)):  # git would wait for the other end of a pipe
        seed(repo, force=True)
    deadline.extend(_size(place(repo)) / _A_SECOND)
    ways = hung_filters.off(repo) if hung_filters.hang(repo) else []
    return _started(repo, persons(repo.git.env), ways if filters else unfiltered(repo))


def complaints(repo: Repo) -> bytes:
    """What git complains of in a scan, in its own words: asked again, with none of the person's
    filters, for they would run in our language."""
    running = _started(repo, repo.git.env, unfiltered(repo, ".clean", ".process"))
    running.finish(ok=range(256))
    return running.errors


def _started(repo: Repo, env: Mapping[str, str], ways: Sequence[str]) -> Running:
    argv = ("git", "-C", repo.worktree, *HONEST, *ways, *_STATUS)
    return Running(argv, {**env, **environment(place(repo))}, False)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def place(repo: Repo) -> str:
    return repo.own("index")


def fits(repo: Repo) -> bool:
    """Whether sparse checkout is what it was when the index was seeded.

    git would obey the skip-worktree bits in it, and miss what happens to those files.
    """
    return private.cached_bytes(_sparse(repo)) == _patterns(repo)


def note_stale(repo: Repo, count: int) -> None:
    """Ask the next seed() to work when count paths are not HEAD's in our index."""
    if count > _STALE:
        trace.note("index", f"{count} stale entries")
        _mark(repo, repo.own("index-stale"), b"1")


def seed(repo: Repo, force: bool = False) -> bool:
    """Make our index of the person's and HEAD; return whether there was a need to.

    Needed when there is none, when a scan found it stale, when sparse checkout was switched
    or when the person's index is younger.  Never called in a turn.
    """
    from gitcp.store.git.leftovers import sweep
    from gitcp.store.snapshot.index_seed import (
        fill,  # a hook that does not seed has no use for these
    )

    theirs, ours = os.path.join(repo.git_dir, "index"), place(repo)
    if not (force or os.path.exists(repo.own("index-stale"))) and fits(repo):
        changed, used = _changed(ours), _changed(theirs)
        if changed and changed > used:
            return False
    sweep(repo)
    scratch = f"{ours}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(ours), exist_ok=True)
        patterns = _patterns(repo)
        young = fill(repo, theirs, scratch)
        put_file(repo.common, scratch, ours)
        _mark(repo, _sparse(repo), patterns)  # after it: an old mark only makes work
        _mark(repo, repo.own("index-stale"), b"")
        note_stale(repo, young)
    except OSError as e:
        raise Error(f"cannot write '{ours}': {e.strerror}") from None
    finally:
        for name in (scratch, scratch + ".lock"):
            files.remove(name)
    return True


def seed_again(repo: Repo) -> None:
    """seed() where it was found, seconds ago, that every scan reads files in vain: those that
    were too young to be believed then are old enough now.  For a prompt, before its scan."""
    try:
        age = time.time() - os.lstat(repo.own("index-stale")).st_mtime
    except FileNotFoundError:
        return
    if age >= _GROWN:
        seed(repo)


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_ctime_ns
    except FileNotFoundError:
        return 0


def _patterns(repo: Repo) -> bytes:
    """What decides about sparse checkout; b'' without it."""
    if not repo.config.flag("core.sparsecheckout"):
        return b""
    cone = repo.config.get("core.sparsecheckoutcone").encode()
    patterns = files.read(os.path.join(repo.git_dir, "info", "sparse-checkout")) or b""
    return b"%s\n%s" % (cone, patterns)


def _mark(repo: Repo, path: str, content: bytes) -> None:
    """Let path have this content; without any there is no file."""
    if content:
        private.write(repo, path, content)
    else:
        private.remove(repo, path)


def _sparse(repo: Repo) -> str:
    return repo.own("index-sparse")
