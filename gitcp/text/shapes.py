"""What is valid, of gitcp's and of git's: shapes of JSON, ids and names, packs, status."""

from __future__ import annotations

import zlib

from gitcp import memory
from gitcp.errors import Error, InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.text.record_types import Staged, Version

    Shape = Any

    class Shadow(TypedDict):
        base7: str  # seven hex digits or more
        worktree: str | None  # None: the oldest form of names has none
        suffix: int | None

    PackEntry = tuple[int, int]  # offset, crc
    Hasher = Callable[[bytes], Any]
    from typing import Any, TypedDict

    from gitcp.text.record_types import Writer


# The shapes of the JSON that gitcp stores, and a check of values against them.
_HEX = frozenset("0123456789abcdef")
_ODD = frozenset("~^:?*[\\\x7f").union(map(chr, range(33)))  # in no name of a ref
_LARGEST = 1 << 63  # times in ns are below it too


def is_count(value: object) -> bool:
    """A number of things."""
    return type(value) is int and 0 <= value < _LARGEST


def is_object_name(value: object) -> bool:
    """An oid or the beginning of one; '' stands for none."""
    return isinstance(value, str) and len(value) <= 64 and _HEX.issuperset(value)


def is_printable(value: object) -> bool:
    """A text without control characters."""
    return isinstance(value, str) and value.isprintable()


def is_short_id(value: object) -> bool:
    """The id of a stream, a turn or a checkpoint; '' stands for none."""
    return isinstance(value, str) and len(value) <= 12 and _HEX.issuperset(value)


def is_ref(value: object) -> bool:
    """A full ref name; '' stands for none."""
    if not isinstance(value, str) or not value:
        return value == ""
    return value.startswith("refs/") and _ODD.isdisjoint(value) and ".." not in value


def is_mode(value: object) -> bool:
    """The mode of a tree's entry."""
    return isinstance(value, str) and len(value) == 6 and value.isdecimal() and value.isascii()


def is_path(value: object) -> bool:
    """A path inside the worktree."""
    if not isinstance(value, str) or not value or "\0" in value or value[0] == "/":
        return False
    return ".." not in value or ".." not in value.split("/")


def is_files(value: object) -> bool:
    """An object of the files of a stream: path -> {oid, mode, turn_id}."""
    if not isinstance(value, dict) or not all(map(is_path, value)):
        return False
    return not any(find_fault(file, _FILE) for file in value.values())


def is_entries(value: object) -> bool:
    """An object of the entries of a worktree: path -> [mode, oid], null for what is gone."""
    if not isinstance(value, dict) or not all(map(is_path, value)):
        return False
    return all(entry is None or is_entry(entry) for entry in value.values())


