"""Reads the transcripts of Gemini CLI: one JSON document, or lines that build it up.

A line has a message, which replaces an earlier one of the same id, or {"$set": {…}} with keys of
the document.  A resumed session sets all its messages again, without tokens, and with calls as
`functionCall` parts of the content instead of `toolCalls`.
"""

from __future__ import annotations

from gitcp.agents.transcripts import Fields, Result, blocks, transcript_facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.agents.transcripts import Fact

SHOWS_FILES = True  # the output of a tool that reads is the file's content
_LOST = ("tokens", "timestamp")  # keys that a resumed session drops


def is_first_entry(first: Fields) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    is_own = "projectHash" in first or first.is_kind("gemini")
    return is_own or any("type" in message for message in first.get_objects("messages")[:1])


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of a message (gitcp.agents.transcripts).  Input includes the cached part, and
    thoughts are left out."""
    yield from blocks.list_facts(entry)
    if isinstance(entry.get("tokens"), dict):
        counts = entry.get_object("tokens")
        usage = transcript_facts.read_usage(counts, "input", "", "cached", "output")
        yield "usage", entry.get_word("id"), usage


def list_scanned(message: Fields) -> Iterator[Fact]:
    """The facts of a message, and the errors of calls in the form of a resumed session."""
    yield from list_facts(message)
    for part in message.get_objects("content"):
        answer = part.get_object("functionResponse")
        if answer.get_object("response").get("error"):
            yield "result", answer.get_word("id"), True, ""


def list_messages(parts: Iterable[Fields]) -> list[Fields]:
    """The messages of Gemini: a later one replaces an earlier one of the same id.  Of rewound ones
    only the id and the tokens are left."""
    merged: dict[str, Fields] = {}
    for part in parts:
        if "$rewindTo" in part:
            ids = list(merged)
            target = part.get("$rewindTo")
            for key in ids[ids.index(target) if target in ids else 0 :]:
                merged[key] = Fields(_select(merged[key], ("id", "tokens")))
        document = part
        if isinstance(part.get("$set"), dict):  # keys of the document
            document = part.get_object("$set")
        messages = [document]
        if "messages" in document:
            messages = document.get_objects("messages")
        for message in messages:
            if message.get("type"):
                key = message.get_word("id") or f"#{len(merged)}"
                kept = _select(merged.get(key, Fields({})), _LOST)
                merged[key] = Fields(kept | message.fields)
    return list(merged.values())


def _select(message: Fields, keys: Iterable[str]) -> dict[str, object]:
    return {key: message.get(key) for key in keys if key in message}


def list_results(entry: Fields) -> Iterator[Result]:
    """The results of calls in a message (gitcp.agents.reading.edits)."""
    for call in entry.get_objects("toolCalls"):
        if call.get("status") in ("success", "error", "cancelled"):
            yield read_display(call, call.get_word("id"))


def read_display(call: Fields, key: str) -> Result:
    """The result of a call that has ended, with the contents of a written file before and after by
    the client's display.  key: its id."""
    failed = call.get("status") != "success"
    at = call.get("timestamp")
    display = call.get_object("resultDisplay")
    content = display.get("newContent")
    if not isinstance(content, str):
        return Result(key, failed, at=at)
    changed = display.get_object("diffStat")
    by_person = bool(changed.get("user_added_lines") or changed.get("user_removed_lines"))
    original = display.get("originalContent")
    if display.get("isNewFile") is True or original is None:
        return Result(key, failed, by_person, at, created=True, content=content)
    if not isinstance(original, str):
        original = None
    return Result(key, failed, by_person, at, original=original, content=content)
