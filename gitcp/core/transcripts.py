"""Scan the lines of a transcript, for all clients.

A scan can be continued: scan(a + b) is scan(b, previous=scan(a)), so that only new lines of a long
session are read.  Irrelevant lines are not parsed.
"""

from __future__ import annotations

from gitcp.core import commit_message, json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from gitcp.core.record_types import Scan, Usage

    class EntryReader(Protocol):
        """The state of one scan of a client's lines."""

        scan: Scan

        def read_line(self, line: bytes) -> None: ...
        def finish(self, lines: list[bytes]) -> Scan: ...

    Fact = tuple[Any, ...]
    Prompt = tuple[str, str, str]  # text, time as written, the leaf before it
    Facts = Callable[[dict[str, Any]], Iterator[Fact]]
    Merge = Callable[[Iterable[dict[str, Any]]], Iterable[dict[str, Any]]]
    Written = Callable[[str, dict[str, Any]], list[str]]  # tool's name and input -> paths
    Read = Callable[[int, int], bytes]  # the bytes from start to end
    Stretch = tuple[bytes, int]  # lines, and the offset after them


def begin_scan(previous: Scan | None = None) -> Scan:
    """An empty scan, or a copy of previous to be continued."""
    if previous is None:
        return {
            "items": 0,
            "bytes": 0,
            "skipped": 0,
            "prompts": [],
            "written": [],
            "usage": None,
            "subagents": [],
            "last_identifier": None,
            "last_timestamp": None,
            "carry": {},
        }
    lists = {key: list(previous[key]) for key in ("prompts", "written", "subagents")}
    return {**previous, **lists}  # type: ignore[typeddict-item]


def make_cursor(scan: Scan) -> Scan:
    """A scan without its lists: continued, it lists only new items."""
    return {**scan, "prompts": [], "written": [], "subagents": []}


def split_complete_lines(data: bytes) -> tuple[list[bytes], int]:
    """(the complete lines of data, their number of bytes).

    A last line without a newline is complete if it is JSON: stored transcripts often end so.
    """
    lines = data.split(b"\n")
    last_line = lines.pop()
    if not last_line:
        return lines, len(data)
    if load_entry(last_line) is None:
        return lines, len(data) - len(last_line)
    return [*lines, last_line], len(data)


