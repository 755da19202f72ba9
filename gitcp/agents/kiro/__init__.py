"""Kiro, its editor from version 1 and its CLI from version 3: hooks of the workspace, by their
documentation only (doc/clients.md "Kiro").  Its transcript is not known."""

from __future__ import annotations

from gitcp import agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gitcp.agents import Files


class Kiro(agents.Client):
    NAME = "kiro"
    AGENT_TYPE = "Kiro"
    PROGRAM = "kiro-cli"
    FOLDERS = (".kiro",)
    SETTINGS = dict.fromkeys(("shared", "user"), ".kiro/hooks/gitcp.json")
    FORM = "files"
    SECONDS = 30
    UNTRIED = True
    PATHS = ("path", "file_path")
    KINDS = agents.make_kinds(
        write="fs_write fsWrite str_replace strReplace fs_append fsAppend",
        shell="execute_bash executeBash execute_pwsh",
        read="fs_read readFile read_file list_directory grep_search",
    )
    EVENTS = agents.CORE

    def build_files(self, path: str, command: Callable[[str], str]) -> Files:
        """The file of hooks."""
        hooks = [
            {
                "name": f"gitcp-{event}",
                "trigger": event,
                **({"matcher": ".*"} if "Tool" in event else {}),
                "action": {"type": "command", "command": command(event)},
            }
            for event in self.EVENTS
        ]
        return {path: {"version": "v1", "hooks": hooks}}


CLIENT = Kiro()
