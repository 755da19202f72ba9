"""Cuts a transcript of Claude Code at a moment, under a new id.

Lines form a tree: each names its parent, and after going back in the client the next prompt names
an older one.  So the cut follows the ancestors, not the order of lines: abandoned lines are left
out, and a compaction is complete.
"""

from __future__ import annotations

import json

from gitcp.agents import transcripts
from gitcp.agents.claude_code.transcript import NOT_CONVERSATION
from gitcp.agents.transcripts import Fields
from gitcp.agents.transcripts.cuts import NOT_FOUND, CutTranscript, Leaves, Prompt
from gitcp.agents.transcripts.transcript_facts import extract_prompt

_THINKING = ("thinking", "redacted_thinking")
_HISTORY = ("file-history-snapshot", "file-history-delta")


class _Line:
    """A line of a transcript that is JSON.  uuid: '' for one that cannot be a parent.  message: the
    id of the agent's message that it is a part of, '' for any other line.  calls: the ids of those
    that it makes; has_results: whether it has results of calls."""

    def __init__(self, raw: bytes, entry: Fields) -> None:
        self.raw = raw
        self.entry = entry
        message = entry.get_object("message")
        blocks = message.get_objects("content")
        self.uuid = "" if entry.get("isSidechain") else entry.get_text("uuid")
        self.message = message.get_text("id") if entry.is_kind("assistant") else ""
        self.calls = [block.get("id") for block in blocks if block.is_kind("tool_use")]
        results = [block for block in blocks if block.is_kind("tool_result")]
        self.has_results = bool(results) and entry.is_kind("user")

    def is_history(self, uuids: set[str]) -> bool:
        """Whether it has the files at one of these lines."""
        return self.entry.is_kind(*_HISTORY) and self.entry.get_word("messageId") in uuids

    def find_prompt(self) -> str:
        """The person's prompt in it; '' for a result, and for text by the client."""
        if not self.entry.is_kind("user") or any(map(self.entry.get, NOT_CONVERSATION)):
            return ""
        return extract_prompt(self.entry.get_object("message").get("content"))

    def ends_turn(self) -> bool:
        """Whether it ends the turn before it: a prompt or a compaction.

        The text of a skill, by the client, names the call that asked for it.
        """
        if self.entry.is_kind("user"):
            return not self.has_results and "sourceToolUseID" not in self.entry
        return bool(self.entry.get("subtype") == "compact_boundary")

    def list_raw_blocks(self) -> list[object]:
        """The blocks of a message of the agent, whatever they are."""
        content = self.entry.get_object("message").get("content")
        if self.entry.is_kind("assistant") and isinstance(content, list):
            return content
        return []


def find_last_leaf(data: bytes) -> str:
    """The uuid at which a transcript ends; '' when it has none."""
    return next((line.uuid for line in reversed(_load(data)) if line.uuid), "")


def list_prompts(data: bytes) -> list[Prompt]:
    """The person's prompts, in order."""
    lines = _load(data)
    tree = _Tree(lines)
    found: list[Prompt] = []
    for line in lines:
        text = line.find_prompt() if line.uuid else ""
        if text:
            leaf = tree.parent[line.uuid] or ""
            found.append(Prompt(text, line.entry.get_word("timestamp"), leaf))
    return found


def find_leaves_around(data: bytes, call: str) -> Leaves:
    """The leaves of exact cuts before and after a call."""
    return _Tree(_load(data)).find_leaves_around(call)


