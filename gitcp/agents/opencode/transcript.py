"""Reads the transcripts of opencode, as gitcp copies them from the client's database.

The first line is {"info"} of the session, each other line a message {"info", "parts"}.  Joined to
{"info", "messages"} they are the input of `opencode import`.
"""

from __future__ import annotations

from gitcp.agents.opencode import extract_prompt
from gitcp.agents.transcripts import Fields, Result, transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.agents.transcripts import Fact


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    return isinstance(first.get("info"), dict)


def split_document(document: Fields) -> list[Fields]:
    """The messages of what `opencode export` prints, as other programs store it."""
    return document.get_objects("messages")


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a line (gitcp.agents.transcripts)."""
    info = entry.get_object("info")
    parts = entry.get_objects("parts")
    if "role" in info:
        yield "at", info.get_word("id")
    created = info.get_object("time").get("created")
    if isinstance(created, int):
        yield ("time" if "role" in info else "began"), str(created)
    if info.get("role") == "user":
        typed = (part.get_text("text") for part in parts if part.get("synthetic") is not True)
        yield "prompt", extract_prompt(typed) or _name_command(parts)
    elif info.get("role") == "assistant":
        for part in parts:
            yield from _list_part_facts(part)
        spent = info.get_object("tokens")
        counts = Fields(spent.fields | spent.get_object("cache").fields)
        usage = transcript_facts.read_usage(counts, "input", "write", "read", "output")
        yield "usage", info.get_word("id"), usage


def _name_command(parts: list[Fields]) -> str:
    """The command by which a person started a subagent, as he typed it: `/review`; '' for none.

    The client itself writes the message after the subagent's answer.
    """
    for part in parts:
        if part.is_kind("subtask") and isinstance(part.get("command"), str):
            return f"/{part.get('command')}"
    return ""


def _list_part_facts(part: Fields) -> Iterator[Fact]:
    if part.is_kind("text") and part.get("text"):
        yield "reply", part.get_word("text")
    elif part.is_kind("tool"):
        key = part.get_word("callID")
        state = part.get_object("state")
        yield "call", key, part.get_word("tool"), state.get_object("input").fields
        if state.get("status") in ("completed", "error"):
            text = transcript_facts.extract_text(state.get("output") or state.get("error"))
            yield "result", key, state.get("status") == "error", text
        child = state.get_object("metadata").get("sessionId")
        if part.get("tool") == "task" and isinstance(child, str):
            yield "agent", child


def list_results(entry: Fields) -> Iterator[Result]:
    """The results of calls in a message (gitcp.agents.reading.edits)."""
    for part in entry.get_objects("parts"):
        state = part.get_object("state")
        if part.is_kind("tool") and state.get("status") in ("completed", "error"):
            failed = state.get("status") == "error"
            at = state.get_object("time").get("end")
            created = state.get_object("metadata").get("exists") is False
            yield Result(part.get_word("callID"), failed, at=at, created=created)
