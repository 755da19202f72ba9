"""The agents gitcp knows: each client is a folder beside this file, and nothing else names it.

`__init__.py` of the folder has the client's own names as data, and what data cannot say as
functions; Client has the rest.  `transcript.py` reads its transcripts, where their form is known:
scan, and for gitcp.agents.reading is_its, list_facts, list_written.  `cut.py` cuts its
conversations, where that can be done: find_last_leaf, list_prompts, find_leaves_around,
cut_conversation, format_title.
"""

from __future__ import annotations

import os

from gitcp import memory
from gitcp.agents.exchange import payload
from gitcp.errors import InputError
from gitcp.start import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

    from gitcp.core.record_types import Event, Scan

_NAMES: dict[str, list[str]] = memory.get_table("agents")
_SHARED = ("exchange", "install", "other", "reading")  # folders of what clients have in common


class Client:
    """A client: what its folder says, and in these words what most have in common."""

    NAME: str  # ours, on command lines: that of its folder
    AGENT_TYPE: str  # in stored data: its words, perhaps with CLI
    PROGRAM = ""  # by what `enable` finds it, as by FOLDERS
    FOLDERS: tuple[str, ...] = ()  # its configuration, at home or at the top
    HOME_ENV = ""  # what names the first of these, at home, where that is elsewhere
    SETTINGS: Mapping[str, str]  # scope -> path below the top, of scope user below home
    FORM = "nested"  # gitcp.agents.install.settings, gitcp.agents.install.own_files
    PLUGIN = ""  # of form plugin, its own part of it: a file below this folder
    HOOKS: tuple[tuple[str, str | None, int | None], ...]  # event, matcher, time-out as it counts
    SECONDS = 60  # that a hook may take where its entry names none; 0: as long as it wants
    NO_HOOKS = ""  # the key of its settings by which it runs no hooks
    MANAGED: tuple[str, ...] = ()  # settings of its administrator, which outdo all others
    TRUST = ""  # what it asks before it runs hooks
    UNSEEN = False  # True: known by its documentation alone
    SESSION_ENV: tuple[str, ...] = ()  # what names the session to a git hook
    PROJECT_ENV = ""  # what names the directory in which it was started
    HERE_ONLY = False  # True: it reads the settings of that directory alone
    COVERED_BY = ""  # the agent whose hooks it runs, so that `enable` need not write its own
    IF_ASKED = ""  # why `enable` writes its hooks only where it is named
    EXPANDS = False  # True: it puts variables into the command of a hook itself
    ANSWERS = "permission"  # its way of hearing no: gitcp.agents.exchange.replies
    KEYS: Mapping[str, str] = {}  # its word in a payload -> Claude Code's, where they differ
    KINDS: Mapping[str, str]  # its tool -> what that does, in our words
    EVENTS: Mapping[str, str]  # its hook -> our event
    PATHS: tuple[str, ...] = ("file_path",)  # keys under which a tool that writes names its path
    TRANSCRIPTS = ""  # the folder of its transcripts, below home
    BY_PLACE = False  # True: the folders of those name the directories of the conversations
    DELETES = ("", 0)  # the key of its settings by which it deletes them, the days without it
    ASKED_BY: tuple[str, ...] = ()  # the options of its program that hold a prompt
    RESUME = ""  # what the person types to go on with a session
    # (hook, payload): both in the words of the tables above; of no event "" for the hook
    adapt: Callable[[str, dict[str, Any]], tuple[str, dict[str, Any]]] | None = None
    # (path, event -> command): the files of form files, as JSON
    build_files: Callable[[str, Callable[[str], str]], dict[str, Any]]
    # (record, folder): writes the conversation where it can be read, before a record is taken
    export: Callable[[Any, str], None] | None = None

    def __init__(self, module: ModuleType) -> None:
        self._module = module.__name__
        vars(self).update({k: v for k, v in vars(module).items() if k[0] != "_"})

    def list_settings_paths(self, home: str, top: str) -> dict[str, str]:
        """Where hooks can be installed, by scope: local is this clone alone, shared all its users,
        user the person."""
        return {
            scope: self.locate(home, at) if scope == "user" else os.path.join(top, at)
            for scope, at in self.SETTINGS.items()
        }

    def locate(self, home: str, path: str) -> str:
        """Where a path of the client's is that is below home, unless HOME_ENV says otherwise."""
        first = path.partition("/")[0]
        moves = not self.FOLDERS or first == self.FOLDERS[0]
        return resolve_path(home, path, self.HOME_ENV if moves else "")

    def read_event(self, name: str, fields: dict[str, Any]) -> Event:
        """The record of a hook call; InputError names a field that cannot be right."""
        if self.KEYS:
            fields = {self.KEYS.get(key, key): value for key, value in fields.items()}
            fields.setdefault("cwd", os.getcwd())  # it starts hooks at the top of the workspace
        if self.adapt:
            name, fields = self.adapt(name, fields)
        ours = self.EVENTS.get(name)
        if ours is None or (ours == "turn-start" and fields.get("agent_id") is not None):
            return payload.make_unknown(self.NAME)
        record = payload.read_event(self.NAME, ours, fields)
        if ours in ("tool-start", "tool-end"):
            fields.setdefault("tool_use_id", self.make_call_id(fields))
            tool = record["tool"] = payload.read_tool(fields, self.KINDS, self.PATHS, record["cwd"])
            payload.take_response(tool, fields.get("tool_response"))
            failed = name.endswith("Failure") or bool(fields.get("tool_error"))
            tool["failed"] = tool["failed"] or failed
            record["event"] = payload.refine_event(ours, tool)
        return record

    def get_hook_seconds(self, name: str, host: str) -> int:
        """After how many seconds the client ends its hook of that name, 0 for never; host: the
        agent in whose settings that stands."""
        own = (seconds for hook, _, seconds in self.HOOKS if hook == name and seconds)
        return next(own, self.SECONDS) if host == self.NAME else self.SECONDS

    def make_call_id(self, fields: Mapping[str, Any]) -> str | None:
        """A name of the call that a payload is about, where the client's hooks give it none: the
        same at its end, and in its transcript."""
        return None

    def is_own(self, fields: Mapping[str, Any]) -> bool:
        """False where a payload may be of a client that runs this one's hooks too."""
        return True

    def is_payload(self, fields: Mapping[str, Any]) -> bool:
        """Whether a payload that came to another's hook is of this client."""
        return False

    def scan(self, data: bytes, previous: Scan | None = None) -> Scan:
        """What a transcript says (gitcp.core.transcript.transcript_scan.Scan)."""
        from gitcp.core.transcript import transcript_scan

        reader = self.get_reader()
        return reader.scan(data, previous) if reader else transcript_scan.begin(previous)

    def get_reader(self) -> Any:
        """What reads its transcripts; None where they are not known."""
        return self._import_part("transcript") if self._has("transcript") else None

    def locate_sessions(self, home: str, cwd: str) -> str:
        """The folder of the transcripts of sessions started in cwd."""
        return self.locate(home, self.TRANSCRIPTS)

    def name_transcript(self, session_id: str, time: str) -> str:
        """What the transcript of a session is called below locate_sessions(); time: its start."""
        return f"{session_id}.jsonl"

    def list_conversations(self, home: str, cwd: str) -> list[str]:
        """The files with conversations that may have been held in cwd or below it; their own words
        tell.  Those of subagents are among them."""
        folder, prefix = self.locate(home, self.TRANSCRIPTS), ""
        if self.BY_PLACE:  # those of directories below cwd begin with its name
            below = os.path.relpath(self.locate_sessions(home, cwd), folder)
            prefix = below.partition(os.sep)[0]
        return list_files(folder, ".jsonl", prefix=prefix) if self.TRANSCRIPTS else []

    def locate_subagent_transcript(self, transcript_path: str, agent_id: str) -> str | None:
        """Where the transcript of a subagent is, given its session's; it need not be there.  None
        where it is not known.  InputError for an id that is not safe."""
        return None

    def can_cut(self) -> bool:
        """Whether its conversations can be cut."""
        return self._has("cut")

    def get_cutter(self) -> ModuleType:
        """What cuts its conversations."""
        return self._import_part("cut")

    def is_open(self, home: str, session_id: str) -> bool:
        """Whether a running client has a conversation open."""
        return False

    def format_resume_command(self, session_id: str) -> str:
        """What the person types to go on with a session."""
        return self.RESUME.format(stdlib.shlex.quote(session_id))

    def _has(self, part: str) -> bool:
        folder = self._module.rpartition(".")[2]
        return os.path.exists(os.path.join(os.path.dirname(__file__), folder, f"{part}.py"))

    def _import_part(self, name: str) -> ModuleType:
        return __import__(f"{self._module}.{name}", fromlist=["scan"])


