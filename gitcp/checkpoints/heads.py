"""What the heads of stored transcripts tell of sessions: whose task one is, and its title.

A client may run a subagent in a session of its own, and the original program stores that as any
other.  The file of what was read is a cache: without it the same is read again.
"""

from __future__ import annotations

from gitcp import git
from gitcp.agents import find_client, transcripts
from gitcp.agents.reading import conversation
from gitcp.agents.transcripts.heads import Head
from gitcp.checkpoints import format
from gitcp.errors import Error
from gitcp.git.files import load_sealed, remove_file, seal_value, write_private
from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gitcp.checkpoints.format.schema import Part
    from gitcp.checkpoints.stored import SessionEntry
    from gitcp.git.repo import Repo

_VERSION = 1  # higher with each change of what is kept
_ROOM = 4 << 20  # bytes of the file
_LONGEST = 1000  # characters of a prompt


class Heads:
    """Reads heads by the blobs of transcripts, each once in a repository."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._known: dict[str, Head] | None = None  # by blob

    def read(self, entries: Iterable[SessionEntry]) -> dict[str, Head]:
        """The heads of those sessions whose client may store tasks as sessions, by session id."""
        blobs: dict[str, tuple[str, str]] = {}  # blob -> (session id, agent)
        for entry in entries:
            agent = format.get_text(entry["metadata"], "agent")
            blob = _find_first_blob(entry)
            if blob and find_client(agent).load_head_reader():
                blobs[blob] = entry["session_id"], agent
        if not blobs:
            return {}
        known = self._load()
        self._read_blobs([blob for blob in blobs if blob not in known], blobs)
        return {blobs[blob][0]: known[blob] for blob in blobs if blob in known}

    def add(self, parts: Iterable[Part], entries: Iterable[SessionEntry]) -> None:
        """Add `parent` and `title` to the parts of sessions of which they are known."""
        found = self.read(entries)
        for part in parts:
            head = found.get(part["session_id"])
            if head and head.parent:
                part["parent"] = head.parent
            if head and head.title:
                part["title"] = head.title
            if (
                head
                and head.prompt
                and not any(cause["prompt"] for cause in part["files"].values())
            ):
                part["asked"] = [head.prompt]  # prompt.txt has also what the client wrote

    def _load(self) -> dict[str, Head]:
        if self._known is None:
            kept = load_sealed(_locate(self._repo), _VERSION) or {}
            self._known = {blob: Head(*fields) for blob, fields in kept.items()}
        return self._known

    def _read_blobs(self, unread: Sequence[str], blobs: dict[str, tuple[str, str]]) -> None:
        if not unread:
            return
        known = self._load()
        for blob, answer in zip(unread, self._repo.objects.read_each(unread), strict=True):
            if answer:
                reader = find_client(blobs[blob][1]).load_head_reader()
                known[blob] = reader.read_head(answer[2]) if reader else Head()
                if not known[blob].parent:
                    known[blob].prompt = _find_last_prompt(answer[2])
        kept = {blob: (head.parent, head.title, head.prompt) for blob, head in known.items()}
        data = seal_value(_VERSION, kept)
        if len(data) > _ROOM:
            return
        try:
            write_private(self._repo, _locate(self._repo), data)
        except (Error, OSError) as e:  # a repository that cannot be written
            git.append_trace("files", str(e))


def forget(repo: Repo) -> None:
    """Keep nothing of what was read: it may have been taken out of the store."""
    remove_file(_locate(repo))


def _locate(repo: Repo) -> str:
    return repo.join_shared("heads")


def _find_last_prompt(transcript: bytes) -> str:
    """The last prompt that a person typed, its beginning if it is long; '' for none."""
    last = ""
    for role, text in conversation.list_entries(transcript):
        if role == "User" and prompt_text.name_prompt(text):
            last = text
    return last[:_LONGEST]


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
