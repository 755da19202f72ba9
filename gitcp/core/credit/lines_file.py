"""`lines.json` of a session written again: what is known of a content's lines stays known.

Its shape is gitcp-formats(5)'s: {path: [{oid, ranges, others}]}, each range of lines from 1 to its
last, then whose they are.
"""

from __future__ import annotations

from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Entry = Mapping[str, Any]

_KEYS = "ranges", "others"


def joined(old: Mapping[str, Any] | None, new: Mapping[str, Sequence[Entry]]) -> dict[str, Any]:
    """A path's contents side by side; of one that is told again the new lines, and those of the
    old that the new do not tell of: another commit may have added fewer of them."""
    lines = dict(old or {})
    for path, given in new.items():
        stored = lines.get(path)
        known = [e for e in stored if isinstance(e, dict)] if isinstance(stored, list) else []
        before = {entry.get("oid"): entry for entry in known}
        again = {entry["oid"] for entry in given}
        rest = [entry for entry in known if entry.get("oid") not in again]
        lines[path] = [*rest, *(_completed(entry, before.get(entry["oid"], {})) for entry in given)]
    return lines


def _completed(entry: Entry, before: Entry) -> dict[str, Any]:
    newer = sorted((run[0], run[1]) for key in _KEYS for run in entry.get(key, ()))
    whole = {**before, **entry}
    for key in _KEYS:
        kept = [run for old in _runs(before.get(key)) for run in _besides(old, newer)]
        whole[key] = sorted([*entry.get(key, ()), *kept], key=lambda run: int(run[0]))
    return {key: value for key, value in whole.items() if key != "others" or value}


def _runs(stored: Any) -> Iterator[Sequence[Any]]:
    """What has the shape of a range."""
    for run in stored if isinstance(stored, list) else ():
        if isinstance(run, list) and [type(line) for line in run[:2]] == [int, int]:
            yield run


def _besides(run: Sequence[Any], newer: Sequence[tuple[int, int]]) -> Iterator[list[Any]]:
    """The parts of a range that none of these lines (in order) are in."""
    first, last, *whose = run
    for start, end in newer[bisect_left(newer, first, key=lambda lines: lines[1]) :]:
        if start > last:
            break
        if first < start:
            yield [first, start - 1, *whose]
        first = end + 1
    if first <= last:
        yield [first, last, *whose]
