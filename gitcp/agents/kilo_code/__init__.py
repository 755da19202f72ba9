"""Kilo Code: a fork of opencode with its own paths (doc/clients.md "Kilo Code")."""

from __future__ import annotations

from functools import partial

from gitcp.agents import opencode

NAME = "kilo-code"
AGENT_TYPE = "Kilo Code"
PROGRAM = "kilo"
FOLDERS = (".kilo", ".kilocode", ".config/kilo")
SETTINGS = {"shared": ".kilo/plugin/gitcp.js", "user": ".config/kilo/plugin/gitcp.js"}
SESSION_ENV = ("KILO_SESSION_ID",)  # the plugin sets it
FORM = opencode.FORM
PLUGIN = opencode.PLUGIN
SECONDS = 0  # the plugin waits
RESUME = "kilo --session {}"
KINDS = opencode.KINDS
PATHS = opencode.PATHS
EVENTS = opencode.EVENTS
locate = opencode.locate
adapt = opencode.adapt
read_tool = opencode.read_tool
locate_subagent_transcript = opencode.locate_subagent_transcript
fetch = opencode.fetch
locate_sessions = partial(opencode.locate_sessions, name="kilo")
list_conversations = partial(opencode.list_conversations, name="kilo")
export = partial(opencode.export, name="kilo")
