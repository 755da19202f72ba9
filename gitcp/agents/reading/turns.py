"""The turns of a transcript: a prompt with its answers, calls and their results."""

from __future__ import annotations

import json
import re

from gitcp.agents import name_call, transcripts
from gitcp.agents.reading.items import list_images, may_have_image, open_transcript
from gitcp.agents.transcripts import agent_words
from gitcp.text.json import list_objects
from gitcp.text.pairing import pair_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.agents import Client
    from gitcp.agents.reading.items import Load
    from gitcp.agents.transcripts import Fields, Scanner
    from gitcp.text.record_types import Item, Usage

    class Part(TypedDict, total=False):
        """A part of a turn: kind "answer" with text, "image" with its media type and its data in
        base64, or "call" with the other keys.

        ids: of the tool use, and by its input.  diff: lines that an edit removed and added, as
        (sign, text), and with the sign ' ' those that it keeps; given: any other input; ended: how
        the call failed, '' if it did not; task: the parts of a subagent.
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

    class GatheredTurn(TypedDict):
        """number: of its prompt, from 1; 0 for what is before the first.  start, end: ISO times, ''
        if unknown.  ticks: the times of calls.  line: of its first item.  spent: its tokens, None
        if unknown."""

        number: int
        prompt: str
        start: str
        end: str
        ticks: list[str]
        parts: list[Part]
        line: int
        spent: Usage | None


_PATHS = ("file_path", "absolute_path", "notebook_path", "path")
OLD = ("old_string", "old_str", "old_text", "oldString")
NEW = ("new_string", "new_str", "new_text", "newString")
_CONTENTS = ("content", "contents", "file_text", "new_source", "CodeContent")
_EXIT = re.compile(r"^(?:Process )?exit(?:ed with)?[ _]code:? (\d+)", re.I | re.M)
_HEAD = 300  # characters at each end of a result that may have its exit status
_LONGEST = 200_000  # characters of one text on a page


def gather_turns(
    data: bytes,
    client: Client | None = None,
    tasks: Mapping[str, bytes] | None = None,
    load: Load = transcripts.load_entry,
    of_subagent: bool = False,
) -> list[GatheredTurn]:
    """The turns of a transcript, of_subagent or a session's.

    client: counts the tokens of turns.  tasks: tool use id -> the transcript of the subagent it
    started, which may have started others.  load: parses a line, or a document; each once.
    """
    transcript = open_transcript(data, load)
    has_items = transcript.make_selection()
    has_images = may_have_image(data)
    of_document = transcript.messages is not None
    if client and of_document and not hasattr(client.get_reader(), "list_messages"):
        client = None  # it counts only in lines
    scanner = client.make_scanner() if client else None
    tokens = _TokenCount(scanner, client if of_document else None)
    gathering = _Gathering(tasks or {}, load)

    def selects(line: bytes) -> bool:
        return has_items(line) or tokens.needs(line) or (has_images and may_have_image(line))

    for number, line, entry in transcript.list_entries(selects):
        for item in transcript.list_items(number, entry, of_subagent):
            turn = gathering.take_item(item)
            if turn:
                tokens.begin(turn)
        tokens.take_entry(line, entry)
        if has_images and (not line or may_have_image(line)):
            gathering.take_images(list_images(entry))
    tokens.end()
    return gathering.turns


class _Gathering:
    """The turns so far."""

    def __init__(self, tasks: Mapping[str, bytes], load: Load) -> None:
        self.turns: list[GatheredTurn] = []
        self._tasks = tasks
        self._load = load
        self._calls: dict[str, Part] = {}
        self._images: list[Part] = []  # before the first turn

    def take_item(self, item: Item) -> GatheredTurn | None:
        """Add an item; the turn if the item begins one."""
        new_turn = None
        if item["kind"] == "prompt" or not self.turns:
            prompt = ""
            if item["kind"] == "prompt":
                prompt = item["text"]
            before = self.turns[-1]["number"] if self.turns else 0
            new_turn = _begin_turn(before + bool(prompt), prompt, item)
            self.turns.append(new_turn)
            if prompt:
                return new_turn
        turn = self.turns[-1]
        turn["start"] = turn["start"] or item["time"]
        turn["end"] = item["time"] or turn["end"]
        if item["kind"] == "call":
            part = self._calls[item["id"]] = self._build_call(item)
            turn["parts"].append(part)
            turn["ticks"].append(item["time"])
        elif item["kind"] == "result":
            call = self._calls.get(item["id"])
            if call:
                call["result"] = cut_text(item["text"])
                call["ended"] = _describe_end(item)
        else:
            turn["parts"].append({"kind": "answer", "text": cut_text(item["text"])})
        return new_turn

    def _build_call(self, item: Item) -> Part:
        """The part of a call, with those of the subagent that it started."""
        part = _build_call(item["name"], item["input"])
        part["ids"] = [item["id"], name_call(item["input"])]
        other_tasks = dict(self._tasks)
        task = next((other_tasks.pop(key) for key in part["ids"] if key in other_tasks), b"")
        if task:
            turns = gather_turns(task, None, other_tasks, self._load, of_subagent=True)
            part["task"] = [inner for turn in turns for inner in turn["parts"]]
        return part

    def take_images(self, images: Iterable[tuple[str, str]]) -> None:
        """Add the images of an entry after its items."""
        self._images += ({"kind": "image", "type": kind, "data": data} for kind, data in images)
        if self.turns:
            self.turns[-1]["parts"] += self._images
            self._images = []


class _TokenCount:
    """Sets the tokens of turns, each from one begin() to the next; what is before the first turn is
    counted in it.  scanner: None to count nothing.  client: of a document, for another scanner for
    each turn, whose messages are counted alone; None for lines."""

    def __init__(self, scanner: Scanner | None, client: Client | None) -> None:
        self._scanner = scanner
        self._client = client
        self._turn: GatheredTurn | None = None
        self._before: Usage | None = None

    def needs(self, line: bytes) -> bool:
        """Whether a line may tell of tokens."""
        return self._scanner is not None and self._scanner.needs(line)

    def take_entry(self, line: bytes, entry: Fields) -> None:
        """Count the tokens of a line, or of a message, which has no line."""
        if self._scanner and (not line or self._scanner.needs(line)):
            self._scanner.read_entry(entry)

    def begin(self, turn: GatheredTurn) -> None:
        """End the turn before, and begin this one."""
        self.end()
        self._turn = turn

    def end(self) -> None:
        """Set the tokens of the last turn."""
        if not self._scanner or not self._turn:
            return
        used = self._scanner.get_usage()
        if used:
            self._turn["spent"] = transcripts.subtract_tokens(used, self._before)
        self._before = used
        if self._client:
            self._scanner = self._client.make_scanner()
            self._before = None


def _begin_turn(number: int, prompt: str, first: Item) -> GatheredTurn:
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
    if isinstance(tool_input, dict):
        arguments = tool_input
    else:
        arguments = {}
    part["path"] = next((str(arguments[key]) for key in _PATHS if arguments.get(key)), "")
    edits = list_objects(arguments.get("edits")) or [arguments]
    diff = []
    for edit in edits:
        diff += _list_diff(edit)
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


def list_edit(given: object, path: str) -> list[tuple[str, str]]:
    """(sign, line) of what a call's input changes in the file of a path, with ' ' for lines that
    stay; [] if the input does not say it."""
    if isinstance(given, str):
        return _list_patched(given, path)
    arguments = given if isinstance(given, dict) else {}
    edits = list_objects(arguments.get("edits")) or [arguments]
    rows: list[tuple[str, str]] = []
    for edit in edits:
        rows += _list_diff(edit)
    content = next((arguments[key] for key in _CONTENTS if key in arguments), None)
    if not rows and isinstance(content, str) and not isinstance(arguments.get("command"), str):
        rows = [("+", line) for line in _split_text(content)]
    for text in arguments.values():
        if not rows and isinstance(text, str):
            rows = _list_patched(text, path)
    return rows


def _list_patched(text: str, path: str) -> list[tuple[str, str]]:
    rows = []
    for name, old, new in agent_words.parse_hunks(text):
        if f"/{name}".endswith(f"/{path}") or f"/{path}".endswith(f"/{name}"):
            rows += _compare(_split_text(old or ""), _split_text(new))
    return rows


def _split_text(text: str) -> list[str]:
    if text:
        return text.removesuffix("\n").split("\n")
    return []


def _list_diff(edit: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(sign, line) of the texts of an edit, with ' ' for lines that are in both; [] if it has no
    new text."""
    old, new = (next((edit[k] for k in keys if k in edit), None) for keys in (OLD, NEW))
    if not isinstance(new, str):
        return []
    if isinstance(old, str) and old:
        before = cut_text(old).split("\n")
    else:
        before = []
    after = cut_text(new).split("\n") if new else []
    return _compare(before, after)


def _compare(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, str]]:
    """(sign, line) of what makes one text of another."""
    rows: list[tuple[str, str]] = []
    i = j = 0  # of the next line of before and after
    old_lines, new_lines = ([encode_line(line) for line in lines] for lines in (before, after))
    pairs = pair_lines(old_lines, new_lines)
    for old_at, new_at in [*sorted(pairs), (len(before), len(after))]:
        if new_at < j:
            continue  # it was moved
        rows += (("-", line) for line in before[i:old_at])
        rows += (("+", line) for line in after[j:new_at])
        rows += ((" ", line) for line in before[old_at : old_at + 1])
        i = old_at + 1
        j = new_at + 1
    return rows


def encode_line(line: str) -> bytes:
    return line.encode("utf-8", "surrogatepass")


def cut_text(text: str) -> str:
    """A text, cut to _LONGEST characters with the number of those left out."""
    cut = len(text) - _LONGEST
    if cut <= 0:
        return text
    return f"{text[:_LONGEST]}\n… {cut} more characters"
