"""Pi: an extension that reports its events with Claude Code's names
(doc/clients.md "Pi")."""

from __future__ import annotations

from gitcp import agents


class Pi(agents.Client):
    NAME = "pi"
    AGENT_TYPE = "Pi"
    PROGRAM = "pi"
    BEGIN = "pi {}"
    FOLDERS = (".pi",)
    ENTIRES = ".pi/extensions/entire/index.ts"
    SETTINGS = {"shared": ".pi/extensions/gitcp.ts", "user": ".pi/agent/extensions/gitcp.ts"}
    FORM = "plugin"
    PLUGIN = "pi/plugin.ts"
    SECONDS = 0  # the plugin waits
    SESSION_ENV = ("PI_SESSION_ID",)  # the extension sets it
    TRUST_NOTE = "asks for trust in extensions of a repository once"
    TRANSCRIPTS = ".pi/agent/sessions"  # below it <project>/<time>_<id>.jsonl
    RESUME = "pi --session {}"
    PARTS = ("transcript",)
    PATHS = ("path",)
    KINDS = agents.make_kinds(
        write="write edit",
        shell="bash",
        read="read grep find ls",
    )
    EVENTS = agents.EVENTS

    def name_project(self, home: str, cwd: str) -> str:
        """The folder of cwd's sessions below TRANSCRIPTS."""
        return f"--{cwd.strip('/').replace('/', '-')}--"


CLIENT = Pi()
