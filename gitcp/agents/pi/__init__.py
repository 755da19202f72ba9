"""Pi: an extension that reports its events with Claude Code's names
(doc/clients.md "Pi")."""

from __future__ import annotations

import os

from gitcp.agents import list_files
from gitcp.agents.exchange import claudes, payload

NAME = "pi"
AGENT_TYPE = "Pi"
PROGRAM = "pi"
FOLDERS = (".pi",)
SETTINGS = {"shared": ".pi/extensions/gitcp.ts", "user": ".pi/agent/extensions/gitcp.ts"}
FORM = "plugin"
PLUGIN = "pi/plugin.ts"
SECONDS = 0  # the plugin waits
SESSION_ENV = ("PI_SESSION_ID",)  # the extension sets it
TRUST = "asks for trust in extensions of a repository once"
RESUME = "pi --session {}"
PATHS = ("path",)
KINDS = payload.make_kinds(
    write="write edit",
    shell="bash",
    read="read grep find ls",
)
EVENTS = claudes.EVENTS


def locate_sessions(home: str, cwd: str) -> str:
    """The folder of the transcripts of sessions started in cwd; each is `<time>_<id>.jsonl`."""
    slug = cwd.strip("/").replace("/", "-")
    return os.path.join(home, ".pi", "agent", "sessions", f"--{slug}--")


def list_conversations(home: str, cwd: str) -> list[str]:
    """The files with conversations that may be of cwd or a directory below it."""
    folder, slug = os.path.split(locate_sessions(home, cwd))
    return list_files(folder, ".jsonl", prefix=slug.removesuffix("--"))
