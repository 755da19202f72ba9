"""Paths that appear as others go: the same content, or mostly the same, under another name; and
paths that have taken the content of another one, which has a new content itself."""

from __future__ import annotations

from gitcp.core.decide.line_evidence import remove_space
from gitcp.core.lines.line_diff import count_equal_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Lines = Callable[[str], Sequence[bytes]]  # of an oid

_MOST = 400  # pairs whose lines are compared
_EMPTY = ("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
          "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813")  # fmt: skip


def find_moves(gone: Mapping[str, str], come: Mapping[str, str], lines: Lines) -> dict[str, str]:
    """new path -> the path it came from.  gone, come: path -> oid, before and now.

    Each path that went is taken once: by the same content first, then by the likest of those
    that share more than half of their lines.
    """
    origins: dict[str, str] = {}
    left = {path: oid for path, oid in gone.items() if oid not in _EMPTY}
    for path, oid in come.items():
        same = next((old for old, was in left.items() if was == oid), None)
        if same is not None:
            origins[path] = same
            del left[same]
    rest = [path for path in come if path not in origins]
    if len(rest) * len(left) > _MOST:
        return origins
    scores = [
        (_compute_likeness(lines(left[old]), lines(come[new])), new, old)
        for new in rest
        for old in left
    ]
    for score, new, old in sorted(scores, reverse=True):
        if score > 0.5 and new not in origins and old in left:
            origins[new] = old
            del left[old]
    return origins


def find_origins(changed: Mapping[str, tuple[str, str]], lines: Lines) -> dict[str, str]:
    """new path -> the path it has its content from, of what changed in one look.

    changed: path -> oid before and now, '' for nothing.  Beside what find_moves() finds, two files
    may have changed places, or one has moved and another stands where it was: the same content
    shows that, and goes to one path.
    """
    gone = {path: was for path, (was, now) in changed.items() if not now}
    come = {path: now for path, (was, now) in changed.items() if not was}
    sources = find_moves(gone, come, lines)
    taken = set(sources.values())
    left = {was: path for path, (was, now) in changed.items() if was != now and path not in taken}
    for path, (was, now) in changed.items():
        if path not in sources and now not in ("", was, *_EMPTY) and now in left:
            sources[path] = left.pop(now)
    return sources


def _compute_likeness(a: Sequence[bytes], b: Sequence[bytes]) -> float:
    """The part of the longer text's lines that both have, white space aside."""
    one, two = (count_equal_lines(map(remove_space, text)) for text in (a, b))
    same = sum(min(n, two.get(line, 0)) for line, n in one.items() if line)
    return same / max(len(a), len(b), 1)
