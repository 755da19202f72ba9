"""Finds a tool call of a transcript, with the agent's words around it."""

from __future__ import annotations

from gitcp.agents.reading.items import list_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypedDict

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


def find(data: bytes, tasks: Mapping[str, bytes], tool_use_id: str) -> Around | None:
    """The call of that id in a session's transcript or in one of its tasks (tool use id -> the
    subagent's transcript); None if none has it."""
    around = _find(data, tool_use_id)
    for task in () if around else tasks:
        if around := _find(tasks[task], tool_use_id, of_subagent=True):
            starts = [_find(data, task), *(_find(other, task, True) for other in tasks.values())]
            arguments = next((start["given"] for start in starts if start), None)
            return {**around, "task": {"tool_use_id": task, "given": arguments}}
    return around


def _find(data: bytes, tool_use_id: str, of_subagent: bool = False) -> Around | None:
    if not tool_use_id or tool_use_id.encode() not in data:
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
        elif item["kind"] == "call" and item["id"] == tool_use_id and around is None:
            name, given = item["name"], item["given"]
            around = {"before": before, "name": name, "given": given, "after": "", "task": None}
    return around
