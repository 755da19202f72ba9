"""What the checkpoints of a stream recorded of a path: which session wrote which content."""

from __future__ import annotations

from gitcp.core.git.porcelain import GONE
from gitcp.store.stream import state_copy, stream_history

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gitcp.core.record_types import Entry, File, Tip
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.git.tree import Lookup

    Files = dict[str, File]


class Recorded:
    """The records that the copies of states in a stream's checkpoints have, newest first."""

    def __init__(self, repo: Repo, objects: Objects, tip: Tip) -> None:
        self._objects, self._tip = objects, tip
        self._copies: list[tuple[str, Files]] | None = None
        self._repo = repo

    def after(
        self, session_id: str, files: Files, now: Mapping[str, Entry | None], head: Lookup
    ) -> Files:
        """files of a session when the paths of now have become what now says.

        A path that is as in HEAD, or gone and not in HEAD, is no work any more.  One whose
        content this session recorded before is its work again; other content is left as it
        was recorded.
        """
        recorded = dict(files)
        for path, entry in now.items():
            if entry == head(path):
                recorded.pop(path, None)
            elif record := self._record(session_id, path, entry):
                recorded[path] = record
        return recorded

    def _record(self, session_id: str, path: str, entry: Entry | None) -> File | None:
        wanted = (entry[0], entry[1]) if entry else (GONE, "")
        if self._copies is None:
            self._copies = list(self._read())
        for owner, files in self._copies:
            record = files.get(path) if owner == session_id else None
            if record and (record["mode"], record["oid"]) == wanted:
                return record
        return None

    def _read(self) -> Iterator[tuple[str, Files]]:
        chain = stream_history.chains(self._repo, [self._tip])[self._tip["ref"]]
        for copy in state_copy.along(self._objects, chain):
            for stream in copy["streams"]:
                if stream["id"] == self._tip["stream"]:
                    yield copy["session_id"], stream["files"]
