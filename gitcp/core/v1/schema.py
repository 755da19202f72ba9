"""Check the JSON of a committed checkpoint
(doc/formats.md "Committed checkpoint", "Accepted variations")."""

from __future__ import annotations

from gitcp.core.git import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Complaints = list[tuple[str, bool]]  # (text, whether it is an accepted variation)

_WORDS: dict[type, str] = {
    str: "a text",
    int: "a number",
    list: "a list",
    dict: "an object",
    bool: "a boolean",
}
ROOT: dict[str, type] = {
    "cli_version": str,
    "checkpoint_id": str,
    "strategy": str,
    "branch": str,
    "checkpoints_count": int,
    "files_touched": list,
    "sessions": list,
    "token_usage": dict,
}
SESSION: dict[str, type] = {
    **dict.fromkeys("cli_version checkpoint_id session_id strategy".split(), str),
    **dict.fromkeys("created_at branch agent turn_id tool_use_id commit".split(), str),
    **dict.fromkeys(("transcript_identifier_at_start", "transcript_path"), str),
    **dict.fromkeys(("checkpoints_count", "checkpoint_transcript_start"), int),
    "transcript_lines_at_start": int,
    **dict.fromkeys(("files_touched", "omitted"), list),
    **dict.fromkeys("token_usage token_usage_delta summary files".split(), dict),
    "initial_attribution": dict,
    "is_task": bool,
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


def _check_types(fields: Mapping[str, Any], table: Mapping[str, type], kind: str) -> Complaints:
    needed, complaints = _NEEDED[kind], list[tuple[str, bool]]()
    # exact types: in JSON a boolean is not a number
    odd = [
        key
        for key, expected in table.items()
        if (type(fields[key]) is not expected if key in fields else key in needed)
    ]
    for key in odd:
        if key == "files_touched" and fields[key] is None:
            complaints.append(("'files_touched' is null", True))
        elif key in fields:
            complaints.append((f"'{key}' is not {_WORDS[table[key]]}", False))
        elif _FORMER.get(key) not in fields:
            complaints.append((f"'{key}' is missing", False))
    touched = fields.get("files_touched")
    if isinstance(touched, list) and not all(isinstance(path, str) for path in touched):
        complaints.append(("'files_touched' is not a list of texts", False))
    return complaints


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
