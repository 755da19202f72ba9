"""Read a transcript of any size in stretches of complete lines."""

from __future__ import annotations

from gitcp.core import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Read = Callable[[int, int], bytes]  # the bytes from start to end
    Stretch = tuple[bytes, int]  # lines, and the offset after them

STRETCH = 1 << 20  # bytes read at once
LINE = 16 << 20  # the longest line that is not shortened
HEAD, TAIL = 256 << 10, 64 << 10  # bytes that remain of a longer line
DOCUMENT = 32 << 20  # the largest document that is read whole
ROOM = 1 << 20  # new bytes that are always read, whatever the limit of the whole


def read_stretches(read: Read, start: int, end: int, room: int) -> Iterator[Stretch]:
    """Yield the complete lines from start to end in stretches, each with the offset after it.

    Of more than room bytes only the first and the last lines are read; a line in JSON replaces the
    others, and each line that is too long.  A last line without a newline is not read.
    """
    if end - start <= room:
        yield from read_lines(read, start, end)
        return
    tail, at = room // 4, start
    for new, at in read_lines(read, start, start + room - tail):
        yield new, at
    begin = _find_next_line(read, max(at, end - tail), end)
    if begin is not None:
        yield _format_line({"type": "gitcp-left-out", "bytes": begin - at}), begin
        yield from read_lines(read, begin, end)


def read_bounded(read: Read, start: int, end: int) -> bytes:
    """The bytes from start to end; if they are more than DOCUMENT, only the first and the last
    lines, as in read_stretches()."""
    if end - start <= DOCUMENT:
        return read(start, end)
    return b"".join(part for part, _ in read_stretches(read, start, end, DOCUMENT))


def read_lines(read: Read, start: int, end: int) -> Iterator[Stretch]:
    """Yield the complete lines from start to end, with too long ones shortened."""
    while start < end:
        data = read(start, min(end, start + STRETCH))
        cut = data.rfind(b"\n") + 1
        if cut:
            yield data[:cut], start + cut
            start += cut
            continue
        stop = _find_next_line(read, start + len(data), end)
        if stop is None:
            return
        yield read_line(read, start, stop - 1, b"\n"), stop
        start = stop


def read_line(read: Read, start: int, end: int, newline: bytes = b"") -> bytes:
    """A line; if it is longer than LINE, its head, tail and length as JSON."""
    if end - start <= LINE:
        return read(start, end) + newline
    head, tail = (
        read(*part).decode("utf-8", "replace")
        for part in ((start, start + HEAD), (end - TAIL, end))
    )
    stand_in = {"type": "gitcp-shortened", "bytes": end - start, "head": head, "tail": tail}
    return _format_line(stand_in).removesuffix(b"\n") + newline


def _find_next_line(read: Read, start: int, end: int) -> int | None:
    """The offset after the first newline from start on; None if there is none before end."""
    while start < end:
        data = read(start, min(end, start + STRETCH))
        if not data:
            return None
        at = data.find(b"\n")
        if at >= 0:
            return start + at + 1
        start += len(data)
    return None


def _format_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def looks_right(first: bytes) -> bool:
    """Whether the first bytes of a file are those of a client's transcript, or none."""
    return first.lstrip(b" \t\r\n\xef\xbb\xbf")[:1] in (b"{", b"[", b"")
