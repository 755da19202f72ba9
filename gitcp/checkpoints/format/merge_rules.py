"""Merge two directories of the same checkpoint; any order of merges has the same result.

The join of each part is commutative, associative and idempotent: a part of one side stays, and of
two versions the greater one in a fixed order wins.  Sessions are equal if their ids are; they are
numbered by the time of their first write.
"""

from __future__ import annotations

import json
import re

from gitcp.agents import transcripts
from gitcp.checkpoints import format
from gitcp.checkpoints.format.keys import list_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, NotRequired, TypedDict

    Entry = tuple[str, str]  # mode, oid
    Files = dict[str, Entry]  # by name; a directory is one entry
    Size = Callable[[str], int]  # the bytes of a blob, called only if two differ
    Pick = Callable[[Entry, Entry], Entry]  # chooses between two that differ, in either order

    class Session(TypedDict):
        """A session's directory: its parsed metadata, and its other files by name; tree: its oid
        while nothing has changed."""

        metadata: dict[str, Any] | None
        files: Files
        tree: NotRequired[str]

    class Directory(TypedDict):
        """A checkpoint: its parsed summary, its sessions in order, and its other files by name."""

        root: dict[str, Any] | None
        sessions: list[Session]
        files: Files


_UNITED = frozenset(list_keys("union"))
_EARLIEST = frozenset(list_keys("earliest"))
_KINDS = {type(None): 0, bool: 1, int: 2, float: 2, str: 3, list: 4, dict: 5}
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
TRAILER = "Gitcp-Forgets"  # of a commit: the root of a history that it replaces


def merge_directories(a: Directory, b: Directory, size: Size, pick: Pick) -> Directory:
    """The union of a and b; the caller renews the root by summarize()."""
    mine = _index_sessions(a["sessions"])
    theirs = _index_sessions(b["sessions"])
    sessions = [
        _merge_sessions(mine[key], theirs[key], size, pick)
        if key in mine and key in theirs
        else mine.get(key) or theirs[key]
        for key in {**mine, **theirs}
    ]
    root = _join_optional(a["root"], b["root"])
    files = unite_files(a["files"], b["files"], pick)
    return {"root": root, "sessions": sorted(sessions, key=_compute_order), "files": files}


def find_lost_sides(a: Directory, b: Directory) -> set[int]:
    """The sides, 0 for a or 1 for b, that have the content of a session which the other has
    forgotten."""
    recorded = [set[object](), set[object]()]
    gone = [set[object](), set[object]()]
    for side, directory in enumerate((a, b)):
        for session in directory["sessions"]:
            metadata = session["metadata"] or {}
            if format.is_forgotten(metadata):
                chosen = gone
            else:
                chosen = recorded
            chosen[side].add(str(metadata.get("session_id")))
    return {side for side in (0, 1) if recorded[side] & gone[1 - side]}


def _index_sessions(sessions: list[Session]) -> dict[tuple[str, int, str], Session]:
    """Sessions by (id, number of the directory with that id, ""); without an id by content."""
    keyed: dict[tuple[str, int, str], Session] = {}
    counts: dict[str, int] = {}
    for session in sessions:
        sid = (session["metadata"] or {}).get("session_id")
        if not isinstance(sid, str) or not sid:
            keyed[
                "", 0, _format_canonical([session["metadata"], sorted(session["files"].items())])
            ] = session
            continue
        counts[sid] = counts.get(sid, 0) + 1
        keyed[sid, counts[sid], ""] = session
    return keyed


def _compute_order(session: Session) -> tuple[tuple[int, str], str, str]:
    metadata = session["metadata"] or {}
    created = metadata.get("created_at")
    content = _format_canonical([metadata, sorted(session["files"].items())])
    return (
        parse_time(created if isinstance(created, str) else ""),
        str(metadata.get("session_id")),
        content,
    )


