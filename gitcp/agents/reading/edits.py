"""Reads the edits by the tools of a conversation from its transcript.

The `list_results` of a client's reader has the results of calls.  A call that failed, or that a
person changed or refused, makes no edit.
"""

from __future__ import annotations

import os
from itertools import chain, islice

from gitcp import agents
from gitcp.agents import transcripts
from gitcp.agents.claude_code.transcript import NOT_CONVERSATION, is_copied
from gitcp.agents.reading import items
from gitcp.agents.reading.sightings import Sightings
from gitcp.agents.transcripts import Fields, Result, agent_words
from gitcp.agents.transcripts.transcript_facts import find_model, parse_time, read_input
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypedDict

    from gitcp.agents import Client
    from gitcp.agents.transcripts import Change
    from gitcp.text.record_types import Item

    class ToldEdit(TypedDict):
        """A call's change of a file.  path: absolute.  turn: the number of its prompt, from 1.  at:
        ns since 1970.  tells: for gitcp.record.looks.credit_cases; `created` if the file was new,
        `deleted` if it is gone, `inserted` [before line, text]."""

        path: str
        turn: int
        call: str
        agent: str
        at: int
        tells: dict[str, Any]

    class ToldTurn(TypedDict):
        """A prompt, its time in ns since 1970, and the model that answered."""

        prompt: str
        at: int
        model: str


_SHELLS = dict.fromkeys(("exec_command", "shell"), "shell")  # names that only transcripts have
_PARTS = "offset limit start_line end_line line_range view_range range".split()  # of a file
_ABSENT = ("does not exist", "No such file", "ENOENT", "not found")
_CHANGES = ("content", "edits", "inserted")  # keys of a call that say what it writes
_CONTENTS = ("original", "created", "content")  # fields of a result that do
_STAMP = b'"timestamp"'
_HEAD = 40  # entries that are searched for the head


def read_entries(path: str) -> Iterator[Fields]:
    """Yield the entries of a transcript; the messages of one that is a document.  Raises
    OSError."""
    with open(path, "rb") as stream:
        first = stream.readline()
        if transcripts.load_entry(first) is None and first.strip():
            yield from _expand_document(transcripts.read_entry(first + stream.read()))
            return
        for line in chain([first], stream):
            yield from _expand(line)


def _expand(line: bytes) -> Iterator[Fields]:
    """The entry of a line; for Gemini, the messages under $set."""
    entry = transcripts.read_entry(line)
    set_keys = entry.get_object("$set")
    if isinstance(set_keys.get("messages"), list):
        yield from set_keys.get_objects("messages")
    elif isinstance(entry.get("messages"), list):
        yield from _expand_document(entry)
    elif entry:
        yield entry


def _expand_document(document: Fields) -> Iterator[Fields]:
    """First the document with one message, enough to recognise the client; then each message."""
    messages = document.get_objects("messages")
    yield Fields({**document.fields, "messages": [message.fields for message in messages[:1]]})
    yield from messages


def recognise_client(path: str) -> str:
    """The name of the client of a transcript, by its shape.  Raises InputError for an unknown one,
    and OSError."""
    for entry in islice(read_entries(path), _HEAD):
        client = items.recognise_client(entry)
        if client:
            return client.NAME
    raise InputError(f"cannot tell whose transcript '{path}' is: give --agent")


def read_head(path: str) -> dict[str, str]:
    """The head of a transcript: session, parent (of a subagent), agent, cwd, each '' if unknown.
    Raises OSError."""
    head = {"session": "", "parent": "", "agent": "", "cwd": ""}
    for number, entry in enumerate(read_entries(path)):
        inner = [entry.get_object(key) for key in ("payload", "data", "info")]
        is_header = entry.get_word("type").startswith("session")
        session = _find_text([entry, *inner], "sessionId", "session_id") or _find_text(
            [entry, *inner] if is_header else inner, "id"
        )
        head["session"] = head["session"] or session
        for part in (entry, *inner):
            cwd = _find_text([part, part.get_object("context")], "cwd", "directory")
            head["cwd"] = head["cwd"] or cwd
            head["agent"] = head["agent"] or part.get_text("agentId")
            parent = part.find_text(("parent_thread_id", "parentID"))
            head["parent"] = head["parent"] or parent
        if number >= _HEAD or (head["cwd"] and head["session"]):
            break
    return head


def _find_text(entries: Iterable[Fields], *keys: str) -> str:
    """The first text that is not empty under one of the keys, in their order."""
    return next((text for key in keys for entry in entries if (text := entry.get_text(key))), "")


