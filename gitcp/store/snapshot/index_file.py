"""Mark entries of an index file as not to be believed.

git takes a file for unchanged when its times of the same second and its size are; an edit
that restores the date, within the second of the last look, is hidden for good.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_STAT = 40  # bytes of stat data before the object name; the size comes last


def distrust(path: str, since: int, algo: str) -> int:
    """Make git compare by content what changed at since (seconds) or later, whatever its date.

    What is dated since or later git compares by itself.  Returns how many paths that are, which
    every scan has to read.  Raises OSError; a file of an unknown format stays as it is.
    """
    with open(path, "rb") as f:
        data = bytearray(f.read())
    times = list(entries(data, algo))
    doubted = [at for at, changed, dated in times if changed >= since > dated]
    for at in doubted:
        data[at + _STAT - 4 : at + _STAT] = bytes(4)  # the mark is git's own: size 0
    if doubted:
        import hashlib

        width = 32 if algo == "sha256" else 20
        data[-width:] = hashlib.new(algo, data[:-width]).digest()
        with open(path, "wb") as f:
            f.write(data)
    return sum(max(changed, dated) >= since for _, changed, dated in times)


def entries(data: bytearray, algo: str) -> Iterator[tuple[int, int, int]]:
    """(offset, ctime, mtime) of each entry of an index file, in seconds (gitformat-index(5)).

    algo: 'sha1' or 'sha256'.  Nothing for a format that is not known.
    """
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        return
    fixed = _STAT + (32 if algo == "sha256" else 20) + 2
    times, half = struct.Struct(">IIII").unpack_from, struct.Struct(">H").unpack_from
    at = 12
    for _ in range(count):
        changed, _, dated, _ = times(data, at)
        yield at, changed, dated
        (flags,) = half(data, at + fixed - 2)
        name = at + fixed + (2 if flags & 0x4000 else 0)
        if version == 4:  # a number, then what differs from the name before
            while data[name] & 0x80:
                name += 1
            at = data.index(0, name + 1) + 1
        else:
            length = flags & 0xFFF
            end = name + length if length < 0xFFF else data.index(0, name)
            at += (end - at + 8) & ~7
