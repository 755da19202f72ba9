"""Derive the contents of a file before and after each call from a transcript.

The client may report the content before a call.  Else the call's edit is applied to the last known
content or to one of a commit, or reverted from a later commit.  If none fits, a call that wrote the
whole content still gets a step, but its lines are not proven: a person's may be among them.
"""

from __future__ import annotations

from gitcp.core.transcript import apply_patch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.record_types import Writer

    Call = tuple[int, Writer, Mapping[str, Any]]  # ns since 1970, writer, its input and response
    # ns since 1970, writer, content before, content after, whether the content before is known
    Step = tuple[int, Writer, bytes | None, bytes | None, bool]
    Version = tuple[int, Callable[[], bytes | None]]  # a commit's time in s, its content


def list_steps(calls: Iterable[Call], versions: Sequence[Version]) -> Iterator[Step]:
    """Yield a step for each call on a path whose result is known, in order.  versions: the path in
    commits, oldest first."""
    running: bytes | None = None
    for time, writer, tells in calls:
        ends = _find_ends(tells, running, time, versions)
        whole = _encode(tells["content"]) if ends is None and "content" in tells else None
        if ends and ends[0] != ends[1]:
            yield time, writer, *ends, True
        elif whole is not None and whole != running:
            yield time, writer, None, whole, False
        running = ends[1] if ends else whole


def _find_ends(
    tells: Mapping[str, Any], running: bytes | None, time: int, versions: Sequence[Version]
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
            _encode(tells["content"])
            if "content" in tells
            else apply_patch.apply_edits(edits, before, trusted=True)
        )
        # Some clients report an empty file for none.
        return None if left is None else (before or None, left)
    return _fit_edits(edits, running, time, versions) if edits else None


def _fit_edits(
    edits: Sequence[tuple[bytes, bytes, bool]],
    running: bytes | None,
    call_time: int,
    versions: Sequence[Version],
) -> tuple[bytes, bytes] | None:
    """The contents before and after edits of a text: applied to the last known content or to one of
    the three last commits before, else reverted from one of the three next."""
    older = [read for commit_time, read in reversed(versions) if commit_time * 10**9 <= call_time]
    newer = [read for commit_time, read in versions if commit_time * 10**9 > call_time]
    for read in [lambda: running, *older[:3]]:
        before = read()
        left = None if before is None else apply_patch.apply_edits(edits, before)
        if before is not None and left is not None:
            return before, left
    back = [(new, old, everywhere) for old, new, everywhere in reversed(edits)]
    for read in newer[:3]:
        left = read()
        before = None if left is None else apply_patch.apply_edits(back, left)
        if before is not None and left is not None:
            return before, left
    return None


def _insert(content: bytes, line: int, text: str) -> bytes:
    """The content with a text inserted before a 1-based line."""
    lines = content.split(b"\n")
    return b"\n".join([*lines[: line - 1], *_encode(text).split(b"\n"), *lines[line - 1 :]])


def _encode(text: object) -> bytes:
    return str(text).encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
