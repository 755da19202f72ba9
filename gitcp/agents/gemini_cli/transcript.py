"""Reads the transcripts of Gemini CLI: one JSON document, or lines that build it up.

A line has a message, which replaces an earlier one of the same id, or {"$set": {…}} with keys of
the document.  A resumed session sets all its messages again, without tokens, and with calls as
`functionCall` parts of the content instead of `toolCalls`.
"""

from __future__ import annotations

from gitcp.agents.transcripts import blocks, transcript_facts
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact

SHOWS_FILES = True  # the output of a tool that reads is the file's content
_LOST = ("tokens", "timestamp")  # keys that a resumed session drops


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    head = (json.list_objects(first.get("messages")) or [{}])[0]
    return "projectHash" in first or first.get("type") == "gemini" or "type" in head


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a message (gitcp.agents.transcripts).  Input includes the cached part, and
    thoughts are left out."""
    yield from blocks.list_facts(entry)
    if isinstance(counts := entry.get("tokens"), dict):
        usage = transcript_facts.read_usage(counts, "input", "", "cached", "output")
        yield "usage", str(entry.get("id")), usage


def list_scanned(message: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a message, and the errors of calls in the form of a resumed session."""
    yield from list_facts(message)
    for part in json.list_objects(message.get("content")):
        answer = json.ensure_object(part.get("functionResponse"))
        if json.ensure_object(answer.get("response")).get("error"):
            yield "result", str(answer.get("id")), True, ""


def list_messages(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of Gemini: a later one replaces an earlier one of the same id.  Of rewound ones
    only the id and the tokens are left."""
    merged: dict[str, dict[str, Any]] = {}
    for part in parts:
        if "$rewindTo" in part:
            ids = list(merged)
            for key in ids[ids.index(part["$rewindTo"]) if part["$rewindTo"] in ids else 0 :]:
                merged[key] = {k: merged[key][k] for k in ("id", "tokens") if k in merged[key]}
        document = _unwrap(part)
        for message in json.list_objects(document.get("messages", [document])):
            if message.get("type"):
                key = str(message.get("id") or f"#{len(merged)}")
                earlier = merged.get(key, {})
                merged[key] = {k: earlier[k] for k in _LOST if k in earlier} | message
    return list(merged.values())


def _unwrap(part: dict[str, Any]) -> dict[str, Any]:
    """The keys that a part sets; the part itself if it is a message or a document."""
    keys = part.get("$set")
    return keys if isinstance(keys, dict) else part


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of a message (gitcp.agents.reading.edits)."""
    for call in json.list_objects(entry.get("toolCalls")):
        if call.get("status") in ("success", "error", "cancelled"):
            answer = {"failed": call["status"] != "success", "at": call.get("timestamp")}
            yield str(call.get("id")), {**answer, **read_display(call.get("resultDisplay"))}


def read_display(display: object) -> dict[str, Any]:
    """The contents of a written file before and after, by the client's display."""
    result = json.ensure_object(display)
    if not isinstance(result.get("newContent"), str):
        return {}
    changed = json.ensure_object(result.get("diffStat"))
    by_person = any(changed.get(key) for key in ("user_added_lines", "user_removed_lines"))
    answer: dict[str, Any] = {"content": result["newContent"], "by_person": by_person}
    if result.get("isNewFile") is True or result.get("originalContent") is None:
        answer["created"] = True
    elif isinstance(result["originalContent"], str):
        answer["original"] = result["originalContent"]
    return answer
