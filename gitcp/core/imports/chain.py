"""From what calls tell of a file to the contents that they found and left.

What a call found is told, or follows: the client says it, an edit of a text fits the content known
last or one that a commit has, or what it put there stands in a later one.  Where it is not known,
the content that a call wrote as a whole is still its own work, but none of its lines is: a person's
may be among them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.record_types import Writer

    Call = tuple[int, Writer, Mapping[str, Any]]  # ns since 1970; what it tells
    # when; by whom; what was there before, and after; whether that before is known
    Step = tuple[int, Writer, bytes | None, bytes | None, bool]
    Version = tuple[int, Callable[[], bytes | None]]  # a commit's time in s; what it has there


def list_steps(calls: Iterable[Call], versions: Sequence[Version]) -> Iterator[Step]:
    """The contents before and after each call on one path, in order, without calls whose result is
    not known.  versions: what commits have at the path, oldest first."""
    running: bytes | None = None
    for at, who, tells in calls:
        ends = _find_ends(tells, running, at, versions)
        whole = _encode(tells["content"]) if ends is None and "content" in tells else None
        if ends and ends[0] != ends[1]:
            yield at, who, *ends, True
        elif whole is not None and whole != running:
            yield at, who, None, whole, False
        running = ends[1] if ends else whole


def _find_ends(
    tells: Mapping[str, Any], running: bytes | None, at: int, versions: Sequence[Version]
) -> tuple[bytes | None, bytes | None] | None:
    edits = [
        (_encode(old), _encode(new), everywhere) for old, new, everywhere in tells.get("edits", ())
    ]
    if tells.get("deleted"):
        return (running, None) if running is not None else None
    if "inserted" in tells:
        return None if running is None else (running, _insert(running, *tells["inserted"]))
    if tells.get("created"):
        content = tells.get("content", edits[0][1] if len(edits) == 1 else None)
        return None if content is None else (None, _encode(content))
    if "original" in tells:
        before = _encode(tells["original"])
        left = (
            _encode(tells["content"]) if "content" in tells else apply(edits, before, trusted=True)
        )
        # Some clients tell of no file as of an empty one.
        return None if left is None else (before or None, left)
    return _fit_edits(edits, running, at, versions) if edits else None


def _fit_edits(
    edits: Sequence[tuple[bytes, bytes, bool]],
    running: bytes | None,
    at: int,
    versions: Sequence[Version],
) -> tuple[bytes, bytes] | None:
    """An edit of a text on what it fits: the content known last, what the newest commit before it
    has; else a commit after it that has what it put there."""
    older = [read for time, read in reversed(versions) if time * 10**9 <= at]
    newer = [read for time, read in versions if time * 10**9 > at]
    for read in [lambda: running, *older[:3]]:
        before = read()
        left = None if before is None else apply(edits, before)
        if before is not None and left is not None:
            return before, left
    back = [(new, old, everywhere) for old, new, everywhere in reversed(edits)]
    for read in newer[:3]:
        left = read()
        before = None if left is None else apply(back, left)
        if before is not None and left is not None:
            return before, left
    return None


def apply(
    edits: Iterable[tuple[bytes, bytes, bool]], content: bytes, trusted: bool = False
) -> bytes | None:
    """A content after edits; None where one does not fit, or fits several places and, unless
    trusted, was to be made in one."""
    for old, new, everywhere in edits:
        count = content.count(old) if old else 0
        if not count or (count > 1 and not everywhere and not trusted):
            return None
        content = content.replace(old, new, -1 if everywhere else 1)
    return content


def _insert(content: bytes, line: int, text: str) -> bytes:
    """A content with a text put before a line, counted from 1."""
    lines = content.split(b"\n")
    return b"\n".join([*lines[: line - 1], *_encode(text).split(b"\n"), *lines[line - 1 :]])


def _encode(text: object) -> bytes:
    return str(text).encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
