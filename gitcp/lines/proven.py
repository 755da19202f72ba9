"""Derives the authors of lines from a transcript, for a checkpoint that has no lines.json.

An edit in the transcript is the author of a significant line that it added to a path, that no
later edit removed, and that the committed content has once.  The whole content that a tool wrote
over an existing file proves nothing: it may repeat lines of a person.

A line that the content has more than once is proven beside one that is: where both stand in the
text of one edit as they do in the content.  That is for reading alone.
"""

from __future__ import annotations

from functools import cache

from gitcp.agents import name_call
from gitcp.agents.reading.items import list_items
from gitcp.agents.transcripts import agent_words, blocks, load_entry
from gitcp.checkpoints import redact
from gitcp.text import line_evidence, pairing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gitcp.agents.reading.items import Load
    from gitcp.checkpoints.format.line_authors import LineRecord
    from gitcp.text.record_types import Blob

    Call = tuple[str, str]  # turn, tool use
    Typed = dict[bytes, Call]  # by line, without white space around it
    Texts = list[tuple[Call, str, str]]  # of each edit, with the text before and after

_PATHS = ("file_path", "filePath", "path", "absolute_path", "notebook_path")
_NEW = ("new_string", "new_str", "newString")
_REDACTED = redact.REDACTED.decode()
_FAILED = ("<tool_use_error>", "Error", "error")


def add_proven_lines(
    record: LineRecord,
    transcript: bytes,
    oids: Mapping[str, str],
    blob: Blob,
    load: Load = load_entry,
) -> LineRecord:
    """The record with `lines` in the form of lines.json, and its turns.  An entry may have the key
    `beside`, ranges like the others, of lines that are proven by the lines beside them.

    oids: path -> blob in the commit, for the paths that the session touched.  blob reads one.
    load: as for list_items().
    """
    turns: dict[str, dict[str, Any]] = {}
    typed: dict[str, Typed] = {path: {} for path in oids}
    texts: dict[str, Texts] = {path: [] for path in oids}
    for path, before, after, turn, tool in _list_edits(transcript, turns, oids, load):
        names = [name for name in oids if path == name or path.endswith(f"/{name}")]
        old, new = (_select_telling(text) if names else set() for text in (before, after))
        for name in names:
            path_lines = typed[name]
            for line in old - new:
                path_lines.pop(line, None)
            path_lines.update(dict.fromkeys(new - old, (turn, tool)))
            texts[name].append(((turn, tool), before, after))
    lines = {}
    for path, oid in oids.items():
        entry = None
        if typed[path]:
            entry = _build_entry(blob(oid) or b"", typed[path], texts[path])
        if entry is not None:
            lines[path] = [{"oid": oid, **entry}]
    metadata = {**record["metadata"], "turns": turns}
    return {**record, "metadata": metadata, "lines": lines}


def drop_contested_lines(records: Sequence[LineRecord]) -> list[LineRecord]:
    """Results of add_proven_lines() for one commit, without lines that several of them claim."""
    proven = _count_claims(records, ("ranges",))
    every = _count_claims(records, ("ranges", "beside"))
    limited: list[LineRecord] = []
    for record in records:
        lines = {}
        for path, (entry,) in (record["lines"] or {}).items():
            ranges = [row for row in entry["ranges"] if proven[path, row[0]] == 1]
            lines[path] = [{**entry, "ranges": ranges}]
            if "beside" in entry:
                beside = [row for row in entry["beside"] if every[path, row[0]] == 1]
                lines[path][0]["beside"] = beside
        limited.append({**record, "lines": lines})
    return limited


def _count_claims(records: Sequence[LineRecord], keys: Sequence[str]) -> dict[tuple[str, int], int]:
    """(path, line) -> how often records have it in ranges of these keys."""
    counts: dict[tuple[str, int], int] = {}
    for record in records:
        for path, (entry,) in (record["lines"] or {}).items():
            for key in keys:
                for line, *_ in entry.get(key, ()):
                    counts[path, line] = counts.get((path, line), 0) + 1
    return counts


def _build_entry(data: bytes, typed: Typed, texts: Texts) -> dict[str, Any] | None:
    """`ranges` and `beside` of a content; None if no line is proven."""
    lines = [line.strip() for line in data.split(b"\n")]
    counts = pairing.count_equal_lines(lines)
    proven: dict[int, Call] = {}
    for number, line in enumerate(lines, 1):
        if line in typed and counts[line] == 1:
            proven[number] = typed[line]
    if not proven:
        return None
    entry = {"ranges": [[number, number, *call] for number, call in proven.items()]}
    beside = _find_beside(lines, proven, texts)
    if beside:
        entry["beside"] = [[number, number, *beside[number]] for number in sorted(beside)]
    return entry


