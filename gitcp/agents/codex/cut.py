"""Cuts a rollout of Codex at a leaf, and gives the copy a new id.  A leaf names the line with
which a conversation ends; in a rollout all lines before it belong to the conversation."""

from __future__ import annotations

from bisect import bisect_left

from gitcp.agents import transcripts
from gitcp.agents.transcripts import Fields
from gitcp.agents.transcripts.cuts import NOT_FOUND, CutTranscript, Leaves, Prompt
from gitcp.agents.transcripts.transcript_facts import extract_prompt

_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_HEADER = 1  # lines of the header; alone they are no conversation


def find_last_leaf(data: bytes) -> str:
    """The leaf at which a rollout ends; '' for an empty one."""
    lines = _split_lines(data)
    return _Leaves(lines).name_leaf(len(lines))


def list_prompts(data: bytes) -> list[Prompt]:
    """The person's prompts, in order."""
    lines = _split_lines(data)
    prompts = []
    turn = 0
    leaves = _Leaves(lines)
    for number, line in enumerate(lines):
        payload = _load_payload(line)
        if payload.is_kind("task_started"):
            turn = number
        if payload.is_kind("message") and payload.get("role") == "user":
            text = extract_prompt(payload.get("content"))
            if text:
                leaf = leaves.name_leaf(turn) if turn > _HEADER else ""
                prompts.append(Prompt(text, _get_time(line), leaf))
    return prompts


def find_leaves_around(data: bytes, call: str) -> Leaves:
    """The leaves before and after a call."""
    lines = _split_lines(data)
    callers = (n for n, line in enumerate(lines) if _get_call(line, _CALLS) == call)
    caller = next(callers, None)
    if not call or caller is None:
        return Leaves("", "")
    begin = caller
    while begin and _is_answer_or_reasoning(lines[begin - 1]):
        begin -= 1
    leaves = _Leaves(lines)
    return Leaves(leaves.name_leaf(begin), leaves.name_leaf(caller + 1))


def cut_conversation(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool, *, exact: bool = False
) -> CutTranscript:
    """The rollout to the end of leaf's turn.

    redacted: leave out reasoning, because redaction broke its encryption and the service refuses
    it.  exact: end at leaf, but with the outputs of the calls before it.
    """
    lines = _split_lines(data)
    end = _Leaves(lines).find_end(leaf)
    if not end:
        return NOT_FOUND
    while not exact and end < len(lines) and not _is_end_of_turn(lines[end - 1], lines[end]):
        end += 1
    part = [*lines[:end], *(_list_outputs(lines, end) if exact else [])]
    remaining = [line for line in part if not (redacted and _is_reasoning(line))]
    dropped = len(part) - len(remaining)
    notes = [f"{dropped} items of reasoning are left out: redaction broke their encryption"]
    text = b"".join(line + b"\n" for line in remaining)
    return CutTranscript(text.replace(old_id.encode(), new_id.encode()), notes if dropped else [])


def _split_lines(data: bytes) -> list[bytes]:
    return [line for line in data.split(b"\n") if line.strip()]


class _Leaves:
    """The leaves of a rollout.  A leaf is `<number> <time>`: the number of lines up to it, and the
    time of the last of them.  Lines of reasoning do not count, since redaction may drop them.  So a
    leaf is the same in every copy of a rollout, and in no other."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines
        self._numbers = [n for n, line in enumerate(lines) if not _is_reasoning(line)]

    def name_leaf(self, end: int) -> str:
        """The leaf of the first end lines; '' without one."""
        count = bisect_left(self._numbers, end)
        if count:
            return f"{count} {_get_time(self._lines[self._numbers[count - 1]])}"
        return ""

    def find_end(self, leaf: str) -> int:
        """The number of lines of a leaf; 0 if this rollout does not have it."""
        count = int(leaf.partition(" ")[0] or 0)
        end = 0
        if 0 < count <= len(self._numbers):
            end = self._numbers[count - 1] + 1
        return end if self.name_leaf(end) == leaf else 0


def _get_time(line: bytes) -> str:
    return transcripts.read_entry(line).get_word("timestamp")


def _get_call(line: bytes, kinds: tuple[str, ...]) -> str:
    """The id of the call that a line of one of these kinds is about."""
    if b'"call_id"' not in line:
        return ""
    payload = _load_payload(line)
    return payload.get_word("call_id") if payload.is_kind(*kinds) else ""


def _list_outputs(lines: list[bytes], end: int) -> list[bytes]:
    """The outputs, from line end on, of calls in the lines before it."""
    calls = {_get_call(line, _CALLS) for line in lines[:end]} - {""}
    return [line for line in lines[end:] if _get_call(line, _OUTPUTS) in calls]


def _is_answer_or_reasoning(line: bytes) -> bool:
    """Whether a line has reasoning or a message of the model, or is the client's event of one."""
    payload = _load_payload(line)
    item = payload.get_object("item") or payload
    if item.is_kind("message"):
        return bool(payload.get("role") == "assistant")
    return item.is_kind("reasoning", "AgentMessage", "Reasoning")


def _load_payload(line: bytes) -> Fields:
    return transcripts.read_entry(line).get_object("payload")


def _is_end_of_turn(line: bytes, following: bytes) -> bool:
    """Whether a turn ends with a line, or another begins with the following one."""
    ends = _load_payload(line).is_kind("task_complete", "turn_aborted")
    return ends or _load_payload(following).is_kind("task_started")


def _is_reasoning(line: bytes) -> bool:
    return b'"encrypted_content"' in line and _load_payload(line).is_kind("reasoning")
