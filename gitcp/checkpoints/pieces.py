"""A stored transcript in pieces, each of which is read when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from gitcp.checkpoints.stored import list_chunks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.checkpoints.stored import SessionEntry
    from gitcp.git.objects import Objects


class StoredPieces(Sequence[bytes]):
    """The chunks of the transcript of a session in a checkpoint, to be joined with newlines."""

    def __init__(self, objects: Objects, entry: SessionEntry) -> None:
        self._objects = objects
        self._oids = [entry["files"][name][1] for name in list_chunks(entry["files"])]

    def __len__(self) -> int:
        return len(self._oids)

    def __getitem__(self, number: Any) -> Any:
        return self._objects.need(self._oids[number], "blob")
