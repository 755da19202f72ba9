"""The shape of the JSON of a committed checkpoint
(doc/formats.md "Committed checkpoint", "Accepted variations").

Whoever may push may have written it.  Readers take what select_conforming() leaves of it: a value
is of the kind that is listed here, or missing.  fsck says what does not conform.
"""

from __future__ import annotations

from gitcp.core.git import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Complaints = list[tuple[str, bool]]  # (text, whether it is an accepted variation)
    Shape = Any  # a kind; [the shape of each item]; {key: shape}, "*" for all other keys

# Kinds of values, in the words of a complaint.
TEXT, NAME, COUNT, NUMBER, FLAG = "a text", "a name", "a count", "a number", "a boolean"
SESSION_ID, LIST, OBJECT, RANGE = "a session's id", "a list", "an object", "a range of lines"
ANY, OPTIONAL = "anything", "a name or null"
_LONGEST = 1 << 12  # characters of a name: a path, an id
_GREATEST = 1 << 53  # of the numbers that every program reads exactly
_LINES = 1 << 22  # of one content, so that no range fills the memory
_USAGE: dict[str, Shape] = {
    **dict.fromkeys("input_tokens cache_creation_tokens cache_read_tokens".split(), NUMBER),
    **dict.fromkeys("output_tokens api_call_count".split(), NUMBER),
}
_USAGE["subagent_tokens"] = _USAGE  # select_conforming() does not follow a value deeper than it is
_PARTS = dict.fromkeys("agent others person unknown".split(), NUMBER)
_FILE: dict[str, Shape] = {
    **dict.fromkeys("oid mode turn_id".split(), NAME),
    "prompt": TEXT,
    "turns": [NAME],
    "before": ANY,
}
SESSION: dict[str, Shape] = {
    **dict.fromkeys("cli_version checkpoint_id strategy created_at branch agent".split(), NAME),
    **dict.fromkeys("turn_id tool_use_id commit kind model forgotten".split(), NAME),
    "session_id": SESSION_ID,
    "transcript_identifier_at_start": NAME,
    "transcript_path": NAME,
    "checkpoints_count": COUNT,
    "checkpoint_transcript_start": COUNT,
    "transcript_lines_at_start": COUNT,
    "compact_transcript_start": COUNT,
    "files_touched": [NAME],
    "omitted": LIST,
    "tasks": [NAME],
    "token_usage": _USAGE,
    "token_usage_delta": _USAGE,
    "summary": {
        **dict.fromkeys(("intent", "outcome"), TEXT),
        "friction": [TEXT],
        "open_items": [TEXT],
        "learnings": {
            "repo": [TEXT],
            "workflow": [TEXT],
            "code": [{"path": NAME, "line": COUNT, "finding": TEXT}],
        },
    },
    "files": {"*": _FILE},
    "turns": {"*": {"number": COUNT, "prompt": TEXT, "model": NAME}},
    "tools": {"*": {"model": NAME, "agent": NAME}},
    "initial_attribution": {
        **dict.fromkeys("agent_lines agent_removed human_added human_modified".split(), NUMBER),
        **dict.fromkeys("human_removed total_committed agent_percentage".split(), NUMBER),
        **dict.fromkeys(("lines_added", "lines_removed"), _PARTS),
    },
    "is_task": FLAG,
    "coarse": FLAG,
    "agents": ANY,
    "steps_count": COUNT,
    "transcript_uuid_at_start": NAME,
}
ROOT: dict[str, Shape] = {**SESSION, "sessions": LIST}  # in the legacy layout it is a session's
STATE: dict[str, Shape] = {
    **dict.fromkeys(("agent_type", "turn_id"), NAME),
    "checkpoint_transcript_start": COUNT,
}
_CONTENT = {"oid": NAME, "ranges": [RANGE], "others": [RANGE]}
STEP: dict[str, Shape] = {
    **dict.fromkeys("id kind parent position target".split(), NAME),
    "reason": TEXT,
    "effects": [dict.fromkeys("note checkpoint ref file old new".split(), OPTIONAL)],
    "targets": [NAME],
    "raw": OBJECT,
}
# Of files in a checkpoint, and of the copy of a session's state in a temporary one;
# of the JSON of a step of the undo log.
SHAPES = {
    "root": ROOT,
    "session": SESSION,
    "lines": {"*": [_CONTENT]},
    "state": STATE,
    "step": STEP,
}
_NEEDED = {
    "root": ("checkpoint_id", "strategy", "checkpoints_count", "sessions"),
    "session": ("checkpoint_id", "session_id", "strategy", "created_at", "checkpoints_count"),
}
# former key -> present key
LEGACY = {
    "agents": "agent",
    "steps_count": "checkpoints_count",
    "transcript_uuid_at_start": "transcript_identifier_at_start",
}
_FORMER = {now: before for before, now in LEGACY.items()}


def check_root(summary: Mapping[str, Any], checkpoint_id: str) -> Complaints:
    """The complaints about the summary of a checkpoint."""
    complaints = _check_types(summary, ROOT, "root") + _check_id(summary, checkpoint_id)
    entries = summary.get("sessions")
    for n, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict) or not isinstance(entry.get("metadata"), str):
            complaints.append((f"'sessions[{n}]' has no path of its metadata", False))
    return complaints


