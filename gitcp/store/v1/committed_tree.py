"""One checkpoint's directory while it is written: its sessions, numbered without gaps."""

from __future__ import annotations

from gitcp import VERSION
from gitcp.core.lines import attribution
from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary
from gitcp.record import format_now
from gitcp.store.git.tree import TREE, edit_tree, find_entry, read_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.record_types import Entry
    from gitcp.store.git.objects import Objects

BLOB = "100644"
_STRATEGY = "manual-commit"


class Checkpoint:
    """The directory of checkpoint_id: what tree (None: nothing) has, and what is put in."""

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
        """Take one session in: at its index, or behind the others.

        files: by name in its directory; a transcript replaces the one before, whole.
        tasks: by path in the checkpoint.  lines: joined with those that are stored.
        """
        index = self._find_index(session_id)
        base = self._dirs[index] if index < len(self._dirs) else None
        old = self._read_metadata(base) if base else None
        new = {**metadata, "checkpoint_id": self._id, "session_id": session_id}
        if old is None:
            first = {"cli_version": VERSION, "created_at": format_now(), "strategy": _STRATEGY}
            new = {**first, **new}
        edits: dict[str, Entry | None] = {}
        if base and chunks.NAME in files:
            names = read_tree(self._objects, base)
            edits = {name: None for name in names if chunks.parse_number(name) is not None}
        edits.update(files)
        if lines:
            stored = read_tree(self._objects, base).get(summary.LINES) if base else None
            known = summary.parse_json(self._objects.need(stored[1], "blob")) if stored else None
            data = summary.dump_json(attribution.join_entries(known, lines))
            edits[summary.LINES] = (BLOB, self._objects.write("blob", data))
        blob = self._objects.write("blob", summary.dump_json(summary.merge_metadata(old, new)))
        edits[summary.METADATA] = (BLOB, blob)
        self._dirs[index:] = [edit_tree(self._objects, base, edits), *self._dirs[index + 1 :]]
        self._edits.update(tasks)

    def write_tree(self) -> str:
        """The tree of the checkpoint, directories numbered without gaps."""
        old = find_entry(self._objects, self._old, summary.METADATA) if self._old else None
        root = summary.parse_json(self._objects.need(old[1], "blob")) if old else None
        sessions = [
            (self._read_metadata(d), read_tree(self._objects, d).keys()) for d in self._dirs
        ]
        root_json = summary.dump_json(summary.summarize(self._id, root, sessions))
        gone: dict[str, Entry | None] = dict.fromkeys(self._numbers)
        kept: dict[str, Entry | None] = {str(n): (TREE, d) for n, d in enumerate(self._dirs)}
        top = {summary.METADATA: (BLOB, self._objects.write("blob", root_json))}
        return edit_tree(self._objects, self._old, {**gone, **kept, **top, **self._edits})

    def list_session_ids(self) -> list[str]:
        """The ids of the sessions in their order, "" where there is none."""
        return [str((self._read_metadata(tree) or {}).get("session_id", "")) for tree in self._dirs]

    def _find_index(self, session_id: str) -> int:
        stored = self.list_session_ids()
        last = [index for index, sid in enumerate(stored) if sid == session_id][-1:]
        return last[0] if last else len(stored)

    def _read_metadata(self, tree: str) -> summary.Metadata | None:
        entry = read_tree(self._objects, tree).get(summary.METADATA)
        return summary.parse_json(self._objects.need(entry[1], "blob")) if entry else None


def list_numbers(entries: Mapping[str, Entry]) -> list[str]:
    """The names of the session directories among entries, in their order."""
    digits = [n for n in entries if n.isdigit() and n.isascii() and entries[n][0] == TREE]
    return sorted(digits, key=int) if len(digits) > 1 else digits
