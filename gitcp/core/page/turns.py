"""Gather a transcript's items as turns: a prompt with its answers, calls and their results."""

from __future__ import annotations

import json
import re

from gitcp.agents.exchange.payload import name_call
from gitcp.agents.reading.items import cut_parts, find_pictures, list_items
from gitcp.core.transcript import facts, tokens, transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.agents.reading.items import Item
    from gitcp.core.record_types import Scan, Usage

    class Part(TypedDict, total=False):
        """A part of a turn: kind "answer" with text, "image" with its media type and its data in
        base64, or "call" with the other keys.

        ids: of the tool use, and by its input.  diff: lines that an edit removed and added, as
        (sign, text); given: any other input; ended: how the call failed, '' if it did not; task:
        the parts of a subagent.
        """

        kind: str
        text: str
        type: str
        data: str
        ids: list[str]
        name: str
        path: str
        diff: list[tuple[str, str]]
        given: str
        result: str
        ended: str
        task: list[Part]

    class Turn(TypedDict):
        """number: from 1.  start, end: ISO times, '' if unknown.  ticks: the times of calls.
        line: of its first item.  spent: its tokens, None if unknown."""

        number: int
        prompt: str
        start: str
        end: str
        ticks: list[str]
        parts: list[Part]
        line: int
        spent: Usage | None


_PATHS = ("file_path", "absolute_path", "notebook_path", "path")
_OLD, _NEW = ("old_string", "old_str", "old_text"), ("new_string", "new_str", "new_text")
_EXIT = re.compile(r"^(?:Process )?exit(?:ed with)?[ _]code:? (\d+)", re.I | re.M)
_HEAD = 300  # characters at each end of a result that may have its exit status
_LONGEST = 200_000  # characters of one text on a page


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
            part = calls[item["id"]] = _build_call(item["name"], item["input"])
            part["ids"] = [item["id"], name_call(item["input"])]
            left = dict(tasks or {})
            if task := next((left.pop(key) for key in part["ids"] if key in left), b""):
                part["task"] = [p for t in gather_turns(task, left, True) for p in t["parts"]]
            turn["parts"].append(part)
            turn["ticks"].append(item["time"])
        elif item["kind"] == "result":
            if item["id"] in calls:
                calls[item["id"]]["result"] = cut_text(item["text"])
                calls[item["id"]]["ended"] = _describe_end(item)
        else:
            turn["parts"].append({"kind": "answer", "text": cut_text(item["text"])})
    if gathered:
        gathered[-1]["parts"] += [_build_image(*image[1:]) for image in images]
    return gathered


def _build_image(kind: str, data: str) -> Part:
    return {"kind": "image", "type": kind, "data": data}


def add_tokens(data: bytes, gathered: Sequence[Turn], scan: Callable[..., Scan]) -> None:
    """Set the tokens of a transcript's turns.  scan: of its agent."""
    starts = [0, *(turn["line"] for turn in gathered[1:])]
    before: Scan | None = None
    for turn, part in zip(gathered, cut_parts(data, starts), strict=False):
        after = scan(part, previous=before and transcript_scan.make_cursor(before))
        spent_before = before["usage"] if before else None
        turn["spent"] = tokens.subtract(after["usage"], spent_before) if after["usage"] else None
        before = after if after["bytes"] else None  # each part of a document stands alone


def _begin_turn(number: int, prompt: str, first: Item) -> Turn:
    return {
        "number": number,
        "prompt": cut_text(prompt),
        "start": first["time"],
        "end": first["time"],
        "ticks": [],
        "parts": [],
        "line": first["line"],
        "spent": None,
    }


def _describe_end(result: Item) -> str:
    """How a call failed, by its result: `exit 2`, `failed`, '' if it did not."""
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
    """(sign, line) of the texts of an edit; [] if it has no new text."""
    old, new = (next((edit[k] for k in keys if k in edit), None) for keys in (_OLD, _NEW))
    if not isinstance(new, str):
        return []
    removed = cut_text(old).split("\n") if isinstance(old, str) and old else []
    added = cut_text(new).split("\n") if new else []
    return [*(("-", line) for line in removed), *(("+", line) for line in added)]


def cut_text(text: str) -> str:
    """A text, cut to _LONGEST characters with the number of those left out."""
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]}\n… {left} more characters"


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """value with change applied to every string in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [map_strings(item, change) for item in value]
    return value
