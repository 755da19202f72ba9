"""Devin CLI: hooks as Claude Code's, which name neither the directory nor the transcript,
by its documentation only (doc/clients.md "Devin").

It also runs the hooks of Claude Code's settings.
"""

from __future__ import annotations

import os

from gitcp import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.agents import Payload


class Devin(agents.Client):
    NAME = "devin"
    AGENT_TYPE = "Devin"
    PROGRAM = "devin"
    FOLDERS = (".devin", ".config/devin")
    SETTINGS = {
        "local": ".devin/config.local.json",
        "shared": ".devin/config.json",
        "user": ".config/devin/config.json",
    }
    FORM = "commented"
    UNTRIED = True
    PROJECT_ENV = "DEVIN_PROJECT_DIR"
    COVERED_BY = "claude-code"
    RESUME = "devin -r {}"
    KINDS = agents.make_kinds(
        write="write edit notebook_edit",
        shell="exec",
        read="read grep glob web_search webfetch",
    )
    EVENTS = {**agents.CORE, "SessionEnd": "session-end"}

    def adapt(self, payload: Payload) -> Payload:
        """The payload with the project's directory."""
        if "cwd" in payload:
            return payload
        return payload.change(cwd=os.environ.get(self.PROJECT_ENV) or os.getcwd())


CLIENT = Devin()
