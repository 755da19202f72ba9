"""Lists the conversation of a transcript for people, of any agent, and finds a call or a prompt.

The agent is recognised by the shape of the transcript: its name in stored data may be wrong.
"""

from __future__ import annotations

import re

from gitcp.agents import INPUT_ID, is_call
from gitcp.agents.reading.items import list_items, open_transcript
from gitcp.agents.transcripts import Fields, agent_words, blocks, load_entry
from gitcp.agents.transcripts.transcript_facts import parse_time
from gitcp.text import ids as ids_
from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.agents.reading.items import Load
    from gitcp.agents.transcripts.cuts import Prompt
    from gitcp.text.record_types import Item

    Entry = tuple[str, str]  # "User", "Assistant" or "Tool", and the text
    # A transcript in pieces of whole lines; those but the last may lack their last newline.
    Pieces = Sequence[bytes]

    class Task(TypedDict):
        """The call that started a subagent: its id and its input."""

        tool_use_id: str
        given: Any

    class CallContext(TypedDict):
        """before, after: the agent's words next to the call, '' for none.  name, given: the
        tool and its input.  task: the subagent that made the call."""

        before: str
        name: str
        given: Any
        after: str
        task: Task | None


# The first of these keys that a call's input has describes the call.
_DESCRIBING_KEYS = """input_paths file_path filePath notebook_path path absolute_path command
commands cmd pattern query url description prompt message subject name""".split()
_ROLES = {"prompt": "User", "answer": "Assistant"}


def list_entries(data: bytes, start: int = 0) -> Iterator[Entry]:
    """(role, text) of the messages from item `start` on, as a Scan counts items, in order.

    A call of a tool is `Name: detail` on one line.  Lines that are not JSON are skipped.
    """
    for item in list_items(data, start=start):
        if item["kind"] == "call":
            yield _format_call(item["name"], item["input"])
        elif item["kind"] in _ROLES:
            yield _ROLES[item["kind"]], item["text"]


def list_prompts(data: bytes, load: Load = load_entry) -> list[str]:
    """The prompts that a person sent, in order.  load: as for list_items()."""
    items = list_items(data, load=load, selects=_may_be_asked)
    return [item["text"] for item in items if item["kind"] == "prompt"]


def _may_be_asked(line: bytes) -> bool:
    """Whether a line of a transcript may have a prompt."""
    return blocks.is_told(line, (), ())


def list_turn_entries(data: bytes, turn: object) -> list[Entry]:
    """The messages in a recorded turn {number, prompt}; [] if the transcript does not have it."""
    entries_of_turns: list[list[Entry]] = [[]]  # first what is before the first prompt
    for role, text in list_entries(data):
        if role == "User":
            entries_of_turns.append([])
        entries_of_turns[-1].append((role, text))
    prompts = {n: entries[0][1] for n, entries in enumerate(entries_of_turns) if n}
    number = prompt_text.find_number(prompts, turn)
    return entries_of_turns[number] if number else []


def _format_call(name: str, arguments: object) -> Entry:
    detail = find_detail(arguments)
    return "Tool", f"{name}: {detail}" if detail else name


def find_detail(arguments: object) -> str:
    """The part of a call's input that describes it, on one line; '' for none."""
    detail = ""
    if isinstance(arguments, str):
        paths = agent_words.list_paths(arguments)
        detail = " ".join(paths) if paths else arguments
    elif isinstance(arguments, dict):
        values = (arguments.get(key) for key in _DESCRIBING_KEYS)
        value = next((v for v in values if v), "")
        if isinstance(value, list):  # ["bash", "-lc", command], or several words
            value = " ".join(map(str, value[2:] if value[1:2] in (["-c"], ["-lc"]) else value))
        detail = str(value)
    return ids_.replace_surrogates(" ".join(detail.split()))


def describe_calls(
    data: bytes, ids: Collection[str], *, of_subagent: bool = False
) -> dict[str, str]:
    """id -> the command of a call, or another part of its input that describes it, on one line;
    for those of the calls that the transcript, of_subagent or a session's, has."""
    found: dict[str, str] = {}
    for item in list_items(_pick_lines(data, ids), of_subagent):
        if item["kind"] == "call":
            for call_id in (i for i in ids if is_call(i, item["id"], item["input"])):
                found[call_id] = find_detail(item["input"]) or item["name"]
    return found


def _pick_lines(data: bytes, ids: Iterable[str]) -> bytes:
    """The first line of a transcript and the lines that name one of the calls; all lines if the
    transcript is a single document, or an id is one of name_call()."""
    first, newline, rest = data.partition(b"\n")
    if any(call_id.startswith(INPUT_ID) for call_id in ids) or not ids or load_entry(first) is None:
        return data
    pattern = re.compile(b"|".join(re.escape(call_id.encode()) for call_id in ids))
    return first + newline + b"\n".join(line for line in rest.split(b"\n") if pattern.search(line))


def find_call(
    pieces: Pieces, tasks: Mapping[str, bytes], tool_use_id: str, by_subagent: bool = False
) -> CallContext | None:
    """The call of that id, and what was said around it; None if no transcript has it.

    pieces: of the session's transcript; no more of them are read than is necessary.  tasks: id of
    the call of a subagent -> its transcript.  by_subagent: whether a subagent made the call.
    """
    if not by_subagent:
        context = _find_call_in(pieces, tool_use_id)
        if context:
            return context
    for task, transcript in tasks.items():
        context = _find_call_in([transcript], tool_use_id, of_subagent=True)
        if context:
            arguments = _find_start(pieces, tasks, task)
            return {**context, "task": {"tool_use_id": task, "given": arguments}}
    if by_subagent:
        return _find_call_in(pieces, tool_use_id)
    return None


