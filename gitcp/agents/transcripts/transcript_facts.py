"""What a transcript tells when it is read as a whole: prompts, models, tokens, ends and times; and
transcripts that are one document.
"""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.agents.transcripts import Fields
from gitcp.text import json, prompt_text
from gitcp.text.json import list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.text.record_types import Scan, Usage


def make_cursor(scan: Scan) -> Scan:
    """A scan without its lists: continued, it lists only new items."""
    return {**scan, "prompts": [], "written": [], "subagents": []}


def _load_parts(data: bytes) -> list[dict[str, Any] | None]:
    """The object in each line of a transcript, None in a line without one; a document over several
    lines alone."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    if lines and transcripts.load_entry(lines[0]) is None:
        document = transcripts.load_entry(data)
        if document is not None:
            return [document]
    return [transcripts.load_entry(line) for line in lines]


# Scan a transcript by the facts of its entries, which are the same for all clients.
#
# A client's module has a function `list_facts(entry) -> Iterator[Fact]`.  A fact is one of
#
#     ("prompt", text)                    the person's
#     ("reply", text)                     the agent's
#     ("call", id, name, input)           of a tool
#     ("result", id, failed, text)        of a call
#     ("usage", key, Usage)               of an answer of the model; the same key again replaces it
#     ("agent", id)                       a started subagent
#     ("at", id)                          the entry's id, if it is not under `id` or `uuid`
#     ("time", text)                      the entry's, if it is not its `timestamp`; comes first
#     ("began", text)                     the session's start: earlier prompts are of the session
#                                         from which it was forked
_TEXTS = "text output content functionResponse response result error message".split()
_NAMES = ("model", "modelID", "modelId")  # of the model, in an entry or a part of it
_PARTS = {**dict.fromkeys(("message", "payload", "data", "info"), _NAMES), "modelInfo": ("id",)}
_RECENT = 8  # the last answers of the model, whose usage may be repeated


def scan_document(scanner: transcripts.Scanner, data: bytes, merge: transcripts.Merge) -> Scan:
    """Scan a whole transcript that is a document, or lines that build one; `bytes` of the result is
    0.  merge: makes messages of its parts."""
    parts = _load_parts(data)
    scanner.scan["skipped"] = parts.count(None)
    for entry in merge([Fields(part) for part in parts if part is not None]):
        scanner.read_entry(entry)
        scanner.scan["items"] += 1
    return scanner.finish([])


class Scanner:
    """The state of one scan: writes without an answer yet, and usages that may come again."""

    def __init__(self, scan: Scan, facts: transcripts.Facts, written: transcripts.Written) -> None:
        self.scan = scan
        self.list_facts = facts
        self.list_written_paths = written
        carry = scan["carry"]
        self.pending: dict[str, list[str]] = dict(carry.get("pending", {}))
        self.spent: dict[str, Any] = dict(carry.get("spent", {}))
        self.began = str(carry.get("began", ""))
        waiting = {path for paths in self.pending.values() for path in paths}
        self.written_paths = [path for path in scan["written"] if path not in waiting]

    def needs(self, line: bytes) -> bool:
        return True

    def read_entry(self, entry: Fields) -> None:
        for kind, *fact in self.list_facts(entry):
            getattr(self, f"take_{kind}")(*fact)
        model = find_model(entry)
        if model:
            self.scan["model"] = model
        for key in ("id", "uuid"):
            identifier = entry.get_text(key)
            if identifier:
                self.scan["last_identifier"] = identifier
        time = entry.get("timestamp")
        if isinstance(time, str):
            self.scan["last_timestamp"] = time

    def take_prompt(self, text: str) -> None:
        text = prompt_text.clean_prompt(text)
        copied = self.began and _is_before(str(self.scan["last_timestamp"]), self.began)
        if text and not copied and not prompt_text.is_notification(text):
            self.scan["prompts"].append(text)

    def take_reply(self, text: str) -> None:
        """Replies are not counted."""

    def take_call(self, key: str, name: str, arguments: Any) -> None:
        paths = self.list_written_paths(name, read_input(arguments))
        if paths:
            self.pending[key] = paths

    def take_result(self, key: str, failed: bool, text: str) -> None:
        paths = self.pending.pop(key, [])
        if not failed:
            self.written_paths = transcripts.join_unique(self.written_paths, paths)

    def take_usage(self, key: str, counts: Usage) -> None:
        total = self.scan["usage"]
        before = self.spent.pop(key, None)
        self.spent[key] = counts
        self.scan["usage"] = transcripts.add_tokens(
            transcripts.subtract_tokens(total, before) if before else total, counts
        )

    def take_agent(self, key: str) -> None:
        if key not in self.scan["subagents"]:
            self.scan["subagents"].append(key)

    def take_at(self, key: str) -> None:
        self.scan["last_identifier"] = key or self.scan["last_identifier"]

    def take_time(self, text: str) -> None:
        self.scan["last_timestamp"] = text

    def take_began(self, text: str) -> None:
        self.began = text

    def get_usage(self) -> Usage | None:
        return self.scan["usage"]

    def finish(self, _: Iterable[bytes]) -> Scan:
        """Complete the scan.  A write without a result counts: the client may have died since."""
        waiting = []
        for paths in self.pending.values():
            waiting += paths
        self.scan["written"] = transcripts.join_unique(self.written_paths, waiting)
        recent = dict(list(self.spent.items())[-_RECENT:])
        self.scan["carry"] = {"pending": self.pending, "spent": recent, "began": self.began}
        return self.scan


def read_input(arguments: object) -> Fields:
    """The input of a call; a text is a patch."""
    if isinstance(arguments, str):
        return Fields({"patch": arguments})
    return Fields(arguments)


def find_model(entry: Fields) -> str:
    """The model that an entry names by one of the clients' keys; '' if it names none, or if the
    client made the answer itself."""
    name = entry.find_text(_NAMES)
    for part, names in _PARTS.items():
        if part in entry and not name:
            name = entry.get_object(part).find_text(names)
    return "" if name == "<synthetic>" else name


def _is_before(time: str, other: str) -> bool:
    """Whether a time is earlier than another, both in ms since 1970."""
    return time.isdecimal() and other.isdecimal() and int(time) < int(other)


def make_path_lister(kinds: Mapping[str, str], keys: Sequence[str]) -> transcripts.Written:
    """The function that returns the paths that a call writes, as its input names them: those of its
    patch, or for the tools that write by their kinds the first path under one of keys."""

    def list_written_paths(name: str, arguments: Fields) -> list[str]:
        if name in ("apply_patch", "ApplyPatch"):
            texts = [value for value in arguments.fields.values() if isinstance(value, str)]

            from gitcp.agents.transcripts import agent_words

            return agent_words.list_paths("\n".join(texts))
        path = arguments.find_text(keys) if kinds.get(name) == "write" else ""
        return [path] if path else []

    return list_written_paths


def list_block_facts(message: Fields) -> Iterator[transcripts.Fact]:
    """The facts of a message in blocks of type text, tool_use and tool_result."""
    return join_prompt(_list_block_facts(message))


def join_prompt(facts: Iterable[transcripts.Fact]) -> Iterator[transcripts.Fact]:
    """The facts of a message, with all that the person typed in it as one prompt."""
    typed: list[str] = []
    for fact in facts:
        if fact[0] != "prompt":
            yield fact
        elif prompt_text.extract_typed(fact[1]):
            typed.append(fact[1])
    if typed:
        yield "prompt", "\n\n".join(typed)


def _list_block_facts(message: Fields) -> Iterator[transcripts.Fact]:
    speech = "prompt" if message.get("role") == "user" else "reply"
    for block in message.get_objects("content"):
        kind = block.get("type")
        if kind == "text":
            yield speech, block.get_word("text")
        elif kind == "tool_use":
            yield (
                "call",
                block.get_word("id"),
                block.get_word("name"),
                block.get_object("input").fields,
            )
        elif kind == "tool_result":
            text = extract_text(block.get("content"))
            yield "result", block.get_word("tool_use_id"), block.get("is_error") is True, text


def join_texts(parts: object) -> str:
    """The texts of a message's parts, joined; a plain text unchanged."""
    if isinstance(parts, str):
        return parts
    texts = [part.get("text") for part in list_objects(parts)]
    return "\n\n".join(text for text in texts if isinstance(text, str))