def is_entry(value: object) -> bool:
    """An entry, [mode, oid]."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and is_mode(value[0])
        and is_object_name(value[1])
    )


def is_chunk(value: object) -> bool:
    """A chunk of a transcript: its oid, its bytes, when it was seen in a pack."""
    if not isinstance(value, list) or len(value) != 3 or not is_object_name(value[0]):
        return False
    return is_count(value[1]) and type(value[2]) is int


def is_texts(value: object) -> bool:
    """A text or a list of texts."""
    return isinstance(value, str) or not find_fault(value, [str])


def is_counts(value: object) -> bool:
    """The four counts of tokens that a client reports, in their order."""
    return isinstance(value, list) and len(value) == 4 and not find_fault(value, [int])


def is_seconds(value: object) -> bool:
    """A time since 1970."""
    return type(value) in (int, float) and 0 <= value < _LARGEST  # type: ignore[operator]


def is_owner(value: object) -> bool:
    """The owner of a workspace that a commit names; null for none."""
    return value is None or isinstance(value, str)


_USAGE: Shape = {}
_USAGE["subagent_tokens?"] = _USAGE
_FILE = {"oid": is_object_name, "mode": is_mode, "turn_id?": str}
PROCESS = {"pid": is_count, "start?": str, "boot_id?": str, "host?": str}
_VERDICT = {"verdict": str, "ref?": is_ref, "tip?": is_object_name, "reason?": str}
_TASK = dict.fromkeys("agent_id? transcript_path? subagent_type? description? turn?".split(), str)
_TASKS = {None: _TASK}
STATE_TURNS = {None: {"number?": is_count, "prompt": str}}
STATE = {
    "session_id": str,
    "base_commit?": is_object_name,
    "attribution_base_commit?": is_object_name,
    **dict.fromkeys(("checkpoint_count?", "revision?", "checkpoint_transcript_start?"), is_count),
    **dict.fromkeys(("transcript_lines_at_start?", "condensed_transcript_lines?"), is_count),
    **dict.fromkeys("worktree_path? worktree_id? agent_type? cli_version?".split(), str),
    **dict.fromkeys("transcript_path? first_prompt? prompt_id? started_at?".split(), str),
    **dict.fromkeys(("ended_at?", "last_interaction_time?", "phase?", "strategy?"), str),
    **dict.fromkeys(("resumed?", "late_calls?", "tool_events?", "guest?"), bool),
    "transcript_identifier_at_start?": str,
    "streams?": [
        {"id": is_short_id, "ref": is_ref, "base_commit?": is_object_name, "files?": is_files}
    ],
    **{key: [str] for key in ("files_touched?", "visits?", "unstored?")},
    "over_limit?": {None: str},
    "turn_id?": str,
    "turns?": STATE_TURNS,
    "last_checkpoint_id?": is_short_id,
    "turn_checkpoint_ids?": [is_short_id],
    "pending_finalize?": {"ids": [is_short_id], "size?": int, "live?": [int]},
    "shadow_ref?": is_ref,
    **dict.fromkeys(("head_log?", "shadow_branch_suffix?"), is_count),
    "should_reset_shadow_branch?": bool,
    "verdict?": _VERDICT,
    "last_verdict?": _VERDICT,
    "agent_process?": PROCESS,
    **dict.fromkeys(("tasks?", "ended_tasks?"), _TASKS),
    **dict.fromkeys(("token_usage?", "tokens_at_condensation?", "tokens_before?"), _USAGE),
    "multisession_warned?": dict,
}
MARKER = {
    "session_id": str,
    **dict.fromkeys("agent_type worktree_path worktree_id phase".split(), str),
    "base_commit": is_object_name,
    "agent_process?": PROCESS,
    "prompt?": str,
    "count": is_count,
    "tool_events?": bool,
    "visits?": [str],
    "streams": [{"id": is_short_id, "ref": is_ref}],
}
COMMIT_VERDICT = {
    "id": is_short_id,
    "head": is_object_name,
    "parent": is_object_name,
    "sessions": {
        None: {"how": str, "paths": [is_path], "reasons": {None: str}, "former?": [is_path]}
    },
    "ids?": [is_short_id],
    "unmade?": [is_short_id],
    **dict.fromkeys(("told?", "commented?", "exposed?", "brings?"), bool),
    "maker?": PROCESS,
    "picked?": is_object_name,
    "merged?": [is_object_name],
}


def is_agent(value: object) -> bool:
    """A process; null if it is not known."""
    return value is None or not find_fault(value, PROCESS)


def is_look(value: object) -> bool:
    """The base of a call; null if it was not read."""
    return value is None or not find_fault(value, _STARTED)


GUARD_HEAD = {"id": is_object_name, "keys": [str], "sessions": [str], "workspace": is_owner}
_STARTED = {"vcs": str, "name": str, "id": str, "sessions": [str], "workspace": is_owner}
CLAIM = {
    **dict.fromkeys("key session_id agent_id tool_use_id tool transcript".split(), str),
    "paths": [str],
    "created": is_seconds,
    "process": is_agent,
    "started": is_look,
}
LOOK = {"head": is_object_name, "at": is_count, "dirty": is_entries, "cost?": is_count}
_SCAN = {
    **dict.fromkeys(("items", "bytes", "skipped"), is_count),
    **{key: [str] for key in ("prompts", "written", "subagents")},
    "usage?": _USAGE,
    # Where the clients' readers continue.
    "carry": {
        "pending?": {None: is_texts},
        "recent?": {None: is_counts},
        "spent?": {None: _USAGE},
        "total?": is_counts,
        **dict.fromkeys(("cwd?", "began?"), str),
    },
}
_COUNTS = [is_count]
TRANSCRIPT = {
    **dict.fromkeys(("version", "size", "crc"), is_count),
    **dict.fromkeys(("lines?", "parts?"), is_count),
    "chunks?": [is_chunk],
    "blocks?": _COUNTS,
    "live?": {None: is_count},
    "scan?": _SCAN,
    "document?": list,
}
BASELINE = {
    "head": is_object_name,
    "dirty": is_entries,
    **dict.fromkeys(("time_ns", "at?", "offset?"), is_count),
    **dict.fromkeys(("turn?", "transcript?"), str),
}
# What enable wrote.
MANIFEST = {
    "files": [
        {
            **dict.fromkeys(("path", "kind", "after"), str),
            **dict.fromkeys(("before?", "aside?", "agent?", "worktree?"), str),
            **{key: [str] for key in ("dirs?", "lines?")},
            "mode?": is_count,
        }
    ]
}
_FUNCTION = type(is_count)
_NAMES = {str: "text", int: "number", bool: "boolean", dict: "object", list: "list"}
# The id of a shape -> the shape, which so lives on; and what _list_fields() returns.
_FIELDS: dict[int, tuple[Shape, dict[str, Shape], frozenset[str]]] = memory.get_table("shapes")


def find_fault(value: object, shape: Shape, path: str = "") -> str:
    """The fault of a value, such as `'streams[0].files' is no object`; '' if it has the shape."""
    if isinstance(shape, dict):
        return _find_object_fault(value, shape, path)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return _format_fault(path, "list")
        for number, item in enumerate(value):
            if find_fault(item, shape[0]):  # the place is formatted only for a fault
                return find_fault(item, shape[0], f"{path}[{number}]")
        return ""
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not (isinstance(value, bool) and shape is not bool)
        return "" if fits else _format_fault(path, _NAMES[shape])
    if shape(value):
        return ""
    return _format_fault(path, shape.__name__.removeprefix("is_").replace("_", " "))


def _find_object_fault(value: object, shape: Shape, path: str) -> str:
    if not isinstance(value, dict):
        return _format_fault(path, "object")
    if None in shape:
        for key, item in value.items():
            if find_fault(item, shape[None]):
                return find_fault(item, shape[None], f"{path}[{key!a}]")
        return ""
    fields, needed = _list_fields(shape)
    if missing := needed.difference(value):
        return f"'{_join_key(path, min(missing))}' is missing"
    for key, item in value.items():
        inner = fields.get(key)
        if inner is None or type(item) is inner or (item is None and key not in needed):
            continue
        if type(inner) is _FUNCTION and inner(item):  # saves a call of find_fault()
            continue
        if find_fault(item, inner):
            return find_fault(item, inner, _join_key(path, key))
    return ""


def _list_fields(shape: dict[str, Shape]) -> tuple[dict[str, Shape], frozenset[str]]:
    """(the shape of each known key, those that must be there), worked out once for a shape."""
    if id(shape) not in _FIELDS:
        fields = {name.removesuffix("?"): inner for name, inner in shape.items()}
        _FIELDS[id(shape)] = shape, fields, frozenset(fields) & frozenset(shape)
    return _FIELDS[id(shape)][1:]


def _join_key(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _format_fault(path: str, what: str) -> str:
    return f"'{path}' is no {what}" if path else f"it is no {what}"


# Names from outside, checked before they become a path, a ref or an argument.
_EXAMPLES = 10  # listed matches
LONGEST = 200  # bytes: a session id is also a file name and part of a ref
MAIN_WORKTREE = "e3b0c4"  # sha256("")[:6]
CHECKPOINTS = "refs/entire/checkpoints"  # where each checkpoint has a ref of its own
BRANCHES = "refs/heads/entire/"  # streams as branches
V1 = "refs/heads/entire/checkpoints/v1"  # the permanent branch
NOTES = "refs/notes/gitcp"
ABANDONED = "refs/gitcp/abandoned"  # summaries of what was given up
SESSION_KEY = "Entire-Session"  # trailers of streams and of the permanent branch
STRATEGY_KEY = "Entire-Strategy"
TASK_KEY = "Entire-Metadata-Task"
CHECKPOINT_KEY = "Entire-Checkpoint"  # the trailer of a commit of the person
EDITS = "refs/gitcp/edits/"  # of a session each: the contents that a journal names
HIDDEN = "refs/gitcp/streams/"  # streams where clients of git and jj list nothing
ARCHIVE = "refs/gitcp/archive/"  # archived streams: <name>/<number>
# A checkpoint id, 12 hex digits or a ULID: valid as an extended regular expression, too.
CHECKPOINT_ID = "[0-9a-f]{12}|[0-9A-HJKMNP-TV-Z]{26}"
_BASE32 = frozenset("0123456789ABCDEFGHJKMNPQRSTVWXYZ")  # Crockford's
# Not allowed in a component of a path or ref; control characters could drive a terminal.
_REFUSED = frozenset("/\\ ~^:?*[").union(map(chr, (*range(32), *range(127, 160))))


def pick_match(kind: str, prefix: str, matches: Sequence[str]) -> str:
    """The only name that a prefix matches; raises Error for none, and for several, which it
    lists."""
    if not matches:
        raise Error(f"no such {kind}: '{prefix}'")
    if len(matches) > 1:
        listed = " ".join(matches[:_EXAMPLES]) + (" ..." if len(matches) > _EXAMPLES else "")
        raise Error(f"ambiguous {kind} '{prefix}': {listed}")
    return matches[0]


def _refuse(field: str, value: object, why: str) -> InputError:
    escaped = ascii(value if not isinstance(value, str) else value[:60])
    return InputError(f"'{field}' {why}: {escaped[:80]}")


def check_component(value: object, field: str) -> str:
    """Return a text that is safe as a file name, as a part of a ref and as an argument.

    InputError names the field and what is wrong with it.
    """
    if value is None:
        raise InputError(f"'{field}' is missing")
    if not isinstance(value, str) or not value:
        raise _refuse(field, value, "must be a text that is not empty")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise _refuse(field, value, "is not UTF-8") from None
    if size > LONGEST:
        raise _refuse(field, value, f"is longer than {LONGEST} bytes")
    if value[0] in "-." or value[-1] == ".":
        raise _refuse(field, value, "begins with '-' or '.', or ends with '.'")
    if not _REFUSED.isdisjoint(value):
        raise _refuse(field, value, "has a character that is not allowed")
    if ".." in value or "@{" in value or value == "@" or value.lower().endswith(".lock"):
        raise _refuse(field, value, "has '..', '@{' or '.lock', which git refuses")
    return value


def check_session_id(value: object) -> str:
    """Return an agent's session id if check_component() accepts it."""
    return check_component(value, "session_id")


