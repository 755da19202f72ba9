"""Reading a transcript through what each of its entries says, in one set of words.

A client's module gives a function `list_facts(entry) -> Iterator[Fact]`; a fact is one of

    ("prompt", text)                    the person's
    ("reply", text)                     the agent's
    ("call", id, name, input)           of a tool
    ("result", id, failed, text)        what came of a call
    ("usage", key, Usage)               of one answer of the model; the same key again replaces it
    ("agent", id)                       a subagent that was started
    ("at", id)                          the entry's, where it is not its `id` or `uuid`
    ("time", text)                      the entry's, where it is not its `timestamp`; comes first
    ("began", text)                     when the session did: what was asked before is of the one
                                        that it is a fork of
"""

from __future__ import annotations

from gitcp.core.message import prompts
from gitcp.core.transcript import tokens, transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from gitcp.core.record_types import Scan, Usage

    Fact = tuple[Any, ...]
    Facts = Callable[[dict[str, Any]], Iterator[Fact]]
    Written = Callable[[str, dict[str, Any]], list[str]]  # tool's name and input -> paths

_TEXTS = "text output content functionResponse response result error message".split()
_NAMES = ("model", "modelID", "modelId")  # of the model, in an entry or a part of it
_PARTS = {**dict.fromkeys(("message", "payload", "data", "info"), _NAMES), "modelInfo": ("id",)}
_RECENT = 8  # answers of the model whose usage may still be given again


def scan(data: bytes, facts: Facts, written: Written, previous: Scan | None = None) -> Scan:
    """Read lines of JSON (what follows previous["bytes"] when previous is given); see Scan."""
    reader = _Reader(transcript_scan.begin(previous), facts, written)
    return transcript_scan.read(reader, data)


def scan_document(entries: Iterable[dict[str, Any]], facts: Facts, written: Written) -> Scan:
    """Read the entries of a transcript that is one document, always the whole of it."""
    reader = _Reader(transcript_scan.begin(), facts, written)
    for entry in entries:
        reader.read_entry(entry)
        reader.scan["items"] += 1
    return reader.finish()


class _Reader:
    """The state of one scan: writes without an answer yet, and usages that may come again."""

    def __init__(self, scan: Scan, facts: Facts, written: Written) -> None:
        self.scan, self.facts, self.written = scan, facts, written
        carry = scan["carry"]
        self.pending: dict[str, list[str]] = dict(carry.get("pending", {}))
        self.spent: dict[str, Any] = dict(carry.get("spent", {}))
        self.begun = str(carry.get("began", ""))
        waiting = {path for paths in self.pending.values() for path in paths}
        self.done = [path for path in scan["written"] if path not in waiting]

    def read_line(self, line: bytes) -> None:
        entry = transcript_scan.load(line)
        self.scan["skipped"] += entry is None
        self.read_entry(entry or {})

    def read_entry(self, entry: dict[str, Any]) -> None:
        for kind, *fact in self.facts(entry):
            getattr(self, f"_take_{kind}")(*fact)
        if model := find_model(entry):
            self.scan["model"] = model
        for key in ("id", "uuid"):
            if isinstance(entry.get(key), str) and entry[key]:
                self.scan["last_identifier"] = entry[key]
        if isinstance(entry.get("timestamp"), str):
            self.scan["last_timestamp"] = entry["timestamp"]

    def _take_prompt(self, text: str) -> None:
        text = prompts.clean(text)
        copied = self.begun and _is_before(str(self.scan["last_timestamp"]), self.begun)
        if text and not copied and not prompts.is_notification(text):
            self.scan["prompts"].append(text)

    def _take_reply(self, text: str) -> None:
        """Nothing that is counted."""

    def _take_call(self, key: str, name: str, arguments: dict[str, Any]) -> None:
        if paths := self.written(name, arguments):
            self.pending[key] = paths

    def _take_result(self, key: str, failed: bool, text: str) -> None:
        paths = self.pending.pop(key, [])
        if not failed:
            self.done = transcript_scan.join_unique(self.done, paths)

    def _take_usage(self, key: str, counts: Usage) -> None:
        before = self.spent.pop(key, None)
        self.spent[key] = counts
        have = self.scan["usage"]
        self.scan["usage"] = tokens.add(tokens.subtract(have, before) if before else have, counts)

    def _take_agent(self, key: str) -> None:
        if key not in self.scan["subagents"]:
            self.scan["subagents"].append(key)

    def _take_at(self, key: str) -> None:
        self.scan["last_identifier"] = key or self.scan["last_identifier"]

    def _take_time(self, text: str) -> None:
        self.scan["last_timestamp"] = text

    def _take_began(self, text: str) -> None:
        self.begun = text

    def finish(self, _: Iterable[bytes] = ()) -> Scan:
        """A write without an answer yet counts: the client may be dead, the file written."""
        waiting = [path for paths in self.pending.values() for path in paths]
        self.scan["written"] = transcript_scan.join_unique(self.done, waiting)
        recent = dict(list(self.spent.items())[-_RECENT:])
        self.scan["carry"] = {"pending": self.pending, "spent": recent, "began": self.begun}
        return self.scan


def find_model(entry: dict[str, Any]) -> str:
    """The model that an entry names for its answer, by the keys that clients use; '' where none,
    or where the client made the answer up."""
    parts = [(entry, _NAMES), *((entry.get(part), names) for part, names in _PARTS.items())]
    for part, names in parts:
        for name in map(part.get, names) if isinstance(part, dict) else ():
            if isinstance(name, str) and name:
                return "" if name == "<synthetic>" else name
    return ""


def _is_before(time: str, other: str) -> bool:
    """Whether a time is earlier than another, both in ms since 1970."""
    return time.isdecimal() and other.isdecimal() and int(time) < int(other)


def make_path_reader(*keys: str) -> Callable[[dict[str, Any]], list[str]]:
    """A function from a tool's input to the first path that stands under one of keys in it."""

    def read_path(arguments: dict[str, Any]) -> list[str]:
        values = (arguments.get(key) for key in keys)
        return next(([path] for path in values if isinstance(path, str) and path), [])

    return read_path


def join_texts(parts: object) -> str:
    """The texts of a message's parts, joined; of a bare text, itself."""
    if isinstance(parts, str):
        return parts
    texts = [part.get("text") for part in list_objects(parts)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def extract_prompt(content: object) -> str:
    """What the person typed in the content of a message; '' for what the client says itself."""
    return prompts.extract_typed(join_texts(content))


def extract_text(content: object) -> str:
    """What a call gave back, as text: of blocks, those that have one."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(extract_text, content)))
    if isinstance(content, dict):
        for key in _TEXTS:
            if content.get(key):
                return extract_text(content[key])
    return ""


def list_objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list; none when it is no list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def ensure_object(value: object) -> dict[str, Any]:
    """An object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}
