"""Lists the items of a transcript of any agent: prompts, answers, tool calls and their results.

The shape of the transcript tells the agent.  Texts are unchanged, without the client's own
additions to a prompt.
"""

from __future__ import annotations

from io import BytesIO
from itertools import islice

from gitcp import agents
from gitcp.agents import transcripts
from gitcp.agents.claude_code.transcript import NOT_CONVERSATION
from gitcp.agents.other import transcript as other_transcript
from gitcp.agents.transcripts import Fields, blocks
from gitcp.text import ids, prompt_text, value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType
    from typing import Any, Literal

    from gitcp.agents import Client
    from gitcp.text.record_types import Item

    Load = Callable[[bytes], dict[str, Any] | None]


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
    transcript = open_transcript(data, load)
    # A caller's selection is right only for lines of the shapes that blocks reads.
    if not selects or _get_facts_module(transcript.reader) is not blocks:
        selects = transcript.make_selection()
    for number, _, entry in transcript.list_entries(selects, start):
        yield from transcript.list_items(number, entry, of_subagent)


@value_class
class Transcript:
    """A transcript whose client is recognised: the reader is that of the client, None for an
    unknown one.  The messages are None if each line is an entry; otherwise the transcript is a
    document, or its lines together make one."""

    reader: ModuleType | None
    messages: list[Fields] | None
    data: bytes
    load: Load

    def list_entries(
        self, selects: Callable[[bytes], bool], start: int = 0
    ) -> Iterator[tuple[int, bytes, Fields]]:
        """(number, b"", entry) of each message, or (number, line, entry) of each line that is
        selected, from start on."""
        for number, message in enumerate(islice(self.messages or (), start, None), start):
            yield number, b"", message
        if self.messages is None:
            for number, line in enumerate(islice(_split_lines(self.data), start, None), start):
                entry = Fields(self.load(line)) if selects(line) else None
                if entry:
                    yield number, line, entry

    def make_selection(self) -> Callable[[bytes], bool]:
        """The function that tells whether a line has a mark of those with items."""
        marks = getattr(_get_facts_module(self.reader), "MARKS", (b"",))  # b"" is in every line
        return lambda line: any(map(line.__contains__, marks))

    def list_items(self, number: int, entry: Fields, of_subagent: bool = False) -> Iterator[Item]:
        """The items of an entry of this number; of_subagent: as for list_items()."""
        left_out = (key for key in NOT_CONVERSATION if not (of_subagent and key == "isSidechain"))
        if not any(map(entry.get, left_out)):
            yield from list_entry_items(self.reader, entry, number)


def _get_facts_module(reader: ModuleType | None) -> ModuleType:
    """The module whose list_facts() is for the entries of a transcript of this reader."""
    if reader and hasattr(reader, "list_facts"):
        return reader
    return blocks


def list_entry_items(reader: ModuleType | None, entry: Fields, number: int = -1) -> Iterator[Item]:
    """The items of an entry of a client's transcript."""
    item: Item = {
        "kind": "call",
        "text": "",
        "time": entry.get_word("timestamp"),
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
        return prompt_text.extract_sent(text)
    return ids.replace_surrogates(text).strip()


def recognise_client(entry: Fields) -> Client | None:
    """The client of a transcript with this entry at its beginning; None if unknown."""
    for client in map(agents.get_client, agents.list_names()):
        reader = client.get_reader()
        if hasattr(reader, "is_first_entry") and reader.is_first_entry(entry):
            return client
    return None


def open_transcript(data: bytes, load: Load = transcripts.load_entry) -> Transcript:
    """Recognise the client of a transcript, and find the messages of a document.  load: parses a
    line, or a document."""
    head = next(filter(bytes.strip, BytesIO(data)), b"")
    first = load(head) if head else None
    is_document = first is None  # over several lines: the first alone is no object
    document = Fields(load(data) if is_document else first)
    if other_transcript.is_first_entry(document):
        return Transcript(other_transcript, None, data, load)
    client = recognise_client(document)
    reader = client.get_reader() if client else None
    if reader is None or not hasattr(reader, "list_messages"):
        if not document or not is_document:
            return Transcript(reader, None, data, load)
        # Only some readers can split it.
        split = getattr(reader, "split_document", None)
        return Transcript(reader, split(document) if split else [], data, load)
    parts = [document]
    if not is_document:
        parts = [Fields(part) for part in map(load, _split_lines(data)) if part is not None]
    return Transcript(reader, reader.list_messages(parts), data, load)


def may_have_image(text: bytes) -> bool:
    """Whether a transcript, or a line, has the media type of an image."""
    return b"image/" in text or b"image\\/" in text


def list_images(entry: Fields) -> list[tuple[str, str]]:
    """(media type, base64) of each image in an entry."""
    return [*dict.fromkeys(_find_images(entry.fields))]


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


def _split_lines(data: bytes) -> Iterator[bytes]:
    return filter(bytes.strip, data.split(b"\n"))
