"""opencode: a plugin that pipes its events to gitcp-hook, and waits for it.

The payload is {hook, input, output, parent, directory}.  parent is the session that started this
one as a subagent.  Conversations are in a database, from which a session's new messages are copied
to a file of the repository before they are read.
"""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents import Payload, resolve_path
from gitcp.agents.opencode import messages
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.text.record_types import Event, Tool


class Opencode(agents.Client):
    NAME = "opencode"
    AGENT_TYPE = "OpenCode"
    PROGRAM = "opencode"
    BEGIN = "opencode --prompt {}"
    FOLDERS: tuple[str, ...] = (".opencode", ".config/opencode")
    ENTIRES = ".opencode/plugins/entire.ts"
    SETTINGS = {
        "shared": ".opencode/plugins/gitcp.js",
        "user": ".config/opencode/plugins/gitcp.js",
    }
    SESSION_ENV = ("OPENCODE_SESSION_ID",)  # the plugin sets it
    FORM = "plugin"
    PLUGIN = "opencode/plugin.js"
    SECONDS = 0  # the plugin waits
    RESUME = "opencode --session {}"
    PARTS = ("transcript", "head")
    DATA = "opencode"  # the folder of its database, and the name of that
    PATHS = ("filePath",)
    KINDS = agents.make_kinds(
        write="write edit multiedit patch apply_patch",
        shell="bash",
        task="task",
        todo="todowrite",
        read="""read glob grep list ls webfetch websearch codesearch todoread question skill
            plan_enter plan_exit lsp invalid""",
    )
    EVENTS = {
        "session.created": "session-start",
        "chat.message": "turn-start",
        "tool.execute.before": "tool-start",
        "tool.execute.after": "tool-end",
        "session.idle": "turn-end",
        "dispose": "session-end",
    }

    def locate(self, home: str, path: str) -> str:
        """A path of the client below home, or below the folder of XDG_CONFIG_HOME."""
        return resolve_path(home, path, "XDG_CONFIG_HOME" if path.startswith(".config/") else "")

    def adapt(self, payload: Payload) -> Payload:
        """The payload with Claude Code's keys; of a subagent's hooks only those of tools are
        events."""
        event = self.EVENTS.get(payload.hook)
        parent = payload.get("parent")
        call = payload.get_object("input")
        output = payload.get_object("output")
        by_tool = event in ("tool-start", "tool-end")
        if parent is not None and not by_tool:
            return payload.ignore()
        session = call.get("sessionID")
        common = {
            "session_id": session if parent is None else parent,
            "agent_id": session if parent is not None else None,
            "cwd": payload.get("directory"),
        }
        if event == "turn-start":
            message = output.get_object("message")
            common["turn_id"] = message.get("id")
            parts = output.get_objects("parts")
            typed = (part for part in parts if part.get("synthetic") is not True)
            common["prompt"] = extract_prompt(part.get_words("text") for part in typed)
            common["model"] = message.get_object("model").get("modelID")
        elif by_tool:
            common["tool_name"] = call.get("tool")
            common["tool_use_id"] = call.get("callID")
            source = output if event == "tool-start" else call
            common["tool_input"] = source.get("args")
            common["result"] = payload.get("output") if event == "tool-end" else None
        return Payload(common, payload.hook)

    def read_tool(self, payload: Payload, cwd: str) -> Tool:
        """The call of an adapted payload."""
        tool = agents.read_tool(payload, self.KINDS, self.PATHS, cwd)
        result = payload.get_object("result")
        agents.add_output(tool, result.get("output"))
        child = result.get_object("metadata").get("sessionId")
        if tool["kind"] == "task" and child is not None:
            tool["agent_id"] = ids.check_component(child, "sessionId")
        return tool

    def locate_sessions(self, home: str, cwd: str) -> str:
        """The folder of the client's database."""
        data = os.environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
        return os.path.join(data, self.DATA)

    def _locate_database(self, home: str) -> str:
        return os.path.join(self.locate_sessions(home, ""), f"{self.DATA}.db")

    def export(self, record: Event, folder: str) -> None:
        """Copy the session's new messages to a file in folder, and set that as transcript_path."""
        home = os.path.expanduser("~")
        database = self._locate_database(home)
        agent = record.get("tool", {}).get("agent_id")
        if agent and record["event"] == "subagent-end":
            path = self.locate_subagent_transcript(os.path.join(folder, "x"), agent)
            if messages.append_messages(database, agent, path):
                record["agent_transcript_path"] = path
        path = os.path.join(folder, ids.check_session_id(record["session_id"]) + ".jsonl")
        done = record["event"] in ("turn-end", "session-end")
        copied = messages.append_messages(database, record["session_id"], path, done)
        if copied or os.path.exists(path):
            record["transcript_path"] = path

    def list_conversations(self, home: str, cwd: str) -> list[str]:
        """The sessions of cwd or directories below it, each as `<database>#<id>`."""
        database = self._locate_database(home)
        return [f"{database}#{key}" for key in messages.list_sessions(database, cwd)]

    def fetch(self, conversation: str, folder: str) -> str:
        """Copy a session of list_conversations() into a folder; return the file."""
        database, _, key = conversation.rpartition("#")
        path = os.path.join(folder, ids.check_session_id(key) + ".jsonl")
        messages.append_messages(database, key, path)
        return path

    def locate_subagent_transcript(self, transcript_path: str, agent_id: str) -> str:
        """The path of a subagent's transcript by its session's, whether it exists or not."""
        name = ids.check_component(agent_id, "agent_id") + ".jsonl"
        return os.path.join(os.path.dirname(transcript_path), name)


def extract_prompt(texts: Iterable[str]) -> str:
    """The person's prompt in the texts of a message.  `opencode run` quotes an argument with blanks
    and escapes its quotes; both are removed."""
    text = ids.replace_surrogates("\n\n".join(filter(None, texts)))
    inner = text[1:-1].replace('\\"', "")
    if len(text) > 2 and text[0] == text[-1] == '"' and " " in inner and '"' not in inner:
        return text[1:-1].replace('\\"', '"')
    return text


CLIENT = Opencode()
