"""The bytes and permissions that git does not keep.

A blob has passed git's filters, and its mode has one permission bit.  A step keeps the original
bytes and permissions of the files that it changes, and the permissions of directories that it may
remove, so that undo restores them.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from gitcp.core.git.porcelain import EXECUTABLE, FILE, GONE, LINK
from gitcp.store.git.tree import TREE, Lookup, find_file
from gitcp.store.snapshot.filters import Filters
from gitcp.store.undo import undo_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.core.back.plan import Action
    from gitcp.core.back.undo_tree import Step
    from gitcp.core.record_types import Entry, Version
    from gitcp.store.back.present import Present, Signature
    from gitcp.store.git.objects import Objects

    # permissions (S_IFLNK: a symbolic link), blob of the bytes; None: as git writes it
    Raw = tuple[int | None, str | None]
    Known = Mapping[str, tuple[Version, Raw]]  # path -> an entry and its Raw

USUAL: Raw = (None, None)
_REGULAR = (FILE, EXECUTABLE)


def keep_raw(
    present: Present, actions: Sequence[Action], signs: Mapping[str, Signature]
) -> dict[str, Raw]:
    """path -> the Raw, stored, of each regular file that actions replace or delete, and of the
    directories above all that they change."""
    head, mask = Lookup(present.objects, present.head_tree), _read_umask()
    filters = Filters(present.worktree, present.objects, head)
    raw = _keep_folders(present, (action["path"] for action in actions), 0o777 & ~mask)
    for action in actions:
        path, was, sign = action["path"], action["was"], signs.get(action["path"])
        if not was or was[0] not in _REGULAR or not sign or not stat.S_ISREG(sign[0]):
            continue
        mode = stat.S_IMODE(sign[0])
        usual = (0o777 if was[0] == EXECUTABLE else 0o666) & ~mask
        oid = None
        if filters.name_conversion(path):
            with open(present.worktree.join_full(path), "rb") as f:
                oid = present.objects.write("blob", f.read())
        if oid or mode != usual:
            raw[path] = (None if mode == usual else mode, oid)
    return raw


def _keep_folders(present: Present, paths: Iterable[str], usual: int) -> dict[str, Raw]:
    """folder -> the Raw of the directories above paths that have other permissions than usual."""
    folders = set[str]()
    for path in paths:
        while (path := path.rpartition("/")[0]) and path not in folders:
            folders.add(path)
    looks = ((folder, present.worktree.look_at(folder)) for folder in folders)
    modes = {f: stat.S_IMODE(st.st_mode) for f, st in looks if st and stat.S_ISDIR(st.st_mode)}
    return {folder: (mode, None) for folder, mode in modes.items() if mode != usual}


def choose_raw(
    present: Present, targets: Mapping[str, Entry], signs: Mapping[str, Signature], records: Known
) -> dict[str, Raw]:
    """The Raw of the targets files: that recorded for the same entry, else the permissions of the
    file that is replaced; and that recorded for directories.

    Without core.symlinks a link is a link where HEAD has none: a file would be a file there."""
    folders = ((path, version, raw) for path, (version, raw) in records.items())
    chosen = {path: raw for path, version, raw in folders if version and version[0] == TREE}
    head = Lookup(present.objects, present.head_tree)
    links = present.repo.config.get_flag("core.symlinks", True)
    for path, entry in targets.items():
        sign = signs.get(path)
        if entry[0] == LINK and not links and (find_file(head, path) or GONE)[0] != LINK:
            chosen[path] = stat.S_IFLNK, None
        if entry[0] not in _REGULAR:
            continue
        if path in records and records[path][0] == entry:
            chosen[path] = records[path][1]
        elif sign and stat.S_ISREG(sign[0]):
            chosen[path] = _compute_mode(stat.S_IMODE(sign[0]), entry[0] == EXECUTABLE), None
    return {path: raw for path, raw in chosen.items() if raw != USUAL}


def _compute_mode(mode: int, executable: bool) -> int:
    """The permissions of a file that replaces one with this mode."""
    plain = mode & ~0o111
    return plain | (plain & 0o444) >> 2 if executable else plain


def read_steps(objects: Objects, steps: Iterable[Step], paths: Iterable[str] = ()) -> Known:
    """path -> its version before the oldest of steps (newest first), with the Raw that a step kept
    of it; paths: more than those of which a step kept one."""
    known: dict[str, tuple[Version, Raw]] = {}
    for step in steps:
        version, kept = undo_log.open_tree(objects, step["commit"], "before"), step.get("raw", {})
        for path in {*paths, *kept, *known}:
            before, (mode, oid) = version(path), kept.get(path, USUAL)
            if path in kept or known.get(path, (None, USUAL))[0] != before:
                known[path] = before, (mode, oid)
    return known


def put_raw(objects: Objects, path: bytes, raw: Raw) -> None:
    """Give a staged file, or a directory, its bytes and permissions."""
    mode, oid = raw
    if mode == stat.S_IFLNK:
        _make_link(path)
        return
    if oid:
        with open(path, "wb") as f:
            f.write(objects.need(oid, "blob"))
    if mode is not None:
        os.chmod(path, mode)


def _make_link(path: bytes) -> None:
    """Replace a file by the symbolic link that it stands for; on a disk without links it stays."""
    beside = path + b".gitcp"
    with suppress(OSError), open(path, "rb") as f:
        os.symlink(f.read(), beside)
        os.replace(beside, path)


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
