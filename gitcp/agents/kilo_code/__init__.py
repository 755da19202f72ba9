"""Kilo Code: a fork of opencode with its own paths (doc/clients.md "Kilo Code")."""

from __future__ import annotations

import os

from gitcp.agents import opencode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.core.record_types import Event

NAME = "kilo-code"
AGENT_TYPE = "Kilo Code"
PROGRAM = "kilo"
FOLDERS = (".kilo", ".kilocode", ".config/kilo")  # in home or in the worktree's root
SESSION_ENV = ("KILO_SESSION_ID",)  # the plugin sets it
ANSWERS = opencode.ANSWERS
FORM = opencode.FORM
PLUGIN = opencode.PLUGIN
SECONDS = 0  # the plugin waits
RESUME = "kilo --session {}"
KINDS = opencode.KINDS
EVENTS = opencode.EVENTS
HOOKS = opencode.HOOKS
locate_subagent_transcript = opencode.locate_subagent_transcript
fetch = opencode.fetch


def list_settings_paths(home: str, top: str) -> dict[str, str]:
    """scope -> the path of the plugin: for all users of the repository, for the person."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return {
        "shared": os.path.join(top, ".kilo", "plugin", "gitcp.js"),
        "user": os.path.join(config, "kilo", "plugin", "gitcp.js"),
    }


def read_event(name: str, fields: dict[str, Any]) -> Event:
    """The record of a hook call; raises InputError for an invalid field."""
    return opencode.read_event(name, fields, NAME)


def locate_sessions(home: str, cwd: str) -> str:
    """The folder of the client's database."""
    return opencode.locate_sessions(home, cwd, "kilo")


def export(record: Event, folder: str) -> None:
    """Copy the session's new messages to a file in folder, and set that as transcript_path."""
    opencode.export(record, folder, "kilo")


def list_conversations(home: str, cwd: str) -> list[str]:
    """The sessions of cwd or directories below it, each as `<database>#<id>`."""
    return opencode.list_conversations(home, cwd, "kilo")
