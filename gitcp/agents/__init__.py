"""The agents that gitcp supports: each client is a folder beside this file, and a word of CLIENTS.

`__init__.py` of the folder has a class derived from Client, and the one object of it, CLIENT: its
names as data, and methods where the defaults are not its own.  `transcript.py` reads its
transcripts: is_first_entry, list_facts (else gitcp.agents.transcripts.blocks), list_messages of a
document, list_results, SHOWS_FILES; Scanner, list_scanned or list_written_paths where a scan of its
facts is not enough.  `cut.py` cuts its conversations: find_last_leaf, list_prompts,
find_leaves_around, cut_conversation.  `head.py` reads whose task a session is.  All are optional,
and named by PARTS.
"""

from __future__ import annotations

import os

from gitcp.errors import InputError
from gitcp.text import ids, json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType
    from typing import Any

    from gitcp.agents.transcripts import Scanner
    from gitcp.text.record_types import Event, Scan, Tool

    Reply = tuple[str, str, int]  # standard output, standard error, status
    Hook = tuple[str, str | None, int | None]  # its event, matcher of tools, time-out in its unit
    Files = dict[str, object]  # path -> the JSON in it
    Replacement = tuple[str, str, bool]  # old text, new text, whether everywhere

_NAMES = """aider amp antigravity auggie claude-code cline codex copilot crush cursor devin
factory-droid gemini-cli goose grok-build kilo-code kiro opencode openhands pi qwen-code vs-code
windsurf"""
# name -> module, in order; only the module of a client that is asked for is loaded
CLIENTS = {name: "gitcp.agents." + name.replace("-", "_") for name in _NAMES.split()}


class Payload:
    """What a client sends to a hook, or an object in it.  hook: its event; '' to ignore it.

    A method raises InputError for a value of another type than it gives.
    """

    __slots__ = ("_fields", "hook")

    def __init__(self, fields: dict[str, Any], hook: str = "") -> None:
        self._fields = fields
        self.hook = hook

    def __contains__(self, key: str) -> bool:
        return key in self._fields

    def get(self, key: str) -> Any:
        """The value under a key, whatever it is; None without one."""
        return self._fields.get(key)

    def list_items(self) -> Iterable[tuple[str, Any]]:
        """The keys with their values."""
        return self._fields.items()

    def change(self, **values: object) -> Payload:
        """The payload with other values."""
        return Payload({**self._fields, **values}, self.hook)

    def send_to(self, hook: str) -> Payload:
        """The payload as one of another hook."""
        return Payload(self._fields, hook)

    def ignore(self) -> Payload:
        """The payload as one of no hook."""
        return self.send_to("")

    def get_text(self, key: str) -> str:
        """The text under a key; "" if absent or null."""
        value = self.get_words(key)
        if value and value != self._fields[key]:
            raise InputError(f"'{key}' is not UTF-8: {ascii(self._fields[key])[:80]}")
        return value

    def get_words(self, key: str) -> str:
        """A text for people under a key, "" without one; invalid UTF-8 becomes "?"."""
        value = self._fields.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise InputError(f"'{key}' is not a text: {ascii(value)[:80]}")
        return ids.replace_surrogates(value)

    def get_object(self, key: str) -> Payload:
        """The object under a key; empty if absent or null."""
        value = self._fields.get(key)
        if value is not None and not isinstance(value, dict):
            raise InputError(f"'{key}' is not an object: {ascii(value)[:80]}")
        return Payload(value or {}, self.hook)

    def get_objects(self, key: str) -> list[Payload]:
        """The list of objects under a key; empty if absent or null."""
        value = self._fields.get(key)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise InputError(f"'{key}' is not a list of objects: {ascii(value)[:80]}")
        return [Payload(item, self.hook) for item in value]

    def get_first(self, key: str) -> Any:
        """The first item of the list under a key; None without one."""
        items = self._fields.get(key)
        if isinstance(items, list) and items:
            return items[0]
        return None

    def find(self, keys: Iterable[str]) -> Any:
        """The value under the first of the keys that is there; None without one."""
        return next((self._fields[key] for key in keys if key in self._fields), None)

    def find_patch(self) -> str:
        """The text of a call's input that has a patch; "" without one."""
        texts = (value for value in self._fields.values() if isinstance(value, str))
        return next((text for text in texts if "*** Begin Patch" in text), "")


