"""Lists the conversation of a transcript for people, of any agent, and finds a call or a prompt.

The agent is recognised by the shape of the transcript: its name in stored data may be wrong.
"""

from __future__ import annotations

import re

from gitcp.agents import INPUT_ID, is_call
from gitcp.agents.reading.items import list_items
from gitcp.core import agent_words, formats, prompt_text
from gitcp.core.transcript_facts import parse_time
from gitcp.core.transcripts import load_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from typing import Any, TypedDict

    from gitcp.core.transcripts import Prompt

    Entry = tuple[str, str]  # "User", "Assistant" or "Tool", and the text

    class Task(TypedDict):
        """The call that started a subagent: its id and its input."""

        tool_use_id: str
        given: Any

    class Around(TypedDict):
        """before, after: the agent's words next to the call, '' for none.  name, given: the
        tool and its input.  task: the subagent that made the call."""

        before: str
        name: str
        given: Any
        after: str
        task: Task | None


# The first of these keys in a call's input describes it.
_TELLING = """input_paths file_path filePath notebook_path path absolute_path command commands cmd
pattern query url description prompt message subject name""".split()
_ROLES = {"prompt": "User", "answer": "Assistant"}


def list_entries(data: bytes, start: int = 0) -> Iterator[Entry]:
    """(role, text) of the messages from item `start` on (Scan's items), in order.

    A call of a tool is `Name: detail` on one line.  Lines that are not JSON are skipped.
    """
    for item in list_items(data, start=start):
        if item["kind"] == "call":
            yield _format_call(item["name"], item["input"])
        elif item["kind"] in _ROLES:
            yield _ROLES[item["kind"]], item["text"]


def list_turn_entries(data: bytes, turn: object) -> list[Entry]:
    """The messages in a recorded turn {number, prompt}; [] if the transcript does not have it."""
    return select_turns(data, [turn])[0]


def select_turns(data: bytes, turns: Iterable[object]) -> tuple[list[Entry], int]:
    """(the messages in some recorded turns {number, prompt}, in order; the number of other turns in
    the transcript).  A turn that the transcript does not have is left out."""
    spoken: list[list[Entry]] = [[]]
    for role, text in list_entries(data):
        if role == "User":
            spoken.append([])
        spoken[-1].append((role, text))
    asked = {number: own[0][1] for number, own in enumerate(spoken) if number}
    numbers = {prompt_text.find_number(asked, turn) for turn in turns} - {0}
    messages = [entry for number in sorted(numbers) for entry in spoken[number]]
    return messages, len(asked) - len(numbers)


def _format_call(name: str, arguments: object) -> Entry:
    detail = _find_detail(arguments)
    return "Tool", f"{name}: {detail}" if detail else name


def _find_detail(arguments: object) -> str:
    """The part of a call's input that describes it, on one line; '' for none."""
    detail = ""
    if isinstance(arguments, str):
        paths = agent_words.list_paths(arguments)
        detail = " ".join(paths) if paths else arguments
    elif isinstance(arguments, dict):
        values = (arguments.get(key) for key in _TELLING)
        value = next((v for v in values if v), "")
        if isinstance(value, list):  # ["bash", "-lc", command], or several words
            value = " ".join(map(str, value[2:] if value[1:2] in (["-c"], ["-lc"]) else value))
        detail = str(value)
    return formats.replace_surrogates(" ".join(detail.split()))


def describe_calls(data: bytes, ids: Collection[str]) -> dict[str, str]:
    """id -> the command of a call, or another part of its input that describes it, on one line;
    for those of the calls that the transcript has."""
    found: dict[str, str] = {}
    for item in list_items(_pick_lines(data, ids)):
        if item["kind"] == "call":
            for call_id in (i for i in ids if is_call(i, item["id"], item["input"])):
                found[call_id] = _find_detail(item["input"]) or item["name"]
    return found


def _pick_lines(data: bytes, ids: Iterable[str]) -> bytes:
    """The first line of a transcript and those that name one of the calls; all of one that is a
    single document, or if a call is named by its input."""
    first, newline, rest = data.partition(b"\n")
    named = any(call_id.startswith(INPUT_ID) for call_id in ids)
    if named or not ids or load_entry(first) is None:
        return data
    pattern = re.compile(b"|".join(re.escape(call_id.encode()) for call_id in ids))
    return first + newline + b"\n".join(line for line in rest.split(b"\n") if pattern.search(line))


def find_call(data: bytes, tasks: Mapping[str, bytes], tool_use_id: str) -> Around | None:
    """The call of that id in a session's transcript or in one of its tasks (tool use id -> the
    subagent's transcript); None if none has it."""
    around = _find_in(data, tool_use_id)
    for task in () if around else tasks:
        if around := _find_in(tasks[task], tool_use_id, of_subagent=True):
            starts = [
                _find_in(data, task),
                *(_find_in(other, task, True) for other in tasks.values()),
            ]
            arguments = next((start["given"] for start in starts if start), None)
            return {**around, "task": {"tool_use_id": task, "given": arguments}}
    return around


def _find_in(data: bytes, tool_use_id: str, of_subagent: bool = False) -> Around | None:
    if not tool_use_id or not (tool_use_id.startswith(INPUT_ID) or tool_use_id.encode() in data):
        return None
    around: Around | None = None
    before = ""
    for item in list_items(data, of_subagent):
        if item["kind"] == "prompt":
            if around is not None:
                break
            before = ""
        elif item["kind"] == "answer" and around is None:
            before = item["text"]
        elif item["kind"] == "answer" and around:
            around["after"] = around["after"] or item["text"]
        elif item["kind"] == "call" and around is None:
            name, given = item["name"], item["input"]
            if not is_call(tool_use_id, item["id"], given):
                continue
            around = {"before": before, "name": name, "given": given, "after": "", "task": None}
    return around


def find_prompt(prompts: Sequence[Prompt], asked: str, until: int) -> Prompt | None:
    """The prompt of the turn with this text (its beginning, redacted) and its first edit at until,
    in seconds since 1970; None without an earlier prompt.

    The newest of several equal prompts counts; without an equal text, the newest by time.
    """
    end = (until + 1) * 10**9
    earlier = [prompt for prompt in prompts if (parse_time(prompt[1]) or 0) < end]
    equal = [prompt for prompt in earlier if asked and prompt[0].startswith(asked)]
    candidates = equal or [prompt for prompt in earlier if parse_time(prompt[1]) is not None]
    return candidates[-1] if candidates else None
