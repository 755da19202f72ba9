"""The JSON of a committed checkpoint: its summary and its sessions' metadata
(doc/formats.md "Committed checkpoint")."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.text import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any

    Metadata = dict[str, Any]  # a JSON object; unknown keys are preserved
    Session = tuple[Metadata | None, Collection[str]]  # metadata, names in its directory

METADATA = "metadata.json"
PROMPT = "prompt.txt"
CONTEXT = "context.md"
HASH = "content_hash.txt"
LINES = "lines.json"
SEPARATOR = "\n\n---\n\n"
_COUNTS = """input_tokens cache_creation_tokens cache_read_tokens output_tokens
api_call_count""".split()
# bytes, levels
_LARGEST = 32 << 20
_DEEPEST = 100
_STRING = rb'(?s)"[^"\\]*(?:\\.[^"\\]*)*"'
_NO_BRACKETS = bytes({*range(256)} - {*b"{}[]"})
_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
NAME = "transcript.jsonl"
_FORGOTTEN = "forgotten"  # in a session's metadata: the time
_ROLES = ("user", "assistant")


def dump_json(value: Mapping[str, Any]) -> bytes:
    """JSON as the original program writes it: indented by two, <, > and & escaped, with a final
    newline."""
    document = json.dumps(value, indent=2, ensure_ascii=False).translate(_ESCAPES) + "\n"
    try:
        return document.encode()
    except UnicodeEncodeError:  # a path that is not UTF-8: write its surrogates as escapes
        safe = "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in document)
        return safe.encode()


def parse_json(data: bytes | None, parse: Callable[[bytes], Any] = json.loads) -> Metadata | None:
    """The JSON object in data; None if there is none, it is too large or nested too deep.

    The limits protect readers from data that others may push.  Halves of surrogate pairs are
    replaced.  parse: like json.loads().
    """
    if data and (len(data) > _LARGEST or _is_too_deep(data)):
        return None
    try:
        value = json.mend_halves(parse(data or b""), data or b"")
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        return value
    return None


def _is_too_deep(data: bytes) -> bool:
    """Whether objects and lists may be nested deeper than _DEEPEST."""
    if len(data.translate(None, _NO_BRACKETS)) <= 2 * _DEEPEST:  # each of them is closed
        return False
    depth = 0
    import re

    for bracket in re.sub(_STRING, b"", data).translate(None, _NO_BRACKETS):
        if bracket in b"}]":
            depth -= 1
            continue
        depth += 1
        if depth > _DEEPEST:
            return True
    return False


def upgrade_metadata(record: Metadata) -> Metadata:
    """A session's metadata with present keys for former ones, without texts of a wrong type."""
    from gitcp.checkpoints.format.keys import FORMER, TEXTS

    metadata = dict(record)
    for former, key in FORMER.items():
        value = metadata.get(former)
        if isinstance(value, list):
            value = next(iter(value), None)
        if value is not None:
            metadata.setdefault(key, value)
    metadata["files_touched"] = list_strings(metadata.get("files_touched"))
    for key in TEXTS:
        if key in metadata and not isinstance(metadata[key], str):
            del metadata[key]
    return metadata


def merge_metadata(old: Metadata | None, new: Metadata) -> Metadata:
    """A session's metadata when it is written again: old updated by new, and joined where
    checkpoint_keys says so, because an amended commit holds both.  null in new removes a key."""
    from gitcp.checkpoints.format.keys import SESSION_ORDER, list_keys

    if old is None:
        old = {}
    metadata = {**old, **new}
    for key in (*list_keys("first"), *list_keys("earliest")):
        if old.get(key):
            metadata[key] = old[key]
    for key in list_keys("keys"):
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            metadata[key] = {**old[key], **new[key]}
    for key in list_keys("union"):
        if old.get(key) or new.get(key):
            metadata[key] = unite_strings(old.get(key), new.get(key))
    for key in list_keys("sum"):
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            metadata[key] = _add_usage(old, new, key)
    metadata["files_touched"] = metadata.get("files_touched") or []
    metadata.setdefault("checkpoints_count", 0)
    return order_keys({k: v for k, v in metadata.items() if v is not None}, SESSION_ORDER)


def _add_usage(old: Metadata, new: Metadata, key: str) -> Metadata:
    """The usage of a checkpoint that is written again: the sum, or one part if the session has used
    nothing since."""
    if old.get("token_usage") == new.get("token_usage"):
        return dict(old[key])
    return dict(transcripts.add_tokens(old[key], new[key]))


