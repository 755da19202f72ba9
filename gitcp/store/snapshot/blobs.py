"""Files of the worktree as entries of a tree: hashed, and stored where asked for."""

from __future__ import annotations

import stat

from gitcp.core.git.porcelain import COMMIT, GONE, Status
from gitcp.store.git.tree import TREE, Lookup, find_file, find_tree
from gitcp.store.snapshot.changes import Scan
from gitcp.store.snapshot.hashing import Hasher
from gitcp.store.snapshot.worktree import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gitcp.core.record_types import Entries, Entry
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    Known = Callable[[str], Entry | None]


def resolve_changes(
    objects: Objects, scan: Scan, *, write: bool, head: Known | None = None
) -> Entries:
    """Every change of scan as an entry (None: gone); write: its blob is stored.

    What turns out to be as in HEAD is dropped, and so is what cannot be read and is not
    tracked, which joins scan.omitted.  known(path) is an entry that some ref holds: a cached
    oid equal to it is not written again.  Raises Error naming a tracked file it cannot read.
    """
    if not scan.changes:
        return {}
    entries = Hasher(objects, scan, _make_lookup(objects, scan.head), write, head).hash_changes(
        complete=True
    )
    return {path: e for path, e in entries.items() if e != scan.changes[path].was}


def confirm_changes(objects: Objects, scan: Scan) -> None:
    """Take out of scan.changes what only hashing shows to be as in HEAD (Change.sure)."""
    doubtful = {path: c for path, c in scan.changes.items() if not c.sure and c.mode != GONE}
    if doubtful:
        part = Scan(scan.worktree, Status())
        part.changes = doubtful
        entries = Hasher(objects, part, _make_lookup(objects, scan.head), False, None).hash_changes(
            complete=False
        )
        for path, change in doubtful.items():
            if entries.get(path) == change.was:
                del scan.changes[path]


def read_paths(repo: Repo, objects: Objects, paths: Iterable[str], *, write: bool) -> Entries:
    """What stands at these paths of the worktree now, changed or not; O(paths), no scan.

    None where nothing of this repository stands: absent, a directory, behind a symbolic link
    or in a nested repository.  What a snapshot leaves out (untracked and too large or
    unreadable, a fifo, …) is not in the answer.  Raises Error as resolve_changes() does.
    """
    return read_paths_and_omitted(repo, objects, paths, write=write)[0]


def read_paths_and_omitted(
    repo: Repo, objects: Objects, paths: Iterable[str], *, write: bool, capped: bool = True
) -> tuple[Entries, list[dict[str, str]]]:
    """read_paths(), and what it leaves out with the reasons, as in Scan.omitted.

    capped: gitcp.max-file-size counts.
    """
    head = _make_lookup(objects, "HEAD")
    scan = Scan(Worktree(repo), Status())
    most = repo.config.get_option("gitcp.max-file-size")
    entries: Entries = {}

    def find_at_head(path: str) -> Entry | None:
        return find_file(head, path)

    for path in paths:
        st = None if _is_elsewhere(scan.worktree, path, head) else scan.look_at(path)
        was = find_at_head(path) if st else None
        if capped and st and not was and stat.S_ISREG(st.st_mode) and st.st_size > most:
            scan.omit_path(path, "too-large")
        elif st:
            scan.take_present(path, was, st)
        # A submodule that has not moved is no change.
        entries[path] = was if st and was and was[0] == COMMIT else None
    entries |= Hasher(objects, scan, find_at_head, write, None).hash_changes(complete=False)
    for item in scan.omitted:
        entries.pop(item["path"], None)
    return entries, scan.omitted


def _is_elsewhere(work: Worktree, path: str, head: Known) -> bool:
    """Whether path is in a nested repository: one begins above it, and HEAD has no tree there."""
    return any((head(folder) or GONE)[0] != TREE for folder in work.list_repositories(path))


def _make_lookup(objects: Objects, commit: str | None) -> Known:
    """HEAD's entry of a path; HEAD is read when it is first asked for."""
    lookups: list[Lookup] = []

    def find_entry(path: str) -> Entry | None:
        if not lookups:
            lookups.append(Lookup(objects, find_tree(objects, commit)))
        return lookups[0](path)

    return find_entry


def list_dirty(
    repo: Repo, objects: Objects, paths: Iterable[str], head: str
) -> dict[str, Entry | None]:
    """Those of paths that differ from the commit head in the worktree; O(paths), no scan."""
    before = Lookup(objects, find_tree(objects, head))
    now = read_paths(repo, objects, list(paths), write=True)
    return {path: entry for path, entry in now.items() if entry != before(path)}
