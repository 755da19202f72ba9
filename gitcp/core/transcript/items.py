"""A transcript as a list of what happened: prompts, answers, tool calls and what they gave.

Whichever agent wrote it, told by its shape: Claude Code's and Qwen's blocks, Codex's items,
Gemini's messages, events of Copilot.  Texts are as they stand, the client's own additions to a
prompt taken out.
"""

from __future__ import annotations

from gitcp.core.message import prompts
from gitcp.core.transcript import transcript_scan
from gitcp.core.transcript.conversation import CONTEXT, NOT_SAID, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal, TypedDict

    class Item(TypedDict):
        """kind: what it is.  text: what was said, or given back by a call.  time: as written,
        '' where it is not.  id: of a call and its result.  name, given: a call's tool and input.
        line: its number among those of the transcript that are not empty, -1 in a document.
        """

        kind: Literal["prompt", "answer", "call", "result"]
        text: str
        time: str
        id: str
        name: str
        given: Any
        line: int


_IDS = ("tool_use_id", "call_id", "callId", "toolCallId", "tool_call_id", "id")
_INPUTS = ("input", "arguments", "args", "parameters", "action")
_RESULTS = (
    "tool_result",
    "function_call_output",
    "custom_tool_call_output",
    "tool.execution_complete",
)
_GIVEN = ("content", "output", "result")
_CALLS = ("tool_use", "function_call", "custom_tool_call", "local_shell_call", "tool_call")
_ROLES = {
    "user": "prompt",
    "user.message": "prompt",
    "assistant": "answer",
    "assistant.message": "answer",
    "gemini": "answer",
    "model": "answer",
}


def items(data: bytes, of_subagent: bool = False) -> Iterator[Item]:
    """The items of a transcript in their order; what is no JSON is passed over.

    of_subagent: it is a subagent's own, whose every line stands beside the main conversation.
    """
    passed_over = [key for key in NOT_SAID if not (of_subagent and key == "isSidechain")]
    for line, entry in _entries(data):
        if any(entry.get(key) for key in passed_over):
            continue
        time = entry.get("timestamp")
        time = time if isinstance(time, str) else ""
        queued = entry.get("attachment")
        if isinstance(queued, dict) and queued.get("type") == "queued_command":
            entry = {"type": "user", "content": queued.get("prompt")}  # noqa: PLW2901  typed meanwhile
        payload = entry.get("payload") or entry.get("data")
        if isinstance(payload, dict):
            entry = {"type": entry.get("type"), **payload}  # noqa: PLW2901
        message = entry.get("message")
        message = message if isinstance(message, dict) else entry
        role = str(message.get("role") or entry.get("type") or "")
        content = message.get("content", message.get("parts"))
        blocks = content if isinstance(content, list) else [{"text": content}]
        calls = entry.get("toolCalls", entry.get("toolRequests"))
        more = calls if isinstance(calls, list) else []
        whole = [entry] if _called(entry) or entry.get("type") in _RESULTS else []
        for block in [*blocks, *more, *whole]:
            if isinstance(block, dict):
                for item in _block(block, _ROLES.get(role, ""), time):
                    yield {**item, "line": line}


def _block(block: dict[str, Any], kind: str, time: str) -> Iterator[Item]:
    inner = block.get("functionCall")
    block = inner if isinstance(inner, dict) else block
    name = next((block[k] for k in _IDS if isinstance(block.get(k), str)), "")
    if block.get("type") in _RESULTS:
        given = next((block[key] for key in _GIVEN if block.get(key) is not None), "")
        yield _item("result", _plain(given), time, name)
    elif _called(block):
        given = next((block[key] for key in _INPUTS if block.get(key) is not None), None)
        yield {
            **_item("call", "", time, name),
            "name": str(block.get("name") or "shell"),
            "given": _given(given),
        }
        result = block.get("result", block.get("resultDisplay"))
        if result is not None:
            yield _item("result", _plain(result), time, name)
    else:
        text = block.get("text")
        words = _words(kind, text) if isinstance(text, str) else ""
        if kind and words:
            yield _item(kind, words, time)


def _item(kind: Any, text: str, time: str, name: str = "") -> Item:
    item: Item = {
        "kind": kind,
        "text": text,
        "time": time,
        "id": name,
        "name": "",
        "given": None,
        "line": -1,
    }
    return item


def _called(block: dict[str, Any]) -> bool:
    given = any(block.get(key) is not None for key in _INPUTS)
    return block.get("type") in _CALLS or (isinstance(block.get("name"), str) and given)


def _words(kind: str, text: str) -> str:
    if kind != "prompt":
        return prompts.utf8(text).strip()
    text = prompts.clean(text)
    typed = not prompts.is_notification(text) and not text.startswith(CONTEXT)
    return text if typed else ""


def _given(given: Any) -> Any:
    if isinstance(given, str):
        return transcript_scan.load(given.encode("utf-8", "surrogatepass")) or given
    return given


def _plain(content: Any) -> str:
    """What a call gave back, as text: of blocks, those that have one."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(_plain, content)))
    if isinstance(content, dict):
        for key in ("text", "output", "content", "functionResponse", "response", "result"):
            if content.get(key):
                return _plain(content[key])
    return ""


def _entries(data: bytes) -> Iterable[tuple[int, dict[str, Any]]]:
    """(number of its line, entry) of each entry; of a document and of Gemini's updates, -1."""
    lines = lines_of(data)
    first = transcript_scan.load(lines[0]) if lines else None
    if first is None and (whole := transcript_scan.load(data)) is not None:
        return ((-1, message) for message in messages([whole]))
    entries = [(n, entry) for n, entry in enumerate(map(transcript_scan.load, lines)) if entry]
    if first is not None and "projectHash" in first:
        return ((-1, message) for message in messages(entry for _, entry in entries))
    return entries


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a transcript that are not empty, as items() counts them."""
    return [line for line in data.split(b"\n") if line.strip()]
