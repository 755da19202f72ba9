"""Draw the lines of `gitcp why`: prompt, words of the agent and edit that made some lines."""

from __future__ import annotations

from gitcp.core.render.spans import count_noun, cut_rows, split_rows
from gitcp.core.transcript.facts import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from gitcp.core.record_types import Record
    from gitcp.core.render.spans import Line


_LONG = 30  # lines of a text that is not shown in full


def draw_origins(origins: Iterable[Record], full: bool) -> Iterator[Line]:
    """The origins of a range of lines, as of store.blame.origin."""
    for n, origin in enumerate(origins):
        if n:
            yield []
        yield from _draw_origin(origin, full)


def _draw_origin(origin: Record, full: bool) -> Iterator[Line]:
    where = f"{origin['file']}:{origin['first']}"
    if origin["last"] != origin["first"]:
        where += f",{origin['last']}"
    yield [(where, "bold")]
    yield from _draw_rows("\n".join(origin["content"]), full)
    if origin["who"] != "session":
        yield [("  " + describe_other_author(origin, origin["commit"]), "")]
    else:
        yield from _draw_session(origin, full)
    commit = origin["commit"]
    if commit:
        name = f"  commit {commit['oid'][:12]} ", "yellow"
        old_place = f", there {origin['path']}:{origin['original_line']}"
        moved = "" if origin["path"] == origin["file"] else old_place
        yield [name, (f"{commit['subject']}, committed by {commit['committer']}{moved}", "")]
    else:
        yield [("  not committed yet", "yellow")]
    if origin["checkpoint_id"]:
        yield [("  checkpoint ", ""), (origin["checkpoint_id"], "cyan")]
    if origin["resume"]:
        yield [("  go on: ", ""), (origin["resume"], "green")]


def describe_other_author(record: Mapping[str, Any], commit: object) -> str:
    """Who wrote a line that is no session's; commit: whether a commit has it."""
    if record["who"] == "unknown":
        return "written by an unknown author: nothing was recorded about this line"
    if not commit:
        return "written here, by no session"
    if record["who"] == "unrecorded":
        agent = f"; the commit names {record['agent']}" if record["agent"] else ""
        return f"committed by {record['author']}, where nothing was recorded{agent}"
    return f"written by {record['author']}"


def _draw_session(origin: Record, full: bool) -> Iterator[Line]:
    number = f", prompt {origin['number']}" if origin["number"] is not None else ""
    model = f" ({origin['model']})" if origin["model"] else ""
    agent = (f"  {origin['agent'] or 'agent'}{model}", "green")
    yield [agent, (f"  session {origin['session_id']}{number}", "")]
    yield from _draw_words("prompt", origin["prompt"], full)
    if call := origin["call"]:
        if call["task"]:
            task = ensure_object(call["task"]["given"])
            words = [str(task[key]) for key in ("description", "prompt") if task.get(key)]
            subject = "\n".join(words) or _format_input(task) or "?"
            yield from _draw_words("task of a subagent", subject, full)
        yield from _draw_words("said before", call["before"], full)
        yield from _draw_call(call["name"], call["given"], full)
        yield from _draw_words("said after", call["after"], full)


def _draw_words(head: str, text: str, full: bool) -> Iterator[Line]:
    if text:
        yield [(f"  {head}:", "bold")]
        yield from _draw_rows(text, full)


def _draw_call(name: str, tool_input: Any, full: bool) -> Iterator[Line]:
    """A call: the lines that an edit removed and added, or its input."""
    yield [(f"  {name}:", "bold")]
    arguments = ensure_object(tool_input)
    edits = list_objects(arguments.get("edits")) or [arguments]
    pairs = [(e.get("old_string"), e.get("new_string")) for e in edits]
    if all(new is None for _, new in pairs):
        text = tool_input if isinstance(tool_input, str) else _format_input(arguments)
        yield from _draw_rows(text, full)
        return
    lines = []
    for old, new in pairs:
        lines += [("-" + line, "red") for line in split_rows(str(old or "")) if old]
        lines += [("+" + line, "green") for line in split_rows(str(new or "")) if new]
    most = len(lines) if full else _LONG
    lines = cut_rows(lines, most, lambda left: (f"… {count_noun(left, 'more line')}", "dim"))
    yield from ([(f"    {line}", colour)] for line, colour in lines)


def _format_input(arguments: Record) -> str:
    for key in ("command", "cmd", "content", "patch", "input"):
        if value := arguments.get(key):
            return " ".join(map(str, value)) if isinstance(value, list) else str(value)
    return ", ".join(f"{key}: {value}" for key, value in arguments.items())


def _draw_rows(text: str, full: bool) -> Iterator[Line]:
    rows = split_rows(text)
    most = len(rows) if full else _LONG
    rows = cut_rows(rows, most, lambda left: f"… {count_noun(left, 'more line')}")
    yield from ([(f"    {row}", "")] for row in rows)