def check_tool_use_id(value: object) -> str:
    """Return the id of a tool call if check_component() accepts it."""
    return check_component(value, "tool_use_id")


def is_checkpoint_id(value: object) -> bool:
    """Tell whether value is a checkpoint id: 12 lower-case hex digits, or a ULID."""
    return is_hex_id(value) or is_ulid(value)


def is_hex_id(value: object) -> bool:
    """Tell whether value is 12 lower-case hex digits."""
    return isinstance(value, str) and len(value) == 12 and _HEX.issuperset(value)


def is_ulid(value: object) -> bool:
    """Tell whether value is a ULID: 26 upper-case digits of Crockford's base 32."""
    return isinstance(value, str) and len(value) == 26 and _BASE32.issuperset(value)


def begins_checkpoint_id(prefix: str) -> bool:
    """Tell whether a checkpoint id may begin with prefix."""
    as_hex = len(prefix) <= 12 and _HEX.issuperset(prefix)
    return as_hex or (len(prefix) <= 26 and _BASE32.issuperset(prefix))


def check_checkpoint_id(value: object) -> str:
    """Return a checkpoint id, or InputError."""
    if not isinstance(value, str) or not is_checkpoint_id(value):
        raise _refuse("checkpoint_id", value, "is neither 12 hex digits nor a ULID")
    return value


