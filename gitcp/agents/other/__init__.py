"""Any other tool: it sends gitcp's event records, and may have a transcript in gitcp's format.

The name it gives itself is shown to people and stored as its agent type."""

from __future__ import annotations

from gitcp import agents
from gitcp.agents import Payload
from gitcp.errors import InputError
from gitcp.text import ids, prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.text.record_types import Event, Tool

_TEXTS = """agent_type turn transcript_path agent_transcript_path source reason last_message
model""".split()
_LONGEST = 60  # characters of an agent's name


class Other(agents.Client):
    NAME = "other"
    AGENT_TYPE = ""  # the name that the tool gives
    SESSION_ENV = ("GITCP_SESSION_ID",)  # `gitcp run` sets it
    ANSWERS = "plain"
    PARTS = ("transcript",)
    SETTINGS: dict[str, str] = {}
    EVENTS = dict.fromkeys(
        """session-start turn-start tool-start tool-end subagent-start subagent-end todo compact
        turn-end session-end""".split(),
        "",
    )
    NOT_HOOKED = tuple(EVENTS)
    KINDS = {kind: kind for kind in "write shell mcp task todo read other".split()}


def check_event(fields: dict[str, Any], cwd: str) -> Event:
    """Check a record of type event by a tool; unknown keys are left out.

    cwd: the default directory.  Raises InputError for an invalid field.
    """
    payload = Payload(fields)
    name = payload.get_text("event")
    if name not in Other.EVENTS:
        raise InputError(
            f"unknown event {ascii(name)[:80]}: 'event' is one of {', '.join(Other.EVENTS)}"
        )
    record: Event = {
        "type": "event",
        "event": name,
        "agent": check_name(payload.get("agent")),
        "session_id": ids.check_session_id(payload.get("session_id")),
        "cwd": agents.check_directory(payload.get_text("cwd") or cwd),
        "notification": payload.get("notification") is True,
    }
    texts = {key: payload.get_words(key) for key in _TEXTS}
    record.update({key: text for key, text in texts.items() if text})  # type: ignore[typeddict-item]
    if payload.get("agent_id") is not None:
        record["agent_id"] = ids.check_component(payload.get("agent_id"), "agent_id")
    if name == "turn-start":
        record["prompt"] = prompt_text.clean_prompt(payload.get_words("prompt"))
    if payload.get("tool") is not None:
        record["tool"] = _read_tool(payload.get_object("tool"), record["cwd"])
    return record


def check_name(name: object) -> str:
    """Check the name of a tool: one short line."""
    if not isinstance(name, str) or not name.strip():
        raise InputError("'agent' must be a text that is not empty")
    if len(name) > _LONGEST or not name.isprintable():
        raise InputError(
            f"'agent' is longer than {_LONGEST} characters or not printable: {ascii(name)[:80]}"
        )
    return name


def _read_tool(fields: Payload, cwd: str) -> Tool:
    kind = fields.get_text("kind") or "other"
    input_paths = fields.get("input_paths")
    if kind not in Other.KINDS:
        raise InputError(
            f"unknown kind of tool {ascii(kind)[:80]}: 'kind' is one of {', '.join(Other.KINDS)}"
        )
    if input_paths is not None and not isinstance(input_paths, list):
        raise InputError(f"'input_paths' is not a list: {ascii(input_paths)[:80]}")
    name = fields.get_text("name") or kind
    call = {
        "tool_name": name,
        "tool_use_id": fields.get("id") or None,
        "tool_input": dict(fields.list_items()),
        "duration_ms": fields.get("duration_ms"),
    }
    tool = agents.read_tool(Payload(call), {name: kind})
    paths = [Payload({"input_paths": path}).get_text("input_paths") for path in input_paths or ()]
    tool["input_paths"] = agents.resolve_paths(paths, cwd, "path")
    tool["failed"] = fields.get("failed") is True
    if fields.get("background") is True:
        tool["background"] = True
    agents.add_output(tool, fields.get("output"))
    return tool


CLIENT = Other()
