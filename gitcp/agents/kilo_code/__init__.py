"""Kilo Code: a fork of opencode with its own paths (doc/clients.md "Kilo Code")."""

from __future__ import annotations

from gitcp.agents.opencode import Opencode


class KiloCode(Opencode):
    NAME = "kilo-code"
    AGENT_TYPE = "Kilo Code"
    PROGRAM = "kilo"
    FOLDERS = (".kilo", ".kilocode", ".config/kilo")
    SETTINGS = {"shared": ".kilo/plugin/gitcp.js", "user": ".config/kilo/plugin/gitcp.js"}
    SESSION_ENV = ("KILO_SESSION_ID",)  # the plugin sets it
    RESUME = "kilo --session {}"
    DATA = "kilo"


CLIENT = KiloCode()