def build_checkpoint_ref(checkpoint_id: str) -> str:
    """Return the name of a checkpoint's own ref (doc/formats.md "Checkpoints as refs")."""
    return f"{CHECKPOINTS}/{checkpoint_id[-2:]}/{checkpoint_id}"


def parse_checkpoint_ref(ref: str) -> str:
    """Return the id in the name of a checkpoint's own ref; "" for another ref."""
    name = ref.rpartition("/")[2]
    return name if is_checkpoint_id(name) and ref == build_checkpoint_ref(name) else ""


def check_path(value: object) -> str:
    """Return a path inside the worktree as git would accept it into a tree, or InputError.

    It is relative and has no NUL and no empty, '.', '..' or '.git' component.
    """
    if not isinstance(value, str) or not value:
        raise _refuse("path", value, "must be a text that is not empty")
    if "\0" in value:
        raise _refuse("path", value, "has a NUL")
    parts = value.split("/")
    if parts[0] == "":
        raise _refuse("path", value, "is not relative")
    if any(part in ("", ".", "..") or part.lower() in (".git", "git~1") for part in parts):
        raise _refuse("path", value, "leaves the worktree or enters '.git'")
    return value


def hash_worktree(worktree_id: str) -> str:
    """Return the six hex digits that stand for a worktree in branch names
    (doc/formats.md "Identifiers")."""
    if not worktree_id:
        return MAIN_WORKTREE
    return str(start_sha256(worktree_id.encode(errors="surrogateescape")).hexdigest()[:6])