def load_entry(line: bytes | str) -> dict[str, Any] | None:
    """The JSON object in a line, or None."""
    try:
        value = json.mend_halves(json.loads(line), line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def load_parts(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """(the objects of a transcript: a document, or those of its lines; the number of lines that are
    none)."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    document = load_entry(data) if lines and load_entry(lines[0]) is None else None
    if document is not None:  # of several lines
        return [document], 0
    parts = [entry for line in lines if (entry := load_entry(line)) is not None]
    return parts, len(lines) - len(parts)


def read_entries(reader: EntryReader, data: bytes) -> Scan:
    """Scan the complete lines of data.  The reader gets each line that is not empty, which counts
    as an item, and at the end all lines."""
    lines, used = split_complete_lines(data)
    for line in lines:
        if line and not line.isspace():
            reader.read_line(line)
            reader.scan["items"] += 1
    scan = reader.finish(lines)
    scan["bytes"] += used
    return scan


def note_newest(scan: Scan, lines: list[bytes], identifier: str | None) -> None:
    """Set the scan's last identifier, and its last time to the newest in lines, unless empty."""
    scan["last_identifier"] = identifier or scan["last_identifier"]
    scan["last_timestamp"] = find_newest(lines, "timestamp") or scan["last_timestamp"]


def find_newest(lines: list[bytes], key: str) -> str | None:
    """The last non-empty text under key in the objects of lines."""
    mark = b'"%s"' % key.encode()
    for line in reversed(lines):
        value = (load_entry(line) or {}).get(key) if mark in line else None
        if isinstance(value, str) and value:
            return value
    return None


def join_unique(*words: list[str]) -> list[str]:
    """All the texts in order, each once."""
    return list(dict.fromkeys(text for texts in words for text in texts))


def list_blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """The content of an entry's message as blocks; a bare text is one."""
    content = ensure_object(entry.get("message")).get("content")
    return (
        [{"type": "text", "text": content}] if isinstance(content, str) else list_objects(content)
    )


def list_objects(value: object) -> list[dict[str, Any]]:
    """The objects in a list; [] for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def ensure_object(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


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


def make_scan(facts: Facts, written: Written) -> Callable[..., Scan]:
    """The function that scans a client's lines of JSON: (data, previous scan or None) -> Scan."""

    def scan(data: bytes, previous: Scan | None = None) -> Scan:
        reader = Reader(begin_scan(previous), facts, written)
        return read_entries(reader, data)

    return scan


def scan_document(data: bytes, merge: Merge, facts: Facts, written: Written) -> Scan:
    """Scan a whole transcript that is a document, or lines that build one; `bytes` of the result is
    0.  merge: makes messages of its parts."""
    parts, skipped = load_parts(data)
    reader = Reader(begin_scan(), facts, written)
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
        entry = load_entry(line)
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
        text = commit_message.clean_prompt(text)
        copied = self.began and _is_before(str(self.scan["last_timestamp"]), self.began)
        if text and not copied and not commit_message.is_notification(text):
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
            self.written_paths = join_unique(self.written_paths, paths)

    def take_usage(self, key: str, counts: Usage) -> None:
        total, before = self.scan["usage"], self.spent.pop(key, None)
        self.spent[key] = counts
        self.scan["usage"] = add_tokens(subtract_tokens(total, before) if before else total, counts)

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
        self.scan["written"] = join_unique(self.written_paths, waiting)
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
            from gitcp.core import agent_words

            return agent_words.list_paths("\n".join(texts))
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
        elif commit_message.extract_typed(fact[1]):
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
    return commit_message.extract_typed(join_texts(content))


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


# Add and subtract token usages.
#
# The keys are those of the session state and of committed metadata.  A usage is cumulative over a
# transcript; the cost of a checkpoint is the difference of two usages.


def make_usage(
    fresh: int = 0, cache_creation: int = 0, cache_read: int = 0, output: int = 0, calls: int = 0
) -> Usage:
    """A usage of the five counts; fresh is input that came from no cache."""
    return {
        "input_tokens": fresh,
        "cache_creation_tokens": cache_creation,
        "cache_read_tokens": cache_read,
        "output_tokens": output,
        "api_call_count": calls,
    }


KEYS = tuple(make_usage())


def parse_count(value: object) -> int:
    """A count of a client; 0 if it is absent, negative or not a number."""
    return value if isinstance(value, int) and value > 0 else 0


def read_usage(counts: Mapping[str, Any], *keys: str, with_cache: bool = False) -> Usage:
    """The usage of an answer.  keys: of the input, of its parts that were written to the cache and
    read from it, and of the output.  with_cache: the input includes these parts."""
    fresh, creation, read, output = (parse_count(counts.get(key)) for key in keys)
    if with_cache:
        fresh = max(0, fresh - creation - read)
    return make_usage(fresh, creation, read, output, 1)


def list_counts(tokens: Usage | None) -> tuple[int, int, int, int, int]:
    """The five counts in the order make_usage() takes them; a missing key is 0."""
    if not tokens:
        return 0, 0, 0, 0, 0
    fields: Mapping[str, object] = tokens
    fresh, creation, read, output, calls = map(parse_count, map(fields.get, KEYS))
    return fresh, creation, read, output, calls


def add_tokens(*tokens: Usage | None) -> Usage:
    """The sum of usages, and separately of their subagents' parts; None counts as 0."""
    columns = zip(list_counts(None), *map(list_counts, tokens), strict=True)
    total = make_usage(*map(sum, columns))
    parts = [part for u in tokens if (part := _get_subagents(u))]
    if parts:
        total["subagent_tokens"] = add_tokens(*parts)
    return total


def add_counts(total: Usage, more: Usage) -> None:
    """Add the five counts of a usage, without its subagents', to a total."""
    sums: Any = total
    for key, count in zip(KEYS, list_counts(more), strict=True):
        sums[key] += count


def subtract_tokens(now: Usage | None, before: Usage | None) -> Usage:
    """The difference of two usages; no count is below 0, as a transcript may have been cut."""
    pairs = zip(list_counts(now), list_counts(before), strict=True)
    delta = make_usage(*(max(0, new - old) for new, old in pairs))
    if part := _get_subagents(now):
        delta["subagent_tokens"] = subtract_tokens(part, _get_subagents(before))
    return delta


def add_subagents(own: Usage | None, subagents: Iterable[Usage | None]) -> Usage | None:
    """own with the sum of its subagents' usages; None if there is no usage."""
    parts = [u for u in subagents if u]
    if own is None and not parts:
        return None
    total = add_tokens(own)
    if parts:
        total["subagent_tokens"] = add_tokens(*(flatten_tokens(u) for u in parts))
    return total


def flatten_tokens(tokens: Usage) -> Usage:
    """The usage with its subagents' part added to its own counts."""
    part, total = _get_subagents(tokens), make_usage(*list_counts(tokens))
    return add_tokens(total, flatten_tokens(part)) if part else total


def count_spent(stored: Any, agent: object) -> Usage:
    """The counts of a stored usage with its subagents'; zeros for a value that is none.

    Those of Gemini CLI count what was read from the cache as input, too: it is subtracted.
    """
    total = flatten_tokens(stored) if isinstance(stored, dict) else make_usage()  # type: ignore[arg-type]
    if agent == "Gemini CLI":
        total["input_tokens"] = max(0, total["input_tokens"] - total["cache_read_tokens"])
    return total


def _get_subagents(tokens: Usage | None) -> Usage | None:
    """The subagents' part; None if there is none, or stored data has no object there."""
    part = tokens.get("subagent_tokens") if tokens else None
    return part if isinstance(part, dict) else None


# Read a transcript of any size in stretches of complete lines.
STRETCH = 1 << 20  # bytes read at once
LINE = 16 << 20  # the longest line that is not shortened
HEAD, TAIL = 256 << 10, 64 << 10  # bytes that remain of a longer line
LARGEST_DOCUMENT = 32 << 20  # the largest document that is read whole
ROOM = 1 << 20  # new bytes that are always read, whatever the limit of the whole


def read_stretches(read: Read, start: int, end: int, room: int) -> Iterator[Stretch]:
    """Yield the complete lines from start to end in stretches, each with the offset after it.

    Of more than room bytes only the first and the last lines are read; a line in JSON replaces the
    others, and each line that is too long.  A last line without a newline is not read.
    """
    if end - start <= room:
        yield from read_lines(read, start, end)
        return
    tail, at = room // 4, start
    for new, at in read_lines(read, start, start + room - tail):
        yield new, at
    begin = _find_next_line(read, max(at, end - tail), end)
    if begin is not None:
        yield _format_line({"type": "gitcp-left-out", "bytes": begin - at}), begin
        yield from read_lines(read, begin, end)


def read_bounded(read: Read, start: int, end: int) -> bytes:
    """The bytes from start to end; if they are more than DOCUMENT, only the first and the last
    lines, as in read_stretches()."""
    if end - start <= LARGEST_DOCUMENT:
        return read(start, end)
    return b"".join(part for part, _ in read_stretches(read, start, end, LARGEST_DOCUMENT))


def read_lines(read: Read, start: int, end: int) -> Iterator[Stretch]:
    """Yield the complete lines from start to end, with too long ones shortened."""
    while start < end:
        data = read(start, min(end, start + STRETCH))
        cut = data.rfind(b"\n") + 1
        if cut:
            yield data[:cut], start + cut
            start += cut
            continue
        stop = _find_next_line(read, start + len(data), end)
        if stop is None:
            return
        yield read_line(read, start, stop - 1, b"\n"), stop
        start = stop


def read_line(read: Read, start: int, end: int, newline: bytes = b"") -> bytes:
    """A line; if it is longer than LINE, its head, tail and length as JSON."""
    if end - start <= LINE:
        return read(start, end) + newline
    head, tail = (
        read(*part).decode("utf-8", "replace")
        for part in ((start, start + HEAD), (end - TAIL, end))
    )
    stand_in = {"type": "gitcp-shortened", "bytes": end - start, "head": head, "tail": tail}
    return _format_line(stand_in).removesuffix(b"\n") + newline


def _find_next_line(read: Read, start: int, end: int) -> int | None:
    """The offset after the first newline from start on; None if there is none before end."""
    while start < end:
        data = read(start, min(end, start + STRETCH))
        if not data:
            return None
        at = data.find(b"\n")
        if at >= 0:
            return start + at + 1
        start += len(data)
    return None


def _format_line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def looks_right(first: bytes) -> bool:
    """Whether the first bytes of a file are those of a client's transcript, or none."""
    return first.lstrip(b" \t\r\n\xef\xbb\xbf")[:1] in (b"{", b"[", b"")


# Split a transcript into chunks by a fixed schedule of sizes (doc/formats.md "Transcript").
#
# A longer transcript of the same session has the same first chunks, so git stores them once.
# Chunks are stored without their last newline, except the last one: joined with newlines they are
# the transcript again, byte for byte.
# (number of chunks, least bytes of each), for 999 numbers, which sort as text
SCHEDULE = ((320, 64 << 10), (300, 256 << 10), (200, 1 << 20), (179, 11 << 20))
UNCUT_DOCUMENT = 50 << 20  # one JSON document is cut only above this size
NAME = "full.jsonl"
LEGACY = "full.log"


def get_least_size(number: int) -> int | None:
    """The least size of a chunk in bytes; None: it takes all bytes that are left."""
    for count, least in SCHEDULE:
        if number < count:
            return least
        number -= count
    return None


def find_ends(data: bytes, first: int = 0) -> list[int]:
    """The ends of the complete chunks in data, which begins with chunk number first.

    A chunk ends with the first line that reaches its least size.  It is complete if a byte follows.
    """
    ends: list[int] = []
    start = 0
    while (least := get_least_size(first + len(ends))) is not None:
        end = data.find(b"\n", start + least - 1) + 1
        if end == 0 or end == len(data):
            break
        ends.append(end)
        start = end
    return ends


def split_chunks(data: bytes, first: int = 0) -> list[bytes]:
    """The chunks of data as they are stored, at least one; data begins with chunk first."""
    return _cut_at(data, find_ends(data, first))


def split_document(data: bytes) -> list[bytes]:
    """The chunks of a JSON document, split at line ends, each of at most DOCUMENT bytes unless a
    line is longer."""
    ends: list[int] = []
    start = 0
    while len(data) - start > UNCUT_DOCUMENT:
        end = data.rfind(b"\n", start, start + UNCUT_DOCUMENT) + 1 or data.find(b"\n", start) + 1
        if end == 0 or end == len(data):
            break
        ends.append(end)
        start = end
    return _cut_at(data, ends)


def _cut_at(data: bytes, ends: Sequence[int]) -> list[bytes]:
    starts = [0, *ends]
    complete = [data[start : end - 1] for start, end in zip(starts, ends, strict=False)]
    return [*complete, data[starts[-1] :]]


def format_name(number: int) -> str:
    """The file name of chunk number: full.jsonl, full.jsonl.001, …"""
    return f"{NAME}.{number:03d}" if number else NAME


def parse_number(name: str) -> int | None:
    """The number of the chunk with this file name, None for another file; full.log is 0."""
    if name in (NAME, LEGACY):
        return 0
    digits = name.removeprefix(NAME + ".")
    numbered = digits != name and digits.isascii() and digits.isdigit() and len(digits) < 10
    return int(digits) if numbered else None


def is_document(first_line: bytes, path: str) -> bool:
    """Whether a transcript is one JSON document (Gemini's former format), not JSON lines."""
    return path.endswith(".json") or first_line.strip() == b"{"


def merge_documents(old: bytes, new: bytes) -> bytes:
    """The document new with the messages of old that it lacks before its own.

    new itself, byte for byte, if it lacks none or one of them is not such a document.
    """
    old_document, document = _parse_document(old), _parse_document(new)
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
    name = message.get("id") if isinstance(message, dict) else None
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
        line = load_entry(raw) or {}
        if (mark and _is_end(line, tool_id, runs_on)) or (may_interrupt and _is_interruption(line)):
            time = parse_time(str(line.get("timestamp") or ""))
            if time is not None and time >= since // 1_000_000 * 1_000_000:
                return time
    return None


def find_last_time(tail: bytes) -> int | None:
    """The newest time in the last lines of a transcript, in ns."""
    for line in reversed(tail.split(b"\n")):
        if b'"timestamp"' in line:
            time = parse_time(str((load_entry(line) or {}).get("timestamp") or ""))
            if time is not None:
                return time
    return None


def _is_end(line: dict[str, Any], tool_id: str, runs_on: bool) -> bool:
    """Whether a line is the end of a command, or, unless it runs_on, the result of its call."""
    if payload := ensure_object(line.get("payload")):
        item = ensure_object(payload.get("item"))
        if item.get("type") == "CommandExecution":
            return item.get("id") == tool_id and payload.get("type") == "item_completed"
        output = str(payload.get("type", "")).endswith("_output")
        if output and payload.get("call_id") == tool_id:
            return not runs_on and _RUNS_ON not in str(payload.get("output"))
    results = (part for part in list_blocks(line) if part.get("type") == "tool_result")
    return not runs_on and any(part.get("tool_use_id") == tool_id for part in results)


def _is_interruption(line: dict[str, Any]) -> bool:
    if payload := ensure_object(line.get("payload")):
        return payload.get("type") == "turn_aborted"
    texts = [str(part.get("text")) for part in list_blocks(line) if part.get("type") == "text"]
    return line.get("type") == "user" and any(text.startswith(_INTERRUPTED) for text in texts)


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
