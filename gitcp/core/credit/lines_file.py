"""`lines.json` of a session written again: what is known of a content's lines stays known.

Its shape is gitcp-formats(5)'s: {path: [{oid, ranges, others}]}, each range of lines from 1 to its
last, then whose they are.
"""

from __future__ import annotations

from bisect import bisect_left, insort

from gitcp.core.credit.entries import PERSON, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    Entry = Mapping[str, Any]

_KEYS = "ranges", "others"


def joined(old: Mapping[str, Any] | None, new: Mapping[str, Sequence[Entry]]) -> dict[str, Any]:
    """A path's contents side by side; of one that is told again what both tell: another commit
    may have added fewer of its lines, or not know of whom they came."""
    lines = dict(old or {})
    for path, given in new.items():
        stored = lines.get(path)
        known = [e for e in stored if isinstance(e, dict)] if isinstance(stored, list) else []
        before = {entry.get("oid"): entry for entry in known}
        again = {entry["oid"] for entry in given}
        rest = [entry for entry in known if entry.get("oid") not in again]
        lines[path] = [*rest, *(_both(entry, before.get(entry["oid"], {})) for entry in given)]
    return lines


def _both(entry: Entry, before: Entry) -> dict[str, Any]:
    """A line is a session's before it is the person's or unknown, then whose the newer says."""
    every = [(k, run) for tells in (entry, before) for k in _KEYS for run in _runs(tells.get(k))]
    runs: dict[str, list[Any]] = {key: [] for key in _KEYS}
    taken: list[tuple[int, int]] = []
    for key, run in sorted(every, key=_nobodys):
        for part in [*_besides(run, taken)]:
            runs[key].append(part)
            insort(taken, (part[0], part[1]))
    whole = {**before, **entry, **{key: sorted(runs[key], key=_first) for key in _KEYS}}
    return {key: value for key, value in whole.items() if key != "others" or value}


def _nobodys(item: tuple[str, Sequence[Any]]) -> bool:
    key, run = item
    return key == "ranges" and run[2] in (PERSON[1], UNKNOWN[1])


def _first(run: Sequence[Any]) -> int:
    return int(run[0])


def _runs(stored: Any) -> Iterator[Sequence[Any]]:
    """What has the shape of a range."""
    for run in stored if isinstance(stored, list) else ():
        if isinstance(run, list) and len(run) > 2 and type(run[0]) is type(run[1]) is int:
            yield run


def _besides(run: Sequence[Any], taken: Sequence[tuple[int, int]]) -> Iterator[list[Any]]:
    """The parts of a range that none of these lines, in order, are in."""
    first, last, *whose = run
    for start, end in taken[bisect_left(taken, first, key=lambda lines: lines[1]) :]:
        if start > last:
            break
        if first < start:
            yield [first, start - 1, *whose]
        first = end + 1
    if first <= last:
        yield [first, last, *whose]
