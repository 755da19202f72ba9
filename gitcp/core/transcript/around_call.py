"""One tool call of a transcript, with what the agent said around it."""

from __future__ import annotations

from gitcp.core.transcript.items import items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    class Around(TypedDict):
        """before, after: the agent's words next to the call, '' for none.  name, given: the
        tool and its input, as the transcript has it."""

        before: str
        name: str
        given: Any
        after: str


def find(data: bytes, tool_use_id: str) -> Around | None:
    """The call of that id, or None where the transcript does not have it."""
    if not tool_use_id or tool_use_id.encode() not in data:
        return None
    around: Around | None = None
    before = ""
    for item in items(data):
        if item["kind"] == "prompt":
            if around is not None:
                break
            before = ""
        elif item["kind"] == "answer" and around is None:
            before = item["text"]
        elif item["kind"] == "answer" and around is not None:
            around["after"] = around["after"] or item["text"]
        elif item["kind"] == "call" and item["id"] == tool_use_id and around is None:
            name, given = item["name"], item["given"]
            around = {"before": before, "name": name, "given": given, "after": ""}
    return around