class Client:
    """A client: what its class may say and do, and the defaults for all clients."""

    NAME: str  # on command lines: that of its folder
    AGENT_TYPE: str  # its name in stored data
    PROGRAM = ""  # the program by which `enable` finds it, besides FOLDERS
    FOLDERS: tuple[str, ...] = ()  # of its configuration, in home or in the worktree's root
    HOME_ENV = ""  # the variable that replaces the first of these in home
    SETTINGS: Mapping[str, str]  # scope -> path below the root; below home for scope user
    FORM = "nested"  # gitcp.setup.clients.settings, gitcp.setup.clients.own_files
    PLUGIN = ""  # for form plugin, a file of this folder that is part of it
    MATCHER: str | None = None  # of the tools whose hooks run; None: all
    MATCHERS: Mapping[str, str] = {}  # hook -> its own matcher
    LIMITS: Mapping[str, int] = {}  # hook -> its own time-out
    NOT_HOOKED: tuple[str, ...] = ()  # the EVENTS for which no hook is installed
    SECONDS = 60  # the default time-out of a hook; 0: none
    # Key of its settings, with dots if it is in a table or has them itself -> the value with which
    # it runs no hooks; in those of its administrator alone; the value of a folder that it does not
    # trust.
    SWITCHES: Mapping[str, bool] = {}
    MANAGED_SWITCHES: Mapping[str, bool] = {}
    DISTRUST: tuple[str, str, str, object] | None = None  # file below home, table, key, value
    SWITCH_FILES: tuple[str, ...] = ()  # settings with these keys besides those for hooks
    MANAGED: tuple[str, ...] = ()  # settings of its administrator, which override all others
    TRUST_NOTE = ""  # what it asks before it runs hooks
    UNTRIED = False  # True: never tried with the real client
    SESSION_ENV: tuple[str, ...] = ()  # the variables that name the session to a git hook
    PROJECT_ENV = ""  # the variable that names the directory in which it was started
    HERE_ONLY = False  # True: it reads only the settings of that directory
    COVERED_BY = ""  # the agent whose hooks it runs, so that `enable` writes none for it
    ENTIRES = ""  # the file of its own in a repository that Entire puts hooks into
    WHY_IF_ASKED = ""  # why `enable` writes its hooks only if it is named
    EXPANDS = False  # True: it expands variables in the command of a hook
    ANSWERS = "text"  # the form of a refusal: gitcp.agents
    KEYS: Mapping[str, str] = {}  # its key in a payload -> Claude Code's, where they differ
    KINDS: Mapping[str, str]  # its tool -> gitcp's kind of tool
    EVENTS: Mapping[str, str]  # its hook -> gitcp's event
    NAMES_CALLS = False  # True: a call's input names it, as its hooks have no id of its transcript
    PATHS: tuple[str, ...] = ("file_path",)  # the keys of the path in a tool that writes
    TRANSCRIPTS = ""  # the folder of its transcripts, below home
    CONVERSATION = ".jsonl"  # the end of the name of a file with a conversation
    DELETION_DAYS = ("", 0)  # its settings' key for the days until it deletes them; the default
    ASKED_BY: tuple[str, ...] = ()  # the options of its program that have a prompt
    RESUME = ""  # the command that continues a session
    BEGIN = ""  # the command that begins a session with a prompt
    PARTS: tuple[str, ...] = ()  # the modules beside its own: transcript, cut, head

    def list_hooks(self) -> list[Hook]:
        """The hooks that `enable` installs: its event, the matcher of tools or None, the time-out
        in its unit or None."""
        return [
            (
                name,
                self.MATCHERS.get(name, self.MATCHER if "Tool" in name else None),
                self.LIMITS.get(name),
            )
            for name in self.EVENTS
            if name not in self.NOT_HOOKED
        ]

    def adapt(self, payload: Payload) -> Payload:
        """The payload in the words of EVENTS and of read_event()."""
        return payload

    def build_files(self, path: str, command: Callable[[str], str]) -> Files:
        """The files of form files, as JSON.  command: event -> the command of its hook."""
        return {}

    def exports(self) -> bool:
        """Whether export() writes something."""
        return type(self).export is not Client.export

    def export(self, record: Any, folder: str) -> None:
        """Write the conversation to a file of the folder, if it is in none, before the record is
        used, and set its transcript_path."""

    def read_head(self, path: str) -> dict[str, str] | None:
        """The head of a conversation; None if gitcp.agents.reading.edits.read_head() reads it."""
        return None

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

    def read_event(self, hook: str, fields: dict[str, Any]) -> Event:
        """The record of a hook call; raises InputError for an invalid field."""
        if self.KEYS:
            fields = {self.KEYS.get(key, key): value for key, value in fields.items()}
            fields.setdefault("cwd", os.getcwd())  # it starts hooks at the top of the workspace
        payload = self.adapt(Payload(fields, hook))
        event = self.EVENTS.get(payload.hook)
        if event is None or (event == "turn-start" and payload.get("agent_id") is not None):
            return make_unknown(self.NAME)
        record = read_event(self.NAME, event, payload)
        if event == "tool-end" and "tool_calls" in payload:
            calls = payload.get_objects("tool_calls")
            record["tools"] = [self.read_tool(call, record["cwd"]) for call in calls]
        elif event in ("tool-start", "tool-end"):
            tool = record["tool"] = self.read_tool(payload, record["cwd"])
            tool["failed"] = tool["failed"] or payload.hook.endswith("Failure")
            record["event"] = self.refine_event(event, tool, payload)
        return record

    def refine_event(self, event: str, tool: Tool, payload: Payload) -> str:
        """The event of a call: that of a task is a subagent's, the end of a todo list is `todo`."""
        if tool["kind"] == "task" and event == "tool-start":
            return "subagent-start"
        if tool["kind"] == "task" and not self.is_in_background(payload):
            return "subagent-end"
        done = tool["kind"] == "todo" and event == "tool-end" and not tool["failed"]
        return "todo" if done else event

    def read_tool(self, payload: Payload, cwd: str) -> Tool:
        """The call in the payload of a tool's hook; raises InputError for an invalid field."""
        if self.NAMES_CALLS:
            payload = payload.change(tool_use_id=name_call(payload.get("tool_input")))
        tool = read_tool(payload, self.KINDS, self.PATHS, cwd)
        add_response(tool, payload)
        tool["failed"] = tool["failed"] or bool(payload.get("tool_error"))
        return tool

    def is_in_background(self, payload: Payload) -> bool:
        """Whether a subagent works on after the end of the call that started it."""
        return False

    def get_hook_seconds(self, name: str, host: str) -> int:
        """The time-out in seconds of the client's hook, 0 for none.  host: the agent whose settings
        have the hook."""
        own = None
        if host == self.NAME:
            own = self.LIMITS.get(name)
        return own or self.SECONDS

    def is_own_payload(self, payload: Payload) -> bool:
        """False if a payload may come from another client that runs this one's hooks."""
        return True

    def scan(self, data: bytes, previous: Scan | None = None) -> Scan:
        """The scan of a transcript (gitcp.text.record_types.Scan)."""

        from gitcp.agents import transcripts

        scanner = self.make_scanner(previous)
        module = self.get_reader()
        if scanner is None:
            return transcripts.begin_scan(previous)
        if hasattr(module, "list_messages"):
            from gitcp.agents.transcripts import transcript_facts

            return transcript_facts.scan_document(scanner, data, module.list_messages)
        return transcripts.scan_lines(scanner, data)

    def make_scanner(self, previous: Scan | None = None) -> Scanner | None:
        """The scanner of its entries, which continues a scan; None without a reader."""

        from gitcp.agents import transcripts

        module = self.get_reader()
        is_document = hasattr(module, "list_messages")  # it is scanned whole
        scan = transcripts.begin_scan(None if is_document else previous)
        if module is None or hasattr(module, "Scanner"):
            scanner: Scanner | None = module and module.Scanner(scan)
            return scanner

        from gitcp.agents.transcripts import transcript_facts

        written = getattr(module, "list_written_paths", None)
        written = written or transcript_facts.make_path_lister(self.KINDS, self.PATHS)
        list_facts = getattr(module, "list_scanned", module.list_facts)
        return transcript_facts.Scanner(scan, list_facts, written)

    def get_reader(self) -> Any:
        """The module that reads its transcripts; None without one."""
        if "transcript" in self.PARTS:
            return self._import_part("transcript")
        return None

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

    def list_conversation_folders(self, home: str, cwd: str) -> list[str]:
        """The folders of which one changes when a conversation of cwd, or of a directory below it,
        begins; [] if its conversations are not in files.  Some may not exist yet."""
        if not self.TRANSCRIPTS:
            return []
        top = self.locate(home, self.TRANSCRIPTS)
        prefix, _, below = self.name_project(home, cwd).partition("/")
        if not prefix:
            return list_newest_folders(top)
        folders = [top]
        for name in list_folders(top):
            if name.startswith(prefix.rstrip("-")):
                folders.append(os.path.join(top, name))
                if below:
                    folders.append(os.path.join(top, name, below))
        return folders

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
        return "cut" in self.PARTS

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

    def format_begin_command(self, prompt: str) -> str:
        """The command that begins a session.  prompt: a word of sh; '' for a client that takes no
        prompt at its start."""
        return self.BEGIN.format(prompt)

    def load_head_reader(self) -> ModuleType | None:
        """The module with read_head(transcript), if subagents work in sessions of their own."""
        if "head" in self.PARTS:
            return self._import_part("head")
        return None

    def _import_part(self, name: str) -> ModuleType:
        return __import__(f"{type(self).__module__}.{name}", fromlist=["Scanner"])