def resolve_path(home: str, path: str, variable: str) -> str:
    """A path below home; its first folder is the one that the variable names, where it is set."""
    first, _, more = path.partition("/")
    return os.path.normpath(os.path.join(os.environ.get(variable) or f"{home}/{first}", more))


def locate_below(home: str, path: str) -> str:
    """Where a path below home is: in the first folder of a client, where its variable says."""
    clients = (client for client in map(get_client, list_names()) if client.HOME_ENV)
    at = next((one for one in clients if one.FOLDERS[0] == path.partition("/")[0]), None)
    return at.locate(home, path) if at else os.path.join(home, path)


def list_files(folder: str, *ends: str, prefix: str = "") -> list[str]:
    """The files below a folder whose names end so, of those subfolders, if any, that begin with
    prefix."""
    paths = []
    for here, folders, names in os.walk(folder):
        if prefix and here == folder:
            folders[:] = [name for name in folders if name.startswith(prefix)]
            continue
        paths += [os.path.join(here, name) for name in names if name.endswith(ends)]
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
    """The client of a name, or of an agent type as stored data has it; else InputError."""
    names, wanted = list_names(), name.lower().replace(" ", "-")
    for one in (wanted, wanted.removesuffix("-cli")):
        if one in names:
            return Client(__import__("gitcp.agents." + one.replace("-", "_"), fromlist=["NAME"]))
    raise InputError(f"unknown agent '{name}'; known are {', '.join(names)}")


def find_client(name: str) -> Client:
    """The client of a name or an agent type; of any other tool the one of our own words."""
    try:
        return get_client(name)
    except InputError:
        return Client(__import__("gitcp.agents.other", fromlist=["NAME"]))


def get_agent_type(name: str) -> str:
    """What stored data calls an agent; any other tool is called by its own name."""
    return get_client(name).AGENT_TYPE if name in list_names() else name


def list_session_variables(agent_type: str) -> tuple[str, ...]:
    """The variables by which a git hook learns the session of an agent, and of any other tool."""
    return tuple(dict.fromkeys((*find_client(agent_type).SESSION_ENV, "GITCP_SESSION_ID")))


def locate_subagent_transcript(agent: str, transcript_path: str, agent_id: str) -> str | None:
    """Client.locate_subagent_transcript() of the agent of that name."""
    return find_client(agent).locate_subagent_transcript(transcript_path, agent_id)


def recognise(client: Client, payload: Mapping[str, Any]) -> Client:
    """Whose payload it is: some clients also run the hooks that are installed for another."""
    if not client.is_own(payload):
        for guest in map(get_client, list_names()):
            if guest.is_payload(payload):
                return guest
    return client
