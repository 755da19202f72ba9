"""A compact transcript (`transcript.jsonl`) as the lines that readers of transcripts know."""

from __future__ import annotations

from gitcp.core import json

NAME = "transcript.jsonl"
_ROLES = ("user", "assistant")


def expand(data: bytes) -> bytes:
    """The lines as Claude Code writes them: what was said, and by whom; what is no such line is
    left out (doc/formats.md "Checkpoints as refs")."""
    return b"".join(map(_line, data.split(b"\n")))


def _line(line: bytes) -> bytes:
    try:
        given = json.loads(line) if line.strip() else None
    except (ValueError, RecursionError):
        return b""
    if not isinstance(given, dict) or given.get("type") not in _ROLES:
        return b""
    role = given["type"]
    message = {"role": role, "content": given.get("content")}
    expanded = {"type": role, "timestamp": given.get("ts"), "message": message}
    return json.dumps(expanded).encode() + b"\n"
