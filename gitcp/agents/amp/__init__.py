"""Amp: a plugin that reports its events with Claude Code's names, by its documentation only.

The plugin asks Amp itself which files a call writes and which command it runs, so that no names of
tools are needed.  Its threads are not known.
"""

from __future__ import annotations

from gitcp.agents.exchange import claudes, payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Event

NAME = "amp"
AGENT_TYPE = "Amp"
PROGRAM = "amp"
FOLDERS = (".amp", ".config/amp")  # in home or in the worktree's root
SETTINGS = {"shared": ".amp/plugins/gitcp.ts", "user": ".config/amp/plugins/gitcp.ts"}
FORM = "plugin"  # gitcp.agents.install.own_files
PLUGIN = "amp/plugin.ts"
SECONDS = 0  # the plugin waits
UNSEEN = True
SESSION_ENV = ("AMP_THREAD_ID",)
ANSWERS = "text"  # gitcp.agents.exchange.replies
RESUME = "amp threads continue {}"
KINDS = {"write": "write", "shell": "shell"}
EVENTS = claudes.CORE
HOOKS = tuple((name, None, None) for name in EVENTS)  # the plugin needs no matchers


def read_event(name: str, fields: dict[str, Any]) -> Event:
    """The record of a hook call; raises InputError for an invalid field."""
    ours = EVENTS.get(name)
    if ours is None:
        return payload.make_unknown(NAME)
    record = payload.read_event(NAME, ours, fields)
    if ours in ("tool-start", "tool-end"):
        kinds = {payload.get_text(fields, "tool_name"): payload.get_text(fields, "kind") or "other"}
        tool = record["tool"] = payload.read_tool(fields, kinds)
        paths = fields.get("input_paths") if tool["kind"] == "write" else ()
        tool["input_paths"] = [
            payload.resolve_path(path, record["cwd"], "path") for path in paths or ()
        ]
        payload.take_response(tool, fields.get("tool_response"))
    return record
