"""The directory of one checkpoint: read to be changed, and written, its sessions numbered without
gaps."""

from __future__ import annotations

from gitcp import VERSION
from gitcp.core.lines import attribution
from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import format_now
from gitcp.store.git.tree import TREE, edit_tree, read_tree, write_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gitcp.core.record_types import Entry, Tree
    from gitcp.core.v1.merge_rules import Directory, Session
    from gitcp.store.git.objects import Objects

BLOB = "100644"
FILES = (BLOB, "100755")
_STRATEGY = "manual-commit"


class Checkpoint:
    """The directory of checkpoint_id: tree (None: empty) and the sessions that are put in."""

    def __init__(self, objects: Objects, checkpoint_id: str, tree: str | None) -> None:
        self._objects, self._id = objects, checkpoint_id
        self._directory = read_directory(objects, tree)
        self._tasks: dict[str, Entry] = {}

    def put_session(
        self,
        session_id: str,
        metadata: Mapping[str, Any],
        files: Mapping[str, Entry],
        tasks: Mapping[str, Entry],
        lines: Mapping[str, Any] | None = None,
    ) -> None:
        """Put in one session, at its index or as the last; one that was forgotten stays so.

        files: by name in its directory; a transcript replaces all stored chunks.  tasks: by path
        in the checkpoint.  lines: joined with the stored ones.
        """
        sessions = self._directory["sessions"]
        indices = [n for n, known in enumerate(self.list_session_ids()) if known == session_id]
        index = indices[-1] if indices else len(sessions)
        stored: Session = sessions[index] if indices else {"metadata": None, "files": {}}
        if summary.is_forgotten(stored["metadata"]):
            return
        new = {**metadata, "checkpoint_id": self._id, "session_id": session_id}
        if not indices:
            defaults = {"cli_version": VERSION, "created_at": format_now(), "strategy": _STRATEGY}
            new = {**defaults, **new}
        replaced = chunks.NAME in files
        kept = {
            name: entry
            for name, entry in stored["files"].items()
            if not (replaced and chunks.parse_number(name) is not None)
        }
        united = {**kept, **files}
        if lines:
            stored_lines = read_json(self._objects, stored["files"], summary.LINES)
            data = summary.dump_json(attribution.join_entries(stored_lines, lines))
            united[summary.LINES] = (BLOB, self._objects.write("blob", data))
        merged = summary.merge_metadata(stored["metadata"], new)
        sessions[index:] = [{"metadata": merged, "files": united}, *sessions[index + 1 :]]
        self._tasks.update(tasks)

    def write_tree(self) -> str:
        """Write the tree of the checkpoint; return its oid."""
        return write_directory(self._objects, self._id, self._directory, self._tasks)

    def list_session_ids(self) -> list[str]:
        """The ids of the sessions in their order, "" for one without metadata."""
        parsed = (session["metadata"] or {} for session in self._directory["sessions"])
        return [str(metadata.get("session_id", "")) for metadata in parsed]


def read_directory(
    objects: Objects, tree: str | None, largest: int = 0, *, lenient: bool = False
) -> Directory:
    """A checkpoint's directory in today's layout, from any that it was written in; None is empty.

    A metadata.json that is no JSON object, or has more than `largest` bytes, stays among the files.
    Raises Error if an object is missing; lenient: what it belongs to stays as it is.
    """
    entries = read_tree(objects, tree) if tree else {}
    files = {n: e for n, e in entries.items() if not (n.isascii() and n.isdigit())}
    root = _take_metadata(objects, files, largest, lenient)
    files.pop(summary.METADATA, None)
    sessions: list[Session] = []
    for name in list_directories(entries, root or {}):
        if name:
            sessions.append(_read_session(objects, entries[name][1], largest, lenient))
        else:  # the legacy layout
            own = {n: files.pop(n) for n, entry in [*files.items()] if entry[0] in FILES}
            sessions.append({"metadata": root, "files": own})
            root = None
    return {"root": root, "sessions": sessions, "files": files}


