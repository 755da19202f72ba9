"""What was said in a transcript, for eyes: whichever agent wrote it, told by its shape.

Stored data names agents wrongly or not at all, so the name is not asked.
"""

from __future__ import annotations

from gitcp.core.message import prompts
from gitcp.core.transcript import apply_patch, clients, transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.core.transcript.facts import Facts

    Entry = tuple[str, str]  # "User", "Assistant" or "Tool", and the text

NOT_SAID = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSidechain")
_MARKS = (b'"user"', b'"assistant"', b'"response_item"', b'"queued_command"')
# What clients say in the person's place, so that the model knows where it is.
CONTEXT = (
    "<environment_context>",
    "<user_instructions>",
    "<session_context>",
    "<state_snapshot>",
    "<subagent_notification>",
    "<turn_aborted>",
    "[Request interrupted",
)
# The first of these that a call's input has tells best what it did.
_TELLING = """file_path filePath notebook_path path absolute_path command commands cmd pattern
query url description prompt message subject name""".split()
_LOST = ("tokens", "timestamp")  # what a resumed session of Gemini no longer says of a message
_ROLES = {"user": "User", "assistant": "Assistant", "gemini": "Assistant"}


def entries(data: bytes, start: int = 0) -> Iterator[Entry]:
    """(role, text) of what was said from item `start` on, in order (Scan's items).

    A call of a tool is `Name: detail` on one line.  Lines that are not JSON are passed over.
    """
    lines = [line for line in data.split(b"\n") if line.strip()]
    first = transcript_scan.load(lines[0]) if lines else None
    if (read := clients.read(data)) is not None:
        reader, given = read
        yield from _entries_of(reader.of, given[start:])
    elif first is None and (whole := transcript_scan.load(data)) is not None:
        yield from _document([whole], start)
    elif first is not None and "projectHash" in first:
        yield from _document(filter(None, map(transcript_scan.load, lines)), start)
    else:
        for line in lines[start:]:
            if any(mark in line for mark in _MARKS):
                yield from _line(transcript_scan.load(line) or {})


def _entries_of(of: Facts, given: Iterable[dict[str, Any]]) -> Iterator[Entry]:
    for kind, *fact in (fact for entry in given for fact in of(entry)):
        if kind == "prompt" and (text := _text("user", fact[0])):
            yield "User", text
        elif kind == "reply" and (text := _text("assistant", fact[0])):
            yield "Assistant", text
        elif kind == "call":
            yield _call({"name": fact[1]}, fact[2])


def _line(entry: dict[str, Any]) -> Iterator[Entry]:
    payload, message = entry.get("payload"), entry.get("message")
    if isinstance(payload, dict):
        if entry.get("type") == "response_item":
            yield from _codex(payload)
    elif entry.get("type") == "attachment":
        attachment = entry.get("attachment")
        if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
            yield from _texts("user", attachment.get("prompt"))
    elif isinstance(message, dict) and not any(entry.get(key) for key in NOT_SAID):
        yield from _texts(str(entry.get("type")), message.get("content"))


def _codex(payload: dict[str, Any]) -> Iterator[Entry]:
    kind = payload.get("type")
    if kind == "message":
        yield from _texts(str(payload.get("role")), payload.get("content"))
    elif kind == "function_call":
        given = payload.get("arguments")
        loaded = transcript_scan.load(given.encode()) if isinstance(given, str) else None
        yield _call(payload, loaded or given)
    elif kind == "custom_tool_call":
        yield _call(payload, payload.get("input"))
    elif kind == "local_shell_call":
        yield _call({"name": "shell"}, payload.get("action"))


def _document(parts: Iterable[dict[str, Any]], start: int) -> Iterator[Entry]:
    for message in messages(parts)[start:]:
        yield from _texts(str(message["type"]), message.get("content"))
        calls = message.get("toolCalls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                yield _call(call, call.get("args"))


def messages(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gemini's messages: a later one of the same id stands in the place of the earlier, and
    what was rewound is no longer there."""
    kept: dict[str, dict[str, Any]] = {}
    for part in parts:
        if "$rewindTo" in part:
            end = list(kept).index(part["$rewindTo"]) if part["$rewindTo"] in kept else 0
            kept = dict(list(kept.items())[:end])
        given = part.get("$set")
        given = given if isinstance(given, dict) else part
        listed = given.get("messages", [given])
        for message in listed if isinstance(listed, list) else ():
            if isinstance(message, dict) and message.get("type"):
                key = str(message.get("id") or len(kept))
                kept[key] = {
                    **{k: v for k, v in kept.get(key, {}).items() if k in _LOST},
                    **message,
                }
    return list(kept.values())


def _texts(kind: str, content: object) -> Iterator[Entry]:
    role = _ROLES.get(kind)
    blocks = content if isinstance(content, list) else [{"text": content}]
    for block in blocks if role else ():
        if not isinstance(block, dict):
            continue
        called = block.get("functionCall")
        if block.get("type") == "tool_use":
            yield _call(block, block.get("input"))
        elif isinstance(called, dict):
            yield _call(called, called.get("args"))
        else:
            words = block.get("text")
            if isinstance(words, str) and (text := _text(kind, words)):
                yield role or "", text


def _text(kind: str, text: str) -> str:
    if kind != "user":
        return prompts.utf8(text).strip()
    text = prompts.clean(text)
    typed = not prompts.is_notification(text) and not text.startswith(CONTEXT)
    return text if typed else ""


def _call(call: dict[str, Any], given: object) -> Entry:
    name = str(call.get("name") or "?")
    detail = ""
    if isinstance(given, str):
        paths = apply_patch.paths(given)
        detail = " ".join(paths) if paths else given
    elif isinstance(given, dict):
        values = (given.get(key) for key in _TELLING)
        value = next((v for v in values if v), "")
        detail = " ".join(map(str, value)) if isinstance(value, list) else str(value)
    detail = prompts.utf8(" ".join(detail.split()))
    return "Tool", f"{name}: {detail}" if detail else name
