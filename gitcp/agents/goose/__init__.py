"""Goose: a plugin of hooks, by its documentation only (doc/clients.md "Goose").

Its conversations are in a database that is not known.
"""

from __future__ import annotations

import os

from gitcp import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.agents import Files


class Goose(agents.Client):
    NAME = "goose"
    AGENT_TYPE = "Goose"
    PROGRAM = "goose"
    FOLDERS = (".goose", ".config/goose")
    SETTINGS = dict.fromkeys(("shared", "user"), ".agents/plugins/gitcp")  # a folder
    FORM = "files"
    SECONDS = 30
    UNTRIED = True
    KEYS = {"message": "prompt", "working_dir": "cwd", "tool_call_id": "tool_use_id"}
    PATHS = ("path",)
    KINDS = agents.make_kinds(
        write="developer__write developer__edit",
        shell="developer__shell",
        read="developer__tree developer__read_image",
    )
    # It skips a rule with an invalid matcher, so there is none.
    EVENTS = agents.omit_events("SubagentStop", "PreCompact")

    def build_files(self, path: str, command: Callable[[str], str]) -> Files:
        """The files of the plugin: its description and its hooks."""
        text = command("").partition("# ")[2]
        description = {"name": "gitcp", "version": "1", "description": text}
        return {
            os.path.join(path, "plugin.json"): description,
            os.path.join(path, "hooks", "hooks.json"): agents.nest_hooks(self.EVENTS, command),
        }


CLIENT = Goose()
