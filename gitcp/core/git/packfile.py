"""The bytes of a pack and of its index (gitformat-pack(5)): whole objects, no deltas.

oids are hex; an Entry says where an object's bytes begin in the pack, and their CRC-32.
"""

from __future__ import annotations

import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Entry = tuple[int, int]  # offset, crc
    Hasher = Callable[[bytes], Any]

SMALL = 1 << 16  # deflated bytes of an object that is read without git
LARGEST = 1 << 20  # bytes of one that unpack_deflated() gives
START = 12  # bytes before the first object
_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_INDEX = b"\xfftOc\0\0\0\2"
_FANOUT = len(_INDEX)
HEAD = _OIDS = _FANOUT + 256 * 4


def build_head(count: int) -> bytes:
    """What a pack of so many objects begins with: START bytes."""
    return b"PACK\0\0\0\2" + count.to_bytes(4, "big")


def build_object_head(kind: str, size: int) -> bytes:
    """What stands before the deflated bytes of an object; size: of what is deflated."""
    byte, size = _KINDS[kind] << 4 | size & 15, size >> 4
    parts = bytearray()
    while size:
        parts.append(byte | 128)
        byte, size = size & 127, size >> 7
    parts.append(byte)
    return bytes(parts)


def build_index(entries: Mapping[str, Entry], trailer: bytes, hasher: Hasher) -> bytes:
    """The index of a pack that ends in trailer and is no larger than 2 GiB."""
    names = sorted(entries)
    counts = [0] * 256
    for name in names:
        counts[int(name[:2], 16)] += 1
    total, fanout = 0, []
    for count in counts:
        total += count
        fanout.append(total.to_bytes(4, "big"))
    oids = bytes.fromhex("".join(names))
    crcs = b"".join([entries[name][1].to_bytes(4, "big") for name in names])
    offsets = b"".join([entries[name][0].to_bytes(4, "big") for name in names])
    data = b"".join([_INDEX, *fanout, oids, crcs, offsets, trailer])
    return data + bytes(hasher(data).digest())


def parse_index(data: bytes, width: int) -> dict[str, Entry]:
    """The entries of an build_index(), width bytes an oid; ValueError for another kind of file."""
    count = int.from_bytes(data[_OIDS - 4 : _OIDS], "big")
    crcs = _OIDS + count * width
    offsets = crcs + count * 4
    if not data.startswith(_INDEX) or len(data) != offsets + count * 4 + 2 * width:
        raise ValueError("no index of a pack of ours")
    entries = {}
    for n in range(count):
        oid = data[_OIDS + n * width : _OIDS + (n + 1) * width].hex()
        offset = int.from_bytes(data[offsets + n * 4 : offsets + n * 4 + 4], "big")
        entries[oid] = offset, int.from_bytes(data[crcs + n * 4 : crcs + n * 4 + 4], "big")
    return entries


def find_bucket(head: bytes, oid: str) -> tuple[int, int]:
    """Where the oids begin and end in an index that share the first byte of one; head: its first
    HEAD bytes."""
    width, at = len(oid) // 2, _FANOUT + 4 * int(oid[:2], 16)
    low = int.from_bytes(head[at - 4 : at], "big") if at > _FANOUT else 0
    return _OIDS + low * width, _OIDS + int.from_bytes(head[at : at + 4], "big") * width


def find_position(oids: bytes, oid: str) -> int:
    """Which one an oid is of those of its bucket, -1 for none."""
    name = bytes.fromhex(oid)
    at = oids.find(name)
    while at > 0 and at % len(name):
        at = oids.find(name, at + 1)
    return at // len(name)


def locate_offset(head: bytes, width: int, number: int) -> int:
    """Where in an index the offset stands of the object that is number of all by its oid."""
    count = int.from_bytes(head[_OIDS - 4 : _OIDS], "big")
    return _OIDS + count * (width + 4) + number * 4


def parse_object(data: bytes) -> tuple[str, bytes] | None:
    """(kind, content) of the object that data begins with; None for a delta, and where data does
    not hold all of it."""
    kind = next((name for name, n in _KINDS.items() if data and n == data[0] >> 4 & 7), None)
    start = 1
    while data[start - 1 : start] > b"\x7f":  # the bytes of its size
        start += 1
    content = unpack_deflated(data[start:]) if kind else None
    return (kind, content) if kind and content is not None else None


def unpack_deflated(data: bytes) -> bytes | None:
    """The content of deflated bytes, with or without others behind; None where it is larger than
    LARGEST or not whole."""
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, LARGEST)
    except zlib.error:
        return None
    return content if unpacker.eof else None