def cut_conversation(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool, *, exact: bool = False
) -> CutTranscript:
    """The transcript up to leaf and to the end of its turn.

    leaf: a uuid.  redacted: the bytes were redacted, so that signatures are invalid.  exact: end
    at leaf, with only the results of the calls that are kept.
    """
    lines = _load(data)
    tree = _Tree(lines)
    if leaf not in tree.at:
        return NOT_FOUND
    if not exact:
        leaf = tree.find_before_compaction(tree.find_end_of_turn(leaf))
    uuids = tree.add_siblings(tree.list_ancestors(leaf), tree.at[leaf], exact)
    parts = []
    dropped = 0
    left_out: dict[str, str | None] = {}  # line -> its parent
    for line in lines:
        if line.uuid not in uuids and not line.is_history(uuids):
            continue
        entry = line.entry
        blocks = line.list_raw_blocks() if redacted else []
        kept = [block for block in blocks if not Fields(block).is_kind(*_THINKING)]
        dropped += len(blocks) - len(kept)
        if blocks and not kept:
            left_out[line.uuid] = tree.parent.get(line.uuid)
            continue
        if len(kept) < len(blocks):
            message = entry.get_object("message").change("content", kept)
            entry = entry.change("message", message.fields)
        while True:
            parent = entry.get_word("parentUuid")
            if parent not in left_out:
                break
            entry = entry.change("parentUuid", left_out[parent])
        text = line.raw if entry is line.entry else _format_line(entry)
        parts.append(_rename_session(text, old_id, new_id) + b"\n")
    notes = [f"{dropped} thinking blocks are left out: redaction broke their signature"]
    return CutTranscript(b"".join(parts), notes if dropped else [])


def _format_line(entry: Fields) -> bytes:
    return json.dumps(entry.fields, ensure_ascii=False, separators=(",", ":")).encode()


def _rename_session(line: bytes, old: str, new: str) -> bytes:
    for key in (b'"sessionId":', b'"sessionId": ', b'"session_id":', b'"session_id": '):
        line = line.replace(key + b'"%s"' % old.encode(), key + b'"%s"' % new.encode())
    return line


class _Tree:
    """The lines of a transcript by uuid.  at: their positions; parent: their parents' uuids, or the
    line before for one that names no parent."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines = lines
        self.at: dict[str, int] = {}
        self.parent: dict[str, str | None] = {}
        previous: str | None = None
        for number, line in enumerate(lines):
            if line.uuid:
                self.at[line.uuid] = number
                parent = previous
                if "parentUuid" in line.entry:
                    parent = line.entry.get("parentUuid")
                self.parent[line.uuid] = parent if isinstance(parent, str) else None
                previous = line.uuid

    def find_end_of_turn(self, leaf: str) -> str:
        """The last line of leaf's turn: a client writes some lines after its Stop."""
        turn = self.list_ancestors(leaf)
        end = leaf
        for line in self._lines[self.at[leaf] + 1 :]:
            if line.uuid and line.ends_turn():
                break
            if line.uuid and self.parent[line.uuid] in turn:
                turn.add(line.uuid)
                end = line.uuid
        return end

    def find_before_compaction(self, leaf: str) -> str:
        """leaf; if that is a compaction, the line before it."""
        position = self.at[leaf]
        entry = self._lines[position].entry
        if entry.get("subtype") != "compact_boundary":
            return leaf
        before = entry.get_word("logicalParentUuid")
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
        messages = {line.message for line in part if line.uuid in uuids} - {""}
        callers = uuids | {line.uuid for line in part if line.message in messages}
        answering = [line.uuid for line in (self._lines if later else part) if line.has_results]
        results = {uuid for uuid in answering if self.parent.get(uuid) in callers}
        return (callers | results) - {""}

    def find_leaves_around(self, call: str) -> Leaves:
        """The line before a call, and that of the call.

        The line before the first call of a message is the one before the message.
        """
        lines = [line for line in self._lines if line.uuid]
        caller = next((line for line in lines if call in line.calls), None)
        if caller is None:
            return Leaves("", "")
        first = caller
        if caller.message:
            siblings = [line for line in lines if line.message == caller.message]
            if not any(line.calls for line in siblings[: siblings.index(caller)]):
                first = siblings[0]
        return Leaves(self.parent[first.uuid] or "", caller.uuid)


def _load(data: bytes) -> list[_Line]:
    lines = []
    for raw in data.split(b"\n"):
        entry = transcripts.load_entry(raw)
        if entry is not None:
            lines.append(_Line(raw, Fields(entry)))
    return lines
