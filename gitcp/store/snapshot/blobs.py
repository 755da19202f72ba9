"""Files of the worktree as entries of a tree, hashed and, if wanted, stored."""

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

    FindEntry = Callable[[str], Entry | None]


def resolve_changes(
    objects: Objects, scan: Scan, *, write: bool, head: FindEntry | None = None
) -> Entries:
    """path -> entry of every change of scan, None if gone.  write: whether to store the blobs.

    Left out are paths that turn out to be as in HEAD, and unreadable untracked ones, which are
    added to scan.omitted.  head(path) is an entry that some ref holds: a cached oid equal to it is
    not written again.  Raises Error for a tracked file that cannot be read.
    """
    if not scan.changes:
        return {}
    hasher = Hasher(objects, scan, _make_lookup(objects, scan.head), write, head)
    entries = hasher.hash_changes(complete=True)
    return {path: e for path, e in entries.items() if e != scan.changes[path].was}


def confirm_changes(objects: Objects, scan: Scan) -> None:
    """Remove from scan.changes the files that hashing shows to be as in HEAD (Change.sure)."""
    doubtful = {path: c for path, c in scan.changes.items() if not c.sure and c.mode != GONE}
    if doubtful:
        part = Scan(scan.worktree, Status())
        part.changes = doubtful
        hasher = Hasher(objects, part, _make_lookup(objects, scan.head), False, None)
        entries = hasher.hash_changes(complete=False)
        for path, change in doubtful.items():
            if entries.get(path) == change.was:
                del scan.changes[path]


def read_paths(repo: Repo, objects: Objects, paths: Iterable[str], *, write: bool) -> Entries:
    """path -> entry of these paths of the worktree now, changed or not, without a scan.

    None for a path that is absent, a directory, behind a symbolic link or in a nested repository.
    Paths that a snapshot omits (untracked and too large or unreadable, a fifo) are left out.
    Raises Error as resolve_changes() does.
    """
    return read_paths_and_omitted(repo, objects, paths, write=write)[0]


def read_paths_and_omitted(
    repo: Repo, objects: Objects, paths: Iterable[str], *, write: bool, capped: bool = True
) -> tuple[Entries, list[dict[str, str]]]:
    """(the result of read_paths(), the paths left out as in Scan.omitted).

    capped: whether gitcp.max-file-size applies.
    """
    find_entry = _make_lookup(objects, "HEAD")
    scan = Scan(Worktree(repo), Status())
    limit = repo.config.get_option("gitcp.max-file-size")
    entries: Entries = {}

    def find_at_head(path: str) -> Entry | None:
        return find_file(find_entry, path)

    for path in paths:
        st = None if _is_elsewhere(scan.worktree, path, find_entry) else scan.look_at(path)
        head_entry = find_at_head(path) if st else None
        if capped and st and not head_entry and stat.S_ISREG(st.st_mode) and st.st_size > limit:
            scan.omit_path(path, "too-large")
        elif st:
            scan.take_present(path, head_entry, st)
        # A submodule at HEAD's commit has not changed.
        entries[path] = head_entry if st and head_entry and head_entry[0] == COMMIT else None
    entries |= Hasher(objects, scan, find_at_head, write, None).hash_changes(complete=False)
    for item in scan.omitted:
        entries.pop(item["path"], None)
    return entries, scan.omitted


def _is_elsewhere(work: Worktree, path: str, head: FindEntry) -> bool:
    """Whether path is in a nested repository: one begins above it where HEAD has no tree."""
    return any((head(folder) or GONE)[0] != TREE for folder in work.list_repositories(path))


def _make_lookup(objects: Objects, commit: str | None) -> FindEntry:
    """Return a function that finds a path's entry in a commit, which is read at its first call."""
    lookups: list[Lookup] = []

    def find_entry(path: str) -> Entry | None:
        if not lookups:
            lookups.append(Lookup(objects, find_tree(objects, commit)))
        return lookups[0](path)

    return find_entry


def list_dirty(
    repo: Repo, objects: Objects, paths: Iterable[str], head: str
) -> dict[str, Entry | None]:
    """path -> entry of the paths that differ from the commit head, without a scan."""
    lookup = Lookup(objects, find_tree(objects, head))
    present = read_paths(repo, objects, list(paths), write=True)
    return {path: entry for path, entry in present.items() if entry != lookup(path)}
