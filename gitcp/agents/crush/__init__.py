"""Crush: hooks in its configuration, by its documentation only (doc/clients.md "Crush").

No call has an id, and subagents' calls have no hooks.  Its conversations are in an unknown
database.
"""

from __future__ import annotations

from gitcp import agents


class Crush(agents.Client):
    NAME = "crush"
    AGENT_TYPE = "Crush"
    PROGRAM = "crush"
    FOLDERS = (".crush", ".config/crush")
    SETTINGS = {"shared": "crush.json", "user": ".config/crush/crush.json"}
    FORM = "windsurf"
    SECONDS = 30
    WHY_IF_ASKED = "versions before July 2026 refuse a configuration with its hooks"
    UNTRIED = True
    PROJECT_ENV = "CRUSH_PROJECT_DIR"
    KINDS = agents.make_kinds(
        write="write edit multiedit",
        shell="bash",
        task="agent",
        read="view ls glob grep fetch sourcegraph diagnostics references",
    )
    EVENTS = {
        **agents.omit_events("UserPromptSubmit", "Stop", "SubagentStop"),
        "TurnStart": "turn-start",
        **dict.fromkeys(("TurnEnd", "StopFailure", "Interrupt"), "turn-end"),
    }


CLIENT = Crush()
