"""The facts of transcripts that are messages of blocks (Claude Code), items (Codex) or parts
(Gemini CLI), and of those of unknown tools, which are like one of them."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts.transcript_facts import extract_text, join_prompt
from gitcp.text.json import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.agents.transcripts import Fact

# A line without any of these has no facts.
MARKS = (b'"user"', b'"assistant"', b'"response_item"', b'"queued_command"')
_ROLES = {"user": "prompt", "assistant": "reply", "gemini": "reply"}
_CALLS = ("tool_use", "function_call", "custom_tool_call", "local_shell_call", "tool_call")
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")
# Keys of a call or a result; the first that is there counts.
_IDS = ("tool_use_id", "call_id", "callId", "tool_call_id", "id")
_INPUTS = ("input", "arguments", "args", "parameters", "action")
_OUTPUTS = ("content", "output", "result")
_ANSWERS = b'"content":[{"tool_use_id":', b'"content":[{"type":"tool_result",'
_ENDED = ("success", "error", "cancelled")  # what Gemini CLI says of a call that is over


def list_facts(entry: dict[str, Any]) -> Iterator[Fact]:
    """The facts of an entry (gitcp.agents.transcripts); the input of a call may be a text."""
    entry = _unwrap(entry)
    message = entry.get("message")
    if not isinstance(message, dict):
        message = entry
    elif entry.get("type", "user") not in ("user", "assistant"):
        return  # text that the client sent to the model beside the conversation
    kind = _ROLES.get(str(message.get("role") or entry.get("type")), "")
    content = message.get("content")
    if isinstance(content, list):
        blocks = list_objects(content)
    else:
        blocks = [{"text": content}]
    calls = list_objects(entry.get("toolCalls"))
    answered = {call["id"] for call in calls if isinstance(call.get("id"), str)}
    blocks = [block for block in blocks if str(_get_call_id(block)) not in answered] + calls
    if _is_call(entry) or entry.get("type") in _RESULTS:
        blocks.append(entry)
    blocks = [ensure_object(block.get("functionCall")) or block for block in blocks]
    yield from join_prompt(fact for block in blocks for fact in _list_block_facts(block, kind))


def is_told(line: bytes, calls: Iterable[bytes], names: Iterable[bytes]) -> bool:
    """Whether a line may hold a prompt, the result of one of calls (their ids), or a call whose
    input has one of names."""
    if any(map(line.__contains__, _ANSWERS)):  # a block of a prompt would have a key "text"
        return b'"text":' in line or any(map(line.__contains__, calls))
    return any(map(line.__contains__, (b'"user"', b'"queued_command"', *names)))


def _get_call_id(part: dict[str, Any]) -> Any:
    """The id of the call that a part of a resumed session repeats; None for another part."""
    return ensure_object(part.get("functionCall")).get("id")


def _unwrap(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without its wrapper: that of a prompt typed while the agent works, or of a
    payload."""
    attachment = ensure_object(entry.get("attachment"))
    if attachment.get("type") == "queued_command":
        return {"type": "user", "content": attachment.get("prompt")}
    payload = entry.get("payload")
    if isinstance(payload, dict):
        return {"type": entry.get("type"), **payload}
    return entry


def _list_block_facts(block: dict[str, Any], kind: str) -> Iterator[Fact]:
    """The facts of a block.  kind: what a text in it is, 'prompt' or 'reply'; '' for neither."""
    call_id = next((block[key] for key in _IDS if isinstance(block.get(key), str)), "")
    if block.get("type") in _RESULTS:
        output = extract_text(_get_first(block, _OUTPUTS))
        yield "result", call_id, bool(block.get("is_error")), output
    elif _is_call(block):
        arguments = _get_first(block, _INPUTS)
        if isinstance(arguments, str):
            arguments = transcripts.load_entry(arguments) or arguments
        yield "call", call_id, str(block.get("name") or "shell"), arguments
        result = block.get("result", block.get("resultDisplay"))
        status = block.get("status")
        if result is not None or status in _ENDED:
            yield "result", call_id, status in _ENDED[1:], extract_text(result)
    elif kind and isinstance(block.get("text"), str):
        yield kind, block["text"]


def _is_call(block: dict[str, Any]) -> bool:
    is_tool = isinstance(block.get("name"), str) and _get_first(block, _INPUTS) is not None
    return is_tool or block.get("type") in _CALLS


def _get_first(block: dict[str, Any], keys: Iterable[str]) -> Any:
    """The value under the first of the keys that has one; None without one."""
    return next((block[key] for key in keys if block.get(key) is not None), None)