def resolve_path(home: str, path: str, variable: str) -> str:
    """A path below home, whose first folder is replaced by the variable's value if that is set."""
    first, _, remainder = path.partition("/")
    return os.path.normpath(os.path.join(os.environ.get(variable) or f"{home}/{first}", remainder))


def locate_below(home: str, path: str) -> str:
    """A path below home, with the first folder of a client replaced by its variable."""
    clients = (client for client in map(get_client, list_names()) if client.HOME_ENV)
    client = next((c for c in clients if c.FOLDERS[0] == path.partition("/")[0]), None)
    if client:
        return client.locate(home, path)
    return os.path.join(home, path)


def list_files(folder: str, *ends: str, prefix: str = "") -> list[str]:
    """The files below a folder with one of these ends; prefix: only in subfolders that begin so."""
    paths = []
    for folder_path, folders, names in os.walk(folder):
        if prefix and folder_path == folder:
            folders[:] = [name for name in folders if name.startswith(prefix)]
            continue
        paths += [os.path.join(folder_path, name) for name in names if name.endswith(ends)]
    return paths


def list_folders(folder: str) -> list[str]:
    """The names of the folders in a folder, sorted; [] if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []


def list_newest_folders(folder: str) -> list[str]:
    """A folder, and below it the newest of those that are named by year, month or day."""
    folders = [folder]
    while True:
        numbered = [name for name in list_folders(folders[-1]) if name.isdecimal()]
        if not numbered:
            return folders
        folders.append(os.path.join(folders[-1], numbered[-1]))


def list_names() -> list[str]:
    """The agents' names, in order."""
    return list(CLIENTS)


