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

    from gitcp.core.record_types import Scan

SHOWS_FILES = True  # the output of a tool that reads is the file's content
WRITES = ("write_file", "replace", "edit", "edit_file", "save_file")
_CONTEXT = ("<session_context>", "<state_snapshot>")  # texts by the client in the person's place
_HEAD = 300
_LOST = ("tokens", "timestamp")  # keys that a resumed session drops


def scan(data: bytes, previous: Scan | None = None) -> Scan:
    """Scan a whole document; `bytes` of the result is 0, previous is not used.  See Scan.

    items counts messages in the order of the first appearance of their ids.
    """
    reader = _Reader()
    lines, _ = transcript_scan.split(data)
    whole = (
        transcript_scan.load(data)
        if transcript_scan.load(data.partition(b"\n")[0]) is None
        else None
    )
    if whole is not None:  # a document of several lines
        reader.take_document(whole)
    else:
        for line in lines:
            if line and not line.isspace():
                reader.read_line(line)
    return reader.finish()


def find_written_path(name: str, arguments: dict[str, Any]) -> str | None:
    """The path that a call of a tool writes, as its input names it."""
    if name not in WRITES:
        return None
    paths = (arguments.get(key) for key in ("file_path", "path", "filename"))
    return next((path for path in paths if isinstance(path, str)), None)


def merge_messages(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of Gemini: a later one replaces an earlier one of the same id, and rewound ones
    are removed."""
    kept: dict[str, dict[str, Any]] = {}
    for part in parts:
        if "$rewindTo" in part:
            end = list(kept).index(part["$rewindTo"]) if part["$rewindTo"] in kept else 0
            kept = dict(list(kept.items())[:end])
        document = part.get("$set")
        document = document if isinstance(document, dict) else part
        listed = document.get("messages", [document])
        for message in listed if isinstance(listed, list) else ():
            if isinstance(message, dict) and message.get("type"):
                key = str(message.get("id") or len(kept))
                kept[key] = {
                    **{k: v for k, v in kept.get(key, {}).items() if k in _LOST},
                    **message,
                }
    return list(kept.values())


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
    """The state of a scan: the position of each message, and its last token counts."""

    def __init__(self) -> None:
        self.scan = transcript_scan.begin()
        self.places: dict[str, None] = {}
        self.spent: dict[str, dict[str, Any]] = {}
        self.asked: dict[str, str] = {}  # call id -> path, of calls known only by their parts

    def read_line(self, line: bytes) -> None:
        if b'"functionResponse"' in line[:_HEAD] and b'"id"' in line[:8]:
            self.take_result(line)
        else:
            self.take_document(transcript_scan.load(line))

    def take_result(self, line: bytes) -> None:
        """Note the id of a message that only has a tool's output, which is long."""
        key = stdlib.re.match(rb'\{"id": ?"([^"\\]+)"', line)
        if key and b'"text"' not in line:
            self.add_place(key[1].decode(errors="replace"))
        else:
            self.take_document(transcript_scan.load(line))

    def take_document(self, earlier: dict[str, Any] | None) -> None:
        if earlier is None:
            self.scan["skipped"] += 1
            return
        part = earlier.get("$set")
        part = part if isinstance(part, dict) else earlier
        messages = part.get("messages")
        if isinstance(messages, list):
            for message in messages:
                self.take_message(message)
        elif "type" in part:
            self.take_message(part)
        elif isinstance(part.get("lastUpdated"), str):
            self.scan["last_timestamp"] = part["lastUpdated"]

    def add_place(self, key: str) -> None:
        self.places.setdefault(key)
        self.scan["items"] = len(self.places)
        if not key.startswith("#"):
            self.scan["last_identifier"] = key

    def take_message(self, message: object) -> None:
        if not isinstance(message, dict):
            return
        key = message.get("id")
        key = key if isinstance(key, str) and key else f"#{len(self.places)}"  # ours: it has none
        new = key not in self.places
        self.add_place(key)
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
        """Add tokens: input includes the cached part, and thoughts are left out."""
        before = self.spent.get(key)
        self.spent[key] = counts
        total = list(tokens.list_counts(self.scan["usage"]))
        for sign, spent in ((1, counts), (-1, before)):
            if spent is not None:
                names = ("input", "", "cached", "output")
                now = (*(tokens.parse_count(spent.get(name)) for name in names), 1)
                total = [have + sign * more for have, more in zip(total, now, strict=True)]
        self.scan["usage"] = tokens.make_usage(*total)

    def take_calls(self, calls: object) -> None:
        for call in calls if isinstance(calls, list) else []:
            if not isinstance(call, dict) or call.get("status", "success") != "success":
                continue
            path = find_written_path(str(call.get("name")), facts.ensure_object(call.get("args")))
            if path and path not in self.scan["written"]:
                self.scan["written"].append(path)

    def take_parts(self, content: object) -> None:
        """Note calls and their errors in the form of a resumed session."""
        for part in content if isinstance(content, list) else []:
            call, answer = (
                part.get(key) if isinstance(part, dict) else None
                for key in ("functionCall", "functionResponse")
            )
            if isinstance(call, dict):
                path = find_written_path(
                    str(call.get("name")), facts.ensure_object(call.get("args"))
                )
                if path:
                    self.asked[str(call.get("id"))] = path
            elif isinstance(answer, dict):
                response = answer.get("response")
                if isinstance(response, dict) and response.get("error"):
                    self.asked.pop(str(answer.get("id")), None)

    def finish(self) -> Scan:
        """Count calls without an answer: the client may have been killed after them."""
        self.scan["written"] = transcript_scan.join_unique(
            self.scan["written"], list(self.asked.values())
        )
        return self.scan
