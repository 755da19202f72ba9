"""Reads the transcripts of Gemini CLI: one JSON document, or lines that build it up.

A line has a message, which replaces an earlier one of the same id, or {"$set": {…}} with keys of
the document.  A resumed session sets all its messages again, without tokens, and with calls as
`functionCall` parts of the content instead of `toolCalls`.
"""

from __future__ import annotations

from gitcp.core.message import prompts
from gitcp.core.transcript import facts, tokens, transcript_scan
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.core.record_types import Scan, Usage

SHOWS_FILES = True  # the output of a tool that reads is the file's content
WRITES = ("write_file", "replace", "edit", "edit_file", "save_file")
_list_written_paths = facts.make_path_lister(WRITES, "file_path", "path", "filename")
_CONTEXT = ("<session_context>", "<state_snapshot>")  # texts by the client in the person's place
_HEAD = 300
_LOST = ("tokens", "timestamp")  # keys that a resumed session drops


def is_first_entry(first: dict[str, Any]) -> bool:
    """Whether a transcript that begins with this entry is the client's."""
    head = (facts.list_objects(first.get("messages")) or [{}])[0]
    return "projectHash" in first or first.get("type") == "gemini" or "type" in head


def scan(data: bytes, previous: Scan | None = None) -> Scan:
    """Scan a whole document; `bytes` of the result is 0, previous is not used.  See Scan.

    items counts messages in the order of the first appearance of their ids.
    """
    reader = _Reader()
    starts_with_object = transcript_scan.load(data.partition(b"\n")[0]) is not None
    document = None if starts_with_object else transcript_scan.load(data)
    if document is not None:  # of several lines
        reader.take_document(document)
    else:
        for line in transcript_scan.split(data)[0]:
            if line and not line.isspace():
                reader.read_line(line)
    return reader.finish()