def start_sha256(data: bytes = b"") -> Any:
    """hashlib.sha256(data) without importing hashlib, which costs 9 ms; slower on large data."""
    for name in ("_sha256", "_sha2"):  # the second since Python 3.12
        try:
            return __import__(name).sha256(data)
        except ImportError:
            pass
    import hashlib

    return hashlib.sha256(data)


def format_stream_name(base: str, worktree: str, suffix: int | None = None, digits: int = 7) -> str:
    """Return the name of a stream, <base7>-<wt6>[-<n>], without the prefix of its ref.

    digits: of the base; more than 7 if another branch has the shorter name.
    """
    return f"{base[:digits]}-{worktree}" + ("" if suffix is None else f"-{suffix}")


def parse_stream_name(ref: str) -> str:
    """Return the stream's name in a ref or branch name: of a branch, a hidden stream or an
    archived one; '' for any other."""
    for prefix in (BRANCHES, HIDDEN, "entire/"):
        if ref.startswith(prefix):
            return ref.removeprefix(prefix)
    return ref.removeprefix(ARCHIVE).rpartition("/")[0] if ref.startswith(ARCHIVE) else ""


def parse_shadow(ref: str) -> Shadow | None:
    """Return the parts of a stream's name in a ref; None for another ref.

    entire/<base7> and entire/<base7>-<n> are names of streams, too: six hex digits after the
    dash are a worktree's hash, fewer a suffix (doc/behaviour.md "Names of streams").
    """
    base, *parts = parse_stream_name(ref).split("-")
    if len(base) < 7 or not _HEX.issuperset(base.lower()):
        return None
    worktree = None
    if parts and len(parts[0]) == 6 and _HEX.issuperset(parts[0].lower()):
        worktree = parts.pop(0)
    if len(parts) > 1 or (parts and not _is_suffix(parts[0])):
        return None
    return {"base7": base, "worktree": worktree, "suffix": int(parts[0]) if parts else None}


