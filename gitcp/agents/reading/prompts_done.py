"""What an agent did after each prompt of a transcript: what it wrote, read, ran and said last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gitcp import agents
from gitcp.agents.reading.conversation import find_detail
from gitcp.agents.reading.items import list_items
from gitcp.agents.reading.turns import NEW, OLD, encode_line
from gitcp.agents.transcripts import agent_words
from gitcp.agents.transcripts.transcript_facts import parse_time
from gitcp.text.json import ensure_object, list_objects
from gitcp.text.pairing import pair_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gitcp.text.record_types import Item

WRITE = "write"
READ = "read"
SHELL = "shell"
TASK = "task"
FAILED = "failed"
SAID = "said"
_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "path")
# Names of tools that only transcripts have.
_KINDS = {"exec_command": SHELL, "shell": SHELL, "local_shell_call": SHELL, "apply_patch": WRITE}
_MOST = 200_000  # characters of a text that are compared


@dataclass(slots=True)
class Deed:
    """A call, or words (SAID).  FAILED is an edit that failed or was refused.  text: the words, a
    path, or what describes a call.  added, removed: lines of an edit.  inner: what the subagent did
    that the call started, if its transcript is known."""

    kind: str
    text: str
    name: str = ""
    added: int = 0
    removed: int = 0
    inner: list[Deed] = field(default_factory=list)

    @property
    def is_of_file(self) -> bool:
        """Whether the text may be the path of a file."""
        return self.kind in (WRITE, READ, FAILED)

    def count_edit(self, old: str, new: str) -> None:
        """Add the lines of an edit of one text into another."""
        before = [encode_line(line) for line in old[:_MOST].splitlines()]
        after = [encode_line(line) for line in new[:_MOST].splitlines()]
        kept = len(pair_lines(before, after))
        self.added += len(after) - kept
        self.removed += len(before) - kept


@dataclass(slots=True)
class Prompted:
    """A prompt, and what came of it.  number: its place among those of the transcript, from 1.
    line: of the transcript, as Item has it.  start, end: nanoseconds since 1970, 0 if unknown."""

    number: int
    prompt: str
    line: int
    start: int = 0
    end: int = 0
    deeds: list[Deed] = field(default_factory=list)

    def list_written(self) -> list[Deed]:
        """The edits, one for each path."""
        by_path: dict[str, Deed] = {}
        for deed in self.deeds:
            if deed.kind != WRITE:
                continue
            sum_ = by_path.setdefault(deed.text, Deed(WRITE, deed.text))
            sum_.added += deed.added
            sum_.removed += deed.removed
        return list(by_path.values())

    def count(self, *kinds: str) -> int:
        """The number of deeds of these kinds."""
        return sum(deed.kind in kinds for deed in self.deeds)

    def find_last_words(self) -> str:
        """What the agent said last; '' for nothing."""
        for deed in reversed(self.deeds):
            if deed.kind == SAID and deed.text.strip():
                return deed.text.strip()
        return ""


def list_prompted(
    transcript: bytes, agent: str, tasks: Mapping[str, bytes] | None = None
) -> list[Prompted]:
    """The prompts of a transcript, each with what came of it.

    agent: its name or type.  tasks: id of a call -> the transcript of the subagent that it
    started."""
    items = [*list_items(transcript)]
    reading = _Reading(items, agent, tasks or {})
    found: list[Prompted] = []
    for item in items:
        time = parse_time(item["time"]) or 0
        if item["kind"] == "prompt":
            number = len(found) + 1
            found.append(Prompted(number, item["text"], item["line"], time, time))
            continue
        if not found:
            continue
        last = found[-1]
        last.end = max(last.end, time)
        last.deeds += reading.list_deeds(item)
    return found


def _list_task(transcript: bytes, agent: str, tasks: Mapping[str, bytes]) -> list[Deed]:
    """What a subagent did."""
    items = [*list_items(transcript, of_subagent=True)]
    reading = _Reading(items, agent, tasks)
    deeds: list[Deed] = []
    for item in items:
        deeds += reading.list_deeds(item)
    return deeds


class _Reading:
    """Reads the items of a transcript.  agent, tasks: as for list_prompted()."""

    def __init__(self, items: Sequence[Item], agent: str, tasks: Mapping[str, bytes]) -> None:
        client = agents.find_client(agent)
        self._kinds = {**_KINDS, **client.KINDS}
        self._failed = {item["id"] for item in items if item["failed"]}
        self._failed.discard("")
        self._agent = agent
        self._tasks = tasks
        self._contents: dict[str, str] = {}  # path -> what was written there last

    def list_deeds(self, item: Item) -> Iterator[Deed]:
        """What an item tells: words, a call, or each edit that it makes."""
        if item["kind"] == "answer":
            yield Deed(SAID, item["text"])
        elif item["kind"] == "call":
            yield from self._list_called(item)

    def _list_called(self, call: Item) -> Iterator[Deed]:
        name = call["name"]
        kind = self._kinds.get(name, READ)
        detail = find_detail(call["input"])
        if kind == WRITE and call["id"] in self._failed:
            yield Deed(FAILED, detail, name)
            return
        if kind == WRITE:
            edits = [*self._list_edits(call["input"])]
            yield from edits
            if edits:
                return
        if kind not in (SHELL, TASK, WRITE):
            kind = READ
        deed = Deed(kind, detail, name)
        if call["id"] in self._tasks:
            others = dict(self._tasks)
            deed.inner = _list_task(others.pop(call["id"]), self._agent, others)
        yield deed

    def _list_edits(self, given: Any) -> Iterator[Deed]:
        arguments = ensure_object(given)
        path = next((str(arguments[key]) for key in _PATHS if arguments.get(key)), "")
        texts = [value for value in arguments.values() if _is_patch(value)]
        if isinstance(given, str):
            texts = [given]
        for text in texts:
            yield from _list_patched(text)
        if texts or not path:
            return
        content = arguments.get("content")
        deed = Deed(WRITE, path)
        if isinstance(content, str):
            deed.count_edit(self._contents.get(path, ""), content)
            self._contents[path] = content
            yield deed
            return
        for edit in list_objects(arguments.get("edits")) or [arguments]:
            old = _get_first(edit, OLD)
            new = _get_first(edit, NEW)
            deed.count_edit(old, new)
            if old and path in self._contents:
                self._contents[path] = self._contents[path].replace(old, new, 1)
        yield deed


def _is_patch(value: object) -> bool:
    return isinstance(value, str) and value.lstrip().startswith("*** Begin Patch")


def _list_patched(patch: str) -> Iterator[Deed]:
    """Each file of a patch with its lines."""
    deeds = {path: Deed(WRITE, path) for path in agent_words.list_paths(patch)}
    for path, old, new in agent_words.parse_hunks(patch):
        deeds[path].count_edit(old or "", new)
    yield from deeds.values()


def _get_first(edit: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((edit[key] for key in keys if isinstance(edit.get(key), str)), "")
