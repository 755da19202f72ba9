"""A transcript's items as turns: a prompt with all that came of it, tools with their results."""

from __future__ import annotations

import json
import re

from gitcp.agents.reading.items import cut_parts, find_pictures, list_items
from gitcp.core.transcript import facts, tokens, transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.agents.reading.items import Item
    from gitcp.core.record_types import Scan, Usage

    class Part(TypedDict, total=False):
        """What happened in a turn: kind "answer" with text, "image" with its media type and its
        data in base64, or "call" with the rest.

        id: of the tool use.  diff: lines that an edit took and put, as (sign, text); given: any
        other input; ended: how it ended, where that was badly; task: the parts of a subagent.
        """

        kind: str
        text: str
        type: str
        data: str
        id: str
        name: str
        path: str
        diff: list[tuple[str, str]]
        given: str
        result: str
        ended: str
        task: list[Part]

    class Turn(TypedDict):
        """number: from 1 on.  start, end: ISO times, '' where none is told.  ticks: of tools.
        line: where it begins (core.transcript.items).  spent: its tokens, where they are told."""

        number: int
        prompt: str
        start: str
        end: str
        ticks: list[str]
        parts: list[Part]
        line: int
        spent: Usage | None


_PATHS = ("file_path", "absolute_path", "notebook_path", "path")
_EXIT = re.compile(r"^(?:Process )?exit(?:ed with)?[ _]code:? (\d+)", re.I | re.M)
_HEAD = 300  # characters of a result that may tell its exit status
_LONGEST = 200_000  # characters of one text: a page is to be looked at


def gather_turns(
    data: bytes, tasks: Mapping[str, bytes] | None = None, of_subagent: bool = False
) -> list[Turn]:
    """The turns of a transcript, of_subagent or a session's.  tasks: tool use id -> the transcript
    of the subagent it started, which may have started others."""
    gathered: list[Turn] = []
    calls: dict[str, Part] = {}
    images = list(find_pictures(data))
    for item in list_items(data, of_subagent):
        while gathered and images and images[0][0] < item["line"]:
            gathered[-1]["parts"].append(_build_image(*images.pop(0)[1:]))
        if item["kind"] == "prompt" or not gathered:
            prompt = item["text"] if item["kind"] == "prompt" else ""
            gathered.append(_begin_turn(len(gathered) + 1, prompt, item))
            if prompt:
                continue
        turn = gathered[-1]
        turn["start"] = turn["start"] or item["time"]
        turn["end"] = item["time"] or turn["end"]
        if item["kind"] == "call":
            part = _build_call(item["name"], item["given"])
            left = dict(tasks or {})
            below = left.pop(item["id"], b"")
            if below:
                part["task"] = [p for t in gather_turns(below, left, True) for p in t["parts"]]
            part["id"] = item["id"]
            calls[item["id"]] = part
            turn["parts"].append(part)
            turn["ticks"].append(item["time"])
        elif item["kind"] == "result":
            if item["id"] in calls:
                calls[item["id"]]["result"] = cut_text(item["text"])
                calls[item["id"]]["ended"] = _describe_end(item)
        else:
            turn["parts"].append({"kind": "answer", "text": cut_text(item["text"])})
    if gathered:
        gathered[-1]["parts"] += [_build_image(kind, held) for _, kind, held in images]
    return gathered


def _build_image(kind: str, data: str) -> Part:
    return {"kind": "image", "type": kind, "data": data}


def add_tokens(data: bytes, gathered: Sequence[Turn], scan: Callable[..., Scan]) -> None:
    """Give the turns of a transcript their tokens.  scan: its agent's."""
    starts = [0, *(turn["line"] for turn in gathered[1:])]
    known: Scan | None = None
    for turn, part in zip(gathered, cut_parts(data, starts), strict=False):
        now = scan(part, previous=known and transcript_scan.make_cursor(known))
        before = known["usage"] if known else None
        turn["spent"] = tokens.subtract(now["usage"], before) if now["usage"] else None
        known = now if now["bytes"] else None  # of a document every part stands alone


def _begin_turn(number: int, prompt: str, first: Item) -> Turn:
    empty: list[Any] = []
    return {
        "number": number,
        "prompt": cut_text(prompt),
        "start": first["time"],
        "end": first["time"],
        "ticks": [],
        "parts": empty,
        "line": first["line"],
        "spent": None,
    }


def _describe_end(result: Item) -> str:
    """How a call ended, by its result: `exit 2`, `failed`, '' where it went well."""
    code = _EXIT.search(result["text"][:_HEAD]) or _EXIT.search(result["text"][-_HEAD:])
    if code and code[1] != "0":
        return f"exit {code[1]}"
    return "failed" if result["failed"] else ""


def _build_call(name: str, tool_input: Any) -> Part:
    part: Part = {"kind": "call", "name": name, "result": ""}
    arguments = tool_input if isinstance(tool_input, dict) else {}
    part["path"] = next((str(arguments[key]) for key in _PATHS if arguments.get(key)), "")
    edits = facts.list_objects(arguments.get("edits")) or [arguments]
    diff = [line for edit in edits for line in _list_diff(edit)]
    if diff:
        part["diff"] = diff
    elif isinstance(tool_input, str):
        part["given"] = cut_text(tool_input)
    elif arguments:
        command = arguments.get("command", arguments.get("cmd"))
        if isinstance(command, list):
            command = " ".join(map(str, command))
        plain = command if isinstance(command, str) else arguments.get("content")
        plain = plain if isinstance(plain, str) else None
        part["given"] = cut_text(plain or json.dumps(arguments, indent=1, ensure_ascii=False))
    return part


def _list_diff(edit: Mapping[str, Any]) -> list[tuple[str, str]]:
    old, new = (
        next(
            (edit[key] for key in (f"{age}_string", f"{age}_str", f"{age}_text") if key in edit),
            None,
        )
        for age in ("old", "new")
    )
    if not isinstance(new, str):
        return []
    lines = (
        [("-", line) for line in cut_text(old).split("\n")] if isinstance(old, str) and old else []
    )
    return lines + ([("+", line) for line in cut_text(new).split("\n")] if new else [])


def cut_text(text: str) -> str:
    """A text of a length that can be looked at, and what was left out."""
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]}\n… {left} more characters"


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """value with change applied to every string in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_strings(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [map_strings(one, change) for one in value]
    return value
