"""A transcript of Claude Code up to a moment, under a new id.

Lines form a tree: each names its parent, and going back in the client only lets the next
prompt name an older one.  So the cut follows the chain of ancestors, never the lines: what was
abandoned stays away, and a compaction stays whole.
"""

from __future__ import annotations

import json

from gitcp.core.transcript import transcript_scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Line = tuple[bytes, dict[str, Any]]

_THINKING = ("thinking", "redacted_thinking")
_HISTORY = ("file-history-snapshot", "file-history-delta")


def last(data: bytes) -> str:
    """The uuid at which a transcript ends; '' when it has none."""
    return next((uuid for _, line in reversed(_lines(data)) if (uuid := _uuid(line))), "")


def cut(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool
) -> tuple[bytes, list[str]]:
    """(the transcript up to leaf and what its turn still said, what was left out).

    leaf: a uuid.  redacted: the bytes were redacted, and what is signed is not valid any more.
    Returns b'' when no line has that uuid.
    """
    lines = _lines(data)
    tree = _Tree(lines)
    if leaf not in tree.at:
        return b"", []
    leaf = tree.whole(tree.end_of_turn(leaf))
    kept = tree.chain(leaf)
    kept |= tree.siblings(kept, tree.at[leaf])
    lines_kept, dropped = [], 0
    gone: dict[str, str | None] = {}
    for raw, line in lines:
        uuid = _uuid(line)
        if uuid not in kept and not _history_of(line, kept):
            continue
        written, lost = _written(raw, line, gone, redacted)
        dropped += lost
        if written:
            lines_kept.append(_renamed(written, old_id, new_id))
        elif uuid:
            gone[uuid] = tree.parent.get(uuid)
    notes = [f"{dropped} thinking blocks are left out: redaction broke their signature"]
    return b"".join(line + b"\n" for line in lines_kept), notes if dropped else []


def title(text: str, session_id: str) -> bytes:
    """The line that gives a conversation its name in the client's list."""
    line = {"type": "custom-title", "customTitle": text, "sessionId": session_id}
    return json.dumps(line).encode() + b"\n"


class _Tree:
    """The lines of a transcript by uuid: at is their place, parent whom they name."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self.at: dict[str, int] = {}
        self.parent: dict[str, str | None] = {}
        before: str | None = None
        for n, (_, line) in enumerate(lines):
            uuid = _uuid(line)
            if uuid:
                self.at[uuid] = n
                # Lines that name no parent at all follow on each other.
                self.parent[uuid] = line.get("parentUuid", before)
                before = uuid

    def end_of_turn(self, leaf: str) -> str:
        """The last line of leaf's turn: what the agent says late comes after its Stop."""
        for _, line in self._lines[self.at[leaf] + 1 :]:
            uuid = _uuid(line)
            if not uuid or self.parent[uuid] != leaf:
                continue
            if line.get("type") == "user" or line.get("subtype") == "compact_boundary":
                break
            leaf = uuid
        return leaf

    def whole(self, leaf: str) -> str:
        """leaf, or where the conversation was before a compaction that leaf is within."""
        line = self._lines[self.at[leaf]][1]
        if line.get("subtype") == "compact_boundary":
            before = line.get("logicalParentUuid")
            earlier = [uuid for uuid, at in self.at.items() if at < self.at[leaf]]
            return str(before) if before in self.at else earlier[-1] if earlier else leaf
        return leaf

    def chain(self, leaf: str) -> set[str]:
        """leaf and all its ancestors."""
        ancestors: set[str] = set()
        step: str | None = leaf
        while step in self.parent and step not in ancestors:
            ancestors.add(step)
            step = self.parent[step]
        return ancestors

    def siblings(self, kept: set[str], end: int) -> set[str]:
        """The other lines of the messages in kept, and the results of their calls.

        Calls made at once stand on each other, their results each on its own call.
        """
        part = self._lines[: end + 1]
        messages = {_message(line) for _, line in part if _uuid(line) in kept} - {""}
        same = {_uuid(line) for _, line in part if _message(line) in messages}
        results = {
            _uuid(line)
            for _, line in part
            if _is_result(line) and self.parent.get(_uuid(line)) in same | kept
        }
        return {uuid for uuid in same | results if uuid}


def _lines(data: bytes) -> list[Line]:
    parsed = ((raw, transcript_scan.load(raw)) for raw in data.split(b"\n") if raw.strip())
    return [(raw, line) for raw, line in parsed if line is not None]


def _uuid(line: dict[str, Any]) -> str:
    uuid = line.get("uuid")
    return uuid if isinstance(uuid, str) and not line.get("isSidechain") else ""


def _message(line: dict[str, Any]) -> str:
    message = line.get("message")
    named = message.get("id") if isinstance(message, dict) else None
    return named if isinstance(named, str) and line.get("type") == "assistant" else ""


def _blocks(line: dict[str, Any]) -> list[Any]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _is_result(line: dict[str, Any]) -> bool:
    kinds = [b.get("type") for b in _blocks(line) if isinstance(b, dict)]
    return line.get("type") == "user" and "tool_result" in kinds


def _history_of(line: dict[str, Any], kept: set[str]) -> bool:
    return line.get("type") in _HISTORY and line.get("messageId") in kept


def _written(
    raw: bytes, line: dict[str, Any], gone: dict[str, str | None], redacted: bool
) -> tuple[bytes, int]:
    """(a line as it is kept, b'' for not at all; how many blocks it lost)."""
    lost = 0
    if redacted and line.get("type") == "assistant":
        blocks = _blocks(line)
        left = [b for b in blocks if not (isinstance(b, dict) and b.get("type") in _THINKING)]
        lost = len(blocks) - len(left)
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


def _renamed(line: bytes, old: str, new: str) -> bytes:
    for key in (b'"sessionId":', b'"sessionId": ', b'"session_id":', b'"session_id": '):
        line = line.replace(key + b'"%s"' % old.encode(), key + b'"%s"' % new.encode())
    return line