def is_in_worktree(ref: str, worktree: str) -> bool:
    """Tell whether the stream at a ref may lie in a worktree, by its hash: old names tell none."""
    parsed = parse_shadow(ref)
    return not parsed or parsed["worktree"] in (None, worktree)


def _is_suffix(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 6 and text[0] != "0"


# Write packs without deltas, read objects of any pack, and their indexes (gitformat-pack(5)).
#
# Object names are hex.  An Entry is the offset of an object in the pack and its CRC-32.
SMALL = 1 << 16  # deflated bytes: smaller objects are read without git
LARGEST = 1 << 20  # bytes of content that unpack_deflated() returns at most
_FEW = 1 << 12  # bytes to deflate, for which zlib would clear more memory than it uses
START = 12  # bytes before the first object
_KINDS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}
_BY_OFFSET, _BY_NAME = 6, 7  # the kinds of deltas
_LONGEST = 10  # bytes of a number
_INDEX = b"\xfftOc\0\0\0\2"
_FANOUT = len(_INDEX)
HEAD = _OIDS = _FANOUT + 256 * 4


def build_head(count: int) -> bytes:
    """The header of a pack of count objects, START bytes."""
    return b"PACK\0\0\0\2" + count.to_bytes(4, "big")


def build_object_head(kind: str, size: int) -> bytes:
    """The header of an object in a pack; size: of the content before it is deflated."""
    byte, size = _KINDS[kind] << 4 | size & 15, size >> 4
    parts = bytearray()
    while size:
        parts.append(byte | 128)
        byte, size = size & 127, size >> 7
    parts.append(byte)
    return bytes(parts)


def build_index(entries: Mapping[str, PackEntry], trailer: bytes, hasher: Hasher) -> bytes:
    """The index of a pack of at most 2 GiB; trailer: the pack's checksum."""
    names = sorted(entries)
    fanout, filled = list[bytes](), 0  # for each first byte, the number of names up to it
    for number, name in enumerate(names):
        first = int(name[:2], 16)
        fanout.append(number.to_bytes(4, "big") * (first - filled))
        filled = first
    fanout.append(len(names).to_bytes(4, "big") * (256 - filled))
    oids = bytes.fromhex("".join(names))
    crcs = b"".join([entries[name][1].to_bytes(4, "big") for name in names])
    offsets = b"".join([entries[name][0].to_bytes(4, "big") for name in names])
    data = b"".join([_INDEX, *fanout, oids, crcs, offsets, trailer])
    return data + bytes(hasher(data).digest())


def is_index(head: bytes, size: int) -> bool:
    """Whether a file of this size with these first HEAD bytes is an index that build_index() made,
    by its length."""
    count = count_objects(head)
    return head.startswith(_INDEX) and size in (_OIDS + count * (w + 8) + 2 * w for w in (20, 32))


def find_bucket(head: bytes, oid: str) -> tuple[int, int]:
    """The start and end, in an index, of the object names that share the first byte of oid; the
    same twice for none, as in most indexes of gitcp.

    head: the first HEAD bytes of the index.
    """
    position = _FANOUT + 4 * int(oid[:2], 16)
    low = head[position - 4 : position] if position > _FANOUT else b"\0\0\0\0"
    high = head[position : position + 4]
    if low == high:
        return 0, 0
    width = len(oid) // 2
    return _OIDS + int.from_bytes(low, "big") * width, _OIDS + int.from_bytes(high, "big") * width


