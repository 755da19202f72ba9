"""Cuts a transcript of Claude Code at a moment, under a new id.

Lines form a tree: each names its parent, and after going back in the client the next prompt names
an older one.  So the cut follows the ancestors, not the order of lines: abandoned lines are left
out, and a compaction is complete.
"""

from __future__ import annotations

import json

from gitcp.agents import transcripts
from gitcp.agents.claude_code.transcript import NOT_CONVERSATION
from gitcp.agents.transcripts.transcript_facts import extract_prompt
from gitcp.text.json import ensure_object, list_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.agents.transcripts import Prompt

    Line = tuple[bytes, dict[str, Any]]

_THINKING = ("thinking", "redacted_thinking")
_HISTORY = ("file-history-snapshot", "file-history-delta")


def find_last_leaf(data: bytes) -> str:
    """The uuid at which a transcript ends; '' when it has none."""
    return next((uuid for _, line in reversed(_load(data)) if (uuid := _get_uuid(line))), "")


def list_prompts(data: bytes) -> list[Prompt]:
    """The person's prompts, in order: (text, time, the leaf before it)."""
    lines = _load(data)
    tree = _Tree(lines)
    found: list[Prompt] = []
    for _, line in lines:
        uuid = _get_uuid(line)
        if uuid:
            text = _find_prompt(line)
            if text:
                found.append((text, str(line.get("timestamp") or ""), tree.parent[uuid] or ""))
    return found


def find_leaves_around(data: bytes, call: str) -> tuple[str, str]:
    """The leaves of exact cuts before and after a call; '' without one."""
    return _Tree(_load(data)).find_leaves_around(call)


def cut_conversation(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool, *, exact: bool = False
) -> tuple[bytes, list[str]]:
    """(the transcript up to leaf and to the end of its turn, a text for each kind of thing left
    out).

    leaf: a uuid.  redacted: the bytes were redacted, so that signatures are invalid.  exact: end
    at leaf, with only the results of the calls that are kept.  Returns b'' if no line has the uuid.
    """
    lines = _load(data)
    tree = _Tree(lines)
    if leaf not in tree.at:
        return b"", []
    if not exact:
        leaf = tree.find_before_compaction(tree.find_end_of_turn(leaf))
    uuids = tree.add_siblings(tree.list_ancestors(leaf), tree.at[leaf], exact)
    parts = []
    dropped = 0
    left_out: dict[str, str | None] = {}  # line -> its parent
    for raw, line in lines:
        uuid = _get_uuid(line)
        if uuid not in uuids and not _is_history(line, uuids):
            continue
        cleaned, count = _drop_thinking(line) if redacted else (line, 0)
        dropped += count
        if cleaned is None:
            left_out[uuid] = tree.parent.get(uuid)
            continue
        while True:
            parent = str(cleaned.get("parentUuid"))
            if parent not in left_out:
                break
            cleaned = {**cleaned, "parentUuid": left_out[parent]}
        text = raw if cleaned is line else _format_line(cleaned)
        parts.append(_rename_session(text, old_id, new_id) + b"\n")
    notes = [f"{dropped} thinking blocks are left out: redaction broke their signature"]
    return b"".join(parts), notes if dropped else []


def _is_history(line: dict[str, Any], uuids: set[str]) -> bool:
    return line.get("type") in _HISTORY and str(line.get("messageId")) in uuids


def _drop_thinking(line: dict[str, Any]) -> tuple[dict[str, Any] | None, int]:
    """(a line without its blocks of thinking, None if it has no other; their number)."""
    if line.get("type") == "assistant":
        blocks = _get_blocks(line)
    else:
        blocks = []
    left = [b for b in blocks if not (isinstance(b, dict) and b.get("type") in _THINKING)]
    count = len(blocks) - len(left)
    if not count:
        return line, 0
    return {**line, "message": {**line["message"], "content": left}} if left else None, count


