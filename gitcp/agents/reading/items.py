"""Lists the items of a transcript of any agent: prompts, answers, tool calls and their results.

The shape of the transcript tells the agent: Claude Code's blocks, Codex's items, Gemini's messages,
or the facts of a client's reader.  Texts are unchanged, without the client's own additions to a
prompt.
"""

from __future__ import annotations

from gitcp import agents
from gitcp.agents.claude_code.transcript import NOT_SAID
from gitcp.agents.gemini_cli.transcript import merge_messages
from gitcp.agents.other import transcript as own_words
from gitcp.core import json
from gitcp.core.message import prompts
from gitcp.core.transcript import transcript_scan
from gitcp.core.transcript.facts import ensure_object, extract_text, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import ModuleType
    from typing import Any, Literal, TypedDict

    class Item(TypedDict):
        """kind: what it is.  text: what was said, or given back by a call.  time: as written,
        '' where it is not.  id: of a call and its result.  name, given: a call's tool and input.
        failed: of a result, where the client tells.  line: its number among those of the
        transcript that are not empty, of a document among its messages.
        """

        kind: Literal["prompt", "answer", "call", "result"]
        text: str
        time: str
        id: str
        name: str
        given: Any
        failed: bool
        line: int

    Read = tuple[ModuleType, list[dict[str, Any]]]


# Other lines have nothing to list.
_MARKS = (b'"user"', b'"assistant"', b'"response_item"', b'"queued_command"')
_IDS = ("tool_use_id", "call_id", "callId", "tool_call_id", "id")
_INPUTS = ("input", "arguments", "args", "parameters", "action")
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")
_MEDIA = ("media_type", "mimeType", "mime_type")
_OUTPUTS = ("content", "output", "result")
_CALLS = ("tool_use", "function_call", "custom_tool_call", "local_shell_call", "tool_call")
_KINDS = {"prompt": "prompt", "reply": "answer"}
_ROLES = {"user": "prompt", "assistant": "answer", "gemini": "answer"}


def list_items(data: bytes, of_subagent: bool = False, start: int = 0) -> Iterator[Item]:
    """The items of a transcript in their order; lines that are not JSON are skipped.

    start: the first line or message to list.  of_subagent: whether it is a subagent's own
    transcript, all lines of which are marked as beside the main conversation.
    """
    if (parts := read_entries(data)) is not None:
        yield from list_fact_items(*parts, start)
        return
    marks = [key for key in NOT_SAID if not (of_subagent and key == "isSidechain")]
    for line, entry in _list_entries(data, start):
        if not any(entry.get(mark) for mark in marks):
            for item in list_entry_items(entry):
                yield {**item, "line": line}


def list_entry_items(entry: dict[str, Any]) -> Iterator[Item]:
    """The items of an entry of a client whose reader has no facts, without line numbers."""
    stamp = entry.get("timestamp")
    time = stamp if isinstance(stamp, str) else ""
    entry = _unwrap(entry)
    message = entry.get("message")
    if not isinstance(message, dict):
        message = entry
    elif entry.get("type", "user") not in ("user", "assistant"):
        return  # text that the client sent to the model beside the conversation
    kind = _ROLES.get(str(message.get("role") or entry.get("type")), "")
    content = message.get("content")
    blocks = list_objects(content) if isinstance(content, list) else [{"text": content}]
    blocks += list_objects(entry.get("toolCalls"))
    if _is_call(entry) or entry.get("type") in _RESULTS:
        blocks.append(entry)
    for block in blocks:
        yield from _list_block_items(block, kind, time)


