"""Paths in git's C-style quotes (core.quotePath in git-config(1))."""

from __future__ import annotations

_ESCAPES = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


def unquote(name: bytes) -> bytes:
    """The bytes that a quoted name stands for; one without quotes stands for itself."""
    if len(name) < 2 or not name.startswith(b'"') or not name.endswith(b'"'):
        return name
    inner, plain = name[1:-1], bytearray()
    at = 0
    while at < len(inner):
        if inner[at] != ord("\\"):
            plain.append(inner[at])
            at += 1
        elif inner[at + 1 : at + 4].isdigit():
            plain.append(int(inner[at + 1 : at + 4], 8))
            at += 4
        else:
            plain.append(_ESCAPES.get(inner[at + 1], inner[at + 1]))
            at += 2
    return bytes(plain)
