"""OpenHands: hooks as Claude Code's with its own names (doc/clients.md "OpenHands").

No call has an id.  Its conversations are folders of files, which are not read.
"""

from __future__ import annotations

from gitcp import agents


class OpenHands(agents.Client):
    NAME = "openhands"
    AGENT_TYPE = "OpenHands"
    PROGRAM = "openhands"
    FOLDERS = (".openhands",)
    SETTINGS = dict.fromkeys(("shared", "user"), ".openhands/hooks.json")
    PROJECT_ENV = "OPENHANDS_PROJECT_DIR"
    RESUME = "openhands --resume {}"
    KEYS = {"message": "prompt", "working_dir": "cwd"}
    PATHS = ("path",)
    KINDS = agents.make_kinds(
        write="file_editor apply_patch",
        shell="terminal execute_bash",
        read="think finish task_tracker glob grep",
    )
    EVENTS = {**agents.CORE, "SessionEnd": "session-end"}


CLIENT = OpenHands()
