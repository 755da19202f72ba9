"""The lines of a text, and which of them are evidence of who wrote it.

Their number and order do not count: a moved line is not an added one, and a staged half of a file
is a part of it in any order.  A line is its bytes without the line ending ("\\n" or "\\r\\n").
"""

from __future__ import annotations

from gitcp.text.ids import is_binary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SIGNIFICANT = 10  # trimmed bytes of a significant line
LARGEST = 2 << 20  # bytes: a larger content is not split into lines
_SIGNS = bytes(byte for byte in range(0x80) if not chr(byte).isalnum())


def split_lines(data: bytes | None) -> list[bytes]:
    """Return the lines of a text without their newlines; the last line may lack its newline."""
    if data:
        return data.removesuffix(b"\n").split(b"\n")
    return []


def has_no_lines(data: bytes) -> bool:
    """Whether a content is binary or too large to be split into lines."""
    return len(data) > LARGEST or is_binary(data)


def split_text_lines(oid: str, data: bytes | None) -> list[bytes]:
    """The lines of a content; if it has_no_lines(), one line that is NUL and its oid."""
    if not data:
        return []
    if has_no_lines(data):
        return [b"\0" + oid.encode()]
    return split_lines(data)


def group_runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Return (first, last) of each run of consecutive numbers, in order."""
    spans: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return spans


def find_added_lines(a: bytes | None, b: bytes | None) -> set[bytes]:
    """Return the non-blank lines of b that a does not have; None: there is no file."""
    added = _collect_lines(b) - _collect_lines(a)
    return {line for line in added if line.strip()}


def _collect_lines(data: bytes | None) -> set[bytes]:
    if data is None:
        return {b""}
    return {*data.removesuffix(b"\r").replace(b"\r\n", b"\n").split(b"\n")}


def is_meaningful(line: bytes) -> bool:
    """Tell whether a line has a letter or a digit."""
    return bool(line.translate(None, _SIGNS))


def is_significant(line: bytes) -> bool:
    """Tell whether a line is significant (doc/credit.md "Linking by evidence")."""
    line = line.strip()
    return len(line) >= SIGNIFICANT and is_meaningful(line)


def select_significant(lines: Iterable[bytes]) -> set[bytes]:
    """Return the significant lines, trimmed."""
    return {line.strip() for line in lines if is_significant(line)}
