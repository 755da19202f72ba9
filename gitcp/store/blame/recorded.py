"""What the sessions of checkpoints recorded, read for many checkpoints at once."""

from __future__ import annotations

import json
from contextlib import suppress

from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.store.git.tree import read_tree
from gitcp.store.v1 import committed_list, committed_read, committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gitcp.core.blame.authors import Record
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched


class Recorded:
    """The records of checkpoints by id, each read once until forget()."""

    def __init__(self, repo: Repo, objects: Prefetched) -> None:
        self._objects = objects
        self.places = committed_refs.Places(repo, objects)
        self._known: dict[str, list[Record]] = {}

    def prefetch(self, ids: Iterable[str]) -> None:
        """Read these now, by a few questions to git however many they are."""
        places = {}
        for checkpoint_id in dict.fromkeys(ids):
            if checkpoint_id not in self._known:
                with suppress(Error):  # of() tells what is not readable: nothing is known
                    places[checkpoint_id] = self.places.find(checkpoint_id)
        trees = [place[1] for place in places.values() if place]
        committed_list.prepare(self._objects, trees, summary.LINES, brief=True)

    def of(self, checkpoint_id: str) -> list[Record]:
        """What each session of a checkpoint recorded; [] where it is not here or unreadable."""
        if checkpoint_id not in self._known:
            try:
                place = self.places.find(checkpoint_id)
                stored = (
                    committed_read.load(self._objects, checkpoint_id, *place, brief=True)
                    if place
                    else None
                )
            except Error:
                stored = None
            self._known[checkpoint_id] = [
                {
                    "checkpoint_id": checkpoint_id,
                    "session_id": entry["session_id"],
                    "metadata": entry["metadata"],
                    "lines": self._lines(entry["tree"]),
                    "time": str(entry["metadata"].get("created_at") or ""),
                }
                for entry in (stored["sessions"] if stored else ())
            ]
        return self._known[checkpoint_id]

    def forget(self) -> None:
        """Let go of what was read: memory stays flat however many are asked for."""
        self._known.clear()
        self._objects.forget()

    def _lines(self, tree: str) -> dict[str, Any] | None:
        try:
            entry = read_tree(self._objects, tree).get(summary.LINES)
            data = self._objects.need(entry[1], "blob") if entry else b""
            value = json.loads(data) if data else None
        except (Error, ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None