def extract_prompt(content: object) -> str:
    """The person's prompt in the content of a message; '' if the client wrote it."""
    return prompt_text.extract_typed(join_texts(content))


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


def read_usage(counts: Fields, *keys: str, with_cache: bool = False) -> Usage:
    """The usage of an answer.  keys: of the input, of its parts that were written to the cache and
    read from it, and of the output.  with_cache: the input includes these parts."""
    fresh, creation, read, output = (transcripts.parse_count(counts.get(key)) for key in keys)
    if with_cache:
        fresh = max(0, fresh - creation - read)
    return transcripts.make_usage(fresh, creation, read, output, 1)


def merge_documents(old: bytes, new: bytes) -> bytes:
    """The document new with the messages of old that it lacks before its own.

    new itself, byte for byte, if it lacks none or one of them is not such a document.
    """
    old_document = _parse_document(old)
    document = _parse_document(new)
    if old_document is None or document is None:
        return new
    keys = set(map(_identify_message, document["messages"]))
    missing = [m for m in old_document["messages"] if _identify_message(m) not in keys]
    if not missing:
        return new
    document["messages"] = missing + document["messages"]
    return json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _parse_document(data: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("messages"), list):
        return None
    return document


def _identify_message(message: Any) -> str:
    name = None
    if isinstance(message, dict):
        name = message.get("id")
    from json import dumps

    return dumps(name if name else message, sort_keys=True)


