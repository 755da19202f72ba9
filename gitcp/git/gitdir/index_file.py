"""Index files: the times of their entries, and their names (gitformat-index(5))."""

from __future__ import annotations

import hashlib
import struct

from gitcp.git import decode_name
from gitcp.git.gitdir import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.git import Location

_STAT = 40  # bytes of stat data before the object name; the size comes last
_WIDTHS = {"sha1": 20, "sha256": 32}  # bytes of an object name


def distrust_entries(path: str, since: int, algo: str) -> int:
    """Make git compare the contents of entries whose ctime is since (seconds) or later.

    Git does so by itself for an mtime of since or later.  Returns the number of both, which every
    scan reads.  Raises OSError; a file of an unknown format stays as it is.
    """
    with open(path, "rb") as f:
        data = bytearray(f.read())
    entries = list_entries(data, algo)
    young = [(at, dated) for at, changed, dated in entries if changed >= since or dated >= since]
    doubted = [offset for offset, dated in young if dated < since]
    for offset in doubted:
        data[offset + _STAT - 4 : offset + _STAT] = bytes(4)  # size 0, git's own mark
    if doubted:
        width = _WIDTHS[algo]
        data[-width:] = hashlib.new(algo, data[:-width]).digest()
        with open(path, "wb") as f:
            f.write(data)
    return len(young)


def list_entries(data: bytes | bytearray, algo: str) -> Iterator[tuple[int, int, int]]:
    """(offset, ctime, mtime) of each entry of an index file, in seconds (gitformat-index(5)).

    algo: 'sha1' or 'sha256'.  Yields nothing for an unknown format.
    """
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return
    fixed = _STAT + _WIDTHS[algo] + 2
    read_entry = struct.Struct(f">I4xI{fixed - 14}xH").unpack_from
    offset = 12
    for _ in range(count):
        changed, dated, flags = read_entry(data, offset)
        yield offset, changed, dated
        name = offset + fixed + (2 if flags & 0x4000 else 0)
        if version == 4:  # a number, then the part that differs from the previous name
            while data[name] & 0x80:
                name += 1
            offset = data.index(0, name + 1) + 1
        else:
            length = flags & 0xFFF
            if length < 0xFFF:
                end = name + length
            else:
                end = data.index(0, name)
            offset += (end - offset + 8) & ~7


def read_names(repo: Location, path: str) -> dict[str, str]:
    """path -> oid of the entries of an index file of version 2 without flags of its own; empty if
    there is no file."""
    if repo.uses_git_alone:
        return plain.read_names(repo, path)
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        return {}
    width = len(repo.empty_tree) // 2
    names = dict[str, str]()
    for offset, _, _ in list_entries(data, repo.algo):
        name = offset + _STAT + width + 2
        oid = data[offset + _STAT : offset + _STAT + width].hex()
        names[decode_name(data[name : data.index(0, name)])] = oid
    return names