class Reading:
    """The state of reading a transcript: its turns so far, and the calls without a result."""

    def __init__(self, client: Client, cwd: str, agent: str = "", began: int = 0) -> None:
        """cwd: its first directory.  agent: the subagent's id.  began: the time, in ns since 1970,
        of the entries before the first one with a time."""
        self._client = client
        self._reader = client.get_reader()
        self._cwd = cwd
        self._agent = agent
        self._kinds = {**_SHELLS, **client.KINDS}
        self._path_keys = (*client.PATHS, "filePath", "path", "absolutePath")
        self._time = began
        self.is_timed = False
        self.turns: list[ToldTurn] = []
        self.last_command = 0  # when the last command began, in ns since 1970
        self.ran_commands = False
        self._prompt_ids: set[str] = set()  # of the entries with prompts
        self._edits: dict[str, list[ToldEdit]] = {}  # call without a result -> its edits
        self._commands: dict[str, tuple[str, int]] = {}  # call -> its command, and its start
        self._finished: set[str] = set()  # the calls with a result
        # call -> the file that it shows, and whether its output is the content
        self._views: dict[str, tuple[str, bool]] = {}
        self._sightings = Sightings()

    def read_edits(self, entries: Iterable[Fields]) -> Iterator[ToldEdit]:
        """Yield the edits of entries in their order; at the end those of calls without a result,
        which may have been made."""
        for entry in entries:
            yield from self._read_entry(entry)
        for edits in self._edits.values():
            yield from edits

    def _read_entry(self, entry: Fields) -> Iterator[ToldEdit]:
        self._cwd = _find_cwd(entry) or self._cwd
        self._take_time(entry.get("timestamp"))
        if is_copied(entry):
            self.turns.clear()
            self._edits.clear()
            return
        entry_items = list(items.list_entry_items(self._reader, entry))
        kinds = [item["kind"] for item in entry_items]
        begins_turn = "prompt" in kinds and self._is_new(entry)
        for item in entry_items:
            self._take_time(item["time"])
            if item["kind"] == "prompt" and begins_turn:
                self.turns.append({"prompt": item["text"], "at": self._time, "model": ""})
            elif item["kind"] == "call":
                self._take_call(item)
            elif item["kind"] == "result":
                yield from self._take_output(item)
        model = find_model(entry)
        if model and self.turns:
            self.turns[-1]["model"] = model
        for result in self._list_results(entry):
            yield from self._take_result(result)

    def _take_time(self, stamp: object) -> None:
        """Note the time of an entry, if it has one."""
        time = _parse_time(stamp)
        if time:
            self._time = time
            self.is_timed = True

    def _is_new(self, entry: Fields) -> bool:
        """Whether an entry's prompt is the person's and new: a resumed session of Gemini's sets all
        its messages again."""
        key = entry.get_word("uuid") or entry.get_word("id")
        is_repeated = bool(key) and key in self._prompt_ids
        self._prompt_ids.add(key)
        return not is_repeated and not any(entry.get(key) for key in NOT_CONVERSATION)

    def _list_results(self, entry: Fields) -> Iterator[Result]:
        if hasattr(self._reader, "list_results"):
            yield from self._reader.list_results(entry)
            return
        for kind, *fact in self._reader.list_facts(entry):
            if kind == "result":
                yield Result(fact[0], fact[1])

    def _take_call(self, item: Item) -> None:
        """Note the edits of a call by its input, and the file that it shows."""
        call = item["id"]
        kind = self._kinds.get(item["name"], "")
        if call in self._finished:
            return
        arguments = read_input(item["input"])
        if call and kind == "shell":
            self.ran_commands = True
            self.last_command = self._time
            command = _join_command(arguments)
            self._commands[call] = command, self._time
            self._sightings.note_command(call, len(self.turns), self._time, command)
        if call and kind in ("write", "shell"):
            changes = self._list_changes(item["name"], kind, arguments)
            self._edits[call] = [self._make_edit(call, *change) for change in changes]
        path = self._find_shown(kind, arguments)
        if path:
            shows_content = kind == "shell" or getattr(self._reader, "SHOWS_FILES", False)
            self._views[call] = os.path.normpath(os.path.join(self._cwd, path)), shows_content

    def _find_shown(self, kind: str, arguments: Fields) -> str:
        """The file that a call shows completely; '' for none."""
        if kind == "shell":
            return agent_words.find_shown(_join_command(arguments))
        if kind != "read" or any(arguments.get(key) is not None for key in _PARTS):
            return ""
        return arguments.find_text(self._path_keys)

    def _take_output(self, item: Item) -> Iterator[ToldEdit]:
        """The edits of commands that a call's output shows."""
        text, (path, shows_content) = item["text"], self._views.get(item["id"], ("", False))
        self._sightings.note_text(text)
        if path and item["failed"] and any(words in text for words in _ABSENT):
            self._sightings.note_content(path, "", len(self.turns))
        elif shows_content and not item["failed"]:
            del self._views[item["id"]]
            if text.startswith(("Chunk ID:", "Exit code:")):
                text = text.partition("\nOutput:\n")[2]
            yield from self._take_content(path, text if text.endswith("\n") else f"{text}\n")

    def _take_content(self, path: str, content: str) -> Iterator[ToldEdit]:
        """The edits of commands that a file's new content shows."""
        made = self._sightings.find_edit(path, content, len(self.turns))
        if made:
            tells = {"original": made.before, "content": made.after}
            edit = self._make_edit(made.first.call, path, tells)
            yield {**edit, "turn": made.first.turn, "at": made.first.at}

    def _list_changes(self, name: str, kind: str, arguments: Fields) -> Iterator[Change]:
        """The changes of a call that writes."""
        named = arguments.find_text(self._path_keys)
        patch = "" if named else agents.Payload(arguments.fields).find_patch()
        if patch:
            yield from _parse_patch(patch)
            return
        if kind == "shell":
            for path, content in agent_words.find_written(_join_command(arguments)):
                yield path, {"content": content}
            return
        call = agents.Payload({"tool_name": name, "tool_input": arguments.fields})
        try:
            tool = agents.read_tool(call, self._client.KINDS, self._path_keys, self._cwd)
        except InputError:
            return
        tells = {key: value for key, value in tool.items() if key in _CHANGES}
        if tells:
            for path in tool["input_paths"]:
                yield path, tells

    def _make_edit(self, call: str, path: str, tells: dict[str, Any]) -> ToldEdit:
        return {
            "path": os.path.normpath(os.path.join(self._cwd, path)),
            "turn": len(self.turns),
            "call": call,
            "agent": self._agent,
            "at": self._time,
            "tells": {**tells},
        }

    def _take_result(self, result: Result) -> Iterator[ToldEdit]:
        """The edits of a call with a result; none if it failed or was changed."""
        call = result.call
        edits = self._edits.pop(call, [])
        command, began = self._commands.pop(call, ("", 0))
        if call in self._finished:
            return
        self._finished.add(call)
        if result.seen is not None and call in self._views:
            yield from self._take_content(self._views[call][0], result.seen)
        if result.failed or result.by_person:
            return
        changes = result.changes
        if result.by_command is not None:
            changes = agent_words.keep_own(result.by_command, command)
        if changes is not None:
            edits = [self._make_edit(call, *change) for change in changes]
        if len(edits) == 1:
            contents = {name: getattr(result, name) for name in _CONTENTS}
            edits[0]["tells"].update({k: v for k, v in contents.items() if v not in (None, False)})
        for edit in edits:
            # A command may commit what it wrote before it ends.
            edit["at"] = began or _parse_time(result.at) or self._time
            yield from self._complete_edit(edit)

    def _complete_edit(self, edit: ToldEdit) -> Iterator[ToldEdit]:
        """The edit, with the content before it if that is known; first the edits of commands that
        this content shows."""
        path = edit["path"]
        tells = edit["tells"]
        turn = len(self.turns)
        if isinstance(tells.get("original"), str):
            yield from self._take_content(path, tells["original"])
        elif "content" in tells and not tells.get("created"):
            before = self._sightings.find_before(path, tells["content"], turn, edit["call"])
            if before is not None:
                tells["original"] = before
        self._sightings.note_edit(path, tells, turn)
        yield edit


