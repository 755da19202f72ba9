"""The lines of `gitcp why`: the prompt, the words and the edit that some lines came of."""

from __future__ import annotations

from gitcp.core.render.spans import many, mapping
from gitcp.core.transcript.facts import list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gitcp.core.record_types import Record
    from gitcp.core.render.spans import Line


_LONG = 30  # lines of one thing, unless all is asked for


def why(origins: Iterable[Record], full: bool) -> Iterator[Line]:
    """The origins of a range of lines, as store.blame.origin gives them."""
    for n, origin in enumerate(origins):
        if n:
            yield []
        yield from _origin(origin, full)


def _origin(origin: Record, full: bool) -> Iterator[Line]:
    where = f"{origin['file']}:{origin['first']}"
    if origin["last"] != origin["first"]:
        where += f",{origin['last']}"
    yield [(where, "bold")]
    for line in _cut(origin["content"], full):
        yield [(f"    {line}", "")]
    if origin["who"] != "session":
        yield [("  " + _not_a_session(origin), "")]
    else:
        yield from _session(origin, full)
    commit = origin["commit"]
    if commit:
        name = (f"  commit {commit['oid'][:12]} ", "yellow")
        there = f"{origin['path']}:{origin['original_line']}"
        moved = "" if origin["path"] == origin["file"] else f", there {there}"
        yield [name, (f"{commit['subject']}, committed by {commit['committer']}{moved}", "")]
    else:
        yield [("  not committed yet", "yellow")]
    if origin["checkpoint_id"]:
        yield [("  checkpoint ", ""), (origin["checkpoint_id"], "cyan")]
    if origin["resume"]:
        yield [("  go on: ", ""), (origin["resume"], "green")]


def _not_a_session(origin: Record) -> str:
    if origin["who"] == "unknown":
        return "written by nobody knows whom: nothing was recorded of this line"
    if not origin["commit"]:
        return "written here, by no session"
    if origin["who"] == "unrecorded":
        agent = f"; the commit names {origin['agent']}" if origin["agent"] else ""
        return f"committed by {origin['author']}, where nothing was recorded{agent}"
    return f"written by {origin['author']}"


def _session(origin: Record, full: bool) -> Iterator[Line]:
    number = f", prompt {origin['number']}" if origin["number"] is not None else ""
    model = f" ({origin['model']})" if origin["model"] else ""
    agent = (f"  {origin['agent'] or 'agent'}{model}", "green")
    yield [agent, (f"  session {origin['session_id']}{number}", "")]
    yield from _words("prompt", origin["prompt"], full)
    call = origin["call"]
    if call:
        if call["task"]:
            yield from _words("task of a subagent", _task(call["task"]["given"]), full)
        yield from _words("said before", call["before"], full)
        yield from _edit(call["name"], call["given"], full)
        yield from _words("said after", call["after"], full)


def _task(tool_input: Any) -> str:
    """What a subagent was started for; its call where the input has other names."""
    arguments = mapping(tool_input)
    words = [str(arguments[key]) for key in ("description", "prompt") if arguments.get(key)]
    return "\n".join(words) or _plain(arguments) or "?"


def _words(what: str, text: str, full: bool) -> Iterator[Line]:
    if text:
        yield [(f"  {what}:", "bold")]
        yield from ([(f"    {line}", "")] for line in _cut(text.split("\n"), full))


def _edit(name: str, tool_input: Any, full: bool) -> Iterator[Line]:
    """What a call did: the lines an edit took and put, or its input as it is."""
    yield [(f"  {name}:", "bold")]
    arguments = mapping(tool_input)
    edits = list_objects(arguments.get("edits")) or [arguments]
    pairs = [(e.get("old_string"), e.get("new_string")) for e in edits]
    if any(new is not None for _, new in pairs):
        lines = []
        for old, new in pairs:
            lines += [("-" + s, "red") for s in str(old or "").split("\n") if old]
            lines += [("+" + s, "green") for s in str(new or "").split("\n") if new]
        visible = lines if full else lines[:_LONG]
        yield from ([(f"    {text}", colour)] for text, colour in visible)
        if len(visible) < len(lines):
            yield [(f"    … {many(len(lines) - len(visible), 'more line')}", "dim")]
        return
    text = tool_input if isinstance(tool_input, str) else _plain(arguments)
    yield from ([(f"    {line}", "")] for line in _cut(text.split("\n"), full))


def _plain(record: Record) -> str:
    for key in ("command", "cmd", "content", "patch", "input"):
        value = record.get(key)
        if value:
            return " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return ", ".join(f"{key}: {value}" for key, value in record.items())


def _cut(lines: list[str], full: bool) -> list[str]:
    if full or len(lines) <= _LONG + 1:
        return lines
    return [*lines[:_LONG], f"… {many(len(lines) - _LONG, 'more line')}"]
