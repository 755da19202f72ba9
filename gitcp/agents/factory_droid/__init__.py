"""Factory Droid: hooks as Claude Code's with its own names (doc/clients.md "Factory Droid").

A headless prompt has no hook; it is in the transcript.  No call has an id, a failed call has no
end, and the transcript has no tokens.
"""

from __future__ import annotations

from gitcp import agents


class FactoryDroid(agents.Client):
    NAME = "factory-droid"
    AGENT_TYPE = "Factory Droid"
    PROGRAM = "droid"
    FOLDERS = (".factory",)
    SETTINGS = dict.fromkeys(("shared", "user"), ".factory/settings.json")
    SWITCHES = {"hooksDisabled": True}
    SWITCH_FILES = (".factory/settings.local.json",)
    PROJECT_ENV = "CLAUDE_PROJECT_DIR"
    TRANSCRIPTS = ".factory/sessions"
    RESUME = "droid --resume {}"
    BEGIN = "droid {}"
    PARTS = ("transcript",)
    KINDS = agents.make_kinds(
        write="Create Edit",
        shell="Execute",
        task="Task",
        read="Read LS Grep Glob TodoWrite ToolSearch WebSearch FetchUrl",
    )
    EVENTS = agents.omit_events("PostToolUseFailure")
    NAMES_CALLS = True
    MATCHER = agents.build_matcher(KINDS, "read")

    def name_project(self, home: str, cwd: str) -> str:
        """The folder of cwd's sessions below TRANSCRIPTS."""
        return cwd.replace("/", "-")


CLIENT = FactoryDroid()
