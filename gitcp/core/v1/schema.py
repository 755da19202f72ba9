"""What the JSON of a committed checkpoint must be (E§2.5), and what it may be as well (E§2.6)."""

from __future__ import annotations

from gitcp.core.git import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Complaints = list[tuple[str, bool]]  # what is wrong, whether it is a known variation

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


def root(summary: Mapping[str, Any], checkpoint_id: str) -> Complaints:
    """What is wrong with the summary of a checkpoint."""
    complaints = _types(summary, ROOT, "root") + _same(summary, checkpoint_id)
    entries = summary.get("sessions")
    for n, entry in enumerate(entries if isinstance(entries, list) else ()):
        if not isinstance(entry, dict) or not isinstance(entry.get("metadata"), str):
            complaints.append((f"'sessions[{n}]' has no path of its metadata", False))
    return complaints


def session(metadata: Mapping[str, Any], checkpoint_id: str) -> Complaints:
    """What is wrong with the metadata of a session."""
    complaints = _types(metadata, SESSION, "session") + _same(metadata, checkpoint_id)
    if metadata.get("session_id") == "":
        complaints.append(("'session_id' is empty", False))
    if isinstance(metadata.get("created_at"), str) and not _is_time(metadata["created_at"]):
        complaints.append(("'created_at' is not a time", False))
    turn = metadata.get("turn_id", "")
    if isinstance(turn, str) and turn and not ids.is_checkpoint_id(turn):
        complaints.append(("'turn_id' is not 12 hex digits", False))
    complaints += [
        (f"'{key}' is now '{now}'", True) for key, now in LEGACY.items() if key in metadata
    ]
    return complaints


def _types(fields: Mapping[str, Any], table: Mapping[str, str], kind: str) -> Complaints:
    complaints: Complaints = []
    for key in [key for key in table if key in fields or key in _NEEDED[kind]]:
        what, value = table[key], fields.get(key)
        if key not in fields:
            if key in _NEEDED[kind] and _FORMER.get(key) not in fields:
                complaints.append((f"'{key}' is missing", False))
        elif key == "files_touched" and value is None:
            complaints.append(("'files_touched' is null", True))
        elif not _is(value, what):
            complaints.append((f"'{key}' is not {what}", False))
        elif key == "files_touched" and not all(isinstance(path, str) for path in value or ()):
            complaints.append(("'files_touched' is not a list of texts", False))
    return complaints


def _is(value: object, what: str) -> bool:
    if isinstance(value, bool) and what == _COUNT:
        return False
    return isinstance(value, _TYPES[what])


def _same(metadata: Mapping[str, Any], checkpoint_id: str) -> Complaints:
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