def find_position(oids: bytes, oid: str) -> int:
    """The position of an object name among those of its bucket, -1 if it is not there."""
    name = bytes.fromhex(oid)
    start = oids.find(name)
    while start > 0 and start % len(name):
        start = oids.find(name, start + 1)
    return start // len(name)


def count_objects(head: bytes) -> int:
    """The number of objects of an index."""
    return int.from_bytes(head[_OIDS - 4 : _OIDS], "big")


def locate_offset(head: bytes, width: int, number: int) -> int:
    """The place in an index of an object's offset; number: the object's position among all, by
    name."""
    return _OIDS + count_objects(head) * (width + 4) + number * 4


def parse_object(data: bytes, width: int) -> tuple[str, str | int, bytes] | None:
    """(kind, base, content) of the object at the start of data; None if it is cut short or too
    large.

    A delta has no kind, but a base: its name, of width bytes, or how many bytes before the delta it
    starts.
    """
    if not data:
        return None
    number, (_, start) = data[0] >> 4 & 7, _read_number(data, 0)
    kind = next((name for name, n in _KINDS.items() if n == number), "")
    base: str | int = 0
    if number == _BY_NAME:
        base, start = data[start : start + width].hex(), start + width
    elif number == _BY_OFFSET:
        base = -1
        for byte in data[start : start + _LONGEST]:
            base, start = (base + 1) << 7 | byte & 127, start + 1
            if byte < 128:
                break
    content = unpack_deflated(data[start:]) if kind or base else None
    return None if content is None else (kind, base, content)


def _read_number(data: bytes, start: int) -> tuple[int, int]:
    """(a number of 7 bits to a byte, the lowest first; the place after it)."""
    number = shift = 0
    for byte in data[start : start + _LONGEST]:
        number, shift, start = number | (byte & 127) << shift, shift + 7, start + 1
        if byte < 128:
            break
    return number, start


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """The content that a delta makes of its base; raises ValueError if it is damaged, or makes more
    than LARGEST bytes."""
    _, at = _read_number(delta, 0)
    size, at = _read_number(delta, at)
    content = bytearray()
    while at < len(delta) and len(content) <= size <= LARGEST:
        code, at = delta[at], at + 1
        if code < 128:  # that many bytes follow
            content += delta[at : at + code]
            at += code
            continue
        given = [bit for bit in range(7) if code >> bit & 1]  # bytes of an offset and a length
        number = sum(byte << 8 * bit for bit, byte in zip(given, delta[at : at + 7], strict=False))
        start, length = number & 0xFFFFFFFF, number >> 32 or 0x10000
        content += base[start : start + length]
        at += len(given)
    if at < len(delta) or len(content) != size:
        raise ValueError("a damaged delta, or a large content")
    return bytes(content)


def pack_content(data: bytes) -> bytes:
    """Deflated bytes, at the fastest level."""
    if len(data) > _FEW:
        return zlib.compress(data, 1)
    packer = zlib.compressobj(1, memLevel=4)
    return packer.compress(data) + packer.flush()


def unpack_deflated(data: bytes) -> bytes | None:
    """The content of deflated bytes, which others may follow; None if it is larger than LARGEST or
    cut short."""
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data, LARGEST)
    except zlib.error:
        return None
    return content if unpacker.eof else None


# Parse `git status --porcelain=v2 -z --branch --no-renames`, and `git ls-files -v -z`.
_LOOKUP_ERRORS = {"Permission denied": "closed", "Too many levels of symbolic links": "behind"}
GONE, FILE, EXECUTABLE, LINK, COMMIT = "000000", "100644", "100755", "120000", "160000"
REGULAR = (FILE, EXECUTABLE)
EMPTY = (
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)  # the empty blob: SHA-1, SHA-256
_SNIFFED = 8000  # bytes in which git looks for a NUL to tell binary content
_SPACE = b" \t\r\x0b\x0c"  # in a line