def _merge_sessions(a: Session, b: Session, size: Size, pick: Pick) -> Session:
    forgotten = [s["metadata"] for s in (a, b) if format.is_forgotten(s["metadata"])]
    if forgotten:
        metadata = _join_optional(forgotten[0], forgotten[-1])
        united = format.unite_strings(*((s["metadata"] or {}).get("tasks") for s in (a, b)))
        tasks = {"tasks": united} if united else {}
        return {"metadata": {**(metadata or {}), **tasks}, "files": {}}
    metadata = _join_optional(a["metadata"], b["metadata"])
    mine, my_rest = _split_transcript(a["files"])
    theirs, their_rest = _split_transcript(b["files"])
    if mine != theirs:
        mine = max(mine, theirs, key=lambda t: (_count_bytes(t, size), sorted(t.items())))
    return {"metadata": metadata, "files": unite_files(my_rest, their_rest, pick) | mine}


def _split_transcript(files: Files) -> tuple[Files, Files]:
    """(the chunks and their hash, the other files)."""
    names = {n for n in files if transcripts.parse_number(n) is not None or n == format.HASH}
    return {n: files[n] for n in names}, {n: e for n, e in files.items() if n not in names}


def _count_bytes(files: Files, size: Size) -> int:
    return sum(
        size(oid) for name, (_, oid) in files.items() if transcripts.parse_number(name) is not None
    )


def unite_files(a: Files, b: Files, pick: Pick) -> Files:
    """The union of two sides; pick chooses between two versions of a name."""
    united = {**a, **b}
    for name in a.keys() & b.keys():
        if a[name] != b[name]:
            united[name] = pick(a[name], b[name])
    return united


def _join_optional(a: dict[str, Any] | None, b: dict[str, Any] | None) -> dict[str, Any] | None:
    if a is None or b is None or json.dumps(a) == json.dumps(b):
        return b if a is None else a
    return join_objects(a, b)


def join_objects(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """Two JSON objects joined key by key (checkpoint_keys)."""
    joined = {**a, **b}
    for key in a.keys() & b.keys():
        mine = a[key]
        theirs = b[key]
        if json.dumps(mine) == json.dumps(theirs):
            continue
        if key in _EARLIEST and isinstance(mine, str) and isinstance(theirs, str):
            joined[key] = min(mine, theirs, key=lambda t: (parse_time(t), t))
        elif key in _UNITED:
            joined[key] = format.unite_strings(mine, theirs)
        elif isinstance(mine, dict) and isinstance(theirs, dict):
            joined[key] = join_objects(mine, theirs)
        else:
            joined[key] = max(mine, theirs, key=_rank_value)
    return {k: joined[k] for k in sorted(joined)}


def _rank_value(value: Any) -> tuple[int, float, str, str]:
    """The key of a fixed order of all values: by kind, number or length, then text.  NaN, which is
    in no order, has none."""
    kind = _KINDS[type(value)]
    is_number = isinstance(value, (int, float)) and str(value) != "nan"
    if is_number:
        weight = value
    else:
        weight = 0
        if isinstance(value, (str, list, dict)):
            weight = len(value)
    return kind, weight, _format_canonical(value), json.dumps(value)


def _format_canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def parse_time(created: str) -> tuple[int, str]:
    """A sortable key of a time with an offset or Z: seconds in UTC, and the fraction's digits
    (doc/formats.md "Accepted variations")."""
    match = _TIME.fullmatch(created)
    if not match:
        return 0, ""
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    zone = match[8]
    if zone == "Z":
        shift = 0
    else:
        shift = int(zone[:3]) * 60 + int(zone[0] + zone[4:])
    years = year - (month < 3)  # a year begins in March: leap days come last
    days = 365 * years + years // 4 - years // 100 + years // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day
    return ((days * 24 + hour) * 60 + minute - shift) * 60 + second, (match[7] or "").rstrip("0")


def format_message(count: int, roots: Iterable[str]) -> str:
    """The message of the first commit of a store without the forgotten content."""
    lines = [f"Forget {count} part{'s' if count != 1 else ''} of checkpoints", ""]
    return "\n".join([*lines, *(f"{TRAILER}: {root}" for root in sorted(set(roots)))])


def parse_roots(message: str) -> set[str]:
    """The roots of the histories that a commit replaces."""
    start = f"{TRAILER}: "
    return {line[len(start) :] for line in message.split("\n") if line.startswith(start)}