def get_client(name: str) -> Client:
    """The client of a name or an agent type of stored data; raises InputError for any other."""
    key = name.lower().replace(" ", "-")
    for candidate in (key, key.removesuffix("-cli")):
        if candidate in CLIENTS:
            return _load_client(CLIENTS[candidate])
    raise InputError(f"unknown agent '{name}'; known are {', '.join(CLIENTS)}")


def find_client(name: str) -> Client:
    """The client of a name or an agent type; gitcp.agents.other for any other tool."""
    try:
        return get_client(name)
    except InputError:
        return _load_client("gitcp.agents.other")


def _load_client(module: str) -> Client:
    client: Client = __import__(module, fromlist=["CLIENT"]).CLIENT
    return client


def get_agent_type(name: str) -> str:
    """The agent type of a name in stored data; the name itself for any other tool."""
    if name in CLIENTS:
        return get_client(name).AGENT_TYPE
    return name


def list_session_variables(agent_type: str) -> tuple[str, ...]:
    """The variables that name the session of an agent to a git hook."""
    return tuple(dict.fromkeys((*find_client(agent_type).SESSION_ENV, "GITCP_SESSION_ID")))


def locate_subagent_transcript(agent: str, transcript_path: str, agent_id: str) -> str | None:
    """The path of a subagent's transcript by its agent; see Client."""
    return find_client(agent).locate_subagent_transcript(transcript_path, agent_id)


