"""The agents that gitcp supports: each client is a folder beside this file, named nowhere else.

`__init__.py` of the folder has the client's names as data, and functions that replace methods of
Client.  `transcript.py` reads its transcripts: is_first_entry, list_facts (else
gitcp.core.blocks), list_messages of a document, read_answers, SHOWS_FILES; scan,
list_scanned or list_written_paths where that of its facts is not enough.  `cut.py` cuts its
conversations: find_last_leaf, list_prompts, find_leaves_around, cut_conversation.  Both are
optional.
"""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.agents import payload
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

    from gitcp.core.record_types import Event, Scan, Tool

_NAMES: dict[str, list[str]] = memory.get_table("agents")
_SHARED = ("install", "other", "reading")  # folders that are not clients


class Client:
    """A client: the names and functions of its folder, and the defaults for all clients."""

    NAME: str  # on command lines: that of its folder
    AGENT_TYPE: str  # its name in stored data
    PROGRAM = ""  # the program by which `enable` finds it, besides FOLDERS
    FOLDERS: tuple[str, ...] = ()  # of its configuration, in home or in the worktree's root
    HOME_ENV = ""  # the variable that replaces the first of these in home
    SETTINGS: Mapping[str, str]  # scope -> path below the root; below home for scope user
    FORM = "nested"  # gitcp.agents.install.settings, gitcp.agents.install.own_files
    PLUGIN = ""  # for form plugin, a file of this folder that is part of it
    MATCHER: str | None = None  # of the tools whose hooks run; None: all
    # (event, matcher, time-out in its unit); by default all EVENTS, with MATCHER for tools
    HOOKS: tuple[tuple[str, str | None, int | None], ...]
    SECONDS = 60  # the default time-out of a hook; 0: none
    NO_HOOKS = ""  # the key of its settings that switches hooks off
    MANAGED: tuple[str, ...] = ()  # settings of its administrator, which override all others
    TRUST = ""  # what it asks before it runs hooks
    UNSEEN = False  # True: known by its documentation only
    SESSION_ENV: tuple[str, ...] = ()  # the variables that name the session to a git hook
    PROJECT_ENV = ""  # the variable that names the directory in which it was started
    HERE_ONLY = False  # True: it reads only the settings of that directory
    COVERED_BY = ""  # the agent whose hooks it runs, so that `enable` writes none for it
    IF_ASKED = ""  # why `enable` writes its hooks only if it is named
    EXPANDS = False  # True: it expands variables in the command of a hook
    ANSWERS = "text"  # the form of a refusal: gitcp.agents.payload
    KEYS: Mapping[str, str] = {}  # its key in a payload -> Claude Code's, where they differ
    KINDS: Mapping[str, str]  # its tool -> gitcp's kind of tool
    EVENTS: Mapping[str, str]  # its hook -> gitcp's event
    NAMES_CALLS = False  # True: a call's input names it, as its hooks have no id of its transcript
    PATHS: tuple[str, ...] = ("file_path",)  # the keys of the path in a tool that writes
    TRANSCRIPTS = ""  # the folder of its transcripts, below home
    CONVERSATION = ".jsonl"  # the end of the name of a file with a conversation
    DELETES = ("", 0)  # the key of its settings for deleting them, the days by default
    ASKED_BY: tuple[str, ...] = ()  # the options of its program that have a prompt
    RESUME = ""  # the command that continues a session
    # (hook, payload) -> both in the words of the tables above; hook "" for no event
    adapt: Callable[[str, dict[str, Any]], tuple[str, dict[str, Any]]] | None = None
    # (path, event -> command) -> the files of form files, as JSON
    build_files: Callable[[str, Callable[[str], str]], dict[str, Any]]
    # (record, folder): writes the conversation to a file before the record is used
    export: Callable[[Any, str], None] | None = None
    # path -> the head of a conversation, if gitcp.agents.reading.edits.read_head() cannot read it
    read_head: Callable[[str], dict[str, str]] | None = None

    def __init__(self, module: ModuleType) -> None:
        self._module = module.__name__
        vars(self).update({k: getattr(module, k) for k in dir(module) if k[0] != "_"})
        matched = ((name, self.MATCHER if "Tool" in name else None, None) for name in self.EVENTS)
        vars(self).setdefault("HOOKS", tuple(matched))

    def list_settings_paths(self, home: str, top: str) -> dict[str, str]:
        """scope -> the file for hooks: local for this clone, shared for all its users, user for
        the person."""
        return {
            scope: self.locate(home, path) if scope == "user" else os.path.join(top, path)
            for scope, path in self.SETTINGS.items()
        }

    def locate(self, home: str, path: str) -> str:
        """A path of the client below home, or below the folder that HOME_ENV names."""
        first = path.partition("/")[0]
        moves = not self.FOLDERS or first == self.FOLDERS[0]
        return resolve_path(home, path, self.HOME_ENV if moves else "")

    def read_event(self, name: str, fields: dict[str, Any]) -> Event:
        """The record of a hook call; raises InputError for an invalid field."""
        if self.KEYS:
            fields = {self.KEYS.get(key, key): value for key, value in fields.items()}
            fields.setdefault("cwd", os.getcwd())  # it starts hooks at the top of the workspace
        if self.adapt:
            name, fields = self.adapt(name, fields)
        event = self.EVENTS.get(name)
        if event is None or (event == "turn-start" and fields.get("agent_id") is not None):
            return payload.make_unknown(self.NAME)
        record = payload.read_event(self.NAME, event, fields)
        if event == "tool-end" and "tool_calls" in fields:
            calls = payload.get_objects(fields, "tool_calls")
            record["tools"] = [self.read_tool(name, call, record["cwd"]) for call in calls]
        elif event in ("tool-start", "tool-end"):
            tool = record["tool"] = self.read_tool(name, fields, record["cwd"])
            tool["failed"] = tool["failed"] or name.endswith("Failure")
            record["event"] = self.refine_event(event, tool, fields)
        return record

    def refine_event(self, event: str, tool: Tool, fields: Mapping[str, Any]) -> str:
        """The event of a call: that of a task is a subagent's, the end of a todo list is `todo`."""
        if tool["kind"] == "task" and event == "tool-start":
            return "subagent-start"
        if tool["kind"] == "task" and not self.is_in_background(fields):
            return "subagent-end"
        done = tool["kind"] == "todo" and event == "tool-end" and not tool["failed"]
        return "todo" if done else event

    def read_tool(self, name: str, fields: dict[str, Any], cwd: str) -> Tool:
        """The call in the payload of a tool's hook; raises InputError for an invalid field."""
        if self.NAMES_CALLS:
            fields = {**fields, "tool_use_id": payload.name_call(fields.get("tool_input"))}
        tool = payload.read_tool(fields, self.KINDS, self.PATHS, cwd)
        payload.take_response(tool, fields)
        tool["failed"] = tool["failed"] or bool(fields.get("tool_error"))
        return tool

    def is_in_background(self, fields: Mapping[str, Any]) -> bool:
        """Whether a subagent works on after the end of the call that started it."""
        return False

    def get_hook_seconds(self, name: str, host: str) -> int:
        """The time-out in seconds of the client's hook, 0 for none.  host: the agent whose settings
        have the hook."""
        own = (seconds for hook, _, seconds in self.HOOKS if hook == name and seconds)
        return next(own, self.SECONDS) if host == self.NAME else self.SECONDS

    def is_own(self, fields: Mapping[str, Any]) -> bool:
        """False if a payload may be of another client that runs this one's hooks."""
        return True

    def is_payload(self, fields: Mapping[str, Any]) -> bool:
        """Whether a payload for another client's hook is of this one."""
        return False

    def scan(self, data: bytes, previous: Scan | None = None) -> Scan:
        """The scan of a transcript (gitcp.core.transcripts.Scan)."""

        reader = self.get_reader()
        if reader is None or hasattr(reader, "scan"):
            from gitcp.core import transcripts

            return reader.scan(data, previous) if reader else transcripts.begin_scan(previous)

        written = getattr(reader, "list_written_paths", None)
        from gitcp.core import transcripts

        written = written or transcripts.make_path_lister(self.KINDS, self.PATHS)
        if hasattr(reader, "list_messages"):
            list_facts = getattr(reader, "list_scanned", reader.list_facts)
            return transcripts.scan_document(data, reader.list_messages, list_facts, written)
        return transcripts.make_scan(reader.list_facts, written)(data, previous)

    def get_reader(self) -> Any:
        """The module that reads its transcripts; None without one."""
        return self._import_part("transcript") if self._has("transcript") else None

    def name_project(self, home: str, cwd: str) -> str:
        """The folder of cwd's sessions below TRANSCRIPTS; "" if sessions of all directories are
        together there.  The names for directories below cwd begin as that for cwd."""
        return ""

    def locate_sessions(self, home: str, cwd: str) -> str:
        """The folder of the transcripts of sessions started in cwd."""
        return self.locate(home, os.path.join(self.TRANSCRIPTS, self.name_project(home, cwd)))

    def name_transcript(self, session_id: str, time: str) -> str:
        """The file of a session's transcript below locate_sessions().  time: its start."""
        return f"{session_id}.jsonl"

    def list_conversations(self, home: str, cwd: str) -> list[str]:
        """The conversations, subagents' included, that may be of cwd or a directory below it; their
        contents decide."""
        if not self.TRANSCRIPTS:
            return []
        prefix = self.name_project(home, cwd).partition(os.sep)[0].rstrip("-")
        return list_files(self.locate(home, self.TRANSCRIPTS), self.CONVERSATION, prefix=prefix)

    def fetch(self, conversation: str, folder: str) -> str:
        """The path of a conversation of list_conversations(); one in a database is copied into
        the folder."""
        return conversation

    def read_directory(self, path: str, default: str) -> str:
        """The directory of a conversation whose head names none."""
        return default

    def locate_subagent_transcript(self, transcript_path: str, agent_id: str) -> str | None:
        """The path of a subagent's transcript by its session's, whether it exists or not; None if
        unknown.  Raises InputError for an unsafe id."""
        return None

    def format_title(self, text: str, session_id: str) -> bytes:
        """The end of a transcript that gives a conversation its name in the client's list; b'' if
        its transcripts have no names."""
        return b""

    def can_cut(self) -> bool:
        """Whether its conversations can be cut."""
        return self._has("cut")

    def get_cutter(self) -> ModuleType:
        """The module that cuts its conversations."""
        return self._import_part("cut")

    def is_open(self, home: str, session_id: str) -> bool:
        """Whether a running client has a conversation open."""
        return False

    def format_resume_command(self, session_id: str) -> str:
        """The command that continues a session."""
        import shlex

        return self.RESUME.format(shlex.quote(session_id))

    def _has(self, part: str) -> bool:
        folder = self._module.rpartition(".")[2]
        return os.path.exists(os.path.join(os.path.dirname(__file__), folder, f"{part}.py"))

    def _import_part(self, name: str) -> ModuleType:
        return __import__(f"{self._module}.{name}", fromlist=["scan"])


