"""Upkeep of the packs of ours: small ones joined, old ones let go, what a kill left taken away."""

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
_WITHIN = 2  # times as large as all smaller ones together is small enough to be joined
_KEPT = 14 * 86400.0  # seconds: from then on git's own pruning would take what is as old
_MULTI = "multi-pack-index"
_LEFT = 43200.0  # seconds: nobody holds a lock of git's for so long
_STRAY = 86400.0  # seconds: nobody is still moving it into place


def join_packs(repo: Repo) -> None:
    """Make one pack of the smallest, so that there are only as many as their sizes differ.

    On the disk before the parts go: a power cut loses nothing that was there.  Where there is
    no room for it, or no leave, the parts stay as they are.
    """
    folder = kept.locate_folder(repo)
    try:
        with exclusive(repo, "packs", timeout=0):
            parts = _choose_smallest(repo, folder)
            if len(parts) > 1 and not _is_in_use(folder):
                trace.append_note("pack", f"{len(parts)} joined")
                _write_joined(repo, folder, parts)
    except (Error, OSError) as e:
        trace.append_note(
            "pack", f"none joined: {e}"
        )  # another process is at it, or there is no room


def _choose_smallest(repo: Repo, folder: str) -> list[str]:
    """The packs to join: up to the last that is not much larger than all smaller ones."""
    listed = _read_multi_index(folder)
    sized = sorted(
        (size, name)
        for name in kept.list_packs(repo)
        if 0 < (size := _read_size(folder, name)) <= _JOINED and name.encode() not in listed
    )
    count = below = 0
    for n, (size, _) in enumerate(sized, 1):
        count = n if size <= _WITHIN * below else count
        below += size
    return [name for _, name in sized[:count]]


def _read_multi_index(folder: str) -> bytes:
    """What has the names of the packs that git would miss."""
    return files.peek(os.path.join(folder, _MULTI))


def _is_in_use(folder: str) -> bool:
    """Whether git may be about to count on packs that it has listed: `git maintenance` is at
    work.  As for its gc.pid, what is older than half a day was left behind."""
    locks = (os.path.join(os.path.dirname(folder), "maintenance"), _MULTI)
    return any(0 < _compute_age(os.path.join(folder, f"{lock}.lock")) < _LEFT for lock in locks)


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
        read = _read_pack(repo, os.path.join(folder, name))
        if read is None:
            continue  # damaged: fsck says so, and nothing is copied from it
        done.append(name)
        for oid, crc, body in read:
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
    listed = _read_multi_index(folder)  # maybe since a moment ago
    for name in done:
        if name != f"pack-{trailer.hex()}" and name.encode() not in listed:
            _remove_pack(repo, folder, name)
    indexes.forget_file(repo)
    indexes.add_index(repo, f"pack-{trailer.hex()}", index)


def _read_pack(repo: Repo, path: str) -> list[tuple[str, int, bytes]] | None:
    """(oid, crc, bytes) of each object of a pack; None where it is not as it was written."""
    data, width = files.peek(f"{path}.pack"), len(repo.empty_tree) // 2
    if kept.find_hasher(repo.algo)(data[:-width]).digest() != data[-width:]:
        return None
    try:
        entries = packfile.parse_index(files.peek(f"{path}.idx"), width)
    except ValueError:
        return None
    by_offset = sorted((offset, crc, oid) for oid, (offset, crc) in entries.items())
    ends = [offset for offset, _, _ in by_offset[1:]] + [len(data) - width]
    return [(o, crc, data[at:end]) for (at, crc, o), end in zip(by_offset, ends, strict=True)]


def sweep_packs(repo: Repo) -> None:
    """Let git have its way with packs that are as old as it prunes by default, and take away
    those that were never moved into place whole."""
    folder = kept.locate_folder(repo)
    for name in kept.list_packs(repo):
        path = os.path.join(folder, name)
        if not os.path.exists(f"{path}.idx"):
            if (
                max(_compute_age(f"{path}.keep"), _compute_age(repo.join_shared("packs", name)))
                > _STRAY
            ):
                _remove_pack(repo, folder, name)
        elif _compute_age(f"{path}.idx") > _KEPT:
            kept.release_pack(repo, name)


def release_packs(repo: Repo, younger: float = 0.0) -> None:
    """Let git prune and pack as it likes, but what is younger in seconds: it may be on its way."""
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
