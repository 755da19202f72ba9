"""The facts of transcripts that are messages of blocks (Claude Code), items (Codex) or parts
(Gemini CLI), and of those of unknown tools, which are like one of them."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import Fields
from gitcp.agents.transcripts.transcript_facts import extract_text, join_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def list_facts(entry: Fields) -> Iterator[Fact]:
    """The facts of an entry (gitcp.agents.transcripts); the input of a call may be a text."""
    entry = _unwrap(entry)
    message = entry
    if isinstance(entry.get("message"), dict):
        message = entry.get_object("message")
        if "type" in entry and entry.get("type") not in ("user", "assistant"):
            return  # text that the client sent to the model beside the conversation
    kind = _ROLES.get(message.get_word("role") or entry.get_word("type"), "")
    if isinstance(message.get("content"), list):
        blocks = message.get_objects("content")
    else:
        blocks = [Fields({"text": message.get("content")})]
    calls = entry.get_objects("toolCalls")
    # A resumed session has these calls again, as parts of the content.
    answered = {call.get_text("id") for call in calls} - {""}
    blocks = [
        b for b in blocks if b.get_object("functionCall").get_text("id") not in answered
    ] + calls
    if _is_call(entry) or entry.is_kind(*_RESULTS):
        blocks.append(entry)
    blocks = [block.get_object("functionCall") or block for block in blocks]
    yield from join_prompt(fact for block in blocks for fact in _list_block_facts(block, kind))


def is_told(line: bytes, calls: Iterable[bytes], names: Iterable[bytes]) -> bool:
    """Whether a line may hold a prompt, the result of one of calls (their ids), or a call whose
    input has one of names."""
    if any(map(line.__contains__, _ANSWERS)):  # a block of a prompt would have a key "text"
        return b'"text":' in line or any(map(line.__contains__, calls))
    return any(map(line.__contains__, (b'"user"', b'"queued_command"', *names)))


def _unwrap(entry: Fields) -> Fields:
    """An entry without its wrapper: that of a prompt typed while the agent works, or of a
    payload."""
    attachment = entry.get_object("attachment")
    if attachment.is_kind("queued_command"):
        return Fields({"type": "user", "content": attachment.get("prompt")})
    payload = entry.get("payload")
    if isinstance(payload, dict):
        return Fields({"type": entry.get("type"), **payload})
    return entry


def _list_block_facts(block: Fields, kind: str) -> Iterator[Fact]:
    """The facts of a block.  kind: what a text in it is, 'prompt' or 'reply'; '' for neither."""
    call_id = block.find_text(_IDS)
    if block.is_kind(*_RESULTS):
        output = extract_text(block.find(_OUTPUTS))
        yield "result", call_id, bool(block.get("is_error")), output
    elif _is_call(block):
        arguments = block.find(_INPUTS)
        if isinstance(arguments, str):
            arguments = transcripts.load_entry(arguments) or arguments
        yield "call", call_id, block.get_word("name") or "shell", arguments
        result = block.find(("result", "resultDisplay"))
        status = block.get("status")
        if result is not None or status in _ENDED:
            yield "result", call_id, status in _ENDED[1:], extract_text(result)
    elif kind and isinstance(block.get("text"), str):
        yield kind, block.get("text")


def _is_call(block: Fields) -> bool:
    is_tool = isinstance(block.get("name"), str) and block.find(_INPUTS) is not None
    return is_tool or block.is_kind(*_CALLS)
