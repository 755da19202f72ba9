"""A client that nobody has: what is in this file is all that gitcp has to know of one."""

from __future__ import annotations

import os

from gitcp.agents.exchange import payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Event, Scan

NAME = "made-up"
AGENT_TYPE = "Made Up"
PROGRAM = "made-up"
FOLDERS = (".made-up",)
SESSION_ENV = ("MADE_UP_SESSION_ID",)
PROJECT_ENV = "MADE_UP_PROJECT_DIR"
ANSWERS = "decision"
FORM = "nested"
TRUST = ""
KINDS = {"put": "write", "look": "read"}
EVENTS = {"Ask": "turn-start", "Before": "tool-start", "After": "tool-end", "Rest": "turn-end"}
_TOOLS = payload.all_but(KINDS, "read")
HOOKS = (
    ("Ask", None, None),
    ("Before", _TOOLS, None),
    ("After", _TOOLS, None),
    ("Rest", None, None),
)


def settings_paths(home: str, top: str) -> dict[str, str]:
    """Where hooks can be installed."""
    return {
        "shared": os.path.join(top, ".made-up", "settings.json"),
        "user": os.path.join(home, ".made-up", "settings.json"),
    }


def event(name: str, given: dict[str, Any]) -> Event:
    """The record of a hook call."""
    ours = EVENTS.get(name)
    if ours is None:
        return payload.unknown(NAME)
    record = payload.event(NAME, ours, given)
    if ours in ("tool-start", "tool-end"):
        record["tool"] = payload.tool(given, KINDS, ("where",), record["cwd"])
    return record


def scan(data: bytes, previous: Scan | None = None) -> Scan:
    """What a transcript says."""
    from gitcp.core.transcript.clients import made_up  # type: ignore[attr-defined]

    scanned: Scan = made_up.scan(data, previous)
    return scanned


def session_dir(home: str, cwd: str) -> str:
    """The folder of all transcripts."""
    return os.path.join(home, ".made-up", "talks")


def resume_command(session_id: str) -> str:
    """What the person types to go on with a session."""
    return f"made-up --again {session_id}"
