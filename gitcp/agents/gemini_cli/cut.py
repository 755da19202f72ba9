"""Cuts a conversation of Gemini CLI, JSON lines or one document, at a moment, under a new id."""

from __future__ import annotations

import json

from gitcp.agents.gemini_cli import name_call
from gitcp.core.transcript import transcript_scan
from gitcp.core.transcript.facts import extract_prompt, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.agents.reading.asked import Prompt


def find_last_leaf(data: bytes) -> str:
    """The id of a conversation's last message; '' without one."""
    document = _load_document(data)
    parts: Iterable[dict[str, Any]] = document["messages"] if document else _load_lines(data)
    ids = [m["id"] for m in parts if isinstance(m, dict) and isinstance(m.get("id"), str)]
    return ids[-1] if ids else ""


def list_prompts(data: bytes) -> list[Prompt]:
    """The person's prompts, in order: (text, time, the leaf before it)."""
    document = _load_document(data)
    before, asked = "", []
    for part in document["messages"] if document else _load_lines(data):
        if part.get("type") == "user" and (text := extract_prompt(part.get("content"))):
            asked.append((text, str(part.get("timestamp") or ""), before))
        if asked:  # a conversation needs a prompt
            before = str(part.get("id") or before)
    return asked


def find_leaves_around(data: bytes, call: str) -> tuple[str, str]:
    """(the message before the first call with that id, the message with the result of the last); ''
    without one, and in a document."""
    lines = [] if _load_document(data) else _load_lines(data)
    own = [n for n, line in enumerate(lines) if call in _name_calls(line)]
    if not own:
        return "", ""
    begun = next(n for n, line in enumerate(lines) if line.get("id") == lines[own[0]].get("id"))
    earlier = [str(line["id"]) for line in lines[:begun] if "id" in line]
    answers = [str(line["id"]) for line in lines[own[-1] + 1 :] if line.get("type") == "user"]
    return earlier[-1] if earlier else "", answers[0] if answers else ""


def _name_calls(line: dict[str, Any]) -> list[str]:
    """The ids of the calls of a message, as in the payloads of hooks."""
    return [
        name_call(call.get("name"), call.get("args"))
        for call in list_objects(line.get("toolCalls"))
    ]


def cut_conversation(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool, exact: bool = False
) -> tuple[bytes, list[str]]:
    """(the conversation up to the message leaf and, unless exact, to the end of its turn; [], as
    nothing is left out).  Returns b'' if no message has that id.
    """
    document = _load_document(data)
    if document is not None:
        kept = _cut_after(document["messages"], leaf, exact)
        cut_short = {**document, "sessionId": new_id, "messages": kept}
        return (json.dumps(cut_short, indent=2).encode() if kept else b""), []
    lines = _cut_after(_load_lines(data), leaf, exact)
    return b"".join(json.dumps(_rename_session(one, new_id)).encode() + b"\n" for one in lines), []


def format_title(text: str, session_id: str) -> bytes:
    """Return b'': the client has no titles."""
    return b""


def _load_document(data: bytes) -> dict[str, Any] | None:
    whole = transcript_scan.load(data) if data.lstrip()[:1] == b"{" else None
    return whole if whole and isinstance(whole.get("messages"), list) else None


def _load_lines(data: bytes) -> list[dict[str, Any]]:
    loaded = (transcript_scan.load(line) for line in data.split(b"\n") if line.strip())
    return [line for line in loaded if line is not None]


def _cut_after(parts: list[dict[str, Any]], leaf: str, exact: bool) -> list[dict[str, Any]]:
    """The parts up to leaf and, unless exact, up to the next prompt."""
    ids = [part.get("id") for part in parts]
    if not leaf or leaf not in ids:
        return []
    end = ids.index(leaf) + 1
    while not exact and end < len(parts) and not _starts(parts[end]):
        end += 1
    return parts[:end]


def _starts(part: dict[str, Any]) -> bool:
    """Whether a prompt is here, or the client was resumed or rewound."""
    if "projectHash" in part or "$rewindTo" in part:
        return True
    if part.get("type") != "user":
        return False
    content = part.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    return any(isinstance(b, dict) and "text" in b for b in blocks)


def _rename_session(part: dict[str, Any], new_id: str) -> dict[str, Any]:
    inner = part.get("$set")
    if isinstance(inner, dict) and "sessionId" in inner:
        return {**part, "$set": {**inner, "sessionId": new_id}}
    return {**part, "sessionId": new_id} if "sessionId" in part else part