def _format_line(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode()


def _rename_session(line: bytes, old: str, new: str) -> bytes:
    for key in (b'"sessionId":', b'"sessionId": ', b'"session_id":', b'"session_id": '):
        line = line.replace(key + b'"%s"' % old.encode(), key + b'"%s"' % new.encode())
    return line


class _Tree:
    """The lines of a transcript by uuid.  at: their positions; parent: their parents' uuids, or the
    line before for one that names no parent."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self.at: dict[str, int] = {}
        self.parent: dict[str, str | None] = {}
        previous: str | None = None
        for number, (_, line) in enumerate(lines):
            uuid = _get_uuid(line)
            if uuid:
                self.at[uuid] = number
                parent = line.get("parentUuid", previous)
                if isinstance(parent, str):
                    self.parent[uuid] = parent
                else:
                    self.parent[uuid] = None
                previous = uuid

    def find_end_of_turn(self, leaf: str) -> str:
        """The last line of leaf's turn: a client writes some lines after its Stop."""
        turn = self.list_ancestors(leaf)
        end = leaf
        for _, line in self._lines[self.at[leaf] + 1 :]:
            uuid = _get_uuid(line)
            if uuid and _ends_turn(line):
                break
            if uuid and self.parent[uuid] in turn:
                turn.add(uuid)
                end = uuid
        return end

    def find_before_compaction(self, leaf: str) -> str:
        """leaf; if that is a compaction, the line before it."""
        position = self.at[leaf]
        line = self._lines[position][1]
        if line.get("subtype") != "compact_boundary":
            return leaf
        before = str(line.get("logicalParentUuid"))
        if before in self.at:
            return before
        earlier = [uuid for uuid, number in self.at.items() if number < position]
        return earlier[-1] if earlier else leaf

    def list_ancestors(self, leaf: str) -> set[str]:
        """leaf and all its ancestors."""
        ancestors: set[str] = set()
        step: str | None = leaf
        while step in self.parent and step not in ancestors:
            ancestors.add(step)
            step = self.parent[step]
        return ancestors

    def add_siblings(self, uuids: set[str], end: int, later: bool) -> set[str]:
        """uuids, with the other lines of their messages up to line end, and the results of all
        their calls.  later: also results after that line.

        Parallel calls are children of each other; each result is a child of its call.
        """
        part = self._lines[: end + 1]
        messages = {_get_message(line) for _, line in part if _get_uuid(line) in uuids} - {""}
        callers = uuids | {_get_uuid(line) for _, line in part if _get_message(line) in messages}
        results = {
            _get_uuid(line)
            for _, line in (self._lines if later else part)
            if _is_result(line) and self.parent.get(_get_uuid(line)) in callers
        }
        return (callers | results) - {""}

    def find_leaves_around(self, call: str) -> tuple[str, str]:
        """(the line before a call, the line of the call); '' for none.

        The line before the first call of a message is the one before the message.
        """
        lines = [line for _, line in self._lines if _get_uuid(line)]
        caller = next((line for line in lines if call in _list_calls(line)), None)
        if caller is None:
            return "", ""
        first = caller
        message = _get_message(caller)
        if message:
            siblings = [line for line in lines if _get_message(line) == message]
            if not any(map(_list_calls, siblings[: siblings.index(caller)])):
                first = siblings[0]
        return self.parent[_get_uuid(first)] or "", _get_uuid(caller)


def _load(data: bytes) -> list[Line]:
    """(bytes, value) of each line of a transcript that is JSON."""
    lines = ((raw, transcripts.load_entry(raw)) for raw in data.split(b"\n"))
    return [(raw, line) for raw, line in lines if line is not None]


def _get_uuid(line: dict[str, Any]) -> str:
    """The uuid of a line of the session; '' for a line that cannot be a parent."""
    uuid = line.get("uuid")
    if isinstance(uuid, str) and not line.get("isSidechain"):
        return uuid
    return ""


def _get_message(line: dict[str, Any]) -> str:
    """The id of the agent's message that a line is a part of; '' for any other line."""
    key = ensure_object(line.get("message")).get("id")
    if isinstance(key, str) and line.get("type") == "assistant":
        return key
    return ""


def _get_blocks(line: dict[str, Any]) -> list[Any]:
    """The blocks of a line's message."""
    content = ensure_object(line.get("message")).get("content")
    return content if isinstance(content, list) else []


def _list_calls(line: dict[str, Any]) -> list[Any]:
    """The ids of the calls that a line makes."""
    blocks = list_objects(_get_blocks(line))
    return [block.get("id") for block in blocks if block.get("type") == "tool_use"]


def _find_prompt(line: dict[str, Any]) -> str:
    """The person's prompt in a line; '' for a result, and for text by the client."""
    if line.get("type") != "user" or any(line.get(key) for key in NOT_CONVERSATION):
        return ""
    return extract_prompt(ensure_object(line.get("message")).get("content"))


def _is_result(line: dict[str, Any]) -> bool:
    """Whether a line has results of calls."""
    kinds = [block.get("type") for block in list_objects(_get_blocks(line))]
    return line.get("type") == "user" and "tool_result" in kinds


def _ends_turn(line: dict[str, Any]) -> bool:
    """Whether a line ends the turn before it: a prompt or a compaction.

    The text of a skill, by the client, names the call that asked for it.
    """
    if line.get("type") == "user":
        return not _is_result(line) and "sourceToolUseID" not in line
    return line.get("subtype") == "compact_boundary"
