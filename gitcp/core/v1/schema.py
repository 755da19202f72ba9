"""What the JSON of a committed checkpoint must be (E§2.5), and what it may be as well (E§2.6)."""

from __future__ import annotations

from gitcp.core.git import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Told = list[tuple[str, bool]]  # what is wrong, whether it is a known variation

_TEXT, _COUNT, _LIST, _MAP, _FLAG = "a text", "a number", "a list", "an object", "a boolean"
_TYPES: dict[str, tuple[type, ...]] = {
    _TEXT: (str,),
    _COUNT: (int,),
    _LIST: (list,),
    _MAP: (dict,),
    _FLAG: (bool,),
}
ROOT = {
    "cli_version": _TEXT,
    "checkpoint_id": _TEXT,
    "strategy": _TEXT,
    "branch": _TEXT,
    "checkpoints_count": _COUNT,
    "files_touched": _LIST,
    "sessions": _LIST,
    "token_usage": _MAP,
}
SESSION = {
    **dict.fromkeys("cli_version checkpoint_id session_id strategy".split(), _TEXT),
    **dict.fromkeys("created_at branch agent turn_id tool_use_id commit".split(), _TEXT),
    **dict.fromkeys(("transcript_identifier_at_start", "transcript_path"), _TEXT),
    **dict.fromkeys(("checkpoints_count", "checkpoint_transcript_start"), _COUNT),
    "transcript_lines_at_start": _COUNT,
    **dict.fromkeys(("files_touched", "omitted"), _LIST),
    **dict.fromkeys("token_usage token_usage_delta summary files".split(), _MAP),
    "initial_attribution": _MAP,
    "is_task": _FLAG,
}
_NEEDED = {
    "root": ("checkpoint_id", "strategy", "checkpoints_count", "sessions"),
    "session": ("checkpoint_id", "session_id", "strategy", "created_at", "checkpoints_count"),
}
# Former names: key -> what it is called now.
LEGACY = {
    "agents": "agent",
    "steps_count": "checkpoints_count",
    "transcript_uuid_at_start": "transcript_identifier_at_start",
}
_FORMER = {now: before for before, now in LEGACY.items()}


def root(found: Mapping[str, Any], checkpoint_id: str) -> Told:
    """What is wrong with the summary of a checkpoint."""
    told = _types(found, ROOT, "root") + _same(found, checkpoint_id)
    entries = found.get("sessions")
    for n, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict) or not isinstance(entry.get("metadata"), str):
            told.append((f"'sessions[{n}]' has no path of its metadata", False))
    return told


def session(found: Mapping[str, Any], checkpoint_id: str) -> Told:
    """What is wrong with the metadata of a session."""
    told = _types(found, SESSION, "session") + _same(found, checkpoint_id)
    if found.get("session_id") == "":
        told.append(("'session_id' is empty", False))
    if isinstance(found.get("created_at"), str) and not _is_time(found["created_at"]):
        told.append(("'created_at' is not a time", False))
    turn = found.get("turn_id", "")
    if isinstance(turn, str) and turn and not ids.is_checkpoint_id(turn):
        told.append(("'turn_id' is not 12 hex digits", False))
    told += [(f"'{key}' is now '{now}'", True) for key, now in LEGACY.items() if key in found]
    return told


def _types(found: Mapping[str, Any], table: Mapping[str, str], kind: str) -> Told:
    told: Told = []
    for key, what in table.items():
        value = found.get(key)
        if key not in found:
            if key in _NEEDED[kind] and _FORMER.get(key) not in found:
                told.append((f"'{key}' is missing", False))
        elif key == "files_touched" and value is None:
            told.append(("'files_touched' is null", True))
        elif not _is(value, what):
            told.append((f"'{key}' is not {what}", False))
        elif key == "files_touched" and not all(isinstance(path, str) for path in value or ()):
            told.append(("'files_touched' is not a list of texts", False))
    return told


def _is(value: object, what: str) -> bool:
    if isinstance(value, bool) and what == _COUNT:
        return False
    return isinstance(value, _TYPES[what])


def _same(found: Mapping[str, Any], checkpoint_id: str) -> Told:
    if isinstance(found.get("checkpoint_id"), str) and found["checkpoint_id"] != checkpoint_id:
        return [(f"'checkpoint_id' is '{found['checkpoint_id'][:40]}'", False)]
    return []


def _is_time(value: str) -> bool:
    day, _, clock = value.partition("T")
    parts = day.split("-")
    digits = [p.isdecimal() for p in (*parts, *clock[:8].split(":"))]
    return len(digits) == 6 and all(digits) and (clock.endswith("Z") or clock[-6:-5] in ("+", "-"))
