"""Reads the transcripts of opencode, as gitcp copies them from the client's database.

The first line is {"info"} of the session, each other line a message {"info", "parts"}.  Joined to
{"info", "messages"} they are the input of `opencode import`.
"""

from __future__ import annotations

from gitcp.agents.opencode import extract_prompt
from gitcp.agents.transcripts import transcript_facts
from gitcp.text.json import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return isinstance(first.get("info"), dict)


def split_document(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of what `opencode export` prints, as other programs store it."""
    return list_objects(document.get("messages"))


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    info = ensure_object(entry.get("info"))
    parts = list_objects(entry.get("parts"))
    if "role" in info:
        yield "at", str(info.get("id") or "")
    if isinstance(created := ensure_object(info.get("time")).get("created"), int):
        yield ("time" if "role" in info else "began"), str(created)
    if info.get("role") == "user":
        typed = [part for part in parts if part.get("synthetic") is not True]
        texts = (part["text"] for part in typed if isinstance(part.get("text"), str))
        yield "prompt", extract_prompt(texts) or _name_command(parts)
    elif info.get("role") == "assistant":
        for part in parts:
            yield from _list_part_facts(part)
        spent = ensure_object(info.get("tokens"))
        counts = {**spent, **ensure_object(spent.get("cache"))}
        usage = transcript_facts.read_usage(counts, "input", "write", "read", "output")
        yield "usage", str(info.get("id")), usage


def _name_command(parts: list[dict[str, Any]]) -> str:
    """The command by which a person started a subagent, as he typed it: `/review`; '' for none.

    The client itself writes the message after the subagent's answer.
    """
    for part in parts:
        if part.get("type") == "subtask" and isinstance(part.get("command"), str):
            return f"/{part['command']}"
    return ""


def _list_part_facts(part: dict[str, Any]) -> Iterator[Fact]:
    if part.get("type") == "text" and part.get("text"):
        yield "reply", str(part["text"])
    elif part.get("type") == "tool":
        key = str(part.get("callID"))
        state = ensure_object(part.get("state"))
        yield "call", key, str(part.get("tool")), ensure_object(state.get("input"))
        if state.get("status") in ("completed", "error"):
            text = transcript_facts.extract_text(state.get("output") or state.get("error"))
            yield "result", key, state["status"] == "error", text
        child = ensure_object(state.get("metadata")).get("sessionId")
        if part.get("tool") == "task" and isinstance(child, str):
            yield "agent", child


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of a message (gitcp.agents.reading.edits)."""
    for part in list_objects(entry.get("parts")):
        state = ensure_object(part.get("state"))
        if part.get("type") == "tool" and state.get("status") in ("completed", "error"):
            answer = {
                "failed": state["status"] == "error",
                "at": ensure_object(state.get("time")).get("end"),
            }
            if ensure_object(state.get("metadata")).get("exists") is False:
                answer["created"] = True
            yield str(part.get("callID")), answer
