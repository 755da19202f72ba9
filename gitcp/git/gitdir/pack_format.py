"""Packs and their indexes (gitformat-pack(5)): written without deltas, read with them."""

from __future__ import annotations

import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    PackEntry = tuple[int, int]  # offset, crc
    Hasher = Callable[[bytes], Any]


# Object names are hex.  An Entry is the offset of an object in the pack and its CRC-32.
SMALL = 1 << 16  # deflated bytes: smaller objects are read without git
LARGEST = 1 << 20  # bytes of content that unpack_deflated() returns at most
_FEW = 1 << 12  # bytes to deflate, for which zlib would clear more memory than it uses
START = 12  # bytes before the first object
_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
# the kinds of deltas
_BY_OFFSET = 6
_BY_NAME = 7
_LONGEST = 10  # bytes of a number
# First bytes that two versions of an object share: of a tree the mode and the name of an entry,
# before its object name.
_ALIKE = {_KINDS["commit"]: 4, _KINDS["tree"]: 12, _KINDS["blob"]: 64}
_INDEX = b"\xfftOc\0\0\0\2"
_FANOUT = len(_INDEX)
HEAD = _OIDS = _FANOUT + 256 * 4


def build_head(count: int) -> bytes:
    """The header of a pack of count objects, START bytes."""
    return b"PACK\0\0\0\2" + count.to_bytes(4, "big")


def build_object_head(kind: str, size: int) -> bytes:
    """The header of an object in a pack; size: of the content before it is deflated."""
    byte = _KINDS[kind] << 4 | size & 15
    size = size >> 4
    parts = bytearray()
    while size:
        parts.append(byte | 128)
        byte = size & 127
        size = size >> 7
    parts.append(byte)
    return bytes(parts)


def build_index(entries: Mapping[str, PackEntry], trailer: bytes, hasher: Hasher) -> bytes:
    """The index of a pack of at most 2 GiB; trailer: the pack's checksum."""
    names = sorted(entries)
    # for each first byte, the number of names up to it
    fanout = list[bytes]()
    filled = 0
    for number, name in enumerate(names):
        first = int(name[:2], 16)
        fanout.append(number.to_bytes(4, "big") * (first - filled))
        filled = first
    fanout.append(len(names).to_bytes(4, "big") * (256 - filled))
    oids = bytes.fromhex("".join(names))
    crcs = b"".join([entries[name][1].to_bytes(4, "big") for name in names])
    offsets = b"".join([entries[name][0].to_bytes(4, "big") for name in names])
    data = b"".join([_INDEX, *fanout, oids, crcs, offsets, trailer])
    return data + bytes(hasher(data).digest())


def is_index(head: bytes, size: int) -> bool:
    """Whether a file of this size with these first HEAD bytes is an index that build_index() made,
    by its length."""
    count = count_objects(head)
    return head.startswith(_INDEX) and size in (_OIDS + count * (w + 8) + 2 * w for w in (20, 32))


def find_bucket(head: bytes, oid: str) -> tuple[int, int]:
    """The start and end, in an index, of the object names that share the first byte of oid; the
    same twice for none, as in most indexes of gitcp.

    head: the first HEAD bytes of the index.
    """
    position = _FANOUT + 4 * int(oid[:2], 16)
    low = b"\0\0\0\0"
    if position > _FANOUT:
        low = head[position - 4 : position]
    high = head[position : position + 4]
    if low == high:
        return 0, 0
    width = len(oid) // 2
    return _OIDS + int.from_bytes(low, "big") * width, _OIDS + int.from_bytes(high, "big") * width


def find_position(oids: bytes, oid: str) -> int:
    """The position of an object name among those of its bucket, -1 if it is not there."""
    name = bytes.fromhex(oid)
    start = oids.find(name)
    while start > 0 and start % len(name):
        start = oids.find(name, start + 1)
    return start // len(name)


def count_objects(head: bytes) -> int:
    """The number of objects of an index."""
    return int.from_bytes(head[_OIDS - 4 : _OIDS], "big")


def locate_offset(head: bytes, width: int, number: int) -> int:
    """The place in an index of an object's offset; number: the object's position among all, by
    name."""
    return _OIDS + count_objects(head) * (width + 4) + number * 4


def parse_object(data: bytes, width: int) -> tuple[str, str | int, bytes] | None:
    """(kind, base, content) of the object at the start of data; None if it is cut short or too
    large.

    A delta has no kind, but a base: its name, of width bytes, or how many bytes before the delta it
    starts.
    """
    if not data:
        return None
    number, (_, start) = data[0] >> 4 & 7, _read_number(data, 0)
    kind = next((name for name, n in _KINDS.items() if n == number), "")
    base: str | int = 0
    if number == _BY_NAME:
        base = data[start : start + width].hex()
        start = start + width
    elif number == _BY_OFFSET:
        base = -1
        for byte in data[start : start + _LONGEST]:
            base = (base + 1) << 7 | byte & 127
            start = start + 1
            if byte < 128:
                break
    content = None
    if kind or base:
        content = unpack_deflated(data[start:])
    if content is None:
        return None
    return (kind, base, content)


def parse_head(data: bytes) -> bytes:
    """The kind of the object at the start of data, as the pack has it, and the first bytes of its
    content, by which a file or a directory is known again after a change; b"" for a delta."""
    number = data[0] >> 4 & 7
    _, start = _read_number(data, 0)
    most = _ALIKE.get(number)
    if most is None:
        return b""
    try:
        return b"%d %b" % (number, zlib.decompressobj().decompress(data[start:], most))
    except zlib.error:
        return b""


def _read_number(data: bytes, start: int) -> tuple[int, int]:
    """(a number of 7 bits to a byte, the lowest first; the place after it)."""
    number = shift = 0
    for byte in data[start : start + _LONGEST]:
        number = number | (byte & 127) << shift
        shift = shift + 7
        start = start + 1
        if byte < 128:
            break
    return number, start


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """The content that a delta makes of its base; raises ValueError if it is damaged, or makes more
    than LARGEST bytes."""
    _, at = _read_number(delta, 0)
    size, at = _read_number(delta, at)
    content = bytearray()
    while at < len(delta) and len(content) <= size <= LARGEST:
        code = delta[at]
        at = at + 1
        if code < 128:  # that many bytes follow
            content += delta[at : at + code]
            at += code
            continue
        given = [bit for bit in range(7) if code >> bit & 1]  # bytes of an offset and a length
        number = sum(byte << 8 * bit for bit, byte in zip(given, delta[at : at + 7], strict=False))
        start = number & 0xFFFFFFFF
        length = number >> 32 or 0x10000
        content += base[start : start + length]
        at += len(given)
    if at < len(delta) or len(content) != size:
        raise ValueError("a damaged delta, or a large content")
    return bytes(content)


def pack_content(data: bytes) -> bytes:
    """Deflated bytes, at the fastest level."""
    if len(data) > _FEW:
        return zlib.compress(data, 1)
    packer = zlib.compressobj(1, memLevel=4)
    return packer.compress(data) + packer.flush()


def unpack_deflated(data: bytes) -> bytes | None:
    """The content of deflated bytes, which others may follow; None if it is larger than LARGEST or
    cut short."""
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, LARGEST)
    except zlib.error:
        return None
    return content if unpacker.eof else None
