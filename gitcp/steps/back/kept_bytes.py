"""The bytes and permissions that git does not keep.

A blob has passed git's filters, and its mode has one permission bit.  A step keeps the original
bytes and permissions of the files that it changes, and the permissions of directories that it may
remove, so that undo restores them.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from gitcp.git.objects import TREE, Lookup, find_file
from gitcp.record.snapshot import Filters
from gitcp.steps import undo
from gitcp.text.ids import EXECUTABLE, GONE, LINK, REGULAR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.git.objects import Objects
    from gitcp.steps.back.plan import Action
    from gitcp.steps.back.present import Present
    from gitcp.steps.back.signatures import Signature
    from gitcp.steps.step import Raw, Step
    from gitcp.text.record_types import Entry, Version

    Known = Mapping[str, "KnownFile"]  # by path


@dataclass(slots=True, frozen=True)
class KnownFile:
    """An entry of a path, and the bytes and permissions that it had."""

    version: Version
    raw: Raw


USUAL: Raw = (None, None)


def keep_raw(
    present: Present, actions: Sequence[Action], signs: Mapping[str, Signature]
) -> dict[str, Raw]:
    """path -> the Raw, stored, of each regular file that actions replace or delete, and of the
    directories above all that they change."""
    head = Lookup(present.repo.objects, present.head_tree)
    mask = _read_umask()
    filters = Filters(present.worktree, head)
    raw = _keep_folders(present, (action.path for action in actions), 0o777 & ~mask)
    for action in actions:
        path = action.path
        was = action.was
        sign = signs.get(path)
        if not was or was[0] not in REGULAR or not sign or not stat.S_ISREG(sign[0]):
            continue
        usual = 0o666
        if was[0] == EXECUTABLE:
            usual = 0o777
        mode: int | None = stat.S_IMODE(sign[0])
        if mode == usual & ~mask:
            mode = None
        oid = None
        if filters.name_conversion(path):
            with open(present.worktree.join_full(path), "rb") as file:
                oid = present.repo.objects.write("blob", file.read())
        if (mode, oid) != USUAL:
            raw[path] = mode, oid
    return raw


def _keep_folders(present: Present, paths: Iterable[str], usual: int) -> dict[str, Raw]:
    """folder -> the Raw of the directories above paths that have other permissions than usual."""
    kept: dict[str, Raw] = {}
    for folder in _list_folders(paths):
        st = present.worktree.look_at(folder)
        if st and stat.S_ISDIR(st.st_mode):
            mode = stat.S_IMODE(st.st_mode)
            if mode != usual:
                kept[folder] = mode, None
    return kept


def _list_folders(paths: Iterable[str]) -> set[str]:
    """The directories above paths."""
    folders: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def choose_raw(
    present: Present, targets: Mapping[str, Entry], signs: Mapping[str, Signature], records: Known
) -> dict[str, Raw]:
    """The Raw of the targets files: that recorded for the same entry, else the permissions of the
    file that is replaced; and that recorded for directories.

    Without core.symlinks a link is a link where HEAD has none: a file would be a file there."""
    chosen: dict[str, Raw] = {}
    for path, record in records.items():
        if record.version and record.version[0] == TREE:
            chosen[path] = record.raw
    head = Lookup(present.repo.objects, present.head_tree)
    has_links = present.repo.config.get_flag("core.symlinks", True)
    for path, entry in targets.items():
        mode = entry[0]
        if mode == LINK and not has_links and (find_file(head, path) or GONE)[0] != LINK:
            chosen[path] = stat.S_IFLNK, None
        if mode not in REGULAR:
            continue
        sign = signs.get(path)
        if path in records and records[path].version == entry:
            chosen[path] = records[path].raw
        elif sign and stat.S_ISREG(sign[0]):
            chosen[path] = _compute_mode(stat.S_IMODE(sign[0]), mode == EXECUTABLE), None
    return {path: raw for path, raw in chosen.items() if raw != USUAL}


def _compute_mode(mode: int, executable: bool) -> int:
    """The permissions of a file that replaces one with this mode."""
    plain = mode & ~0o111
    if executable:
        return plain | (plain & 0o444) >> 2
    return plain


def read_steps(objects: Objects, steps: Iterable[Step], paths: Iterable[str] = ()) -> Known:
    """path -> its version before the oldest of steps (newest first), with the Raw that a step kept
    of it; paths: more than those of which a step kept one."""
    known: dict[str, KnownFile] = {}
    for step in steps:
        version = undo.open_tree(objects, step.commit, "before")
        kept = step.raw or {}
        for path in {*paths, *kept, *known}:
            before = version(path)
            former = None
            if path in known:
                former = known[path].version
            if path in kept:
                known[path] = KnownFile(before, kept[path])
            elif before != former:
                known[path] = KnownFile(before, USUAL)
    return known


def _read_umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