def recognise(client: Client, fields: dict[str, Any]) -> Client:
    """The client of a payload: some clients run the hooks that are installed for another.  No third
    one is loaded."""
    payload = Payload(fields)
    if client.is_own_payload(payload):
        return client
    return get_client(_name_guest(payload) or client.NAME)


def _name_guest(payload: Payload) -> str:
    """The client whose payload came to another's hook, by its keys; '' if they name none."""
    if "hookEventName" in payload:
        if "workspaceRoot" in payload:
            return "grok-build"
        return "vs-code"
    if "sessionId" in payload or "parentAgentId" in payload:
        return "copilot"
    if os.path.basename(str(payload.get("transcript_path"))) == "events.jsonl":
        return "copilot"
    is_cursors = "cursor_version" in payload
    if "timestamp" in payload and "transcript_path" not in payload and not is_cursors:
        return "copilot"
    if is_cursors or ("conversation_id" in payload and "workspace_roots" in payload):
        return "cursor"
    is_devins = "DEVIN_PROJECT_DIR" in os.environ
    if "cwd" not in payload and "hook_event_name" in payload and is_devins:
        return "devin"
    return ""


# The records made of a payload.
#
# A field of the wrong type, or an id that is unsafe as a file name, raises InputError.
# key of the payload -> key of the record; texts that may be absent or null
_TEXTS = {
    "agent_type": "agent_type",
    "transcript_path": "transcript_path",
    "agent_transcript_path": "agent_transcript_path",
    "source": "source",
    "reason": "reason",
    "model": "model",
    "prompt_id": "turn",
    "turn_id": "turn",
}
# the keys of contents in a call that writes
OLD = "old_string", "old_str", "oldString", "old_text", "oldText", "before"
NEW = "new_string", "new_str", "newString", "new_text", "newText", "after"
_EVERYWHERE = "replace_all", "replaceAll", "change_all"
CONTENT = "content", "contents", "file_text"
INPUT_ID = "args-"  # the beginning of the ids that name_call() makes
_OUTPUT = 65536  # characters of a shell's output that an event carries


def make_kinds(**tools: str) -> dict[str, str]:
    """tool -> gitcp's kind of tool; tools: the names of each kind, separated by blanks."""
    found: dict[str, str] = {}
    for kind, names in tools.items():
        for name in names.split():
            found[name] = kind
    return found


def build_matcher(kinds: Mapping[str, str], *left_out: str) -> str:
    """A JavaScript matcher for every tool, even an unknown one, except the kinds in left_out.

    It matches the whole name, as Copilot CLI does.
    """
    return f"^(?!(?:{'|'.join(name for name, kind in kinds.items() if kind in left_out)})$).*$"


def name_call(arguments: object) -> str:
    """An id for a call by its input, which its hooks and the transcript have alike; equal calls
    have equal ids."""
    fields = dict(sorted(arguments.items())) if isinstance(arguments, dict) else arguments
    text = json.dumps(fields).encode("utf-8", "surrogatepass")
    return f"{INPUT_ID}{ids.start_sha256(text).hexdigest()[:16]}"


def is_call(key: str, given_id: str, arguments: object) -> bool:
    """Whether an id is that of a call in a transcript, or its name by its input."""
    return key == given_id or (key.startswith(INPUT_ID) and key == name_call(arguments))


def is_reading(tool: str) -> bool:
    """Whether a tool of this name writes nothing, with each client that has one."""
    clients = map(get_client, list_names())
    kinds = {client.KINDS[tool] for client in clients if tool in client.KINDS}
    return bool(kinds) and kinds <= {"read", "todo"}


def make_unknown(agent: str) -> Event:
    """The record of an unknown hook, without anything of its payload."""
    return {"type": "event", "event": "unknown", "agent": agent}