# Find in a transcript when a tool call ended, for a call without an end event.
_INTERRUPTED = "[Request interrupted by user"
_SIGNS = (_INTERRUPTED.encode(), b'"turn_aborted"')
_RUNS_ON = "Process running with session ID"  # what Codex answers before a command has ended
_DAYS = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


def find_end(tail: bytes, tool_id: str, since: int, runs_on: bool = False) -> int | None:
    """The time in ns of a call's result, or of an interruption after `since`; None without either.

    tail: the last lines of a transcript of Claude Code or Codex.  runs_on: the call has returned
    and its command runs in the background; interruptions do not end it.
    """
    mark = tool_id.encode()
    for raw in tail.split(b"\n"):
        may_interrupt = not runs_on and any(sign in raw for sign in _SIGNS)
        if not may_interrupt and not (mark and mark in raw):
            continue
        line = transcripts.read_entry(raw)
        if (mark and _is_end(line, tool_id, runs_on)) or (may_interrupt and _is_interruption(line)):
            time = parse_time(line.get_word("timestamp"))
            if time is not None and time >= since // 1_000_000 * 1_000_000:
                return time
    return None


def find_last_time(tail: bytes) -> int | None:
    """The newest time in the last lines of a transcript, in ns."""
    for line in reversed(tail.split(b"\n")):
        if b'"timestamp"' in line:
            time = parse_time(transcripts.read_entry(line).get_word("timestamp"))
            if time is not None:
                return time
    return None


def _is_end(line: Fields, tool_id: str, runs_on: bool) -> bool:
    """Whether a line is the end of a command, or, unless it runs_on, the result of its call."""
    payload = line.get_object("payload")
    if payload:
        item = payload.get_object("item")
        if item.is_kind("CommandExecution"):
            return item.get("id") == tool_id and payload.is_kind("item_completed")
        if payload.get_word("type").endswith("_output") and payload.get("call_id") == tool_id:
            return not runs_on and _RUNS_ON not in str(payload.get("output"))
    results = (part for part in transcripts.list_blocks(line) if part.is_kind("tool_result"))
    return not runs_on and any(part.get("tool_use_id") == tool_id for part in results)


def _is_interruption(line: Fields) -> bool:
    payload = line.get_object("payload")
    if payload:
        return payload.is_kind("turn_aborted")
    texts = [part for part in transcripts.list_blocks(line) if part.is_kind("text")]
    is_said = any(part.get_word("text").startswith(_INTERRUPTED) for part in texts)
    return line.is_kind("user") and is_said


def parse_time(text: str) -> int | None:
    """The time of `2026-11-21T14:02:03.456Z`, or of ms since 1970, in ns since then; None for
    another form."""
    day, _, clock = text.partition("T")
    try:
        if text.isdecimal() and text.isascii():
            return int(text) * 1_000_000
        year, month, date = map(int, day.split("-"))
        hour, minute, second = clock.removesuffix("Z").split(":")
        whole, _, fraction = second.partition(".")
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        days = (year - 1970) * 365 + (year - 1969) // 4 - (year - 1901) // 100
        days += (year - 1601) // 400 + _DAYS[month - 1] + (leap and month > 2) + date - 1
        seconds = ((days * 24 + int(hour)) * 60 + int(minute)) * 60 + int(whole)
        return seconds * 1_000_000_000 + int((fraction + "0" * 9)[:9])
    except (ValueError, IndexError):
        return None
