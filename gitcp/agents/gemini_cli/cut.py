"""Cuts a conversation of Gemini CLI, JSON lines or one document, at a moment, under a new id."""

from __future__ import annotations

import json

from gitcp.agents import is_call, transcripts
from gitcp.agents.transcripts.transcript_facts import extract_prompt
from gitcp.text.json import list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.agents.transcripts import Prompt


def find_last_leaf(data: bytes) -> str:
    """The id of a conversation's last message; '' without one."""
    ids = [part["id"] for part in _load_parts(data) if isinstance(part.get("id"), str)]
    return ids[-1] if ids else ""


def list_prompts(data: bytes) -> list[Prompt]:
    """The person's prompts, in order: (text, time, the leaf before it)."""
    leaf = ""
    prompts = []
    for part in _load_parts(data):
        if part.get("type") == "user":
            text = extract_prompt(part.get("content"))
            if text:
                prompts.append((text, str(part.get("timestamp") or ""), leaf))
        if prompts:  # a conversation needs a prompt
            leaf = str(part.get("id") or leaf)
    return prompts


def find_leaves_around(data: bytes, call: str) -> tuple[str, str]:
    """(the id of the message before the first call of that id, that of the message with the result
    of the last such call); each '' if there is none, both '' for a document."""
    if _load_document(data):
        lines = []
    else:
        lines = _load_lines(data)
    callers = [n for n, line in enumerate(lines) if _has_call(line, call)]
    if not callers:
        return "", ""
    message_id = lines[callers[0]].get("id")
    begin = next(n for n, line in enumerate(lines) if line.get("id") == message_id)
    earlier = [str(line["id"]) for line in lines[:begin] if "id" in line]
    answers = [str(line["id"]) for line in lines[callers[-1] + 1 :] if line.get("type") == "user"]
    return earlier[-1] if earlier else "", answers[0] if answers else ""


def _has_call(line: dict[str, Any], key: str) -> bool:
    calls = list_objects(line.get("toolCalls"))
    return any(is_call(key, str(call.get("id")), call.get("args")) for call in calls)


def cut_conversation(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool, *, exact: bool = False
) -> tuple[bytes, list[str]]:
    """(the conversation up to the message leaf and, unless exact, to the end of its turn; [], as
    nothing is left out).  Returns b'' if no message has that id.
    """
    document = _load_document(data)
    parts = _cut_after(_load_parts(data), leaf, exact)
    if not parts:
        return b"", []
    if document:
        document |= {"sessionId": new_id, "messages": parts}
        return json.dumps(document, indent=2).encode(), []
    lines = (json.dumps(_rename_session(part, new_id)).encode() for part in parts)
    return b"".join(line + b"\n" for line in lines), []


def _load_document(data: bytes) -> dict[str, Any] | None:
    document = None
    if data.lstrip()[:1] == b"{":
        document = transcripts.load_entry(data)
    if document and isinstance(document.get("messages"), list):
        return document
    return None


def _load_parts(data: bytes) -> list[dict[str, Any]]:
    """The messages of a document; else all lines."""
    document = _load_document(data)
    if document:
        return list_objects(document["messages"])
    return _load_lines(data)


def _load_lines(data: bytes) -> list[dict[str, Any]]:
    return [line for line in map(transcripts.load_entry, data.split(b"\n")) if line is not None]


def _cut_after(parts: list[dict[str, Any]], leaf: str, exact: bool) -> list[dict[str, Any]]:
    """The parts up to leaf and, unless exact, up to the next prompt."""
    ids = [part.get("id") for part in parts]
    if not leaf or leaf not in ids:
        return []
    end = ids.index(leaf) + 1
    while not exact and end < len(parts) and not _begins_turn(parts[end]):
        end += 1
    return parts[:end]


def _begins_turn(part: dict[str, Any]) -> bool:
    """Whether a part is a prompt, or the client was resumed or rewound there."""
    if "projectHash" in part or "$rewindTo" in part:
        return True
    if part.get("type") != "user":
        return False
    content = part.get("content")
    return not isinstance(content, list) or any("text" in block for block in list_objects(content))


def _rename_session(part: dict[str, Any], new_id: str) -> dict[str, Any]:
    keys = part.get("$set")
    if isinstance(keys, dict) and "sessionId" in keys:
        return {**part, "$set": {**keys, "sessionId": new_id}}
    if "sessionId" in part:
        return {**part, "sessionId": new_id}
    return part
