"""Scan the lines of a transcript, count its tokens, read it in stretches, and split it into chunks,
for all clients.

A scan can be continued: scan(a + b) is scan(b, previous=scan(a)), so that only new lines of a long
session are read.  Irrelevant lines are not parsed.
"""

from __future__ import annotations

from gitcp.text import json, value_class
from gitcp.text.json import list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, Protocol

    from gitcp.text.record_types import Scan, Usage

    class Scanner(Protocol):
        """The state of one scan of a client's lines, or messages.  needs: whether a line may tell
        something to read_entry()."""

        scan: Scan

        def needs(self, line: bytes) -> bool: ...
        def read_entry(self, entry: Fields) -> None: ...
        def get_usage(self) -> Usage | None: ...
        def finish(self, lines: list[bytes]) -> Scan: ...

    Fact = tuple[Any, ...]
    Change = tuple[str, dict[str, Any]]  # a path; what the client tells of it
    Facts = Callable[["Fields"], Iterator[Fact]]
    Merge = Callable[[Iterable["Fields"]], Iterable["Fields"]]
    Written = Callable[[str, "Fields"], list[str]]  # tool's name and input -> paths
    Read = Callable[[int, int], bytes]  # the bytes from start to end
    Stretch = tuple[bytes, int]  # lines, and the offset after them


class Fields:
    """An object in a transcript, as another program wrote it: what is missing, or of another type
    than a method gives, is empty."""

    __slots__ = ("fields",)

    def __init__(self, fields: object) -> None:
        self.fields: dict[str, Any] = fields if isinstance(fields, dict) else {}

    def __bool__(self) -> bool:
        return bool(self.fields)

    def __contains__(self, key: str) -> bool:
        return key in self.fields

    def get(self, key: str) -> Any:
        """The value under a key, whatever it is; None without one."""
        return self.fields.get(key)

    def is_kind(self, *kinds: str) -> bool:
        """Whether the `type` is one of these."""
        return self.fields.get("type") in kinds

    def get_text(self, key: str) -> str:
        """The text under a key."""
        value = self.fields.get(key)
        return value if isinstance(value, str) else ""

    def get_word(self, key: str) -> str:
        """The value under a key, an id or a name, as a text."""
        return str(self.fields.get(key) or "")

    def get_object(self, key: str) -> Fields:
        """The object under a key."""
        value = self.fields.get(key)
        return Fields(value) if isinstance(value, dict) else _NOTHING

    def get_objects(self, key: str) -> list[Fields]:
        """The objects in the list under a key."""
        return [Fields(item) for item in list_objects(self.fields.get(key))]

    def change(self, key: str, value: object) -> Fields:
        """The object with another value under a key."""
        return Fields({**self.fields, key: value})

    def find(self, keys: Iterable[str]) -> Any:
        """The value under the first of the keys that has one; None without one."""
        return next((self.fields[key] for key in keys if self.fields.get(key) is not None), None)

    def find_text(self, keys: Iterable[str]) -> str:
        """The first text that is not empty under one of the keys."""
        for key in keys:
            value = self.fields.get(key)
            if isinstance(value, str) and value:
                return value
        return ""


_NOTHING = Fields({})


@value_class
class Result:
    """What a transcript tells of a call that has ended.  failed: also if it was refused.
    by_person: whether a person changed what it wrote.  at: its time, as written.

    created: whether its file was new; original, content: of its file before and after; seen: what
    it showed of its file, all of it.  changes: of files, None where the call's input tells them;
    by_command: as the client compared the files before and after.
    """

    call: str
    failed: bool
    by_person: bool = False
    at: object = None
    created: bool = False
    original: str | None = None
    content: str | None = None
    seen: str | None = None
    changes: Iterable[Change] | None = None
    by_command: list[Change] | None = None


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


def read_entry(line: bytes | str) -> Fields:
    """The object in a line; an empty one if it has none."""
    return Fields(load_entry(line))


def scan_lines(scanner: Scanner, data: bytes) -> Scan:
    """Scan the complete lines of data.  The scanner gets the entry of each line that it needs, and
    at the end all lines; each that is not empty counts as an item."""
    lines, used = split_complete_lines(data)
    for line in lines:
        if line and not line.isspace():
            if scanner.needs(line):
                fields = load_entry(line)
                scanner.scan["skipped"] += fields is None
                scanner.read_entry(Fields(fields))
            scanner.scan["items"] += 1
    scan = scanner.finish(lines)
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
        if mark in line:
            value = read_entry(line).get_text(key)
            if value:
                return value
    return None


