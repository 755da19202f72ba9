"""Scan a transcript by the facts of its entries, which are the same for all clients.

A client's module has a function `list_facts(entry) -> Iterator[Fact]`.  A fact is one of

    ("prompt", text)                    the person's
    ("reply", text)                     the agent's
    ("call", id, name, input)           of a tool
    ("result", id, failed, text)        of a call
    ("usage", key, Usage)               of an answer of the model; the same key again replaces it
    ("agent", id)                       a started subagent
    ("at", id)                          the entry's id, if it is not under `id` or `uuid`
    ("time", text)                      the entry's, if it is not its `timestamp`; comes first
    ("began", text)                     the session's start: earlier prompts are of the session
                                        from which it was forked
"""

from __future__ import annotations

from gitcp.core.message import prompts
from gitcp.core.transcript import apply_patch, tokens, transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.record_types import Scan, Usage

    Fact = tuple[Any, ...]
    Prompt = tuple[str, str, str]  # text, time as written, the leaf before it
    Facts = Callable[[dict[str, Any]], Iterator[Fact]]
    Merge = Callable[[Iterable[dict[str, Any]]], Iterable[dict[str, Any]]]
    Written = Callable[[str, dict[str, Any]], list[str]]  # tool's name and input -> paths

ensure_object, list_objects = transcript_scan.ensure_object, transcript_scan.list_objects
_TEXTS = "text output content functionResponse response result error message".split()
_NAMES = ("model", "modelID", "modelId")  # of the model, in an entry or a part of it
_PARTS = {**dict.fromkeys(("message", "payload", "data", "info"), _NAMES), "modelInfo": ("id",)}
_RECENT = 8  # the last answers of the model, whose usage may be repeated


def make_scan(facts: Facts, written: Written) -> Callable[..., Scan]:
    """The function that scans a client's lines of JSON: (data, previous scan or None) -> Scan."""

    def scan(data: bytes, previous: Scan | None = None) -> Scan:
        reader = Reader(transcript_scan.begin(previous), facts, written)
        return transcript_scan.read(reader, data)

    return scan


def scan_document(data: bytes, merge: Merge, facts: Facts, written: Written) -> Scan:
    """Scan a whole transcript that is a document, or lines that build one; `bytes` of the result is
    0.  merge: makes messages of its parts."""
    parts, skipped = transcript_scan.load_parts(data)
    reader = Reader(transcript_scan.begin(), facts, written)
    reader.scan["skipped"] = skipped
    for entry in merge(parts):
        reader.read_entry(entry)
        reader.scan["items"] += 1
    return reader.finish()


class Reader:
    """The state of one scan: writes without an answer yet, and usages that may come again."""

    def __init__(self, scan: Scan, facts: Facts, written: Written) -> None:
        self.scan, self.list_facts, self.list_written_paths = scan, facts, written
        carry = scan["carry"]
        self.pending: dict[str, list[str]] = dict(carry.get("pending", {}))
        self.spent: dict[str, Any] = dict(carry.get("spent", {}))
        self.began = str(carry.get("began", ""))
        waiting = {path for paths in self.pending.values() for path in paths}
        self.written_paths = [path for path in scan["written"] if path not in waiting]

    def read_line(self, line: bytes) -> None:
        entry = transcript_scan.load(line)
        self.scan["skipped"] += entry is None
        self.read_entry(entry or {})

    def read_entry(self, entry: dict[str, Any]) -> None:
        for kind, *fact in self.list_facts(entry):
            getattr(self, f"take_{kind}")(*fact)
        if model := find_model(entry):
            self.scan["model"] = model
        for key in ("id", "uuid"):
            if isinstance(entry.get(key), str) and entry[key]:
                self.scan["last_identifier"] = entry[key]
        if isinstance(entry.get("timestamp"), str):
            self.scan["last_timestamp"] = entry["timestamp"]

    def take_prompt(self, text: str) -> None:
        text = prompts.clean(text)
        copied = self.began and _is_before(str(self.scan["last_timestamp"]), self.began)
        if text and not copied and not prompts.is_notification(text):
            self.scan["prompts"].append(text)

    def take_reply(self, text: str) -> None:
        """Replies are not counted."""

    def take_call(self, key: str, name: str, arguments: Any) -> None:
        fields = arguments if isinstance(arguments, dict) else {"patch": arguments}
        if paths := self.list_written_paths(name, fields):
            self.pending[key] = paths

    def take_result(self, key: str, failed: bool, text: str) -> None:
        paths = self.pending.pop(key, [])
        if not failed:
            self.written_paths = transcript_scan.join_unique(self.written_paths, paths)

    def take_usage(self, key: str, counts: Usage) -> None:
        total, before = self.scan["usage"], self.spent.pop(key, None)
        self.spent[key] = counts
        self.scan["usage"] = tokens.add(tokens.subtract(total, before) if before else total, counts)

    def take_agent(self, key: str) -> None:
        if key not in self.scan["subagents"]:
            self.scan["subagents"].append(key)

    def take_at(self, key: str) -> None:
        self.scan["last_identifier"] = key or self.scan["last_identifier"]

    def take_time(self, text: str) -> None:
        self.scan["last_timestamp"] = text

    def take_began(self, text: str) -> None:
        self.began = text

    def finish(self, _: Iterable[bytes] = ()) -> Scan:
        """Complete the scan.  A write without a result counts: the client may have died since."""
        waiting = [path for paths in self.pending.values() for path in paths]
        self.scan["written"] = transcript_scan.join_unique(self.written_paths, waiting)
        recent = dict(list(self.spent.items())[-_RECENT:])
        self.scan["carry"] = {"pending": self.pending, "spent": recent, "began": self.began}
        return self.scan