def resolve_path(home: str, path: str, variable: str) -> str:
    """A path below home, whose first folder is replaced by the variable's value if that is set."""
    first, _, remainder = path.partition("/")
    return os.path.normpath(os.path.join(os.environ.get(variable) or f"{home}/{first}", remainder))


def locate_below(home: str, path: str) -> str:
    """A path below home, with the first folder of a client replaced by its variable."""
    clients = (client for client in map(get_client, list_names()) if client.HOME_ENV)
    client = next((c for c in clients if c.FOLDERS[0] == path.partition("/")[0]), None)
    return client.locate(home, path) if client else os.path.join(home, path)


def list_files(folder: str, *ends: str, prefix: str = "") -> list[str]:
    """The files below a folder with one of these ends; prefix: only in subfolders that begin so."""
    paths = []
    for folder_path, folders, names in os.walk(folder):
        if prefix and folder_path == folder:
            folders[:] = [name for name in folders if name.startswith(prefix)]
            continue
        paths += [os.path.join(folder_path, name) for name in names if name.endswith(ends)]
    return paths


def list_names() -> list[str]:
    """The agents' names, in order."""
    here = os.path.dirname(__file__)
    if here not in _NAMES:
        folders = os.listdir(here)
        clients = [f for f in folders if f[0] not in "_." and "." not in f and f not in _SHARED]
        _NAMES[here] = sorted(client.replace("_", "-") for client in clients)
    return _NAMES[here]