def _read_session(objects: Objects, tree: str, largest: int, lenient: bool) -> Session:
    try:
        files = read_tree(objects, tree)
    except Error:
        if not lenient:
            raise
        files = {}
    return {
        "metadata": _take_metadata(objects, files, largest, lenient),
        "files": files,
        "tree": tree,
    }


def _take_metadata(
    objects: Objects, files: Tree, largest: int, lenient: bool
) -> summary.Metadata | None:
    """Remove metadata.json from files and return it; one that cannot be used stays there."""
    mode, oid = files.get(summary.METADATA, ("", ""))
    try:
        if mode not in FILES or (largest and objects.read_size(oid) > largest):
            return None
        metadata = summary.parse_json(objects.need(oid, "blob"))
    except Error:
        if not lenient:
            raise
        return None
    if metadata is not None:
        del files[summary.METADATA]
    return metadata


def write_directory(
    objects: Objects,
    checkpoint_id: str,
    directory: Directory,
    tasks: Mapping[str, Entry] | None = None,
) -> str:
    """Write a checkpoint's directory; return the oid of its tree.  What the root has of a forgotten
    session is left out.

    tasks: files to add, by path in the checkpoint.
    """
    root, numbered = directory["root"], dict[str, tuple[str, str]]()
    sessions: list[summary.Session] = []
    for number, session in enumerate(directory["sessions"]):
        metadata, files = session["metadata"], session["files"]
        if metadata is not None:
            files = {**files, summary.METADATA: ("", "")}
        numbered[str(number)] = (TREE, session.get("tree") or _write_session(objects, session))
        sessions.append((metadata, files))
    edits: dict[str, Entry | None] = {**directory["files"], **(tasks or {})}
    gone = [metadata or {} for metadata, _ in sessions if summary.is_forgotten(metadata)]
    if gone and len(gone) == len(sessions):
        root, edits = None, {}
    elif gone and root:
        root = {**root, "files_touched": []}
    for metadata in gone:
        edits |= {f"tasks/{task}": None for task in summary.list_strings(metadata.get("tasks"))}
    data = summary.dump_json(summary.summarize(checkpoint_id, root, sessions))
    edits |= {**numbered, summary.METADATA: (BLOB, objects.write("blob", data))}
    return edit_tree(objects, None, edits)


def _write_session(objects: Objects, session: Session) -> str:
    files = dict(session["files"])
    if session["metadata"] is not None:
        data = summary.dump_json(session["metadata"])
        files[summary.METADATA] = (BLOB, objects.write("blob", data))
    return write_tree(objects, files)


def read_json(objects: Objects, entries: Mapping[str, Entry], name: str) -> dict[str, Any] | None:
    """The JSON object in a file among entries; None if there is none, or it is no object."""
    entry = entries.get(name)
    return summary.parse_json(objects.need(entry[1], "blob")) if entry else None


def list_numbers(entries: Mapping[str, Entry]) -> list[str]:
    """The names of the session directories among entries, in their order."""
    digits = [n for n in entries if n.isdigit() and n.isascii() and entries[n][0] == TREE]
    return sorted(digits, key=int) if len(digits) > 1 else digits


def list_directories(entries: Tree, root: dict[str, Any]) -> list[str]:
    """The session directories of a checkpoint: those of sessions[] in its order, then the others.

    Paths in sessions[] may be doubled or wrong: only the number before the file name counts.  ""
    is the checkpoint's own directory, which has the newest session in the legacy layout.
    """
    folders = list_numbers(entries)
    if len(folders) == 1 and "session_id" not in root:
        return folders
    listed = []
    sessions = root.get("sessions")
    for item in sessions if isinstance(sessions, list) else ():
        path = item.get("metadata") if isinstance(item, dict) else None
        parts = path.split("/") if isinstance(path, str) else []
        if len(parts) > 1 and parts[-2] in folders:
            listed.append(parts[-2])
    own = [""] if root.get("session_id") and "sessions" not in root else []
    return list(dict.fromkeys([*own, *listed, *folders]))
