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
    united = {**mine, **theirs}
    for key in mine.keys() & theirs.keys():
        united[key] = _merge_sessions(mine[key], theirs[key], size, pick)
    root = _join_optional(a["root"], b["root"])
    files = unite_files(a["files"], b["files"], pick)
    sessions = sorted(united.values(), key=_compute_order)
    return {"root": root, "sessions": sessions, "files": files}


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
            content = [session["metadata"], sorted(session["files"].items())]
            keyed["", 0, _format_canonical(content)] = session
            continue
        counts[sid] = counts.get(sid, 0) + 1
        keyed[sid, counts[sid], ""] = session
    return keyed


def _compute_order(session: Session) -> tuple[tuple[int, str], str, str]:
    metadata = session["metadata"] or {}
    content = _format_canonical([metadata, sorted(session["files"].items())])
    time = parse_time(format.get_text(metadata, "created_at"))
    return time, str(metadata.get("session_id")), content


def _merge_sessions(a: Session, b: Session, size: Size, pick: Pick) -> Session:
    forgotten = [s["metadata"] for s in (a, b) if format.is_forgotten(s["metadata"])]
    if forgotten:
        metadata = dict(_join_optional(forgotten[0], forgotten[-1]) or {})
        tasks = [(session["metadata"] or {}).get("tasks") for session in (a, b)]
        united = format.unite_strings(*tasks)
        if united:
            metadata["tasks"] = united
        return {"metadata": metadata, "files": {}}
    mine = _select_files(a["files"], are_transcripts=True)
    theirs = _select_files(b["files"], are_transcripts=True)
    if mine != theirs:
        mine = max(mine, theirs, key=lambda chunks: _rank_transcript(chunks, size))
    my_rest = _select_files(a["files"], are_transcripts=False)
    their_rest = _select_files(b["files"], are_transcripts=False)
    united_files = unite_files(my_rest, their_rest, pick) | mine
    return {"metadata": _join_optional(a["metadata"], b["metadata"]), "files": united_files}


def _select_files(files: Files, *, are_transcripts: bool) -> Files:
    """The chunks of a transcript and their hash, or the other files."""
    chosen: Files = {}
    for name, entry in files.items():
        is_transcript = name == format.HASH or transcripts.parse_number(name) is not None
        if is_transcript == are_transcripts:
            chosen[name] = entry
    return chosen


def _rank_transcript(chunks: Files, size: Size) -> tuple[int, list[tuple[str, Entry]]]:
    return _count_bytes(chunks, size), sorted(chunks.items())


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
    if a is None:
        return b
    if b is None or json.dumps(a) == json.dumps(b):
        return a
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
