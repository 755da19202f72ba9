"""One tool call of a transcript, with what the agent said around it: whichever agent wrote it.

A call is known by its id: Claude Code's and Qwen's `tool_use`, Codex's `call_id`, Gemini's
`toolCalls[].id` and Copilot's `toolCallId`.
"""

from __future__ import annotations

from gitcp.core.transcript import transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypedDict

    class Around(TypedDict):
        """before, after: the agent's words next to the call, '' for none.  name, given: the
        tool and its input, as the transcript has it."""

        before: str
        name: str
        given: dict[str, Any] | str
        after: str

    # ("said", text), ("asked", "") or ("call", id, name, input)
    Item = tuple[str, str] | tuple[str, str, str, Any]

_IDS = ("id", "call_id", "callId", "toolCallId", "tool_call_id")
_INPUTS = ("input", "arguments", "args", "parameters")
_CALLS = ("tool_use", "function_call", "custom_tool_call", "local_shell_call", "tool_call")


def find(data: bytes, tool_use_id: str) -> Around | None:
    """The call of that id, or None where the transcript does not have it."""
    if not tool_use_id or tool_use_id.encode() not in data:
        return None
    before, call, after = "", None, ""
    for kind, value, *rest in _items(data):
        if kind == "call" and value == tool_use_id and call is None:
            call = rest
        elif kind == "said" and call is None:
            before = value
        elif kind == "said" and not after:
            after = value
        elif kind == "asked":
            if call is not None:
                break
            before = ""
    if call is None:
        return None
    name, given = call
    return {"before": before, "name": name, "given": _given(given), "after": after}


def _given(given: Any) -> dict[str, Any] | str:
    if isinstance(given, str):
        return transcript_scan.load(given.encode()) or given
    return given if isinstance(given, dict) else ""


def _items(data: bytes) -> Iterator[Item]:
    for entry in _entries(data):
        payload = entry.get("payload")
        entry = payload if isinstance(payload, dict) else entry  # noqa: PLW2901
        message = entry.get("message")
        message = message if isinstance(message, dict) else entry
        role = str(message.get("role") or entry.get("type"))
        content = message.get("content", message.get("parts"))
        blocks = content if isinstance(content, list) else [{"text": content}]
        calls = entry.get("toolCalls")
        blocks = [*blocks, *(calls if isinstance(calls, list) else ())]
        for block in [*blocks, entry]:
            yield from _block(block, role) if isinstance(block, dict) else ()


def _block(block: dict[str, Any], role: str) -> Iterator[Item]:
    call = block.get("functionCall")
    block = call if isinstance(call, dict) else block
    name = block.get("name")
    given = next((block[key] for key in _INPUTS if block.get(key) is not None), None)
    called = block.get("type") in _CALLS or (isinstance(name, str) and given is not None)
    text = block.get("text")
    if called:
        for key in _IDS:
            if isinstance(block.get(key), str):
                yield "call", block[key], str(name or "?"), given
    elif isinstance(text, str) and text.strip():
        yield ("asked", "") if role == "user" else ("said", text.strip())


def _entries(data: bytes) -> Iterable[dict[str, Any]]:
    lines = [line for line in data.split(b"\n") if line.strip()]
    first = transcript_scan.load(lines[0]) if lines else None
    if first is None and (whole := transcript_scan.load(data)) is not None:
        messages = whole.get("messages")
        return [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    return filter(None, map(transcript_scan.load, lines))
