"""The shapes of the JSON that gitcp stores, and a check of values against them."""

from __future__ import annotations

from gitcp import memory
from gitcp.text.ids import HEX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Shape = Any


_ODD = frozenset("~^:?*[\\\x7f").union(map(chr, range(33)))  # in no name of a ref
_DIGITS = b"0123456789abcdef"
_LARGEST = 1 << 63  # times in ns are below it too


def is_count(value: object) -> bool:
    """A number of things."""
    return type(value) is int and 0 <= value < _LARGEST


def is_object_name(value: object) -> bool:
    """An oid or the beginning of one; '' stands for none."""
    return isinstance(value, str) and len(value) <= 64 and HEX.issuperset(value)


def is_printable(value: object) -> bool:
    """A text without control characters."""
    return isinstance(value, str) and value.isprintable()


def is_short_id(value: object) -> bool:
    """The id of a stream, a turn or a checkpoint; '' stands for none."""
    return isinstance(value, str) and len(value) <= 12 and HEX.issuperset(value)


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
    if not isinstance(value, dict) or not _are_paths(value):
        return False
    modes = set()
    names = [""]
    for entry in value.values():
        if entry is None:
            continue
        if type(entry) is not list or len(entry) != 2 or type(entry[1]) is not str:
            return False
        if type(entry[0]) is not str or len(entry[1]) > 64:
            return False
        modes.add(entry[0])
        names.append(entry[1])
    digits = "".join(names)
    is_hex = digits.isascii() and not digits.encode().translate(None, _DIGITS)
    return is_hex and all(map(is_mode, modes))


def _are_paths(paths: Iterable[object]) -> bool:
    """Whether all are paths inside the worktree, asked at once: there may be thousands."""
    texts: list[str] = []
    for path in paths:
        if not isinstance(path, str) or not path or path[0] == "/":
            return False
        texts.append(path)
    together = "/".join(texts)
    if "\0" in together:
        return False
    return ".." not in together or ".." not in together.split("/")


def is_entry(value: object) -> bool:
    """An entry, [mode, oid]."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and is_mode(value[0])
        and is_object_name(value[1])
    )


def is_stamp(value: object) -> bool:
    """What stat() said of a file, None if there was none."""
    return value is None or isinstance(value, list)


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
    "unread?": [
        {
            "ids": [is_short_id],
            "turn_id": str,
            "end": is_count,
            "is_open?": bool,
            "turns?": [str],
        }
    ],
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
    **dict.fromkeys(("start?", "before?", "lines?", "parts?"), is_count),
    "chunks?": [is_chunk],
    "blocks?": _COUNTS,
    "unread?": bool,
    "earlier?": {"usage?": _USAGE, "subagents": [str]},
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
        if fits:
            return ""
        return _format_fault(path, _NAMES[shape])
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
    missing = needed.difference(value)
    if missing:
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
    if path:
        return f"'{path}' is no {what}"
    return f"it is no {what}"


# Parse `git status --porcelain=v2 -z --branch --no-renames`, and `git ls-files -v -z`.
