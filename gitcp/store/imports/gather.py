"""The sessions and edits of conversations, by path: an index in memory, the contents in a file."""

from __future__ import annotations

import tempfile
from bisect import bisect_right

from gitcp.agents.reading import edits
from gitcp.core import json
from gitcp.core.git import ids
from gitcp.store.git.objects import Objects
from gitcp.store.imports import find

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from gitcp.core.record_types import Writer
    from gitcp.repo import Repo
    from gitcp.store.git.cat_file import Object
    from gitcp.store.imports.find import Conversation

    Place = tuple[int, int]  # offset and size


class Spool:
    """Bytes in a temporary file without a name."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as this
        self._end = 0

    def put(self, data: bytes) -> Place:
        """Store bytes; return their place."""
        self._file.seek(self._end)
        self._file.write(data)
        self._end += len(data)
        return self._end - len(data), len(data)

    def clear(self) -> None:
        """Drop all bytes."""
        self._end = 0

    def read(self, place: Place) -> bytes:
        """The bytes at a place."""
        self._file.seek(place[0])
        return self._file.read(place[1])


class Contents(Objects):
    """The objects of a repository, and contents that are not stored in it."""

    def __init__(self, repo: Repo) -> None:
        super().__init__(repo)
        self._spool = Spool()
        self._places: dict[str, Place] = {}

    def add(self, data: bytes | None) -> str:
        """Add a content; return the oid that it would have, '' for None."""
        if data is None:
            return ""
        oid = self.hash_object("blob", data)
        if oid not in self._places:
            self._places[oid] = self._spool.put(data)
        return oid

    def forget(self) -> None:
        """Drop all contents that were added."""
        self._places.clear()
        self._spool.clear()

    def read(self, spec: str) -> Object | None:
        """Read an object as Objects.read() does, or a content that was added."""
        if spec in self._places:
            return spec, "blob", self._spool.read(self._places[spec])
        return super().read(spec)


class Session:
    """A session by its conversations.  first, last: the times of its first and last edit, in ns."""

    def __init__(self, conversation: Conversation) -> None:
        self.client, self.session_id = conversation.client, conversation.session
        self.path, self.size, self.mtime = "", 0, 0.0  # of its own transcript
        self.turns: list[edits.Turn] = []
        self.first = self.last = 0

    def note_edit(self, at: int) -> None:
        """Note the time of an edit."""
        self.first, self.last = min(self.first or at, at), max(self.last, at)

    def make_turn_id(self, number: int) -> str:
        """The id of a turn, the same wherever it is imported."""
        name = f"{self.session_id} {number}".encode()
        return str(ids.start_sha256(name).hexdigest()[:12])

    def get_turn_number(self, at: int) -> int:
        """The number of the turn at a time in ns."""
        return max(1, bisect_right([turn["at"] for turn in self.turns], at))


class Gathered:
    """The sessions of conversations, and their edits by path."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self._spool = Spool()
        # path -> (time in ns, session, turn, call, whether it is a subagent's, place) of each call
        self._calls: dict[str, list[tuple[int, str, int, str, bool, Place]]] = {}
        self._keys: set[tuple[str, int]] = set()  # call and time of all calls

    def read(self, conversation: Conversation, roots: Sequence[str]) -> None:
        """Add a conversation, unless it cannot be read.  A call that an older conversation also
        has belongs to the older one."""
        session = self.sessions.setdefault(conversation.session, Session(conversation))
        client, agent = conversation.client, conversation.agent
        reading = edits.Reading(client, conversation.cwd, agent, int(conversation.created * 10**9))
        keys: set[tuple[str, int]] = set()
        try:
            for edit in reading.read_edits(edits.read_entries(conversation.path)):
                path = find.make_relative(edit["path"], roots)
                key = edit["call"], edit["at"]
                if not path or not edit["at"] or key in self._keys:
                    continue
                keys.add(key)
                place = self._spool.put(json.dumps(edit["tells"]).encode())
                call = edit["at"], conversation.session, edit["turn"], edit["call"]
                self._calls.setdefault(path, []).append((*call, bool(agent), place))
                session.note_edit(edit["at"])
        except OSError:
            return
        if keys and not reading.is_timed:
            session.note_edit(int(conversation.mtime * 10**9))
        self._keys |= keys
        if not agent:
            session.path, session.turns = conversation.path, reading.turns
            session.size, session.mtime = conversation.size, conversation.mtime

    def list_paths(self) -> Iterable[str]:
        """The paths that calls wrote."""
        return self._calls.keys()

    def list_calls(self, path: str) -> Iterator[tuple[int, Writer, dict[str, Any]]]:
        """(time in ns, writer, content) of each call on a path, oldest first."""
        for at, session_id, number, call, of_subagent, place in sorted(self._calls[path]):
            session = self.sessions[session_id]
            turn_id = session.make_turn_id(session.get_turn_number(at) if of_subagent else number)
            yield at, (session_id, turn_id, call), json.loads(self._spool.read(place))

    def list_writers(self, path: str, since: int, until: int) -> set[str]:
        """The sessions that wrote a path between two times in s."""
        return {call[1] for call in self._calls[path] if since <= call[0] // 10**9 <= until}