def get_client(name: str) -> Client:
    """The client of a name or an agent type of stored data; raises InputError for any other."""
    names, key = list_names(), name.lower().replace(" ", "-")
    for candidate in (key, key.removesuffix("-cli")):
        if candidate in names:
            module = "gitcp.agents." + candidate.replace("-", "_")
            return Client(__import__(module, fromlist=["NAME"]))
    raise InputError(f"unknown agent '{name}'; known are {', '.join(names)}")


def find_client(name: str) -> Client:
    """The client of a name or an agent type; gitcp.agents.other for any other tool."""
    try:
        return get_client(name)
    except InputError:
        return Client(__import__("gitcp.agents.other", fromlist=["NAME"]))


def get_agent_type(name: str) -> str:
    """The agent type of a name in stored data; the name itself for any other tool."""
    return get_client(name).AGENT_TYPE if name in list_names() else name


def list_session_variables(agent_type: str) -> tuple[str, ...]:
    """The variables that name the session of an agent to a git hook."""
    return tuple(dict.fromkeys((*find_client(agent_type).SESSION_ENV, "GITCP_SESSION_ID")))


def locate_subagent_transcript(agent: str, transcript_path: str, agent_id: str) -> str | None:
    """The path of a subagent's transcript by its agent; see Client."""
    return find_client(agent).locate_subagent_transcript(transcript_path, agent_id)


def recognise(client: Client, fields: Mapping[str, Any]) -> Client:
    """The client of a payload: some clients run the hooks that are installed for another."""
    if not client.is_own(fields):
        for guest in map(get_client, list_names()):
            if guest.is_payload(fields):
                return guest
    return client
