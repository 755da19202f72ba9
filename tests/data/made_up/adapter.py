"""A client that nobody has: what is in this file is all that gitcp has to know of one."""

from __future__ import annotations

from gitcp import agents


class MadeUp(agents.Client):
    NAME = "made-up"
    AGENT_TYPE = "Made Up"
    PROGRAM = "made-up"
    FOLDERS = (".made-up",)
    SESSION_ENV = ("MADE_UP_SESSION_ID",)
    PROJECT_ENV = "MADE_UP_PROJECT_DIR"
    ANSWERS = "decision"
    SETTINGS = dict.fromkeys(("shared", "user"), ".made-up/settings.json")
    TRANSCRIPTS = ".made-up/talks"
    RESUME = "made-up --again {}"
    PARTS = ("transcript",)
    PATHS = ("where",)
    KINDS = {"put": "write", "look": "read"}
    EVENTS = {"Ask": "turn-start", "Before": "tool-start", "After": "tool-end", "Rest": "turn-end"}
    MATCHERS = dict.fromkeys(("Before", "After"), agents.build_matcher(KINDS, "read"))


CLIENT = MadeUp()
