"""Lists the items of a transcript of any agent: prompts, answers, tool calls and their results.

The shape of the transcript tells the agent.  Texts are unchanged, without the client's own
additions to a prompt.
"""

from __future__ import annotations

from functools import partial
from io import BytesIO

from gitcp import agents
from gitcp.agents.claude_code.transcript import NOT_CONVERSATION
from gitcp.agents.other import transcript
from gitcp.core import blocks, formats, json, prompt_text, transcripts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import ModuleType
    from typing import Any, Literal, TypedDict

    from gitcp.agents import Client

    Load = Callable[[bytes], dict[str, Any] | None]

    class Item(TypedDict):
        """text: what was said, or the output in a result.  time: as in the transcript, '' if it
        has none.  id: the call's, also in its result.  name, input: the tool's, in a call.
        failed: whether the call failed, in a result.  line: the number of the line, from 0,
        empty ones not counted; in a document, of the message.
        """

        kind: Literal["prompt", "answer", "call", "result"]
        text: str
        time: str
        id: str
        name: str
        input: Any
        failed: bool
        line: int


_MEDIA = ("media_type", "mimeType", "mime_type")
_SPEECH: dict[str, Literal["prompt", "answer"]] = {"prompt": "prompt", "reply": "answer"}


def list_items(
    data: bytes,
    of_subagent: bool = False,
    start: int = 0,
    load: Load = transcripts.load_entry,
    selects: Callable[[bytes], bool] | None = None,
) -> Iterator[Item]:
    """The items of a transcript in their order; lines that are not JSON are skipped.

    start: the first line or message to list.  of_subagent: whether it is a subagent's own
    transcript, where every line has the key isSidechain.  load: parses a line, or a document.
    selects: whether a line has to be listed; other lines may be listed or not.
    """
    reader, messages = _open_transcript(data, load)
    marks = getattr(_get_facts_module(reader), "MARKS", (b"",))  # b"" is in every line
    if not selects or _get_facts_module(reader) is not blocks:
        selects = partial(_has_mark, marks)
    left_out = [key for key in NOT_CONVERSATION if not (of_subagent and key == "isSidechain")]
    for number, entry in _list_entries(data, messages, start, selects, load):
        if not any(entry.get(key) for key in left_out):
            yield from list_entry_items(reader, entry, number)


def _has_mark(marks: Iterable[bytes], line: bytes) -> bool:
    return any(map(line.__contains__, marks))


def _get_facts_module(reader: ModuleType | None) -> ModuleType:
    """The module whose list_facts() is for the entries of a transcript of this reader."""
    return reader if reader and hasattr(reader, "list_facts") else blocks


def list_entry_items(
    reader: ModuleType | None, entry: dict[str, Any], number: int = -1
) -> Iterator[Item]:
    """The items of an entry of a client's transcript."""
    item: Item = {
        "kind": "call",
        "text": "",
        "time": str(entry.get("timestamp") or ""),
        "id": "",
        "name": "",
        "input": None,
        "failed": False,
        "line": number,
    }
    for kind, *fact in _get_facts_module(reader).list_facts(entry):
        if kind == "time":
            item["time"] = fact[0]
        elif kind == "call":
            yield {**item, "id": fact[0], "name": fact[1], "input": fact[2]}
        elif kind == "result":
            yield {**item, "kind": "result", "id": fact[0], "failed": fact[1], "text": fact[2]}
        elif kind in _SPEECH and (text := _clean_text(kind, fact[0])):
            yield {**item, "kind": _SPEECH[kind], "text": text}


def _clean_text(kind: str, text: str) -> str:
    if kind == "prompt":
        return prompt_text.extract_typed(text)
    return formats.replace_surrogates(text).strip()


def recognise_client(entry: dict[str, Any]) -> Client | None:
    """The client of a transcript with this entry at its beginning; None if unknown."""
    for client in map(agents.get_client, agents.list_names()):
        reader = client.get_reader()
        if hasattr(reader, "is_first_entry") and reader.is_first_entry(entry):
            return client
    return None


def _open_transcript(
    data: bytes, load: Load = transcripts.load_entry
) -> tuple[ModuleType | None, list[dict[str, Any]] | None]:
    """(the reader of a transcript, its messages).

    The reader is None if the client is unknown.  The messages are None if each line is an entry;
    otherwise the transcript is a document, or its lines together make one.
    """
    head = next(filter(bytes.strip, BytesIO(data)), b"")
    first = load(head) if head else None
    document = first or (load(data) if first is None else None) or {}
    if transcript.is_first_entry(document):
        return transcript, None
    client = recognise_client(document)
    reader = client.get_reader() if client else None
    if reader is None or not hasattr(reader, "list_messages"):
        if not document or first is not None:
            return reader, None
        # A document over several lines: only some readers can split it.
        split = getattr(reader, "split_document", None)
        return reader, split(document) if split else []
    parts = [] if first is None and document else map(load, _split_lines(data))
    return reader, reader.list_messages([part for part in parts if part is not None] or [document])


def _list_entries(
    data: bytes,
    messages: list[dict[str, Any]] | None,
    start: int,
    selects: Callable[[bytes], bool],
    load: Load = transcripts.load_entry,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(number, entry) of each message, or of each line that is selected, from start on."""
    if messages is not None:
        yield from enumerate(messages[start:], start)
        return
    for number, line in enumerate(_split_lines(data)[start:], start):
        if selects(line) and (entry := load(line)):
            yield number, entry


def cut_parts(data: bytes, starts: Sequence[int]) -> list[bytes]:
    """Cut a transcript before the lines, or messages, of these numbers, for its agent's scan.

    Parts of lines have to be scanned one after the other; each part of a document is a document.
    """
    messages, lines = _open_transcript(data)[1], _split_lines(data)
    ends = [*starts[1:], len(lines if messages is None else messages)]
    pairs = zip(starts, ends, strict=True)
    if messages is None:
        return [b"\n".join(lines[start:end]) + b"\n" for start, end in pairs]
    return [json.dumps({"messages": messages[start:end]}).encode() for start, end in pairs]


def find_pictures(data: bytes) -> Iterator[tuple[int, str, str]]:
    """(line as list_items() counts, media type, base64) of each image in a transcript."""
    if b"image" not in data:
        return
    for number, entry in _list_entries(data, _open_transcript(data)[1], 0, _has_image):
        for image in dict.fromkeys(_find_images(entry)):
            yield number, *image


def _has_image(line: bytes) -> bool:
    return b"image" in line


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
