"""Reads the edits by the tools of a conversation from its transcript.

The `read_answers` of a client's reader has the results of calls.  A call that failed, or that a
person changed or refused, makes no edit.
"""

from __future__ import annotations

import os

from gitcp import agents
from gitcp.agents.claude_code.transcript import NOT_SAID
from gitcp.agents.exchange import payload
from gitcp.agents.reading import items
from gitcp.agents.reading.sightings import Sightings
from gitcp.core.transcript import apply_patch, commands, transcript_scan
from gitcp.core.transcript.facts import find_model, list_objects
from gitcp.core.transcript.tool_ends import parse_time
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypedDict

    from gitcp.agents import Client

    class Edit(TypedDict):
        """A call's change of a file.  path: absolute.  turn: the number of its prompt, from 1.  at:
        ns since 1970.  tells: for gitcp.core.credit.file_edits; `created` if the file was new,
        `deleted` if it is gone, `inserted` [before line, text]."""

        path: str
        turn: int
        call: str
        agent: str
        at: int
        tells: dict[str, Any]

    class Turn(TypedDict):
        """A prompt, its time in ns since 1970, and the model that answered."""

        prompt: str
        at: int
        model: str


_CWD = ("cwd", "directory")
_IDS = ("sessionId", "session_id")
_SHELLS = dict.fromkeys(("exec_command", "shell"), "shell")  # names that only transcripts have
_PARTS = "offset limit start_line end_line line_range view_range range".split()  # of a file
_ABSENT = ("does not exist", "No such file", "ENOENT", "not found")
_STAMP = b'"timestamp"'
_HEAD = 40  # entries that are searched for the head