def join_unique(*words: list[str]) -> list[str]:
    """All the texts in order, each once."""
    return list(dict.fromkeys(text for texts in words for text in texts))


def list_blocks(entry: Fields) -> list[Fields]:
    """The content of an entry's message as blocks; a bare text is one."""
    message = entry.get_object("message")
    content = message.get("content")
    if isinstance(content, str):
        return [Fields({"type": "text", "text": content})]
    return message.get_objects("content")


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
    if isinstance(value, int) and value > 0:
        return value
    return 0


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
    parts = []
    for u in tokens:
        part = _get_subagents(u)
        if part:
            parts.append(part)
    if parts:
        total["subagent_tokens"] = add_tokens(*parts)
    return total


def add_counts(total: Usage, usage: Usage) -> None:
    """Add the five counts of a usage, without its subagents', to a total."""
    sums: Any = total
    for key, count in zip(KEYS, list_counts(usage), strict=True):
        sums[key] += count


def subtract_tokens(now: Usage | None, before: Usage | None) -> Usage:
    """The difference of two usages; no count is below 0, as a transcript may have been cut."""
    pairs = zip(list_counts(now), list_counts(before), strict=True)
    delta = make_usage(*(max(0, new - old) for new, old in pairs))
    part = _get_subagents(now)
    if part:
        delta["subagent_tokens"] = subtract_tokens(part, _get_subagents(before))
    return delta


def add_subagents(usage: Usage | None, subagents: Iterable[Usage | None]) -> Usage | None:
    """A session's usage with the sum of its subagents'; None if there is no usage."""
    parts = [u for u in subagents if u]
    if usage is None and not parts:
        return None
    total = add_tokens(usage)
    if parts:
        total["subagent_tokens"] = add_tokens(*(flatten_tokens(u) for u in parts))
    return total


def flatten_tokens(tokens: Usage) -> Usage:
    """The usage with its subagents' part added to its own counts."""
    part = _get_subagents(tokens)
    total = make_usage(*list_counts(tokens))
    if part:
        return add_tokens(total, flatten_tokens(part))
    return total


def count_spent(stored: Any, agent: object) -> Usage:
    """The counts of a stored usage with its subagents'; zeros if the value is not a usage.

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
# bytes that remain of a longer line
HEAD = 256 << 10
TAIL = 64 << 10
LARGEST_DOCUMENT = 32 << 20  # the largest document that is read whole
ROOM = 1 << 20  # new bytes that are always read, even of a transcript above its limit


def read_stretches(read: Read, start: int, end: int, room: int) -> Iterator[Stretch]:
    """Yield the complete lines from start to end in stretches, each with the offset after it.

    Of more than room bytes only the first and the last lines are read; a line in JSON replaces the
    others, and each line that is too long.  A last line without a newline is not read.
    """
    if end - start <= room:
        yield from read_lines(read, start, end)
        return
    tail = room // 4
    at = start
    for new, at in read_lines(read, start, start + room - tail):
        yield new, at
    begin = find_next_line(read, max(at, end - tail), end)
    if begin is not None:
        yield format_left_out(begin - at), begin
        yield from read_lines(read, begin, end)


def format_left_out(count: int) -> bytes:
    """The line that stands for so many bytes of lines that are left out."""
    return _format_line({"type": "gitcp-left-out", "bytes": count})


def read_bounded(read: Read, start: int, end: int) -> bytes:
    """The bytes from start to end; of more than LARGEST_DOCUMENT only the first and the last lines,
    as in read_stretches()."""
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
        stop = find_next_line(read, start + len(data), end)
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


def find_next_line(read: Read, start: int, end: int) -> int | None:
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
    """Whether a file with these first bytes can be a client's transcript; an empty one can."""
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
    while True:
        least = get_least_size(first + len(ends))
        if least is None:
            break
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
    """The chunks of a JSON document, split at line ends, each of at most UNCUT_DOCUMENT bytes
    unless a line is longer."""
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
