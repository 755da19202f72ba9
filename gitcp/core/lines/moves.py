"""Find the paths whose content came from another path, which was deleted or has a new content."""

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


def find_moves(
    deleted: Mapping[str, str], created: Mapping[str, str], lines: Lines
) -> dict[str, str]:
    """new path -> the path it was moved from.  deleted, created: path -> oid.

    Each deleted path is used once: for the same content first, then for the most similar one that
    shares more than half of its lines, blank ones aside.
    """
    origins: dict[str, str] = {}
    left = {path: oid for path, oid in deleted.items() if oid not in _EMPTY}
    for path, oid in created.items():
        same = next((old for old, old_oid in left.items() if old_oid == oid), None)
        if same is not None:
            origins[path] = same
            del left[same]
    unpaired = [path for path in created if path not in origins]
    if len(unpaired) * len(left) > _MOST:
        return origins
    scores = [
        (_compute_likeness(lines(left[old]), lines(created[new])), new, old)
        for new in unpaired
        for old in left
    ]
    for score, new, old in sorted(scores, reverse=True):
        if score > 0.5 and new not in origins and old in left:
            origins[new] = old
            del left[old]
    return origins


def find_origins(changed: Mapping[str, tuple[str, str]], lines: Lines) -> dict[str, str]:
    """new path -> the path its content came from, for the changes of one look.

    changed: path -> oid before and after, '' for no file.  Besides the results of find_moves(), a
    path that took the former content of another changed path comes from that one: two files were
    swapped, or one was moved and another one created in its place.
    """
    deleted = {path: old for path, (old, new) in changed.items() if not new}
    created = {path: new for path, (old, new) in changed.items() if not old}
    sources = find_moves(deleted, created, lines)
    taken = set(sources.values())
    left = {old: path for path, (old, new) in changed.items() if old != new and path not in taken}
    for path, (old, new) in changed.items():
        if path not in sources and new not in ("", old, *_EMPTY) and new in left:
            sources[path] = left.pop(new)
    return sources


def _compute_likeness(a: Sequence[bytes], b: Sequence[bytes]) -> float:
    """The share of the longer text's lines that both have, white space and blank lines aside."""
    texts = [[line for line in map(remove_space, text) if line] for text in (a, b)]
    counts_a, counts_b = map(count_equal_lines, texts)
    common = sum(min(n, counts_b.get(line, 0)) for line, n in counts_a.items())
    return common / max(*map(len, texts), 1)
