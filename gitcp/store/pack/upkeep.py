"""Upkeep of gitcp's packs: join small ones, release old ones, remove what a kill has left."""

from __future__ import annotations

import os
import time

from gitcp import trace
from gitcp.core.git import packfile
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.process import files
from gitcp.store.pack import indexes, kept

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_JOINED = 8 << 20  # bytes: larger packs stay as they are
_RATIO = 2  # a pack is joined if it is not this times larger than all smaller ones together
_KEPT = 14 * 86400.0  # seconds; git prunes what is older by default
_MULTI = "multi-pack-index"
_STALE = 43200.0  # seconds; an older lock of git was left behind, as git takes its gc.pid
_STRAY = 86400.0  # seconds; an older pack without an index was left behind


def join_packs(repo: Repo) -> None:
    """Join the smallest packs, so that the number of packs grows with the logarithm of their size.

    The joined pack is on the disk before its parts are removed.  Nothing changes if another
    process joins packs, or if the pack cannot be written.
    """
    folder = kept.locate_folder(repo)
    try:
        with exclusive(repo, "packs", timeout=0):
            parts = _choose_smallest(repo, folder)
            if len(parts) > 1 and not _is_in_use(folder):
                trace.append_note("pack", f"{len(parts)} joined")
                _write_joined(repo, folder, parts)
    except (Error, OSError) as e:
        trace.append_note("pack", f"none joined: {e}")


def _choose_smallest(repo: Repo, folder: str) -> list[str]:
    """The packs to join: up to the last that is not much larger than all smaller ones."""
    multi_index = _read_multi_index(folder)
    sized = sorted(
        (size, name)
        for name in kept.list_packs(repo)
        if 0 < (size := _read_size(folder, name)) <= _JOINED and name.encode() not in multi_index
    )
    count = below = 0
    for n, (size, _) in enumerate(sized, 1):
        count = n if size <= _RATIO * below else count
        below += size
    return [name for _, name in sized[:count]]


def _read_multi_index(folder: str) -> bytes:
    """The file with the names of the packs that git expects to find."""
    return files.peek(os.path.join(folder, _MULTI))


def _is_in_use(folder: str) -> bool:
    """Whether `git maintenance` runs, which may be about to use packs that it has listed."""
    locks = (os.path.join(os.path.dirname(folder), "maintenance"), _MULTI)
    return any(0 < _compute_age(os.path.join(folder, f"{lock}.lock")) < _STALE for lock in locks)


def _read_size(folder: str, name: str) -> int:
    try:
        os.stat(os.path.join(folder, f"{name}.idx"))
        return os.stat(os.path.join(folder, f"{name}.pack")).st_size
    except OSError:
        return 0


def _write_joined(repo: Repo, folder: str, packs: list[str]) -> None:
    hasher = kept.find_hasher(repo.algo)
    bodies: list[bytes] = []
    entries: dict[str, packfile.Entry] = {}
    size, done = packfile.START, []
    for name in packs:
        objects = _read_pack(repo, os.path.join(folder, name))
        if objects is None:
            continue  # damaged, which fsck reports
        done.append(name)
        for oid, crc, body in objects:
            if oid not in entries:
                entries[oid] = size, crc
                bodies.append(body)
                size += len(body)
    data = b"".join([packfile.build_head(len(entries)), *bodies])
    trailer = bytes(hasher(data).digest())
    path = repo.join_shared("tmp", f"pack-{os.getpid()}-joined")
    try:
        kept.write_file(f"{path}.pack", data + trailer, durable=True)
        index = packfile.build_index(entries, trailer, hasher)
        kept.write_file(f"{path}.idx", index, durable=True)
        kept.place_pack(repo, trailer.hex(), path)
    finally:
        kept.remove_pack(path)
    multi_index = _read_multi_index(folder)  # git may have written it meanwhile
    for name in done:
        if name != f"pack-{trailer.hex()}" and name.encode() not in multi_index:
            _remove_pack(repo, folder, name)
    indexes.forget_file(repo)
    indexes.add_index(repo, f"pack-{trailer.hex()}", index)


def _read_pack(repo: Repo, path: str) -> list[tuple[str, int, bytes]] | None:
    """(oid, crc, bytes) of each object of a pack; None if the pack is damaged."""
    data, width = files.peek(f"{path}.pack"), len(repo.empty_tree) // 2
    if kept.find_hasher(repo.algo)(data[:-width]).digest() != data[-width:]:
        return None
    try:
        entries = packfile.parse_index(files.peek(f"{path}.idx"), width)
    except ValueError:
        return None
    by_offset = sorted((offset, crc, oid) for oid, (offset, crc) in entries.items())
    ends = [offset for offset, _, _ in by_offset[1:]] + [len(data) - width]
    return [
        (oid, crc, data[offset:end])
        for (offset, crc, oid), end in zip(by_offset, ends, strict=True)
    ]


def sweep_packs(repo: Repo) -> None:
    """Release packs of the age at which git prunes by default, and remove old ones without an
    index, which were not moved into place completely."""
    folder = kept.locate_folder(repo)
    for name in kept.list_packs(repo):
        path = os.path.join(folder, name)
        if not os.path.exists(f"{path}.idx"):
            marks = f"{path}.keep", repo.join_shared("packs", name)
            if max(map(_compute_age, marks)) > _STRAY:
                _remove_pack(repo, folder, name)
        elif _compute_age(f"{path}.idx") > _KEPT:
            kept.release_pack(repo, name)


def release_packs(repo: Repo, younger: float = 0.0) -> None:
    """Release all packs to git, except those younger than so many seconds, whose objects may not
    have a ref yet."""
    folder = kept.locate_folder(repo)
    for name in kept.list_packs(repo):
        if _compute_age(os.path.join(folder, f"{name}.idx")) >= younger:
            kept.release_pack(repo, name)


def _remove_pack(repo: Repo, folder: str, name: str) -> None:
    kept.remove_pack(os.path.join(folder, name))
    kept.release_pack(repo, name)


def _compute_age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0
