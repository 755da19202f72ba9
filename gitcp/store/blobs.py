"""Files of the worktree as entries of a tree: hashed, and stored where asked for."""

from __future__ import annotations

import stat

from gitcp.core import budget
from gitcp.core.status import COMMIT, Status
from gitcp.store.changes import Scan
from gitcp.store.hashing import Hasher
from gitcp.store.tree import Lookup
from gitcp.store.worktree import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.repo import Repo
    from gitcp.store.objects import Objects
    from gitcp.store.tree import Entry

    Known = Callable[[str], Entry | None]
    Entries = dict[str, Entry | None]


def resolve(
    repo: Repo, objects: Objects, scan: Scan, *, write: bool, known: Known | None = None
) -> Entries:
    """Every change of scan as an entry (None: gone); write: its blob is stored.

    What turns out to be as in HEAD is dropped, and so is what cannot be read and is not
    tracked, which joins scan.omitted.  known(path) is an entry that some ref holds: a cached
    oid equal to it is not written again.  Raises Error naming a tracked file it cannot read.
    """
    if not scan.changes:
        return {}
    found = Hasher(objects, scan, _head(objects, scan.head), write, known).entries(whole=True)
    return {path: e for path, e in found.items() if e != scan.changes[path].was}


def at(repo: Repo, objects: Objects, paths: Iterable[str], *, write: bool) -> Entries:
    """What stands at these paths of the worktree now, changed or not; O(paths), no scan.

    None where nothing of this repository stands: absent, a directory, behind a symbolic link
    or in a nested repository.  What a snapshot leaves out (untracked and too large or
    unreadable, a fifo, …) is not in the answer.  Raises Error as resolve() does.
    """
    head = _head(objects, "HEAD")
    scan = Scan(Worktree(repo), Status())
    most = repo.config.size("gitcp.max-file-size", budget.FILE_SIZE)
    found: Entries = {}
    for path in paths:
        st = scan.look(path)
        was = head(path) if st else None
        if st and not was and stat.S_ISREG(st.st_mode) and st.st_size > most:
            scan.omit(path, "too-large")
        elif st:
            scan.present(path, was, st)
        # A submodule that has not moved is no change.
        found[path] = was if st and was and was[0] == COMMIT else None
    found |= Hasher(objects, scan, head, write, None).entries(whole=False)
    for item in scan.omitted:
        found.pop(item["path"], None)
    return found


def _head(objects: Objects, commit: str | None) -> Known:
    """HEAD's entry of a path; HEAD is read when it is first asked for."""
    lookups: list[Lookup] = []

    def entry(path: str) -> Entry | None:
        if not lookups:
            found = objects.read(f"{commit}^{{tree}}") if commit else None
            lookups.append(Lookup(objects, found[0] if found else None))
        return lookups[0](path)

    return entry
