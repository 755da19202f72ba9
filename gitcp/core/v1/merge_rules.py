"""The union of two directories of one checkpoint.  Pure: any order of merges gives the same.

Each part of a session has a join that is commutative, associative and repeatable: what is on
one side is kept, of two versions the greater in a fixed order wins.  Sessions are the same where
their ids are, and are numbered by when they were first written.
"""

from __future__ import annotations

import json
import re

from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypedDict

    Entry = tuple[str, str]  # mode, oid
    Files = dict[str, Entry]  # by name; a directory is one entry
    Size = Callable[[str], int]  # the bytes of a blob, asked only where two differ
    Pick = Callable[[Entry, Entry], Entry]  # what stands for two that differ, in whatever order

    class Session(TypedDict):
        """A session directory: its metadata taken apart, all else by name."""

        metadata: dict[str, Any] | None
        files: Files

    class Directory(TypedDict):
        """A checkpoint: summary, sessions in their order, all else by name."""

        root: dict[str, Any] | None
        sessions: list[Session]
        files: Files

    from collections.abc import Iterable
_KINDS = {type(None): 0, bool: 1, int: 2, float: 2, str: 3, list: 4, dict: 5}
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
KEY = "forgotten"  # in a session's metadata: when
TRAILER = "Gitcp-Forgets"  # of a commit: the root of a history that is to go
_KEPT = ("cli_version", "checkpoint_id", "session_id", "strategy", "created_at", "branch", "agent")


def merge_directories(a: Directory, b: Directory, size: Size, pick: Pick) -> Directory:
    """Everything that a or b has.  The caller renews the root by summarize()."""
    mine, theirs = _index_sessions(a["sessions"]), _index_sessions(b["sessions"])
    sessions = [
        _merge_sessions(mine[key], theirs[key], size, pick)
        if key in mine and key in theirs
        else mine.get(key) or theirs[key]
        for key in {**mine, **theirs}
    ]
    root = _join_optional(a["root"], b["root"])
    files = unite_files(a["files"], b["files"], pick)
    if sessions and all(is_forgotten(session["metadata"]) for session in sessions):
        root, files = None, {}
    return {"root": root, "sessions": sorted(sessions, key=_compute_order), "files": files}


def _index_sessions(sessions: list[Session]) -> dict[tuple[str, int, str], Session]:
    """Sessions by (id, its how-manieth directory); one without an id by what it holds."""
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
    rest = _format_canonical([metadata, sorted(session["files"].items())])
    return (
        parse_time(created if isinstance(created, str) else ""),
        str(metadata.get("session_id")),
        rest,
    )


def _merge_sessions(a: Session, b: Session, size: Size, pick: Pick) -> Session:
    gone = [one for one in (a, b) if is_forgotten(one["metadata"])]
    if gone:
        metadata = (
            gone[0]["metadata"] if len(gone) == 1 else _join_optional(a["metadata"], b["metadata"])
        )
        return {"metadata": metadata, "files": {}}
    metadata = _join_optional(a["metadata"], b["metadata"])
    mine, my_rest = _split_transcript(a["files"])
    theirs, their_rest = _split_transcript(b["files"])
    if mine != theirs:
        mine = max(mine, theirs, key=lambda t: (_count_bytes(t, size), sorted(t.items())))
    return {"metadata": metadata, "files": unite_files(my_rest, their_rest, pick) | mine}


def _split_transcript(files: Files) -> tuple[Files, Files]:
    """(the chunks and the hash over them, which belong together; all other files)."""
    own = {n for n in files if chunks.parse_number(n) is not None or n == summary.HASH}
    return {n: files[n] for n in own}, {n: e for n, e in files.items() if n not in own}


def _count_bytes(files: Files, size: Size) -> int:
    return sum(
        size(oid) for name, (_, oid) in files.items() if chunks.parse_number(name) is not None
    )


def unite_files(a: Files, b: Files, pick: Pick) -> Files:
    """What both sides have; of two under one name the one that pick makes of them."""
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
    """Two JSON objects key by key; created_at is the earlier, as first written."""
    joined = {**a, **b}
    for key in a.keys() & b.keys():
        mine, theirs = a[key], b[key]
        if json.dumps(mine) == json.dumps(theirs):
            continue
        if key == "created_at" and isinstance(mine, str) and isinstance(theirs, str):
            joined[key] = min(mine, theirs, key=lambda t: (parse_time(t), t))
        elif key == "files_touched":
            joined[key] = sorted({*summary.list_strings(mine), *summary.list_strings(theirs)})
        elif isinstance(mine, dict) and isinstance(theirs, dict):
            joined[key] = join_objects(mine, theirs)
        else:
            joined[key] = max(mine, theirs, key=_rank_value)
    return {k: joined[k] for k in sorted(joined)}


def _rank_value(value: Any) -> tuple[int, float, str, str]:
    """A fixed order of all values: by kind, then by number or length, then by text."""
    kind = _KINDS[type(value)]
    weight = 0 if value is None else value if isinstance(value, (int, float)) else len(value)
    return kind, weight, _format_canonical(value), json.dumps(value)


def _format_canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def parse_time(created: str) -> tuple[int, str]:
    """A time with an offset or Z: seconds in UTC since some day, digits after them
    (doc/formats.md "Accepted variations")."""
    match = _TIME.fullmatch(created)
    if not match:
        return 0, ""
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    zone = match[8]
    shift = 0 if zone == "Z" else int(zone[:3]) * 60 + int(zone[0] + zone[4:])
    years = year - (month < 3)  # a year begins in March: leap days come last
    days = 365 * years + years // 4 - years // 100 + years // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day
    return ((days * 24 + hour) * 60 + minute - shift) * 60 + second, (match[7] or "").rstrip("0")


def build_forgotten(metadata: Mapping[str, Any], at: str) -> dict[str, Any]:
    """The metadata that stays: whose it was, and when it was forgotten.  tasks: the ids of what is
    to go beside it."""
    kept = {key: metadata[key] for key in _KEPT if key in metadata}
    tasks = {"tasks": metadata["tasks"]} if metadata.get("tasks") else {}
    return {**kept, "checkpoints_count": 0, "files_touched": [], **tasks, KEY: at}


def is_forgotten(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a session's metadata say that its content was forgotten."""
    return bool(metadata and metadata.get(KEY))


def format_message(count: int, roots: Iterable[str]) -> str:
    """The message of the commit that a store without the content begins with."""
    lines = [f"Forget {count} part{'s' if count != 1 else ''} of checkpoints", ""]
    return "\n".join([*lines, *(f"{TRAILER}: {root}" for root in sorted(set(roots)))])


def parse_roots(message: str) -> set[str]:
    """The roots of the histories that a commit says are to go."""
    start = f"{TRAILER}: "
    return {line[len(start) :] for line in message.split("\n") if line.startswith(start)}