def build_change(old: Version, new: Version) -> Staged:
    """The change of a path from one version to another."""
    absent = (GONE, None)
    return (*(old or absent), *(new or absent))


def is_binary(data: bytes) -> bool:
    """Whether git would call this content binary."""
    return b"\0" in data[:_SNIFFED]


def remove_space(data: bytes) -> bytes:
    """A text without the white space in its lines, which a formatter may change."""
    return data.translate(None, _SPACE)


class Row:
    """A path that differs between HEAD and index (x), or between index and worktree (y).

    x, y: git's letters, '.' for no difference.  head: HEAD's entry or None.  moved: the path is a
    submodule in either HEAD or the index, but not in both.
    """

    __slots__ = ("head", "moved", "path", "x", "y")

    def __init__(self, path: str, xy: str, head: tuple[str, str] | None, mode: str = "") -> None:
        self.path, self.head = path, head
        self.x, self.y = xy[0], xy[1]
        self.moved = (mode == COMMIT) != (head is not None and head[0] == COMMIT)


class Status:
    """head: HEAD's commit, None if unborn; branch: its name, None if detached."""

    __slots__ = ("branch", "head", "rows", "untracked")

    def __init__(self) -> None:
        self.head: str | None = None
        self.branch: str | None = None
        self.rows: list[Row] = []
        self.untracked: list[str] = []  # a nested repository ends in a slash


def parse_status(out: bytes) -> Status:
    """The parsed status; raise ValueError for a line of another format."""
    status = Status()
    for line in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        kind, _, text = line.partition(" ")
        if kind == "?":
            status.untracked.append(text)
        elif kind == "1":
            xy, _, old, mode, _, oid, _, path = text.split(" ", 7)
            status.rows.append(Row(path, xy, (old, oid) if old != GONE else None, mode))
        elif kind == "u":  # three stages; the line does not tell which is HEAD's
            xy, *_, path = text.split(" ", 9)
            status.rows.append(Row(path, xy, None))
        elif kind == "#":
            _parse_header(status, text)
        elif kind != "!":
            raise ValueError(f"not a line of git status: {line!r}")
    return status


def _parse_header(status: Status, text: str) -> None:
    key, _, value = text.partition(" ")
    if key == "branch.oid":
        status.head = None if value == "(initial)" else value
    elif key == "branch.head":
        status.branch = None if value == "(detached)" else value


def parse_marked(listing: bytes) -> tuple[list[bytes], list[bytes]]:
    """(assume-unchanged paths, skip-worktree paths) in the output of `git ls-files -v -z`."""
    marked = [line for line in listing.split(b"\0")[:-1] if not line.startswith(b"H ")]
    rows = [(line[:1], line[2:]) for line in marked]
    assumed = [path for tag, path in rows if tag.islower()]
    return assumed, [path for tag, path in rows if tag in b"Ss"]


def list_unreadable(warnings: bytes) -> Iterator[tuple[str, str]]:
    """Yield (kind, path) of the paths that git could not read, by its standard error.

    `folder`: a directory that cannot be listed; its untracked files are unknown.  `closed`: a
    tracked path without permission to look it up.  `behind`: a tracked path below a symbolic link
    to itself.  The output of git status has neither of the last two.
    """
    for line in warnings.decode("utf-8", "surrogateescape").split("\n"):
        subject, _, reason = line.rpartition(": ")
        if subject.startswith("warning: could not open directory '"):
            yield "folder", subject.partition("'")[2][:-1].rstrip("/")
        elif reason in _LOOKUP_ERRORS and not subject.startswith(("warning: ", "error: ")):
            yield _LOOKUP_ERRORS[reason], subject


def replace_surrogates(text: str) -> str:
    """text with "?" for lone surrogates, which UTF-8 does not allow."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


PERSON: Writer = ("", "person", "")


UNKNOWN: Writer = ("", "unknown", "")
