"""Derive the authors of lines from a transcript, for a checkpoint that has no lines.json.

An edit in the transcript is the author of a significant line that it added to a path, that no
later edit removed, and that the committed content has once.  The whole content that a tool wrote
over an existing file proves nothing: it may repeat lines of a person.
"""

from __future__ import annotations

from gitcp.agents.reading.items import list_items
from gitcp.core.decide import line_evidence
from gitcp.core.lines import line_diff
from gitcp.core.transcript import apply_patch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.core.lines.authors import Record

    Typed = dict[bytes, tuple[str, str]]  # line -> turn, tool use

_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path")
_OLD = ("old_string", "old_str", "oldString")
_NEW = ("new_string", "new_str", "newString")
_CREATED = "File created"  # the start of a tool's answer when it created a file
_FAILED = ("<tool_use_error>", "Error", "error")


def add_proven_lines(
    record: Record, transcript: bytes, contents: Mapping[str, tuple[str, bytes]]
) -> Record:
    """The record with `lines` in the form of lines.json, and the turns that they name.

    contents: path -> oid and bytes in the commit, for the paths that the session touched.
    """
    turns: dict[str, dict[str, Any]] = {}
    typed: dict[str, Typed] = {path: {} for path in contents}
    for path, old, new, turn, tool in _list_edits(transcript, turns):
        for name in contents:
            if path == name or path.endswith(f"/{name}"):
                path_lines = typed[name]
                for line in old - new:
                    path_lines.pop(line, None)
                path_lines.update(dict.fromkeys(new - old, (turn, tool)))
    lines = {
        path: [{"oid": oid, "ranges": ranges}]
        for path, (oid, data) in contents.items()
        if typed[path] and (ranges := _build_ranges(data, typed[path]))
    }
    metadata = {**record["metadata"], "turns": turns}
    return {**record, "metadata": metadata, "lines": lines}


def drop_contested_lines(records: Sequence[Record]) -> list[Record]:
    """Results of add_proven_lines() for one commit, without lines that several of them claim."""
    counts: dict[tuple[str, int], int] = {}
    for record in records:
        for path, (entry,) in (record["lines"] or {}).items():
            for line, *_ in entry["ranges"]:
                counts[path, line] = counts.get((path, line), 0) + 1
    return [
        {
            **record,
            "lines": {
                path: [{**entry, "ranges": [r for r in entry["ranges"] if counts[path, r[0]] == 1]}]
                for path, (entry,) in (record["lines"] or {}).items()
            },
        }
        for record in records
    ]


def _build_ranges(data: bytes, typed: Typed) -> list[list[Any]]:
    lines = [line.strip() for line in data.split(b"\n")]
    counts = line_diff.count_equal_lines(lines)
    return [
        [number, number, *typed[line]]
        for number, line in enumerate(lines, 1)
        if line in typed and counts[line] == 1
    ]


def _list_edits(
    transcript: bytes, turns: dict[str, dict[str, Any]]
) -> Iterator[tuple[str, set[bytes], set[bytes], str, str]]:
    """Yield (path, lines before, lines after, turn, tool use) of each edit that succeeded."""
    open_calls: dict[str, tuple[Any, str]] = {}
    turn = ""
    for item in list_items(transcript):
        if item["kind"] == "prompt":
            turn = f"prompt-{len(turns) + 1}"
            turns[turn] = {"number": len(turns) + 1, "prompt": item["text"]}
        elif item["kind"] == "call" and item["id"]:
            open_calls[item["id"]] = item["input"], turn
        elif item["kind"] == "result" and item["id"] in open_calls:
            arguments, call_turn = open_calls.pop(item["id"])
            if call_turn and not item["failed"] and not item["text"].startswith(_FAILED):
                for path, old, new in _list_changes(arguments, item["text"].startswith(_CREATED)):
                    yield path, _select_telling(old), _select_telling(new), call_turn, item["id"]


def _list_changes(arguments: Any, created: bool) -> Iterator[tuple[str, str, str]]:
    if isinstance(arguments, str):
        yield from _list_patched(arguments)
    if not isinstance(arguments, dict):
        return
    path = _get_first(arguments, _PATHS)
    edits = arguments.get("edits")
    for edit in edits if isinstance(edits, list) else [arguments]:
        old = _get_first(edit, _OLD) if isinstance(edit, dict) else ""
        if path and old and any(key in edit for key in _NEW):
            yield path, old, _get_first(edit, _NEW)
    if path and created and isinstance(arguments.get("content"), str):
        yield path, "", arguments["content"]
    for value in arguments.values():
        if isinstance(value, str) and "*** Begin Patch" in value:
            yield from _list_patched(value)


def _list_patched(text: str) -> Iterator[tuple[str, str, str]]:
    return ((path, old or "", new) for path, old, new in apply_patch.parse_hunks(text))


def _get_first(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((arguments[key] for key in keys if isinstance(arguments.get(key), str)), "")


def _select_telling(text: str) -> set[bytes]:
    data = text.encode("utf-8", "surrogateescape")
    return line_evidence.select_significant(set(data.split(b"\n")))