def _unwrap(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without its wrapper: that of a prompt typed meanwhile, or of a payload."""
    attachment = ensure_object(entry.get("attachment"))
    if attachment.get("type") == "queued_command":
        return {"type": "user", "content": attachment.get("prompt")}
    payload = entry.get("payload")
    return {"type": entry.get("type"), **payload} if isinstance(payload, dict) else entry


def list_fact_items(
    reader: ModuleType, entries: list[dict[str, Any]], start: int = 0
) -> Iterator[Item]:
    """The items of entries by the facts of a reader, from the number start on."""
    for line, entry in enumerate(entries[start:], start):
        time = str(entry.get("timestamp") or "")
        for kind, *fact in reader.list_facts(entry):
            item = None
            if kind == "time":
                time = fact[0]
            elif kind in _KINDS and (text := _clean_text(_KINDS[kind], fact[0])):
                item = _make_item(_KINDS[kind], text, time)
            elif kind == "call":
                key, name, arguments = fact
                item = _make_item("call", "", time, key, name, arguments)
            elif kind == "result":
                key, failed, text = fact
                item = _make_item("result", text, time, key, failed=failed)
            if item:
                yield {**item, "line": line}


def _list_block_items(block: dict[str, Any], kind: str, time: str) -> Iterator[Item]:
    block = ensure_object(block.get("functionCall")) or block
    key = next((block[key] for key in _IDS if isinstance(block.get(key), str)), "")
    text = block.get("text")
    if block.get("type") in _RESULTS:
        output = extract_text(_get_first(block, _OUTPUTS))
        yield _make_item("result", output, time, key, failed=bool(block.get("is_error")))
    elif _is_call(block):
        arguments = _load_input(_get_first(block, _INPUTS))
        yield _make_item("call", "", time, key, str(block.get("name") or "shell"), arguments)
        result = block.get("result", block.get("resultDisplay"))
        if result is not None:
            yield _make_item("result", extract_text(result), time, key)
    elif kind and isinstance(text, str) and (text := _clean_text(kind, text)):
        yield _make_item(kind, text, time)


def _make_item(
    kind: Any,
    text: str,
    time: str,
    key: str = "",
    name: str = "",
    arguments: Any = None,
    failed: bool = False,
) -> Item:
    return {
        "kind": kind,
        "text": text,
        "time": time,
        "id": key,
        "name": name,
        "given": arguments,
        "failed": failed,
        "line": -1,
    }


def _get_first(block: dict[str, Any], keys: Iterable[str]) -> Any:
    """The value under the first of the keys that has one; None without one."""
    return next((block[key] for key in keys if block.get(key) is not None), None)


def _is_call(block: dict[str, Any]) -> bool:
    is_tool = isinstance(block.get("name"), str) and _get_first(block, _INPUTS) is not None
    return is_tool or block.get("type") in _CALLS


def _clean_text(kind: str, text: str) -> str:
    if kind == "prompt":
        return prompts.extract_typed(text)
    return prompts.replace_surrogates(text).strip()


def _load_input(arguments: Any) -> Any:
    if isinstance(arguments, str):
        return transcript_scan.load(arguments.encode("utf-8", "surrogatepass")) or arguments
    return arguments


def _list_entries(data: bytes, start: int) -> Iterable[tuple[int, dict[str, Any]]]:
    """(number, entry) of each line or message from start on."""
    messages = _list_messages(data)
    if messages is not None:
        return enumerate(messages[start:], start)
    lines = enumerate(_split_lines(data)[start:], start)
    marked = ((n, line) for n, line in lines if any(mark in line for mark in _MARKS))
    return ((n, entry) for n, line in marked if (entry := transcript_scan.load(line)))


def _find_document(data: bytes) -> list[dict[str, Any]] | None:
    """The messages of a transcript that is a document, or lines that update one; else None."""
    if (parts := read_entries(data)) is not None:
        return parts[1] if hasattr(parts[0], "list_messages") else None
    return _list_messages(data)


def _list_messages(data: bytes) -> list[dict[str, Any]] | None:
    """The messages of a document without a client's reader: Gemini's."""
    lines = _split_lines(data)
    first = transcript_scan.load(lines[0]) if lines else None
    if first is None and (document := transcript_scan.load(data)) is not None:
        return merge_messages([document])
    if first is not None and "projectHash" in first:
        return merge_messages(filter(None, map(transcript_scan.load, lines)))
    return None


def cut_parts(data: bytes, starts: Sequence[int]) -> list[bytes]:
    """A transcript cut before the numbers of some items, in parts for its agent's scan: lines that
    continue the part before, or documents of their own."""
    messages, lines = _find_document(data), _split_lines(data)
    ends = [*starts[1:], len(lines if messages is None else messages)]
    pairs = zip(starts, ends, strict=True)
    if messages is None:
        return [b"\n".join(lines[start:end]) + b"\n" for start, end in pairs]
    return [json.dumps({"messages": messages[start:end]}).encode() for start, end in pairs]


def find_pictures(data: bytes) -> Iterator[tuple[int, str, str]]:
    """(line as list_items() counts, media type, base64) of each image in a transcript."""
    if b"image" not in data:
        return
    entries: Iterable[tuple[int, Any]]
    if (messages := _find_document(data)) is not None:
        entries = enumerate(messages)
    else:
        lines = ((n, line) for n, line in enumerate(_split_lines(data)) if b"image" in line)
        entries = ((n, transcript_scan.load(line)) for n, line in lines)
    for number, entry in entries:
        for image in dict.fromkeys(_find_images(entry)):
            yield number, *image


def _find_images(value: Any) -> Iterator[tuple[str, str]]:
    """(media type, base64) of each image in a JSON value."""
    if isinstance(value, list):
        for item in value:
            yield from _find_images(item)
    elif isinstance(value, dict):
        kind = next((value[key] for key in _MEDIA if isinstance(value.get(key), str)), "")
        if kind.startswith("image/") and isinstance(value.get("data"), str):
            yield kind, value["data"]
        else:
            yield from _find_images(list(value.values()))
    elif isinstance(value, str) and value.startswith("data:image/"):
        kind, separator, content = value[5:].partition(";base64,")
        if separator:
            yield kind, content


def _split_lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line.strip()]


def read_entries(data: bytes) -> Read | None:
    """(the reader, the entries) of a transcript; None if no reader matches.

    An entry is a line that is not empty, {} if it is not JSON, or a message of a document.
    """
    lines = _split_lines(data)
    first = transcript_scan.load(lines[0]) if lines else None
    first = first or transcript_scan.load(data) or {}
    reader = _find_reader(first)
    if reader is None:
        return None
    if hasattr(reader, "list_messages"):
        return reader, reader.list_messages(first)
    return reader, [transcript_scan.load(line) or {} for line in lines]


def _find_reader(first: dict[str, Any]) -> ModuleType | None:
    if own_words.is_its(first):
        return own_words
    for client in map(agents.get_client, agents.list_names()):
        reader: ModuleType = client.get_reader()
        if hasattr(reader, "is_its") and reader.is_its(first):
            return reader
    return None