def read_event(agent: str, name: str, payload: Payload) -> Event:
    """The record with the fields that all clients have."""
    record: Event = {
        "type": "event",
        "event": name,
        "agent": agent,
        "session_id": ids.check_session_id(payload.get("session_id")),
        "cwd": check_directory(payload.get_text("cwd")),
        "notification": False,
    }
    texts = {ours: payload.get_text(key) for key, ours in _TEXTS.items() if key in payload}
    record.update({key: value for key, value in texts.items() if value})  # type: ignore[typeddict-item]
    for key in ("last_assistant_message", "prompt_response"):
        if payload.get(key):
            record["last_message"] = payload.get_words(key)
    if payload.get("agent_id") is not None:
        record["agent_id"] = ids.check_component(payload.get("agent_id"), "agent_id")
    if name == "turn-start":
        prompt = payload.get_words("prompt")

        from gitcp.text import prompt_text

        record["prompt"] = prompt_text.clean_prompt(prompt)
        record["notification"] = prompt_text.is_notification(prompt)
        if record["notification"]:
            record["ended_tasks"] = prompt_text.parse_ended_tasks(prompt)
    elif name == "turn-end" and payload.get("background_tasks"):
        tasks = payload.get_objects("background_tasks")
        keys = ("id", "status", "command")
        record["background_tasks"] = [{key: task.get_words(key) for key in keys} for task in tasks]
    return record


def read_tool(
    payload: Payload, kinds: Mapping[str, str], keys: tuple[str, ...] = (), cwd: str = ""
) -> Tool:
    """The call of a payload.  keys: the keys of its input for the path of a call that writes,
    relative to cwd; a call that names none is known by its patch."""
    name = payload.get_text("tool_name")
    arguments = payload.get_object("tool_input")
    if not name:
        raise InputError("'tool_name' is missing")
    key = payload.get("tool_use_id")
    call: Tool = {
        "name": name,
        "id": "" if key is None else ids.check_tool_use_id(key),
        "kind": kinds.get(name) or _guess_kind(name, payload),
        "input_paths": [],
        "failed": False,
    }
    duration = payload.get("duration_ms")
    kind = call["kind"]
    if isinstance(duration, int) and duration >= 0:
        call["duration_ms"] = duration
    if any(arguments.get(key) is True for key in ("run_in_background", "is_background")):
        call["background"] = True
    if kind == "write":
        call["input_paths"] = find_paths(arguments, keys, cwd)
        patch = "" if call["input_paths"] else arguments.find_patch()
        if patch:
            _add_patch(call, patch, cwd)
        else:
            _add_contents(call, arguments, payload.get("tool_response"))
    elif kind == "shell":
        call["command"] = arguments.get_words("command")
    elif kind == "task":
        call["subagent_type"] = arguments.get_text("subagent_type")
        call["description"] = arguments.get_words("description")
    elif kind == "todo":
        call["todos"] = [dict(todo.list_items()) for todo in arguments.get_objects("todos")]
    return call


def _guess_kind(name: str, payload: Payload) -> str:
    """The kind of a tool that a client's table does not have."""
    if name.startswith("mcp_") or payload.get("mcp_context"):
        return "mcp"
    return "other"


def _add_contents(call: Tool, arguments: Payload, response: object) -> None:
    """Add to the record of a call that writes what was in the file before and after, as far as its
    input has it."""
    content = arguments.find(CONTENT)
    new = arguments.get("new_text")
    replacements = _list_replacements(arguments)
    if replacements:
        call["edits"] = replacements
    elif isinstance(new, str) and isinstance(arguments.get("insert_line"), int):
        call["inserted"] = arguments.get("insert_line"), new
    elif isinstance(new, str) and arguments.get("insert_line") is None:
        content = new  # of a new file
    if isinstance(content, str):
        call["content"] = content
    if isinstance(response, dict) and isinstance(response.get("originalFile"), str):
        call["original"] = response["originalFile"]


def _list_replacements(arguments: Payload) -> list[Replacement]:
    """(old text, new text, whether everywhere) of each replacement; [] if one lacks a text."""
    edits = [arguments]
    listed = arguments.get("edits")
    if isinstance(listed, list):
        edits = [Payload(edit) for edit in listed if isinstance(edit, dict)]
    replacements = [(e.find(OLD), e.find(NEW), bool(e.find(_EVERYWHERE))) for e in edits]
    for old, new, _ in replacements:
        if not isinstance(old, str) or not isinstance(new, str):
            return []
    return replacements


