"""A transcript of Claude Code up to a moment, under a new id.

Lines form a tree: each names its parent, and going back in the client only lets the next
prompt name an older one.  So the cut follows the chain of ancestors, never the lines: what was
abandoned stays away, and a compaction stays whole.
"""

from __future__ import annotations

import json

from gitcp.core.conversation.claude_tree import (
    Tree,
    asked_in,
    blocks,
    load,
    uuid_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.conversation.asked import Prompt

_THINKING = ("thinking", "redacted_thinking")
_HISTORY = ("file-history-snapshot", "file-history-delta")


def last(data: bytes) -> str:
    """The uuid at which a transcript ends; '' when it has none."""
    return next((uuid for _, line in reversed(load(data)) if (uuid := uuid_of(line))), "")


def prompts(data: bytes) -> list[Prompt]:
    """What the person asked, in order: (the text, its time, the leaf that stands before it)."""
    lines = load(data)
    tree = Tree(lines)
    return [
        (text, str(line.get("timestamp") or ""), tree.parent[uuid] or "")
        for _, line in lines
        if (uuid := uuid_of(line)) and (text := asked_in(line))
    ]


def around_call(data: bytes, call: str) -> tuple[str, str]:
    """The leaves of exact cuts right before and right after a call; '' where there is none."""
    return Tree(load(data)).around(call)


def cut(
    data: bytes, leaf: str, old_id: str, new_id: str, redacted: bool, exact: bool = False
) -> tuple[bytes, list[str]]:
    """(the transcript up to leaf and what its turn still said, what was left out).

    leaf: a uuid.  redacted: the bytes were redacted, and what is signed is not valid any more.
    exact: nothing of the turn after leaf but the results of the calls that are kept.  Returns
    b'' when no line has that uuid.
    """
    lines = load(data)
    tree = Tree(lines)
    if leaf not in tree.at:
        return b"", []
    leaf = leaf if exact else tree.whole(tree.end_of_turn(leaf))
    kept = tree.chain(leaf)
    kept |= tree.siblings(kept, tree.at[leaf], exact)
    lines_kept, dropped = [], 0
    gone: dict[str, str | None] = {}
    for raw, line in lines:
        uuid = uuid_of(line)
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


def _history_of(line: dict[str, Any], kept: set[str]) -> bool:
    return line.get("type") in _HISTORY and line.get("messageId") in kept


def _written(
    raw: bytes, line: dict[str, Any], gone: dict[str, str | None], redacted: bool
) -> tuple[bytes, int]:
    """(a line as it is kept, b'' for not at all; how many blocks it lost)."""
    lost = 0
    if redacted and line.get("type") == "assistant":
        whole = blocks(line)
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


def _renamed(line: bytes, old: str, new: str) -> bytes:
    for key in (b'"sessionId":', b'"sessionId": ', b'"session_id":', b'"session_id": '):
        line = line.replace(key + b'"%s"' % old.encode(), key + b'"%s"' % new.encode())
    return line