def summarize(checkpoint_id: str, old: Metadata | None, sessions: Sequence[Session]) -> Metadata:
    """The summary of sessions, in the order of their directories; keys that only old has stay."""
    from gitcp.checkpoints.format.keys import SUMMARY_ORDER, list_keys

    upgraded = [upgrade_metadata(m) if m else {} for m, _ in sessions]
    metadata = dict(old or {})
    metadata["checkpoint_id"] = checkpoint_id
    for key in list_keys("taken"):
        if old is None:
            value = next((m[key] for m in upgraded if m.get(key)), None)
            if value:
                metadata[key] = value
    counts = [m.get("checkpoints_count") for m in upgraded]
    counts = [count for count in counts if isinstance(count, int)]
    if counts or "checkpoints_count" not in metadata:
        metadata["checkpoints_count"] = sum(counts)
    touched = [m.get("files_touched") for m in (old or {}, *upgraded)]
    metadata["files_touched"] = unite_strings(*touched)
    metadata["sessions"] = [
        build_paths(checkpoint_id, n, names) for n, (_, names) in enumerate(sessions)
    ]
    usage = add_usages(m.get("token_usage") for m in upgraded)
    if usage:
        metadata["token_usage"] = usage
    return order_keys(metadata, SUMMARY_ORDER)


def build_paths(checkpoint_id: str, number: int, files: Collection[str]) -> dict[str, str]:
    """An entry of sessions[]: the paths of a session's files, "" for a missing one."""
    prefix = f"/{checkpoint_id[:2]}/{checkpoint_id[2:]}/{number}/"
    transcript = "full.jsonl"
    if "full.log" in files and "full.jsonl" not in files:
        transcript = "full.log"
    files_by_key = {
        "metadata": METADATA,
        "transcript": transcript,
        "context": CONTEXT,
        "content_hash": HASH,
        "prompt": PROMPT,
    }
    return {key: prefix + name if name in files else "" for key, name in files_by_key.items()}


def add_usages(usages: Iterable[Any]) -> dict[str, int] | None:
    """The sum of token usages without subagents' parts; None if there is none."""
    usage_dicts = [u for u in usages if isinstance(u, dict)]
    if not usage_dicts:
        return None
    sums = dict.fromkeys(_COUNTS, 0)
    for usage in usage_dicts:
        for key in _COUNTS:
            count = usage.get(key)
            if isinstance(count, int):
                sums[key] += count
    return sums


def get_text(metadata: Metadata, key: str) -> str:
    """The text under a key; '' if it is missing or not a text."""
    value = metadata.get(key)
    if isinstance(value, str):
        return value
    return ""


def list_strings(value: Any) -> list[str]:
    """The strings in a list; [] for any other value."""
    if isinstance(value, list):
        return [v for v in value if isinstance(v, str)]
    return []


def unite_strings(*values: Any) -> list[str]:
    """The strings of several lists, sorted; a value that is not a list is ignored."""
    united: set[str] = set()
    for value in values:
        united.update(list_strings(value))
    return sorted(united)


def build_forgotten(metadata: Mapping[str, Any], at: str) -> dict[str, Any]:
    """The metadata of a forgotten session; at: the time.  `tasks` stays: the ids of subagents whose
    files have to go as well."""
    from gitcp.checkpoints.format.keys import ORIGINAL, OWN, list_keys

    forgotten: dict[str, Any] = {}
    for key in list_keys("kept", ORIGINAL):
        if key in metadata:
            forgotten[key] = metadata[key]
    forgotten["checkpoints_count"] = 0
    forgotten["files_touched"] = []
    for key in list_keys("kept", OWN):
        if key in metadata:
            forgotten[key] = metadata[key]
    forgotten[_FORGOTTEN] = at
    return forgotten


def is_forgotten(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a session's metadata says that its content was forgotten."""
    return bool(metadata and metadata.get(_FORGOTTEN))


def order_keys(value: Metadata, keys: Sequence[str]) -> Metadata:
    """value with keys first, in that order."""
    ordered = {key: value[key] for key in keys if key in value}
    return {**ordered, **value}


def build_context(prompts: Sequence[str]) -> str:
    """context.md of a session: its prompts, each cut at 500 bytes."""
    parts = ["# Session Context\n\n## User Prompts"]
    for number, prompt in enumerate(prompts, 1):
        data = prompt.encode("utf-8", "replace")
        if len(data) > 500:
            shortened = data[:500].decode("utf-8", "ignore") + "..."
        else:
            shortened = prompt
        parts.append(f"### Prompt {number}\n\n{shortened}")
    return "\n\n".join(parts)


def expand_lines(data: bytes) -> bytes:
    """Compact transcript lines in the form of Claude Code's; other lines are left out
    (doc/formats.md "Checkpoints as refs")."""
    return b"".join(map(_expand_line, data.split(b"\n")))


def _expand_line(line: bytes) -> bytes:
    try:
        entry = None
        if line.strip():
            entry = json.mend_halves(json.loads(line), line)
    except (ValueError, RecursionError):
        return b""
    if not isinstance(entry, dict) or entry.get("type") not in _ROLES:
        return b""
    role = entry["type"]
    message = {"role": role, "content": entry.get("content")}
    expanded = {"type": role, "timestamp": entry.get("ts"), "message": message}
    return json.dumps(expanded).encode() + b"\n"