def _add_patch(call: Tool, patch: str, cwd: str) -> None:
    """Add the paths of a patch to a call's record, and of one of a single file the contents."""

    from gitcp.agents.transcripts import agent_words

    paths = agent_words.list_paths(patch)
    hunks = list(agent_words.parse_hunks(patch))
    call["input_paths"] = resolve_paths(paths, cwd, "patch")
    if len(paths) == 1 and hunks and hunks[0][1] is None:
        call["content"] = hunks[0][2]
    elif len(paths) == 1 and hunks:
        call["edits"] = [(old or "", new, False) for _, old, new in hunks]


def load_input(payload: Payload, key: str) -> Payload:
    """The input of a call, which may be the text of an object or of a patch."""
    arguments = payload.get(key)
    if not isinstance(arguments, str):
        return payload.get_object(key)

    from gitcp.agents.transcripts import load_entry

    return Payload(load_entry(arguments) or {"patch": arguments})


def add_response(tool: Tool, payload: Payload) -> None:
    """Add a shell's output, and whether the call failed, to its record, by a payload's
    response."""
    response = payload.get("tool_response")
    if isinstance(response, dict):
        display = response.get("returnDisplay") or response.get("llmContent")
        texts = [part.get("text") for part in json.list_objects(response.get("content"))]
        texts.insert(0, display or response.get("output"))
        add_output(tool, response.get("stdout"), response.get("stderr"), *texts)
        wrong = response.get("error") or response.get("is_error")
        tool["failed"] = bool(wrong) or response.get("success") is False
    elif isinstance(response, str):
        add_output(tool, response)


def add_output(tool: Tool, *texts: object) -> None:
    """Add a shell call's output to its record; values that are not texts are left out."""
    printed = "\n".join(
        ids.replace_surrogates(text) for text in texts if isinstance(text, str) and text
    )
    if printed and tool["kind"] == "shell":
        tool["output"] = printed[:_OUTPUT]


def check_directory(cwd: str) -> str:
    """The directory in which a hook's call happened; raises InputError unless it is absolute."""
    if not os.path.isabs(cwd) or "\0" in cwd:
        raise InputError(f"'cwd' is not an absolute path: {ascii(cwd)[:80]}")
    return cwd


def resolve_in(spelled: str, cwd: str, field: str) -> str:
    """The absolute form of a path in cwd, without `.` and `..`; the disk is not read."""
    if "\0" in spelled:
        raise InputError(f"'{field}' has a NUL: {ascii(spelled)[:80]}")
    return os.path.normpath(os.path.join(cwd, spelled))


def resolve_paths(paths: Iterable[str], cwd: str, field: str) -> list[str]:
    """The absolute forms of paths in cwd, as resolve_in() makes them."""
    return [resolve_in(path, cwd, field) for path in paths]


def find_paths(arguments: Payload, keys: tuple[str, ...], cwd: str) -> list[str]:
    """The path under the first of the keys that exists, in a list; [] without one."""
    for key in keys:
        spelled = arguments.get_text(key)
        if spelled:
            return [resolve_in(spelled, cwd, key)]
    return []


# The hooks that most clients have under Claude Code's names.
CORE = {  # the events of all these clients
    "SessionStart": "session-start",
    "UserPromptSubmit": "turn-start",
    "PreToolUse": "tool-start",
    "PostToolUse": "tool-end",
    "Stop": "turn-end",
}
EVENTS = {
    **CORE,
    "PostToolUseFailure": "tool-end",
    "SubagentStop": "subagent-end",
    "PreCompact": "compact",
    "SessionEnd": "session-end",
}


def omit_events(*absent: str) -> dict[str, str]:
    """EVENTS without those that a client does not have."""
    return {name: event for name, event in EVENTS.items() if name not in absent}


def nest_hooks(
    events: Iterable[str], command: Callable[[str], str], seconds: int | None = None
) -> Files:
    """A file of hooks in the form of Claude Code's settings, with the command of each event, and
    the time-out in seconds, if any."""
    hook = {"type": "command"} | ({"timeout": seconds} if seconds else {})
    return {"hooks": {name: [{"hooks": [{**hook, "command": command(name)}]}] for name in events}}
