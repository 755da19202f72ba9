"""The sessions that a page tells of: who asked what, and what the agent said at each edit."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

from gitcp.agents import find_client
from gitcp.agents.reading.turns import gather_turns
from gitcp.checkpoints.heads import Heads
from gitcp.checkpoints.stored import Parts, Places, pick_session, read_task_transcripts
from gitcp.errors import Error
from gitcp.git.records import load_entry
from gitcp.lines.tally import find_model
from gitcp.text import prompt_text, term
from gitcp.text.times import parse_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.agents.reading.turns import GatheredTurn, Part
    from gitcp.checkpoints.format.line_authors import Author
    from gitcp.checkpoints.stored import SessionEntry, StoredCheckpoint
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Record

    Wanted = Mapping[str, Sequence[str]]  # session id -> its checkpoints, the newest first


@dataclass(slots=True)
class PageSession:
    """A session.

    title: that its client gave it, '' for none.  parent: the session whose task it is, '' for none.
    turns: empty if its transcript is not here.
    """

    session_id: str
    agent: str
    model: str = ""
    title: str = ""
    parent: str = ""
    turns: list[GatheredTurn] = field(default_factory=list)
    _said: dict[str, str] | None = None  # tool use -> words

    @property
    def start(self) -> float:
        """When its first turn began, in s since 1970; 0 if unknown."""
        for turn in self.turns:
            if turn["start"]:
                return parse_seconds(turn["start"])
        return 0.0

    @property
    def resume(self) -> str:
        """The command that goes on with it; '' for none."""
        return find_client(self.agent).format_resume_command(self.session_id)

    def find_number(self, author: Author) -> int:
        """The number of the prompt behind a line; 0 if it is not known."""
        asked = {turn["number"]: turn["prompt"] for turn in self.turns}
        return prompt_text.find_number(asked, author) or (author["number"] or 0)

    def find_turn(self, number: int) -> GatheredTurn | None:
        """The turn with a number."""
        for turn in self.turns:
            if turn["number"] == number:
                return turn
        return None

    def find_turn_at(self, time: float) -> GatheredTurn | None:
        """The last turn that began at or before a time."""
        found = None
        for turn in self.turns:
            if turn["start"] and parse_seconds(turn["start"]) <= time:
                found = turn
        return found

    def find_words(self, call: str) -> str:
        """What the agent said at a tool use: before it, else after it; '' if nothing is known."""
        if self._said is None:
            self._said = {}
            for turn in self.turns:
                _note_words(turn["parts"], self._said)
        return self._said.get(call, "")


def _note_words(parts: Sequence[Part], said: dict[str, str]) -> None:
    """Add the words at the calls of parts, and at those of their subagents."""
    last = ""
    silent: list[str] = []  # calls before which nothing was said
    for part in parts:
        if part["kind"] == "answer" and part["text"].strip():
            last = part["text"].strip()
            for call in silent:
                said.setdefault(call, last)
            silent = []
        elif part["kind"] == "call":
            for call in part["ids"]:
                if last:
                    said.setdefault(call, last)
                else:
                    silent.append(call)
            _note_words(part.get("task", ()), said)


def list_wanted(records: Iterable[Record]) -> dict[str, list[str]]:
    """The sessions of commit records (newest first), the oldest first; as Wanted."""
    wanted: dict[str, list[str]] = {}
    for record in records:
        for checkpoint in record["checkpoints"]:
            for part in checkpoint.get("contents", ()):
                wanted.setdefault(part["session_id"], []).append(checkpoint["checkpoint_id"])
    return dict(reversed(wanted.items()))


def read_sessions(repo: Repo, wanted: Wanted) -> dict[str, PageSession]:
    """The sessions with their turns, and those whose tasks they are, by id.

    The transcript is that of a session's newest checkpoint, which has all turns; those of its
    subagents are in the checkpoints of the commits that they worked for.
    """
    reader = _Reader(repo, wanted)
    for session_id in term.iterate_shown("reading sessions", [*wanted]):
        reader.read(session_id, wanted[session_id])
    return reader.sessions


class _Reader:
    """Reads checkpoints, each once."""

    def __init__(self, repo: Repo, wanted: Wanted) -> None:
        self.sessions: dict[str, PageSession] = {}
        self._objects = repo.objects
        self._root = (repo.top or repo.common) + "/"
        self._heads = Heads(repo)
        self._places = _find_checkpoints(repo, [*chain.from_iterable(wanted.values())])
        self._parts: dict[str, Parts] = {}
        self._loaded: dict[str, StoredCheckpoint] = {}

    def read(self, session_id: str, checkpoint_ids: Sequence[str]) -> None:
        """Read a session, and the one whose task it is; nothing if it is damaged, or not here."""
        here = [name for name in checkpoint_ids if name in self._places]
        if not here or session_id in self.sessions:
            return
        checkpoint = self._load(here[0])
        try:
            entry = pick_session(checkpoint, session_id)
        except Error:
            return
        heads = self._heads.read([entry], with_prompts=False)
        head = heads.get(session_id)
        title = ""
        parent = ""
        if head is not None:
            title = head.title
            parent = head.parent
        metadata = entry["metadata"]
        self.sessions[session_id] = PageSession(
            session_id,
            str(metadata.get("agent") or "agent"),
            str(metadata.get("model") or find_model(metadata.get("turns"))),
            title,
            parent,
            self._read_turns(entry, here),
        )
        if parent:
            self.read(parent, here)

    def _load(self, checkpoint_id: str) -> StoredCheckpoint:
        if checkpoint_id not in self._loaded:
            parts = Parts(self._objects, checkpoint_id)
            self._parts[checkpoint_id] = parts
            ref, tree = self._places[checkpoint_id]
            self._loaded[checkpoint_id] = parts.load_checkpoint(ref, tree)
        return self._loaded[checkpoint_id]

    def _read_turns(self, entry: SessionEntry, here: Sequence[str]) -> list[GatheredTurn]:
        """The turns of a transcript; paths are relative to the worktree's root."""
        tasks: dict[str, bytes] = {}
        for checkpoint_id in reversed(here):
            _, folder = self._places[checkpoint_id]
            tasks |= read_task_transcripts(self._objects, checkpoint_id, folder)
        data = self._parts[here[0]].read_transcript(entry["files"], entry["directory"])
        turns = gather_turns(data, None, tasks, load_entry)
        todo: list[Part] = []
        for turn in turns:
            todo += turn["parts"]
        for part in todo:
            if "path" in part:
                part["path"] = part["path"].removeprefix(self._root)
            todo += part.get("task", ())
        return turns


def _find_checkpoints(repo: Repo, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """id -> (ref, directory) of checkpoints that are here, whose directories are fetched."""
    places = Places(repo)
    repo.objects.ahead.fetch(places.list_unread_shards(ids))
    directories: dict[str, tuple[str, str]] = {}
    for checkpoint_id in dict.fromkeys(ids):
        place = places.find_checkpoint(checkpoint_id)
        if place is not None:
            directories[checkpoint_id] = place
    repo.objects.ahead.fetch(tree for _, tree in directories.values())
    return directories


def parse_seconds(stamp: object) -> float:
    """Seconds since 1970, from an ISO time or milliseconds since 1970; 0 for anything else."""
    if isinstance(stamp, str) and stamp.isdecimal():
        return int(stamp) / 1000
    return parse_time(stamp)


def build_turn_record(turn: GatheredTurn, line: str) -> dict[str, Any]:
    """A turn in a record `page`; line: the first of its prompt."""
    times = {key: parse_seconds(turn[key]) for key in ("start", "end")}
    return {"number": turn["number"], "line": line, **times}