def read_entries(path: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a transcript; the messages of one that is a document.  Raises
    OSError."""
    with open(path, "rb") as stream:
        first = stream.readline()
        if transcript_scan.load(first) is None and first.strip():
            document = transcript_scan.load(first + stream.read()) or {}
            yield {key: value for key, value in document.items() if key != "messages"}
            yield from list_objects(document.get("messages"))
            return
        yield from _expand(first)
        for line in stream:
            yield from _expand(line)


def _expand(line: bytes) -> Iterator[dict[str, Any]]:
    """The entry of a line; the messages that a line of Gemini's sets."""
    entry = transcript_scan.load(line)
    given = entry.get("$set") if entry else None
    if isinstance(given, dict) and isinstance(given.get("messages"), list):
        yield from list_objects(given["messages"])
    elif entry and isinstance(entry.get("messages"), list):
        yield {key: value for key, value in entry.items() if key != "messages"}
        yield from list_objects(entry["messages"])
    elif entry:
        yield entry


def recognise_client(path: str) -> str:
    """The name of the client of a transcript, by its shape.  Raises InputError for an unknown one,
    and OSError."""
    for number, entry in enumerate(read_entries(path)):
        if "parentUuid" in entry or "isSidechain" in entry:
            return "qwen-code" if "parts" in str(entry.get("message"))[:200] else "claude-code"
        if entry.get("type") == "session_meta":
            return "codex"
        if "projectHash" in entry or entry.get("type") == "gemini":
            return "gemini-cli"
        for client in map(agents.get_client, agents.list_names()):
            reader = client.get_reader()
            if not number and hasattr(reader, "is_its") and reader.is_its(entry):
                return client.NAME
        if number > _HEAD:
            break
    raise InputError(f"cannot tell whose transcript '{path}' is: give --agent")


def read_head(path: str) -> dict[str, str]:
    """The head of a transcript: session, parent (of a subagent), agent, cwd, each '' if unknown.
    Raises OSError."""
    about = {"session": "", "parent": "", "agent": "", "cwd": ""}
    for number, entry in enumerate(read_entries(path)):
        inner = [entry, *(v for v in map(entry.get, ("payload", "data", "info")) if v)]
        parts = [part for part in inner if isinstance(part, dict)]
        begins = str(entry.get("type")).startswith("session")
        about["session"] = (
            about["session"]
            or _find_text(parts, _IDS)
            or _find_text(parts if begins else parts[1:], ("id",))
        )
        for one in parts:
            context = one.get("context")
            places = [one, context] if isinstance(context, dict) else [one]
            about["cwd"] = about["cwd"] or _find_text(places, _CWD)
            about["agent"] = about["agent"] or _find_text([one], ("agentId",))
            about["parent"] = about["parent"] or _find_text([one], ("parent_thread_id", "parentID"))
        if number >= _HEAD or (about["cwd"] and about["session"]):
            break
    return about


def _find_text(places: Iterable[dict[str, Any]], keys: Iterable[str]) -> str:
    values = (place.get(key) for key in keys for place in places)
    return next((value for value in values if isinstance(value, str) and value), "")


class Reading:
    """The state of reading a transcript: its turns so far, and the calls without an answer."""

    def __init__(self, client: Client, cwd: str, agent: str = "", began: int = 0) -> None:
        """cwd: its first directory.  agent: the subagent's id.  began: the time, in ns since 1970,
        of the entries before the first one with a time."""
        self._client, self._reader = client, client.get_reader()
        self._cwd, self._agent = cwd, agent
        self._kinds = {**_SHELLS, **client.KINDS}
        self._waiting: dict[str, list[Edit]] = {}
        self._done: set[str] = set()
        self._asked: set[str] = set()
        self._commands: dict[str, tuple[str, int]] = {}  # its text, and the time of its start
        self._files = Sightings()
        # call -> the file that it shows, and whether its text is the content
        self._looks: dict[str, tuple[str, bool]] = {}
        self._at, self.is_timed = began, False
        self.turns: list[Turn] = []

    def read_edits(self, lines: Iterable[dict[str, Any]]) -> Iterator[Edit]:
        """Yield the edits of entries in their order; at the end those of calls without a result,
        which may have been made."""
        for entry in lines:
            yield from self._read_entry(entry)
        for waiting in self._waiting.values():
            yield from waiting

    def _read_entry(self, entry: dict[str, Any]) -> Iterator[Edit]:
        self._cwd = find_cwd(entry) or self._cwd
        self._take_time(entry.get("timestamp"))
        if entry.get("requestSessionId", entry.get("sessionId")) != entry.get("sessionId"):
            self.turns.clear()  # a fork begins with a copy of another session
            self._waiting.clear()
            return
        listed = list(self._list_items(entry))
        asks = any(item["kind"] == "prompt" for item in listed) and self._is_new(entry)
        for item in listed:
            self._take_time(item["time"])
            if item["kind"] == "prompt" and asks:
                self.turns.append({"prompt": item["text"], "at": self._at, "model": ""})
            elif item["kind"] == "call":
                self._take_call(item)
            elif item["kind"] == "result":
                yield from self._take_result(item)
        model = find_model(entry)
        if model and self.turns:
            self.turns[-1]["model"] = model
        for call, answer in self._list_answers(entry):
            yield from self._take_answer(call, answer)

    def _take_time(self, stamp: object) -> None:
        """Note the time of an entry, if it has one."""
        if at := _parse_time(stamp):
            self._at, self.is_timed = at, True

    def _is_new(self, entry: dict[str, Any]) -> bool:
        """Whether an entry's prompt is the person's and new: a resumed session of Gemini's sets all
        its messages again."""
        key = str(entry.get("uuid") or entry.get("id") or "")
        again = bool(key) and key in self._asked
        self._asked.add(key)
        return not again and not any(entry.get(key) for key in NOT_SAID)

    def _list_answers(self, entry: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        if hasattr(self._reader, "read_answers"):
            yield from self._reader.read_answers(entry)
            return
        for kind, *fact in self._reader.list_facts(entry):
            if kind == "result":
                yield fact[0], {"failed": fact[1]}

    def _list_items(self, entry: dict[str, Any]) -> Iterator[items.Item]:
        if hasattr(self._reader, "list_facts"):
            return items.list_fact_items(self._reader, [entry])
        return items.list_entry_items(entry)

    def _take_call(self, item: items.Item) -> None:
        kinds, name, key = self._kinds, item["name"], item["id"]
        given = item["given"] if isinstance(item["given"], dict) else {"patch": item["given"]}
        if kinds.get(name) in ("write", "shell") and key and key not in self._done:
            if kinds[name] == "shell":
                self._commands[key] = _join_command(given), self._at
                self._files.note_run(key, len(self.turns), self._at, _join_command(given))
            edits = [
                self._make_edit(key, path, tells) for path, tells in self._list_changes(name, given)
            ]
            self._waiting[key] = edits
        path = self._find_shown(kinds.get(name), given)
        if path and key not in self._done:
            plain = kinds[name] == "shell" or getattr(self._reader, "SHOWS_FILES", False)
            self._looks[key] = os.path.normpath(os.path.join(self._cwd, path)), plain

    def _find_shown(self, kind: str | None, arguments: dict[str, Any]) -> str:
        """The file that a call shows completely; '' for none."""
        if kind == "shell":
            return commands.find_shown(_join_command(arguments))
        if kind != "read" or any(arguments.get(key) is not None for key in _PARTS):
            return ""
        return _find_text([arguments], self._list_path_keys())

    def _take_result(self, item: items.Item) -> Iterator[Edit]:
        """The edits of commands that a call's output shows."""
        text, (path, plain) = item["text"], self._looks.get(item["id"], ("", False))
        self._files.note_text(text)
        if path and item["failed"] and any(words in text for words in _ABSENT):
            self._files.note_content(path, "", len(self.turns))
        elif plain and not item["failed"]:
            del self._looks[item["id"]]
            if text.startswith(("Chunk ID:", "Exit code:")):
                text = text.partition("\nOutput:\n")[2]
            yield from self._match_look(path, text if text.endswith("\n") else f"{text}\n")

    def _match_look(self, path: str, content: str) -> Iterator[Edit]:
        """The edits of commands that a file's new content shows."""
        if change := self._files.find_made(path, content, len(self.turns)):
            run, tells = change
            edit = self._make_edit(run["call"], path, tells)
            yield {**edit, "turn": run["turn"], "at": run["at"]}

    def _list_changes(
        self, name: str, arguments: dict[str, Any]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """(path, its change) of a call that writes."""
        patch = next((v for v in arguments.values() if "*** Begin Patch" in str(v)), None)
        if isinstance(patch, str):
            yield from parse_patch(patch)
            return
        if self._kinds[name] == "shell":
            for path, content in commands.find_written(_join_command(arguments)):
                yield path, {"content": content}
            return
        call = {"tool_name": name, "tool_input": arguments}
        try:
            tool = payload.read_tool(call, self._client.KINDS, self._list_path_keys(), self._cwd)
        except InputError:
            return
        words: dict[str, Any] = {**tool}
        known = ("content", "edits", "inserted")
        tells: dict[str, Any] = {key: words[key] for key in known if key in words}
        for path in tool["input_paths"] if tells else ():
            yield path, tells

    def _list_path_keys(self) -> tuple[str, ...]:
        return (*self._client.PATHS, "filePath", "path", "absolutePath")

    def _make_edit(self, call: str, path: str, tells: dict[str, Any]) -> Edit:
        return {
            "path": os.path.normpath(os.path.join(self._cwd, path)),
            "turn": len(self.turns),
            "call": call,
            "agent": self._agent,
            "at": self._at,
            "tells": tells,
        }

    def _take_answer(self, call: str, answer: dict[str, Any]) -> Iterator[Edit]:
        """The edits of a call with a result; none if it failed or was changed."""
        waiting, command = self._waiting.pop(call, []), self._commands.pop(call, None)
        if call in self._done:
            return
        self._done.add(call)
        if isinstance(answer.get("seen"), str) and call in self._looks:
            yield from self._match_look(self._looks[call][0], answer["seen"])
        if answer.get("failed") or answer.get("by_person"):
            return
        if "by_command" in answer:
            words = command[0] if command else ""
            changes = list(commands.keep_own(answer["by_command"], words))
            waiting = [self._make_edit(call, path, tells) for path, tells in changes]
        if "changes" in answer:
            waiting = [self._make_edit(call, path, tells) for path, tells in answer["changes"]]
        # A command may commit what it wrote before it ends.
        at = command[1] if command else _parse_time(answer.get("at")) or self._at
        more: dict[str, Any] = {
            k: answer[k] for k in ("original", "created", "content") if k in answer
        }
        for edit in waiting:
            tells = {**edit["tells"], **(more if len(waiting) == 1 else {})}
            path, turn = edit["path"], len(self.turns)
            if isinstance(tells.get("original"), str):
                yield from self._match_look(path, tells["original"])
            elif "content" in tells and not tells.get("created"):
                before = self._files.find_before(path, tells["content"], turn, call)
                tells |= {} if before is None else {"original": before}
            self._files.note_edit(path, tells, turn)
            yield {**edit, "at": at, "tells": tells}


def _join_command(arguments: dict[str, Any]) -> str:
    """The words of a shell call."""
    words = next((arguments[key] for key in ("command", "cmd", "commands") if key in arguments), "")
    if isinstance(words, list):  # ["bash", "-lc", command], or several words
        lists = words[-1:] if words[1:2] in (["-c"], ["-lc"]) else words
        return "\n".join(str(one) for one in lists)
    return str(words)


def parse_patch(patch: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(path, its change) of each file of a patch that moves none."""
    if "*** Move to: " in patch:
        return
    hunks: dict[str, list[tuple[str | None, str]]] = {p: [] for p in apply_patch.list_paths(patch)}
    for path, old, new in apply_patch.parse_hunks(patch):
        hunks[path].append((old, new))
    for path, parts in hunks.items():
        if parts and parts[0][0] is None:
            yield path, {"content": parts[0][1], "created": True}
        elif parts:
            yield path, {"edits": [[old, new, False] for old, new in parts]}


def find_cwd(entry: dict[str, Any]) -> str:
    """The directory of an entry; '' if it names none."""
    inner = entry.get("payload")
    cwd = entry.get("cwd") or (inner.get("cwd") if isinstance(inner, dict) else None)
    return cwd if isinstance(cwd, str) and os.path.isabs(cwd) else ""


def find_line_time(line: bytes) -> int:
    """The time of a transcript's line, in ns since 1970; 0 without one."""
    if line.count(_STAMP) == 1:  # quotes of a text in a line are escaped
        parts = line[line.index(_STAMP) + len(_STAMP) :].lstrip(b" :").split(b'"', 2)
        if not parts[0] and (at := parse_time(parts[1].decode("utf-8", "replace"))):
            return at
    return _parse_time((transcript_scan.load(line) or {}).get("timestamp"))


def _parse_time(stamp: object) -> int:
    """A time as clients write it, in ns since 1970; 0 for none."""
    text = str(stamp or "")
    if text.isdecimal():
        return int(text) * 1_000_000
    return parse_time(text) or 0
