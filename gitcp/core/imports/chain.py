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
    current: bytes | None = None  # the content after the last call, None if unknown
    for time, writer, tells in calls:
        if ends := _find_ends(tells, current, time, versions):
            before, after = ends
            if before != after:
                yield time, writer, before, after, True
        else:
            after = _encode(tells["content"]) if "content" in tells else None
            if after is not None and after != current:
                yield time, writer, None, after, False
        current = after


def _find_ends(
    tells: Mapping[str, Any], current: bytes | None, time: int, versions: Sequence[Version]
) -> tuple[bytes | None, bytes | None] | None:
    """The contents before and after a call, None for no file; None if one is unknown."""
    edits = [
        (_encode(old), _encode(new), everywhere) for old, new, everywhere in tells.get("edits", ())
    ]
    content = _encode(tells["content"]) if "content" in tells else None
    if tells.get("deleted"):
        return None if current is None else (current, None)
    if "inserted" in tells:
        return None if current is None else (current, _insert(current, *tells["inserted"]))
    if tells.get("created"):
        after = edits[0][1] if content is None and len(edits) == 1 else content
        return None if after is None else (None, after)
    if "original" in tells:
        before = _encode(tells["original"])
        if content is None:
            content = apply_patch.apply_edits(edits, before, trusted=True)
        # Some clients report an empty file for none.
        return None if content is None else (before or None, content)
    return _fit_edits(edits, current, time, versions) if edits else None


def _fit_edits(
    edits: Sequence[tuple[bytes, bytes, bool]],
    current: bytes | None,
    call_time: int,
    versions: Sequence[Version],
) -> tuple[bytes, bytes] | None:
    """The contents before and after edits of a text: applied to the last known content or to one of
    the three last commits before, else reverted from one of the three next."""
    older = [read for commit_time, read in reversed(versions) if commit_time * 10**9 <= call_time]
    newer = [read for commit_time, read in versions if commit_time * 10**9 > call_time]
    for read in [lambda: current, *older[:3]]:
        before = read()
        after = None if before is None else apply_patch.apply_edits(edits, before)
        if before is not None and after is not None:
            return before, after
    reverse = [(new, old, everywhere) for old, new, everywhere in reversed(edits)]
    for read in newer[:3]:
        after = read()
        before = None if after is None else apply_patch.apply_edits(reverse, after)
        if before is not None and after is not None:
            return before, after
    return None


def _insert(content: bytes, line: int, text: str) -> bytes:
    """The content with a text inserted before a 1-based line."""
    lines = content.split(b"\n")
    return b"\n".join([*lines[: line - 1], *_encode(text).split(b"\n"), *lines[line - 1 :]])


def _encode(text: object) -> bytes:
    return str(text).encode("utf-8", "surrogatepass").replace(b"\r\n", b"\n")
