"""Cuts a transcript of Claude Code at a moment, under a new id.

Lines form a tree: each names its parent, and after going back in the client the next prompt names
an older one.  So the cut follows the ancestors, not the order of lines: abandoned lines are left
out, and a compaction is complete.
"""

from __future__ import annotations

import json

from gitcp.agents.claude_code.transcript import NOT_SAID
from gitcp.core.transcript import transcript_scan
from gitcp.core.transcript.facts import extract_prompt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.agents.reading.asked import Prompt

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
    return [
        (text, str(line.get("timestamp") or ""), tree.parent[uuid] or "")
        for _, line in lines
        if (uuid := _get_uuid(line)) and (text := _find_prompt(line))
    ]


def find_leaves_around(data: bytes, call: str) -> tuple[str, str]:
    """The leaves of exact cuts before and after a call; '' without one."""
    return _Tree(_load(data)).find_leaves_around(call)


def cut_conversation(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool, exact: bool = False
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
    leaf = leaf if exact else tree.find_before_compaction(tree.find_end_of_turn(leaf))
    kept = tree.list_ancestors(leaf)
    kept |= tree.list_siblings(kept, tree.at[leaf], exact)
    lines_kept, dropped = [], 0
    gone: dict[str, str | None] = {}
    for raw, line in lines:
        uuid = _get_uuid(line)
        if uuid not in kept and not _is_history(line, kept):
            continue
        written, lost = _format_line(raw, line, gone, redacted)
        dropped += lost
        if written:
            lines_kept.append(_rename_session(written, old_id, new_id))
        elif uuid:
            gone[uuid] = tree.parent.get(uuid)
    notes = [f"{dropped} thinking blocks are left out: redaction broke their signature"]
    return b"".join(line + b"\n" for line in lines_kept), notes if dropped else []


def format_title(text: str, session_id: str) -> bytes:
    """The line that gives a conversation its name in the client's list."""
    line = {"type": "custom-title", "customTitle": text, "sessionId": session_id}
    return json.dumps(line).encode() + b"\n"


def _is_history(line: dict[str, Any], staying: set[str]) -> bool:
    return line.get("type") in _HISTORY and line.get("messageId") in staying


def _format_line(
    raw: bytes, line: dict[str, Any], gone: dict[str, str | None], redacted: bool
) -> tuple[bytes, int]:
    """(a line as it is kept, b'' for none; the number of blocks left out)."""
    lost = 0
    if redacted and line.get("type") == "assistant":
        whole = _get_blocks(line)
        left = [b for b in whole if not (isinstance(b, dict) and b.get("type") in _THINKING)]
        lost = len(whole) - len(left)
        if lost and not left:
            return b"", lost
        if lost:
            line = {**line, "message": {**line["message"], "content": left}}
    parent = line.get("parentUuid")
    moved = parent in gone
    while parent in gone:
        parent = gone[parent]
    if not lost and not moved:
        return raw, 0
    if moved:
        line = {**line, "parentUuid": parent}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode(), lost


def _rename_session(line: bytes, old: str, new: str) -> bytes:
    for key in (b'"sessionId":', b'"sessionId": ', b'"session_id":', b'"session_id": '):
        line = line.replace(key + b'"%s"' % old.encode(), key + b'"%s"' % new.encode())
    return line


class _Tree:
    """The lines of a transcript by uuid.  at: their positions; parent: their parents' uuids."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self.at: dict[str, int] = {}
        self.parent: dict[str, str | None] = {}
        before: str | None = None
        for n, (_, line) in enumerate(lines):
            uuid = _get_uuid(line)
            if uuid:
                self.at[uuid] = n
                # A line without a parent follows the line before it.
                self.parent[uuid] = line.get("parentUuid", before)
                before = uuid

    def find_end_of_turn(self, leaf: str) -> str:
        """The last line of leaf's turn: a client writes some lines after its Stop."""
        turn, end = self.list_ancestors(leaf), leaf
        for _, line in self._lines[self.at[leaf] + 1 :]:
            uuid = _get_uuid(line)
            if uuid and _begins(line):
                break
            if uuid and self.parent[uuid] in turn:
                turn.add(uuid)
                end = uuid
        return end

    def find_before_compaction(self, leaf: str) -> str:
        """leaf, or the line before a compaction that leaf is part of."""
        line = self._lines[self.at[leaf]][1]
        if line.get("subtype") == "compact_boundary":
            before = line.get("logicalParentUuid")
            earlier = [uuid for uuid, at in self.at.items() if at < self.at[leaf]]
            return str(before) if before in self.at else earlier[-1] if earlier else leaf
        return leaf

    def list_ancestors(self, leaf: str) -> set[str]:
        """leaf and all its ancestors."""
        ancestors: set[str] = set()
        step: str | None = leaf
        while step in self.parent and step not in ancestors:
            ancestors.add(step)
            step = self.parent[step]
        return ancestors

    def list_siblings(self, staying: set[str], end: int, later: bool) -> set[str]:
        """The other lines of the messages in kept, and the results of their calls.  later: also
        those after line end.

        Parallel calls are children of each other; each result is a child of its call.
        """
        part = self._lines[: end + 1]
        messages = {_get_message(line) for _, line in part if _get_uuid(line) in staying} - {""}
        same = {_get_uuid(line) for _, line in part if _get_message(line) in messages} - {""}
        callers = same | staying
        results = {
            _get_uuid(line)
            for _, line in (self._lines if later else part)
            if _is_result(line) and self.parent.get(_get_uuid(line)) in callers
        }
        return (same | results) - {""}

    def find_leaves_around(self, call: str) -> tuple[str, str]:
        """(the line before a call, the line of the call); '' for none.

        The line before the first call of a message is the one before the message.
        """
        spoken_lines = [line for _, line in self._lines if _get_uuid(line)]
        own = next((line for line in spoken_lines if call in _list_calls(line)), None)
        if own is None:
            return "", ""
        message, line = _get_message(own), own
        if message:
            same = [one for one in spoken_lines if _get_message(one) == message]
            earlier = any(_list_calls(one) for one in same[: same.index(own)])
            line = own if earlier else same[0]
        return self.parent[_get_uuid(line)] or "", _get_uuid(own)


def _load(data: bytes) -> list[Line]:
    """(bytes, value) of each line of a transcript that is JSON."""
    parsed = ((raw, transcript_scan.load(raw)) for raw in data.split(b"\n") if raw.strip())
    return [(raw, line) for raw, line in parsed if line is not None]


def _get_uuid(line: dict[str, Any]) -> str:
    """The uuid of a line of the session; '' for a line that cannot be a parent."""
    uuid = line.get("uuid")
    return uuid if isinstance(uuid, str) and not line.get("isSidechain") else ""


def _get_message(line: dict[str, Any]) -> str:
    """The id of the agent's message that a line is a part of; '' for any other line."""
    message = line.get("message")
    key = message.get("id") if isinstance(message, dict) else None
    return key if isinstance(key, str) and line.get("type") == "assistant" else ""


def _get_blocks(line: dict[str, Any]) -> list[Any]:
    """The blocks of a line's message."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _list_calls(line: dict[str, Any]) -> list[Any]:
    """The ids of the calls that a line makes."""
    uses = [b for b in _get_blocks(line) if isinstance(b, dict) and b.get("type") == "tool_use"]
    return [b.get("id") for b in uses]


def _find_prompt(line: dict[str, Any]) -> str:
    """The person's prompt in a line; '' for a result, and for text by the client."""
    message = line.get("message")
    if line.get("type") != "user" or any(line.get(key) for key in NOT_SAID):
        return ""
    return extract_prompt(message.get("content") if isinstance(message, dict) else None)


def _is_result(line: dict[str, Any]) -> bool:
    """Whether a line has results of calls."""
    kinds = [b.get("type") for b in _get_blocks(line) if isinstance(b, dict)]
    return line.get("type") == "user" and "tool_result" in kinds


def _begins(line: dict[str, Any]) -> bool:
    """Whether a line ends the turn before it: a prompt or a compaction.

    The text of a skill, by the client, names the call that asked for it.
    """
    if line.get("type") == "user":
        return not _is_result(line) and "sourceToolUseID" not in line
    return line.get("subtype") == "compact_boundary"
