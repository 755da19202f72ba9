"""The reader of a transcript, whichever client wrote it: told by how it begins.

A reader is the `transcript.py` of a client's folder.  Those that read through facts have
is_its(first) (whether the first entry, or the whole of a document, is of its client),
facts_of(entry) (gitcp.core.transcript.facts), written(name, input), and messages(document) where a
transcript is one document.
"""

from __future__ import annotations

from gitcp import agents
from gitcp.core.transcript import transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    Read = tuple[ModuleType, list[dict[str, Any]]]


def read(data: bytes) -> Read | None:
    """(the reader, the entries) of a transcript; None where none of these reads it.

    An entry is a line that is not empty, {} where it is no JSON, or a message of a document.
    """
    lines = [line for line in data.split(b"\n") if line.strip()]
    whole = transcript_scan.load(lines[0]) if lines else None
    whole = whole or transcript_scan.load(data) or {}
    reader = _reader(whole)
    if reader is None:
        return None
    if hasattr(reader, "messages"):
        return reader, reader.messages(whole)
    return reader, [transcript_scan.load(line) or {} for line in lines]


def _reader(first: dict[str, Any]) -> ModuleType | None:
    for client in map(agents.adapter, agents.list_names()):
        reader: ModuleType = client.reader()
        if hasattr(reader, "is_its") and reader.is_its(first):
            return reader
    return None
