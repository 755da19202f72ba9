"""Upkeep of gitcp's packs: join small ones, leave old ones to git, remove what a kill left."""

from __future__ import annotations

import os
import time

from gitcp import files, trace
from gitcp.core import git_formats
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store import pack_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from gitcp.repo import Repo

    Span = tuple[int, int, int]  # where an object starts and ends in a pack, its CRC-32

_JOINED = 8 << 20  # bytes of the largest pack that is joined
_WITHIN = 2  # a pack that is joined has at most this many times the size of all smaller ones
_KEPT = 14 * 86400.0  # seconds; git prunes older objects by default
_MULTI = "multi-pack-index"
_LEFT = 43200.0  # seconds; an older lock of git was left behind
_PIECE = 1 << 20
_STRAY = 86400.0  # seconds; an older pack without an index was left by a kill


def join_packs(repo: Repo) -> None:
    """Join the smallest packs, so that few of similar size are left.

    The joined pack is on the disk before its parts are removed.  Without room or permission for it
    the parts stay.
    """
    folder = pack_files.locate_folder(repo)
    try:
        with exclusive(repo, "packs", timeout=0):
            parts = _choose_smallest(repo, folder)
            if len(parts) > 1 and not _is_in_use(folder):
                trace.append_note("pack", f"{len(parts)} joined")
                _write_joined(repo, folder, parts)
    except (Error, OSError) as e:
        # Another process is joining packs, or there is no room.
        trace.append_note("pack", f"none joined: {e}")


def _choose_smallest(repo: Repo, folder: str) -> list[str]:
    """The packs to join: by size, the last that is at most _WITHIN times as large as all smaller
    ones together, and those smaller ones."""
    listed = _read_multi_index(folder)
    sized = sorted(
        (size, name)
        for name in pack_files.list_packs(repo)
        if 0 < (size := _read_size(folder, name)) <= _JOINED and name.encode() not in listed
    )
    count = below = 0
    for n, (size, _) in enumerate(sized, 1):
        count = n if size <= _WITHIN * below else count
        below += size
    return [name for _, name in sized[:count]]


def _read_multi_index(folder: str) -> bytes:
    """The content of git's multi-pack-index, which names packs that must stay."""
    return files.peek(os.path.join(folder, _MULTI))


def _is_in_use(folder: str) -> bool:
    """Whether `git maintenance` is at work, which may need the packs that it has listed.  A lock
    older than half a day was left behind, as git assumes for gc.pid."""
    locks = (os.path.join(os.path.dirname(folder), "maintenance"), _MULTI)
    return any(0 < _compute_age(os.path.join(folder, f"{lock}.lock")) < _LEFT for lock in locks)


def _read_size(folder: str, name: str) -> int:
    try:
        os.stat(os.path.join(folder, f"{name}.idx"))
        return os.stat(os.path.join(folder, f"{name}.pack")).st_size
    except OSError:
        return 0


def _write_joined(repo: Repo, folder: str, packs: list[str]) -> None:
    parts: dict[str, dict[str, Span]] = {}
    listed = set[str]()
    for name in packs:
        spans = _read_intact(repo, os.path.join(folder, name))
        if spans is not None:  # fsck reports a damaged one
            parts[name] = {oid: span for oid, span in spans.items() if oid not in listed}
            listed |= spans.keys()
    joined = copy_objects(repo, parts)
    needed = _read_multi_index(folder)  # again: git may have written it since
    for name in parts:
        if name != joined and name.encode() not in needed:
            _remove_pack(repo, folder, name)
    pack_files.forget_file(repo)
    pack_files.add_index(repo, joined, files.peek(os.path.join(folder, f"{joined}.idx")))


def _read_intact(repo: Repo, path: str) -> dict[str, Span] | None:
    """read_spans(); None for a damaged pack."""
    data, width = files.peek(f"{path}.pack"), len(repo.empty_tree) // 2
    if pack_files.find_hasher(repo.algo)(data[:-width]).digest() != data[-width:]:
        return None
    try:
        return read_spans(repo, path)
    except ValueError:
        return None


def read_spans(repo: Repo, path: str) -> dict[str, Span]:
    """oid -> span of each object of a pack, in the order of the pack.  Raises ValueError for a
    damaged index, and OSError."""
    width = len(repo.empty_tree) // 2
    entries = git_formats.parse_index(files.peek(f"{path}.idx"), width)
    starts = sorted((offset, crc, oid) for oid, (offset, crc) in entries.items())
    ends = [*(offset for offset, _, _ in starts[1:]), os.stat(f"{path}.pack").st_size - width]
    return {oid: (start, end, crc) for (start, crc, oid), end in zip(starts, ends, strict=False)}


def copy_objects(repo: Repo, parts: Mapping[str, Mapping[str, Span]]) -> str:
    """Make a pack of objects of other packs (pack -> oid -> span), and move it into place; return
    its name.  Raises OSError."""
    new = os.path.join(pack_files.make_workshop(repo), f"pack-{os.getpid()}-joined")
    hasher = pack_files.find_hasher(repo.algo)
    entries: dict[str, git_formats.PackEntry] = {}
    head = git_formats.build_head(sum(map(len, parts.values())))
    digest, size = hasher(head), len(head)
    try:
        with open(f"{new}.pack", "wb") as target:
            target.write(head)
            for name, spans in parts.items():
                with open(
                    os.path.join(pack_files.locate_folder(repo), f"{name}.pack"), "rb"
                ) as source:
                    for oid, (start, end, crc) in spans.items():
                        entries[oid] = size, crc
                        for data in _read_pieces(source, start, end):
                            digest.update(data)
                            size += target.write(data)
            trailer = bytes(digest.digest())
            target.write(trailer)
            target.flush()
            files.sync_file(target.fileno())
        index = git_formats.build_index(entries, trailer, hasher)
        pack_files.write_file(f"{new}.idx", index, durable=True)
        pack_files.place_pack(repo, trailer.hex(), new)
    finally:
        pack_files.remove_pack(new)
    return f"pack-{trailer.hex()}"


def _read_pieces(source: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    source.seek(start)
    while start < end and (data := source.read(min(_PIECE, end - start))):
        yield data
        start += len(data)


def sweep_packs(repo: Repo) -> None:
    """Leave packs to git that are as old as the objects that it prunes by default, and remove those
    that a kill left without an index."""
    folder = pack_files.locate_folder(repo)
    for name in pack_files.list_packs(repo):
        path = os.path.join(folder, name)
        marks = (f"{path}.keep", repo.join_shared("packs", name))
        if os.path.exists(f"{path}.idx"):
            if _compute_age(f"{path}.idx") > _KEPT:
                pack_files.release_pack(repo, name)
        elif max(map(_compute_age, marks)) > _STRAY:
            _remove_pack(repo, folder, name)


def release_packs(repo: Repo, age: float = 0.0) -> None:
    """Leave the packs of at least this age in seconds to git; objects of younger ones may not have
    their ref yet."""
    folder = pack_files.locate_folder(repo)
    for name in pack_files.list_packs(repo):
        if _compute_age(os.path.join(folder, f"{name}.idx")) >= age:
            pack_files.release_pack(repo, name)


def _remove_pack(repo: Repo, folder: str, name: str) -> None:
    pack_files.remove_pack(os.path.join(folder, name))
    pack_files.release_pack(repo, name)


def _compute_age(path: str) -> float:
    try:
        return time.time() - os.stat(path).st_mtime
    except OSError:
        return 0.0
