"""What the heads of stored transcripts tell of sessions: whose task one is, and its title.

A client may run a subagent in a session of its own, and the original program stores that as any
other.  The file of what was read is a cache: without it the same is read again.
"""

from __future__ import annotations

import dataclasses

from gitcp import git
from gitcp.agents import find_client, transcripts
from gitcp.agents.reading import conversation
from gitcp.agents.transcripts import agent_words, heads
from gitcp.checkpoints import format
from gitcp.checkpoints.stored import list_chunks
from gitcp.errors import Error
from gitcp.git.files import load_sealed, seal_value, write_private
from gitcp.git.objects import cat_file
from gitcp.git.records import load_entry
from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gitcp.agents.transcripts.heads import Head
    from gitcp.checkpoints.format.schema import Part
    from gitcp.checkpoints.stored import Content, SessionEntry
    from gitcp.git.repo import Repo

_VERSION = 4  # higher with each change of what is kept
_ROOM = 4 << 20  # bytes of the file
_LONGEST = 1000  # characters of a prompt
_LARGEST = 1 << 20  # bytes of a transcript that is read for the prompt alone


class Heads:
    """Reads heads by the blobs of transcripts, each once in a repository."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._known: dict[str, Head] | None = None  # by blob
        self._changed = False

    def read(self, entries: Iterable[SessionEntry], with_prompts: bool = True) -> dict[str, Head]:
        """The heads of sessions, by session id: of those whose client may store tasks as sessions,
        and, with prompts, of those whose metadata name none, if their transcripts are not large."""
        asked: dict[str, tuple[str, str]] = {}  # blob -> (session id, agent)
        for entry in entries:
            agent = format.get_text(entry["metadata"], "agent")
            blob = _find_first_blob(entry)
            if not blob:
                continue
            has_tasks = find_client(agent).load_head_reader() is not None
            if has_tasks or (with_prompts and self._is_asked(entry, blob)):
                asked[blob] = entry["session_id"], agent
        if not asked:
            return {}
        known = self._load()
        unread: list[str] = []
        for blob in asked:
            if blob not in known or (with_prompts and known[blob].prompt is None):
                unread.append(blob)
        self._read_blobs(unread, asked, with_prompts)
        return {asked[blob][0]: known[blob] for blob in asked if blob in known}

    def _is_asked(self, entry: SessionEntry, blob: str) -> bool:
        """Whether only the transcript tells what led to a session's commit: prompt.txt has no mark
        that ends a prompt but what a prompt may have, too."""
        if _has_causes(entry["metadata"]):
            return False
        if blob in self._load():
            return True
        if cat_file.find_promisor(self._repo):
            return False  # a row is not worth fetching a conversation
        try:
            return self._repo.objects.read_size(blob) < _LARGEST
        except Error:
            return False

    def find_whole(self, entry: SessionEntry) -> Head | None:
        """The head of a session whose transcript is one blob, if it was read before."""
        if len(list_chunks(entry["files"])) != 1:
            return None
        return self._load().get(_find_first_blob(entry))

    def note(self, entry: SessionEntry, transcript: bytes) -> Head:
        """The head of a session whose whole transcript was read for something else."""
        head = _read_head(transcript, format.get_text(entry["metadata"], "agent"))
        if head.parent and len(list_chunks(entry["files"])) == 1:
            self._load()[_find_first_blob(entry)] = head
            self._changed = True
        return head

    def add(self, parts: Iterable[Part], entries: Iterable[SessionEntry]) -> None:
        """Add `parent` and `title` to the parts of sessions of which they are known, and the prompt
        where the metadata name none."""
        found = self.read(entries)
        for part in parts:
            head = found.get(part["session_id"])
            if head is None:
                continue
            if head.parent:
                part["parent"] = head.parent
            if head.title:
                part["title"] = head.title
            if head.prompt and not any(cause["prompt"] for cause in part["files"].values()):
                part["asked"] = [head.prompt]

    def _load(self) -> dict[str, Head]:
        if self._known is None:
            kept = load_sealed(_locate(self._repo), _VERSION) or {}
            self._known = {blob: heads.Head(*fields) for blob, fields in kept.items()}
        return self._known

    def _read_blobs(
        self, unread: Sequence[str], asked: dict[str, tuple[str, str]], with_prompts: bool
    ) -> None:
        if not unread:
            return
        known = self._load()
        for blob, answer in zip(unread, self._repo.objects.read_each(unread), strict=True):
            if answer:
                head = _read_head(answer[2], asked[blob][1])
                if with_prompts and not head.parent:
                    sent = conversation.list_prompts(answer[2], load_entry) or [""]
                    head.prompt = sent[-1][:_LONGEST]
                known[blob] = head
                self._changed = True
        self.save()

    def save(self) -> None:
        """Keep what was read; in a repository that cannot be written, nothing."""
        if not self._changed:
            return
        self._changed = False
        kept = {blob: dataclasses.astuple(head) for blob, head in self._load().items()}
        data = seal_value(_VERSION, kept)
        if len(data) > _ROOM:
            return
        try:
            write_private(self._repo, _locate(self._repo), data)
        except (Error, OSError) as e:
            git.append_trace("files", str(e))


def _read_head(transcript: bytes, agent: str) -> Head:
    """The head of a transcript, without the prompt; empty unless the client stores tasks as
    sessions."""
    reader = find_client(agent).load_head_reader()
    if reader is None:
        return heads.Head()
    head: Head = reader.read_head(transcript)
    if head.parent:
        head.prompt = ""
        head.may_edit = agent_words.may_have_edit(transcript)
    return head


def list_sent(content: Content) -> list[str]:
    """The prompts that the person of a stored session sent, in order."""
    spoken = conversation.list_prompts(content.transcript)
    return prompt_text.list_sent(spoken, prompt_text.join_prompts(content.prompts))


def _locate(repo: Repo) -> str:
    return repo.join_shared_cache("heads")


def _has_causes(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata name the prompts that led to a commit, which the original's do not."""
    causes = metadata.get("files")
    return isinstance(causes, dict) and bool(causes)


def _find_first_blob(entry: SessionEntry) -> str:
    """The blob in which the transcript of a session begins; '' for none."""
    files = entry["files"]
    numbered = {}
    for name in files:
        number = transcripts.parse_number(name)
        if number is not None:
            numbered[number] = name
    if not numbered:
        return ""
    return str(files[numbered[min(numbered)]][1])