def check_session(metadata: Mapping[str, Any], checkpoint_id: str) -> Complaints:
    """The complaints about the metadata of a session."""
    complaints = _check_types(metadata, SESSION, "session") + _check_id(metadata, checkpoint_id)
    if metadata.get("session_id") == "":
        complaints.append(("'session_id' is empty", False))
    if isinstance(metadata.get("created_at"), str) and not _is_time(metadata["created_at"]):
        complaints.append(("'created_at' is not a time", False))
    turn = metadata.get("turn_id", "")
    if isinstance(turn, str) and turn and not ids.is_hex_id(turn):
        complaints.append(("'turn_id' is not 12 hex digits", False))
    complaints += [
        (f"'{key}' is now '{now}'", True) for key, now in LEGACY.items() if key in metadata
    ]
    return complaints


def _check_types(fields: Mapping[str, Any], table: Mapping[str, Shape], kind: str) -> Complaints:
    complaints = [(text, False) for text in select_conforming(dict(fields), table)[1]]
    if fields.get("files_touched", ()) is None:
        complaints.append(("'files_touched' is null", True))
    for key in _NEEDED[kind]:
        if fields.get(key) is None and fields.get(_FORMER.get(key, "")) is None:
            complaints.append((f"'{key}' is missing", False))
    return complaints


def select_conforming(
    value: dict[str, Any], shape: Mapping[str, Shape]
) -> tuple[dict[str, Any], list[str]]:
    """(what conforms to the shape, a complaint about each part that is left out).

    A null is as good as no value, except under a key of ANY.  Unknown keys are kept.
    """
    complaints: list[str] = []
    taken: dict[str, Any] = _take(value, shape, "", complaints)
    return taken, complaints


def _take(value: Any, shape: Shape, place: str, complaints: list[str]) -> Any:
    """What conforms to a shape; None for nothing."""
    kind = shape if isinstance(shape, str) else LIST if isinstance(shape, list) else OBJECT
    if kind == ANY:
        return value
    if not _CHECKS[kind](value):
        complaints.append(f"'{place}' is not {kind}")
        return None
    if isinstance(shape, list):
        return _take_items(value, shape[0], place, complaints)
    return _take_keys(value, shape, place, complaints) if shape is not kind else value


def _take_items(value: list[Any], shape: Shape, place: str, complaints: list[str]) -> list[Any]:
    left, items = _LINES, []
    for number, item in enumerate(value):
        taken = _take(item, shape, f"{place}[{number}]", complaints)
        if shape == RANGE and taken:
            left -= taken[1] - taken[0]
            if left < 0:
                complaints.append(f"'{place}' has more lines than a file")
                break
        if taken is not None:
            items.append(taken)
    return items


def _take_keys(
    value: dict[str, Any], shape: Mapping[str, Shape], place: str, complaints: list[str]
) -> dict[str, Any]:
    every, taken = shape.get("*"), {}
    for key, inner in value.items():
        expected = shape.get(key, every)
        if expected is None or (inner is None and expected in (ANY, OPTIONAL)):
            taken[key] = inner
        elif inner is not None:
            where = f"{place}/{key[:60]}" if place else key[:60]
            if every and not _is_name(key):
                complaints.append(f"'{where}' is not {NAME}")
            elif (kept := _take(inner, expected, where, complaints)) is not None:
                taken[key] = kept
    return taken


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST and "\0" not in value


def _is_session_id(value: Any) -> bool:
    # Slashes and ".." would lead a path elsewhere.
    return _is_name(value) and (value == "" or value.isprintable()) and not _has_parts(value)


def _has_parts(value: str) -> bool:
    return "/" in value or "\\" in value or ".." in value or value.startswith("-")


def _is_number(value: Any) -> bool:
    # exact types: in JSON a boolean is not a number; NaN is not less than anything
    return type(value) in (int, float) and -_GREATEST < value < _GREATEST


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _GREATEST


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > 2
        and type(value[0]) is type(value[1]) is int
        and 0 < value[0] <= value[1] < _GREATEST
        and all(part is None or _is_name(part) for part in value[2:])
        and value[2] is not None
    )


_CHECKS = {
    TEXT: lambda value: isinstance(value, str),
    NAME: _is_name,
    SESSION_ID: _is_session_id,
    OPTIONAL: _is_name,
    COUNT: _is_count,
    NUMBER: _is_number,
    FLAG: lambda value: isinstance(value, bool),
    LIST: lambda value: isinstance(value, list),
    OBJECT: lambda value: isinstance(value, dict),
    RANGE: _is_range,
}


def _check_id(metadata: Mapping[str, Any], checkpoint_id: str) -> Complaints:
    if (
        isinstance(metadata.get("checkpoint_id"), str)
        and metadata["checkpoint_id"] != checkpoint_id
    ):
        return [(f"'checkpoint_id' is '{metadata['checkpoint_id'][:40]}'", False)]
    return []


def _is_time(value: str) -> bool:
    day, _, clock = value.partition("T")
    parts = day.split("-")
    digits = [p.isdecimal() for p in (*parts, *clock[:8].split(":"))]
    return len(digits) == 6 and all(digits) and (clock.endswith("Z") or clock[-6:-5] in ("+", "-"))