def find_model(entry: dict[str, Any]) -> str:
    """The model that an entry names by one of the clients' keys; '' if it names none, or if the
    client made the answer itself."""
    parts = [(entry, _NAMES), *((entry.get(part), names) for part, names in _PARTS.items())]
    for part, names in parts:
        for name in map(part.get, names) if isinstance(part, dict) else ():
            if isinstance(name, str) and name:
                return "" if name == "<synthetic>" else name
    return ""


def _is_before(time: str, other: str) -> bool:
    """Whether a time is earlier than another, both in ms since 1970."""
    return time.isdecimal() and other.isdecimal() and int(time) < int(other)


def make_path_lister(kinds: Mapping[str, str], keys: Sequence[str]) -> Written:
    """The function that returns the paths that a call writes, as its input names them: those of its
    patch, or for the tools that write by their kinds the first path under one of keys."""

    def list_written_paths(name: str, arguments: dict[str, Any]) -> list[str]:
        if name in ("apply_patch", "ApplyPatch"):
            texts = (value for value in arguments.values() if isinstance(value, str))
            return apply_patch.list_paths("\n".join(texts))
        values = map(arguments.get, keys) if kinds.get(name) == "write" else ()
        return next(([path] for path in values if isinstance(path, str) and path), [])

    return list_written_paths


def list_block_facts(role: object, content: object) -> Iterator[Fact]:
    """The facts of a message in blocks of type text, tool_use and tool_result."""
    return join_prompt(_list_block_facts(role, content))


def join_prompt(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The facts of a message, with all that the person typed in it as one prompt."""
    typed: list[str] = []
    for fact in facts:
        if fact[0] != "prompt":
            yield fact
        elif prompts.extract_typed(fact[1]):
            typed.append(fact[1])
    if typed:
        yield "prompt", "\n\n".join(typed)


def _list_block_facts(role: object, content: object) -> Iterator[Fact]:
    for block in list_objects(content):
        kind = block.get("type")
        if kind == "text":
            yield "prompt" if role == "user" else "reply", str(block.get("text") or "")
        elif kind == "tool_use":
            key, name = str(block.get("id")), str(block.get("name"))
            yield "call", key, name, ensure_object(block.get("input"))
        elif kind == "tool_result":
            text, failed = extract_text(block.get("content")), block.get("is_error") is True
            yield "result", str(block.get("tool_use_id")), failed, text


def join_texts(parts: object) -> str:
    """The texts of a message's parts, joined; a plain text unchanged."""
    if isinstance(parts, str):
        return parts
    texts = [part.get("text") for part in list_objects(parts)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def extract_prompt(content: object) -> str:
    """The person's prompt in the content of a message; '' if the client wrote it."""
    return prompts.extract_typed(join_texts(content))


def extract_text(content: object) -> str:
    """The text of a call's result; of blocks, those with a text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(extract_text, content)))
    if isinstance(content, dict):
        for key in _TEXTS:
            if content.get(key):
                return extract_text(content[key])
    return ""