def _join_command(arguments: Fields) -> str:
    """The words of a shell call."""
    words = arguments.find(("command", "cmd", "commands"))
    if isinstance(words, list):  # ["bash", "-lc", command], or several words
        return "\n".join(map(str, words[-1:] if words[1:2] in (["-c"], ["-lc"]) else words))
    return str(words or "")


def _parse_patch(patch: str) -> Iterator[Change]:
    """The change of each file of a patch that moves none."""
    if "*** Move to: " in patch:
        return
    hunks: dict[str, list[tuple[str | None, str]]] = {p: [] for p in agent_words.list_paths(patch)}
    for path, old, new in agent_words.parse_hunks(patch):
        hunks[path].append((old, new))
    for path, parts in hunks.items():
        if parts and parts[0][0] is None:
            yield path, {"content": parts[0][1], "created": True}
        elif parts:
            yield path, {"edits": [[old, new, False] for old, new in parts]}


def _find_cwd(entry: Fields) -> str:
    """The directory of an entry; '' if it names none."""
    cwd = entry.get_text("cwd") or entry.get_object("payload").get_text("cwd")
    if os.path.isabs(cwd):
        return cwd
    return ""


def find_line_time(line: bytes) -> int:
    """The time of a transcript's line, in ns since 1970; 0 without one."""
    if line.count(_STAMP) == 1:  # quotes of a text in a line are escaped
        parts = line[line.index(_STAMP) + len(_STAMP) :].lstrip(b" :").split(b'"', 2)
        if not parts[0]:
            at = parse_time(parts[1].decode("utf-8", "replace"))
            if at:
                return at
    return _parse_time(transcripts.read_entry(line).get("timestamp"))


def _parse_time(stamp: object) -> int:
    """A time as clients write it, in ns since 1970; 0 for none."""
    return parse_time(str(stamp or "")) or 0