def list_messages(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of Gemini: a later one replaces an earlier one of the same id, and rewound ones
    are removed."""
    merged: dict[str, dict[str, Any]] = {}
    for part in parts:
        if "$rewindTo" in part:
            end = list(merged).index(part["$rewindTo"]) if part["$rewindTo"] in merged else 0
            merged = dict(list(merged.items())[:end])
        document = _unwrap(part)
        for message in facts.list_objects(document.get("messages", [document])):
            if message.get("type"):
                key = str(message.get("id") or len(merged))
                earlier = merged.get(key, {})
                merged[key] = {k: earlier[k] for k in _LOST if k in earlier} | message
    return list(merged.values())


def _unwrap(part: dict[str, Any]) -> dict[str, Any]:
    """The keys that a part sets; the part itself if it is a message or a document."""
    keys = part.get("$set")
    return keys if isinstance(keys, dict) else part


def read_answers(entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """(call, its result) of a message (gitcp.agents.reading.edits)."""
    for call in facts.list_objects(entry.get("toolCalls")):
        if call.get("status") in ("success", "error", "cancelled"):
            answer = {"failed": call["status"] != "success", "at": call.get("timestamp")}
            yield str(call.get("id")), {**answer, **read_display(call.get("resultDisplay"))}


def read_display(display: object) -> dict[str, Any]:
    """The contents of a written file before and after, by the client's display."""
    result = facts.ensure_object(display)
    if not isinstance(result.get("newContent"), str):
        return {}
    changed = facts.ensure_object(result.get("diffStat"))
    by_person = any(changed.get(key) for key in ("user_added_lines", "user_removed_lines"))
    answer: dict[str, Any] = {"content": result["newContent"], "by_person": by_person}
    if result.get("isNewFile") is True or result.get("originalContent") is None:
        answer["created"] = True
    elif isinstance(result["originalContent"], str):
        answer["original"] = result["originalContent"]
    return answer


class _Reader:
    """The state of a scan: the ids of the messages in order, and the tokens of each."""

    def __init__(self) -> None:
        self.scan = transcript_scan.begin()
        self.ids: dict[str, None] = {}
        self.spent: dict[str, Usage] = {}
        self.pending: dict[str, list[str]] = {}  # call id -> paths, of calls known by their parts

    def read_line(self, line: bytes) -> None:
        if b'"functionResponse"' in line[:_HEAD] and b'"id"' in line[:8]:
            self.take_result(line)
        else:
            self.take_document(transcript_scan.load(line))

    def take_result(self, line: bytes) -> None:
        """Note the id of a message that only has a tool's output, which is long."""
        key = stdlib.re.match(rb'\{"id": ?"([^"\\]+)"', line)
        if key and b'"text"' not in line:
            self.add_id(key[1].decode(errors="replace"))
        else:
            self.take_document(transcript_scan.load(line))

    def take_document(self, part: dict[str, Any] | None) -> None:
        if part is None:
            self.scan["skipped"] += 1
            return
        document = _unwrap(part)
        if isinstance(document.get("messages"), list):
            for message in facts.list_objects(document["messages"]):
                self.take_message(message)
        elif "type" in document:
            self.take_message(document)
        elif isinstance(document.get("lastUpdated"), str):
            self.scan["last_timestamp"] = document["lastUpdated"]

    def add_id(self, key: str) -> None:
        self.ids.setdefault(key)
        self.scan["items"] = len(self.ids)
        if not key.startswith("#"):
            self.scan["last_identifier"] = key

    def take_message(self, message: dict[str, Any]) -> None:
        key = message.get("id")
        key = key if isinstance(key, str) and key else f"#{len(self.ids)}"  # a message without id
        new = key not in self.ids
        self.add_id(key)
        if isinstance(message.get("timestamp"), str):
            self.scan["last_timestamp"] = message["timestamp"]
        if message.get("type") == "user" and new:
            self.add_prompt(message.get("content"))
        if isinstance(message.get("tokens"), dict):
            self.add_usage(key, message["tokens"])
        if model := facts.find_model(message):
            self.scan["model"] = model
        self.take_calls(message.get("toolCalls"))
        self.take_parts(message.get("content"))

    def add_prompt(self, content: object) -> None:
        text = prompts.clean(facts.join_texts(content))
        if text and not text.startswith(_CONTEXT):
            self.scan["prompts"].append(text)

    def add_usage(self, key: str, counts: dict[str, Any]) -> None:
        """Replace a message's tokens: input includes the cached part, and thoughts are left out."""
        usage = tokens.read_usage(counts, "input", "", "cached", "output")
        total = tokens.subtract(self.scan["usage"], self.spent.get(key))
        self.scan["usage"], self.spent[key] = tokens.add(total, usage), usage

    def take_calls(self, calls: object) -> None:
        for call in facts.list_objects(calls):
            if call.get("status", "success") == "success":
                self.add_written(_list_paths(call))

    def add_written(self, paths: list[str]) -> None:
        self.scan["written"] = transcript_scan.join_unique(self.scan["written"], paths)

    def take_parts(self, content: object) -> None:
        """Note calls and their errors in the form of a resumed session."""
        for part in facts.list_objects(content):
            call, answer = part.get("functionCall"), part.get("functionResponse")
            if isinstance(call, dict):
                self.pending[str(call.get("id"))] = _list_paths(call)
            elif isinstance(answer, dict) and _has_failed(answer):
                self.pending.pop(str(answer.get("id")), None)

    def finish(self) -> Scan:
        """Count calls without an answer: the client may have been killed after them."""
        for paths in self.pending.values():
            self.add_written(paths)
        return self.scan


def _has_failed(answer: dict[str, Any]) -> bool:
    return bool(facts.ensure_object(answer.get("response")).get("error"))


def _list_paths(call: dict[str, Any]) -> list[str]:
    return _list_written_paths(str(call.get("name")), facts.ensure_object(call.get("args")))