def _find_start(pieces: Pieces, tasks: Mapping[str, bytes], task: str) -> Any:
    """The input of the call that started a subagent; None if no transcript has it."""
    start = _find_call_in(pieces, task)
    for other in tasks.values():
        start = start or _find_call_in([other], task, of_subagent=True)
    if start is None:
        return None
    return start["given"]


def _find_call_in(
    pieces: Pieces, tool_use_id: str, of_subagent: bool = False
) -> CallContext | None:
    if not tool_use_id or not pieces or not pieces[0]:
        return None
    lines = _PieceLines(pieces, pieces[0].partition(b"\n")[0], of_subagent)
    if lines.are_entries and not tool_use_id.startswith(INPUT_ID):
        return lines.find_call(tool_use_id)
    data = b"\n".join(piece.removesuffix(b"\n") for piece in pieces)
    return _find_call_by_items(data, tool_use_id, of_subagent)


class _PieceLines:
    """The lines of a transcript, each of which is an entry, read from wherever a call is.

    are_entries: whether they are; it is told by the first one.
    """

    def __init__(self, pieces: Pieces, head: bytes, of_subagent: bool) -> None:
        self._pieces = pieces
        self._of_subagent = of_subagent
        self._transcript = open_transcript(head)
        self._selects = self._transcript.make_selection()
        self.are_entries = load_entry(head) is not None and self._transcript.messages is None

    def find_call(self, tool_use_id: str) -> CallContext | None:
        """The last call of that id: a line that only mentions the id has none."""
        name = tool_use_id.encode()
        for number in reversed(range(len(self._pieces))):
            piece = self._pieces[number]
            end = len(piece)
            while True:
                at = piece.rfind(name, 0, end)
                if at < 0:
                    break
                end = piece.rfind(b"\n", 0, at) + 1
                items = self._list_items(_get_line(piece, end))
                for place, item in enumerate(items):
                    if item["kind"] == "call" and item["id"] == tool_use_id:
                        return self._build_context(number, end, items, place)
        return None

    def _build_context(self, number: int, start: int, items: list[Item], place: int) -> CallContext:
        """The context of the call that is at a place among the items of the line that begins at
        start in a piece."""
        return {
            "before": self._find_words_before(number, start, items[:place]),
            "name": items[place]["name"],
            "given": items[place]["input"],
            "after": self._find_words_after(number, start, items[place + 1 :]),
            "task": None,
        }

    def _find_words_before(self, number: int, start: int, items: list[Item]) -> str:
        """The last answer since the last prompt before items, or in them; '' for none."""
        piece = self._pieces[number]
        while True:
            for item in reversed(items):
                if item["kind"] == "answer":
                    return str(item["text"])
                if item["kind"] == "prompt":
                    return ""
            if start <= 0:
                number -= 1
                if number < 0:
                    return ""
                piece = self._pieces[number]
                start = len(piece) + (piece[-1:] != b"\n")
            start = piece.rfind(b"\n", 0, start - 1) + 1
            items = self._list_items(_get_line(piece, start))

    def _find_words_after(self, number: int, start: int, items: list[Item]) -> str:
        """The first answer after the line that begins at start, or in items, before the next
        prompt; '' for none."""
        piece = self._pieces[number]
        while True:
            for item in items:
                if item["kind"] == "answer":
                    return str(item["text"])
                if item["kind"] == "prompt":
                    return ""
            start = piece.find(b"\n", start) + 1
            if start <= 0 or start >= len(piece):
                number += 1
                if number == len(self._pieces):
                    return ""
                piece = self._pieces[number]
                start = 0
            items = self._list_items(_get_line(piece, start))

    def _list_items(self, line: bytes) -> list[Item]:
        if not line.strip() or not self._selects(line):
            return []
        return [*self._transcript.list_items(-1, Fields(load_entry(line)), self._of_subagent)]


def _get_line(piece: bytes, start: int) -> bytes:
    """The line of a piece that begins at start."""
    end = piece.find(b"\n", start)
    if end < 0:
        return piece[start:]
    return piece[start:end]


def _find_call_by_items(
    data: bytes, tool_use_id: str, of_subagent: bool = False
) -> CallContext | None:
    """The call of that id in a whole transcript, whatever its form."""
    if not (tool_use_id.startswith(INPUT_ID) or tool_use_id.encode() in data):
        return None
    context: CallContext | None = None
    before = ""
    for item in list_items(data, of_subagent):
        if item["kind"] == "prompt":
            if context is not None:
                break
            before = ""
        elif item["kind"] == "answer" and context is None:
            before = item["text"]
        elif item["kind"] == "answer" and context:
            context["after"] = context["after"] or item["text"]
        elif item["kind"] == "call" and context is None:
            name = item["name"]
            given = item["input"]
            if not is_call(tool_use_id, item["id"], given):
                continue
            context = {"before": before, "name": name, "given": given, "after": "", "task": None}
    return context


def find_prompt(prompts: Sequence[Prompt], beginning: str, first_edit: int) -> Prompt | None:
    """The prompt of a turn; None if none was before its first edit.

    beginning: the beginning of its text, redacted.  first_edit: in seconds since 1970.  Of several
    prompts that begin so the newest counts; without any, the newest of those with a time.
    """
    end = (first_edit + 1) * 10**9
    earlier = [prompt for prompt in prompts if (parse_time(prompt.time) or 0) < end]
    equal = [p for p in earlier if beginning and p.text.startswith(beginning)]
    candidates = equal or [prompt for prompt in earlier if parse_time(prompt.time) is not None]
    return candidates[-1] if candidates else None
