"""Cuts a conversation of Gemini CLI, JSON lines or one document, at a moment, under a new id."""

from __future__ import annotations

import json

from gitcp.agents import is_call, transcripts
from gitcp.agents.transcripts import Fields
from gitcp.agents.transcripts.cuts import NOT_FOUND, CutTranscript, Leaves, Prompt
from gitcp.agents.transcripts.transcript_facts import extract_prompt


def find_last_leaf(data: bytes) -> str:
    """The id of a conversation's last message; '' without one."""
    ids = [part.get_text("id") for part in _load_parts(data)]
    return next(filter(None, reversed(ids)), "")


def list_prompts(data: bytes) -> list[Prompt]:
    """The person's prompts, in order."""
    leaf = ""
    prompts = []
    for part in _load_parts(data):
        if part.is_kind("user"):
            text = extract_prompt(part.get("content"))
            if text:
                prompts.append(Prompt(text, part.get_word("timestamp"), leaf))
        if prompts:  # a conversation needs a prompt
            leaf = part.get_word("id") or leaf
    return prompts


def find_leaves_around(data: bytes, call: str) -> Leaves:
    """The message before the first call of that id, and the one with the result of the last such
    call; none of a document."""
    lines = [] if _load_document(data) else _load_lines(data)
    callers = [n for n, line in enumerate(lines) if _has_call(line, call)]
    if not callers:
        return Leaves("", "")
    message_id = lines[callers[0]].get("id")
    begin = next(n for n, line in enumerate(lines) if line.get("id") == message_id)
    earlier = [line.get_word("id") for line in lines[:begin] if "id" in line]
    answers = [line.get_word("id") for line in lines[callers[-1] + 1 :] if line.is_kind("user")]
    return Leaves("".join(earlier[-1:]), "".join(answers[:1]))


def _has_call(line: Fields, key: str) -> bool:
    calls = line.get_objects("toolCalls")
    return any(is_call(key, call.get_word("id"), call.get("args")) for call in calls)


def cut_conversation(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool, *, exact: bool = False
) -> CutTranscript:
    """The conversation up to the message leaf and, unless exact, to the end of its turn; nothing is
    left out."""
    document = _load_document(data)
    parts = _cut_after(_load_parts(data), leaf, exact)
    if not parts:
        return NOT_FOUND
    if document:
        messages = [part.fields for part in parts]
        cut = {**document.fields, "sessionId": new_id, "messages": messages}
        return CutTranscript(json.dumps(cut, indent=2).encode(), [])
    lines = (json.dumps(_rename_session(part, new_id).fields).encode() for part in parts)
    return CutTranscript(b"".join(line + b"\n" for line in lines), [])


def _load_document(data: bytes) -> Fields | None:
    if data.lstrip()[:1] == b"{":
        document = transcripts.read_entry(data)
        if isinstance(document.get("messages"), list):
            return document
    return None


def _load_parts(data: bytes) -> list[Fields]:
    """The messages of a document; else all lines."""
    document = _load_document(data)
    if document:
        return document.get_objects("messages")
    return _load_lines(data)


def _load_lines(data: bytes) -> list[Fields]:
    lines = map(transcripts.load_entry, data.split(b"\n"))
    return [Fields(line) for line in lines if line is not None]


def _cut_after(parts: list[Fields], leaf: str, exact: bool) -> list[Fields]:
    """The parts up to leaf and, unless exact, up to the next prompt."""
    ids = [part.get("id") for part in parts]
    if not leaf or leaf not in ids:
        return []
    end = ids.index(leaf) + 1
    while not exact and end < len(parts) and not _begins_turn(parts[end]):
        end += 1
    return parts[:end]


def _begins_turn(part: Fields) -> bool:
    """Whether a part is a prompt, or the client was resumed or rewound there."""
    if "projectHash" in part or "$rewindTo" in part:
        return True
    if not part.is_kind("user"):
        return False
    has_blocks = isinstance(part.get("content"), list)
    return not has_blocks or any("text" in block for block in part.get_objects("content"))


def _rename_session(part: Fields, new_id: str) -> Fields:
    if "sessionId" in part.get_object("$set"):
        return part.change("$set", {**part.get("$set"), "sessionId": new_id})
    if "sessionId" in part:
        return part.change("sessionId", new_id)
    return part
