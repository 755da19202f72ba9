"""The lines of a transcript of Claude Code as the tree that they form: each names its parent."""

from __future__ import annotations

from gitcp.core.conversation.asked import spoken
from gitcp.core.transcript import transcript_scan
from gitcp.core.transcript.items import NOT_SAID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Line = tuple[bytes, dict[str, Any]]


class Tree:
    """The lines of a transcript by uuid: at is their place, parent whom they name."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self.at: dict[str, int] = {}
        self.parent: dict[str, str | None] = {}
        before: str | None = None
        for n, (_, line) in enumerate(lines):
            uuid = uuid_of(line)
            if uuid:
                self.at[uuid] = n
                # Lines that name no parent at all follow on each other.
                self.parent[uuid] = line.get("parentUuid", before)
                before = uuid

    def end_of_turn(self, leaf: str) -> str:
        """The last line of leaf's turn: a client writes what was done last after its Stop."""
        turn, end = self.chain(leaf), leaf
        for _, line in self._lines[self.at[leaf] + 1 :]:
            uuid = uuid_of(line)
            if uuid and _begins(line):
                break
            if uuid and self.parent[uuid] in turn:
                turn.add(uuid)
                end = uuid
        return end

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

    def siblings(self, kept: set[str], end: int, later: bool) -> set[str]:
        """The other lines of the messages in kept, and the results of their calls; later: also
        those that stand below line end.

        Calls made at once stand on each other, their results each on its own call.
        """
        part = self._lines[: end + 1]
        messages = {message_of(line) for _, line in part if uuid_of(line) in kept} - {""}
        same = {uuid_of(line) for _, line in part if message_of(line) in messages} - {""}
        callers = same | kept
        results = {
            uuid_of(line)
            for _, line in (self._lines if later else part)
            if is_result(line) and self.parent.get(uuid_of(line)) in callers
        }
        return (same | results) - {""}

    def around(self, call: str) -> tuple[str, str]:
        """(the line before which a call was not made yet, the line of the call); '' for none.

        Before the first call of a message the agent has said nothing of it.
        """
        spoken_lines = [line for _, line in self._lines if uuid_of(line)]
        own = next((line for line in spoken_lines if call in calls(line)), None)
        if own is None:
            return "", ""
        message, line = message_of(own), own
        if message:
            same = [one for one in spoken_lines if message_of(one) == message]
            earlier = any(calls(one) for one in same[: same.index(own)])
            line = own if earlier else same[0]
        return self.parent[uuid_of(line)] or "", uuid_of(own)


def load(data: bytes) -> list[Line]:
    """The lines of a transcript that are JSON, each as it stands and read."""
    parsed = ((raw, transcript_scan.load(raw)) for raw in data.split(b"\n") if raw.strip())
    return [(raw, line) for raw, line in parsed if line is not None]


def uuid_of(line: dict[str, Any]) -> str:
    """The name of a line of the session itself; '' for what no other line can name."""
    uuid = line.get("uuid")
    return uuid if isinstance(uuid, str) and not line.get("isSidechain") else ""


def message_of(line: dict[str, Any]) -> str:
    """The id of the agent's message that a line is a part of; '' for any other line."""
    message = line.get("message")
    named = message.get("id") if isinstance(message, dict) else None
    return named if isinstance(named, str) and line.get("type") == "assistant" else ""


def blocks(line: dict[str, Any]) -> list[Any]:
    """The blocks of a line's message."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def calls(line: dict[str, Any]) -> list[Any]:
    """The ids of the calls that a line makes."""
    uses = [b for b in blocks(line) if isinstance(b, dict) and b.get("type") == "tool_use"]
    return [b.get("id") for b in uses]


def asked_in(line: dict[str, Any]) -> str:
    """What the person said in a line; '' for a result, and for what the client said itself."""
    message = line.get("message")
    if line.get("type") != "user" or any(line.get(key) for key in NOT_SAID):
        return ""
    return spoken(message.get("content") if isinstance(message, dict) else None)


def is_result(line: dict[str, Any]) -> bool:
    """Whether a line has results of calls."""
    kinds = [b.get("type") for b in blocks(line) if isinstance(b, dict)]
    return line.get("type") == "user" and "tool_result" in kinds


def _begins(line: dict[str, Any]) -> bool:
    """Whether a line ends the turn before it: somebody speaks, or a compaction comes between.

    The text of a skill, which the client says, names the call that asked for it.
    """
    if line.get("type") == "user":
        return not is_result(line) and "sourceToolUseID" not in line
    return line.get("subtype") == "compact_boundary"