def _find_beside(
    lines: Sequence[bytes], proven: Mapping[int, Call], texts: Texts
) -> dict[int, Call]:
    """Line (from 1) -> the call that wrote it, of lines that stand beside a proven one in the text
    that a call wrote as they do in the content."""
    written = _list_written(texts, set(proven.values()))
    beside: dict[int, Call] = {}
    for number, call in proven.items():
        for run in written.get(call, ()):
            if lines[number - 1] not in run:
                continue
            start = run.index(lines[number - 1])
            for step in (-1, 1):
                line = number + step
                at = start + step
                while 0 <= at < len(run) and 0 < line <= len(lines) and line not in proven:
                    if lines[line - 1] != run[at]:
                        break
                    beside.setdefault(line, call)
                    line += step
                    at += step
    return beside


def _list_written(texts: Texts, calls: Collection[Call]) -> dict[Call, list[list[bytes]]]:
    """The runs of lines that each of calls added, without white space around them."""
    written: dict[Call, list[list[bytes]]] = {}
    for call, before, after in texts:
        if call not in calls:
            continue
        old = _split_stripped(before)
        new = _split_stripped(after)
        _, added = pairing.find_changed_lines(old, new)
        for first, last in line_evidence.group_runs(added):
            written.setdefault(call, []).append(new[first : last + 1])
    return written


def _split_stripped(text: str) -> list[bytes]:
    if not text:
        return []
    data = text.encode("utf-8", "surrogateescape")
    return [line.strip() for line in data.split(b"\n")]


def _list_edits(
    transcript: bytes, turns: dict[str, dict[str, Any]], paths: Iterable[str], load: Load
) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield (path, text before, text after, turn, tool use) of each edit of paths that succeeded,
    and of some others; fill turns."""
    open_calls: dict[str, tuple[Any, str]] = {}
    turn = ""
    words: set[bytes] = set()  # of the lines that may hold such an edit
    if agent_words.may_have_edit(transcript):
        words = {_spell(path.rpartition("/")[2]) for path in paths}

    @cache
    def list_names() -> list[bytes]:
        return [word for word in words if word in transcript]

    def selects(line: bytes) -> bool:  # a document is not asked line by line
        return blocks.is_told(line, map(_spell, open_calls), list_names())

    for item in list_items(transcript, load=load, selects=selects):
        if item["kind"] == "prompt":
            turn = f"prompt-{len(turns) + 1}"
            turns[turn] = {"number": len(turns) + 1, "prompt": item["text"]}
        elif item["kind"] == "call" and item["id"]:
            open_calls[item["id"]] = item["input"], turn
        elif item["kind"] == "result" and item["id"] in open_calls:
            arguments, call_turn = open_calls.pop(item["id"])
            if call_turn and not item["failed"] and not item["text"].startswith(_FAILED):
                name = item["id"]
                if _REDACTED in name:  # as those of other calls, too
                    name = name_call(arguments)
                created = item["text"].startswith(agent_words.CREATED)
                for path, old, new in _list_changes(arguments, created):
                    yield path, old, new, call_turn, name


def _spell(name: str) -> bytes:
    """A name as it stands in JSON; b"" if that may spell it in several ways."""
    is_plain = name.isascii() and name.isprintable() and not {*name} & {*'"\\/'}
    return name.encode() if is_plain else b""


def _list_changes(arguments: Any, created: bool) -> Iterator[tuple[str, str, str]]:
    if isinstance(arguments, str):
        yield from _list_patched(arguments)
    if not isinstance(arguments, dict):
        return
    path = _get_first(arguments, _PATHS)
    edits = arguments.get("edits")
    for edit in edits if isinstance(edits, list) else [arguments]:
        old = ""
        if isinstance(edit, dict):
            old = _get_first(edit, agent_words.OLD)
        if path and old and any(key in edit for key in _NEW):
            yield path, old, _get_first(edit, _NEW)
    if path and created and isinstance(arguments.get("content"), str):
        yield path, "", arguments["content"]
    for value in arguments.values():
        if isinstance(value, str) and agent_words.PATCH in value:
            yield from _list_patched(value)


def _list_patched(text: str) -> Iterator[tuple[str, str, str]]:
    return ((path, old or "", new) for path, old, new in agent_words.parse_hunks(text))


def _get_first(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((arguments[key] for key in keys if isinstance(arguments.get(key), str)), "")


def _select_telling(text: str) -> set[bytes]:
    data = text.encode("utf-8", "surrogateescape")
    return line_evidence.select_significant(set(data.split(b"\n")))
