"""The directory of one checkpoint while it is written: its sessions, numbered without gaps."""

from __future__ import annotations

from gitcp import VERSION
from gitcp.core.lines import attribution
from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary
from gitcp.record import format_now
from gitcp.store.git.tree import TREE, edit_tree, read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.record_types import Entry
    from gitcp.store.git.objects import Objects

BLOB = "100644"
_STRATEGY = "manual-commit"


class Checkpoint:
    """The directory of checkpoint_id: tree (None: empty) and the sessions that are put in."""

    def __init__(self, objects: Objects, checkpoint_id: str, tree: str | None) -> None:
        self._objects, self._id = objects, checkpoint_id
        self._old = tree
        entries = read_tree(objects, tree) if tree else {}
        self._numbers = list_numbers(entries)
        self._dirs: list[str] = [entries[n][1] for n in self._numbers]
        self._edits: dict[str, Entry | None] = {}

    def put_session(
        self,
        session_id: str,
        metadata: Mapping[str, Any],
        files: Mapping[str, Entry],
        tasks: Mapping[str, Entry],
        lines: Mapping[str, Any] | None = None,
    ) -> None:
        """Put in one session, at its index or as the last.

        files: by name in its directory; a transcript replaces all stored chunks.  tasks: by path
        in the checkpoint.  lines: joined with the stored ones.
        """
        index = self._find_index(session_id)
        base = self._dirs[index] if index < len(self._dirs) else None
        old = self._read_metadata(base) if base else None
        new = {**metadata, "checkpoint_id": self._id, "session_id": session_id}
        if old is None:
            defaults = {"cli_version": VERSION, "created_at": format_now(), "strategy": _STRATEGY}
            new = {**defaults, **new}
        edits: dict[str, Entry | None] = {}
        if base and chunks.NAME in files:
            folder = read_tree(self._objects, base)
            edits = {name: None for name in folder if chunks.parse_number(name) is not None}
        edits.update(files)
        if lines:
            stored = read_tree(self._objects, base) if base else {}
            stored_lines = read_json(self._objects, stored, summary.LINES)
            data = summary.dump_json(attribution.join_entries(stored_lines, lines))
            edits[summary.LINES] = (BLOB, self._objects.write("blob", data))
        blob = self._objects.write("blob", summary.dump_json(summary.merge_metadata(old, new)))
        edits[summary.METADATA] = (BLOB, blob)
        self._dirs[index:] = [edit_tree(self._objects, base, edits), *self._dirs[index + 1 :]]
        self._edits.update(tasks)

    def write_tree(self) -> str:
        """Write the tree of the checkpoint; return its oid."""
        old = read_tree(self._objects, self._old) if self._old else {}
        root = read_json(self._objects, old, summary.METADATA)
        folders = [read_tree(self._objects, folder) for folder in self._dirs]
        sessions = [(read_json(self._objects, f, summary.METADATA), f.keys()) for f in folders]
        root_json = summary.dump_json(summary.summarize(self._id, root, sessions))
        edits: dict[str, Entry | None] = dict.fromkeys(self._numbers)
        edits |= {str(n): (TREE, d) for n, d in enumerate(self._dirs)}
        edits[summary.METADATA] = (BLOB, self._objects.write("blob", root_json))
        return edit_tree(self._objects, self._old, {**edits, **self._edits})

    def list_session_ids(self) -> list[str]:
        """The ids of the sessions in their order, "" for one without metadata."""
        return [str((self._read_metadata(tree) or {}).get("session_id", "")) for tree in self._dirs]

    def _find_index(self, session_id: str) -> int:
        stored = self.list_session_ids()
        indices = [i for i, stored_id in enumerate(stored) if stored_id == session_id]
        return indices[-1] if indices else len(stored)

    def _read_metadata(self, tree: str) -> summary.Metadata | None:
        return read_json(self._objects, read_tree(self._objects, tree), summary.METADATA)


def read_json(objects: Objects, entries: Mapping[str, Entry], name: str) -> dict[str, Any] | None:
    """The JSON object in a file among entries; None if there is none, or it is no object."""
    entry = entries.get(name)
    return summary.parse_json(objects.need(entry[1], "blob")) if entry else None


def list_numbers(entries: Mapping[str, Entry]) -> list[str]:
    """The names of the session directories among entries, in their order."""
    digits = [n for n in entries if n.isdigit() and n.isascii() and entries[n][0] == TREE]
    return sorted(digits, key=int) if len(digits) > 1 else digits
