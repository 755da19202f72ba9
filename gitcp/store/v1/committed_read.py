"""Reading committed checkpoints, in every shape they were ever written
(doc/formats.md "Accepted variations")."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core import json
from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.start import late
from gitcp.store.git.tree import TREE, list_files, read_tree
from gitcp.store.v1 import committed_refs
from gitcp.store.v1.committed_tree import FILES, list_directories, list_numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypedDict

    from gitcp.core.record_types import Entry, Tree
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

    class SessionEntry(TypedDict):
        """A session in a checkpoint; directory is "" in the legacy layout, which has it at the
        root."""

        index: int
        directory: str
        tree: str
        files: Tree
        session_id: str
        metadata: dict[str, Any]

    class Checkpoint(TypedDict):
        """A checkpoint without its transcripts; summary: the stored JSON; lacks: the parts that
        could not be read."""

        checkpoint_id: str
        ref: str
        tree: str
        summary: dict[str, Any]
        sessions: list[SessionEntry]
        lacks: list[str]

    class Content(TypedDict):
        """What one session stored; hash: "match", "differs" or "absent"."""

        index: int
        session_id: str
        metadata: dict[str, Any]
        transcript: bytes
        prompts: list[str]
        context: str
        content_hash: str
        hash: str
        tasks: list[str]
        lacks: list[str]


_MOST = 20_000  # entries below one directory
_BESIDE = (summary.METADATA, "tasks")  # what a checkpoint has beside its sessions


class Parts:
    """A reader that does not stop at damage: lacks lists each part that could not be read, and
    why, and a warning names it.  absent: the oids of missing objects."""

    def __init__(
        self,
        objects: Objects,
        checkpoint_id: str,
        trees: Mapping[str, Tree] | None = None,
        parse: Callable[[bytes], Any] = json.loads,
    ) -> None:
        """trees: directories that were read before, by oid.  parse: used like json.loads()."""
        self._objects, self.checkpoint_id, self._known = objects, checkpoint_id, trees or {}
        self._parse = parse
        self.lacks: list[str] = []
        self.absent: list[str] = []

    def load_checkpoint(self, ref: str, tree: str, brief: bool = False) -> Checkpoint:
        """The checkpoint whose directory is tree, as far as it can be read.

        brief: leave summary empty if there is only one session, which is found without it.
        """
        entries = self.read_tree(tree)
        only = find_sole_session(entries) if brief else ""
        root = {} if only else self.read_json(entries, "", "root")
        sessions: list[SessionEntry] = []
        for name in [only] if only else list_directories(entries, root):
            folder = entries[name][1] if name else tree
            files = self.read_tree(folder, name) if name else entries
            metadata = _build_metadata(files, self.read_json(files, name) if name else root)
            sessions.append(
                {
                    "index": len(sessions),
                    "directory": name,
                    "tree": folder,
                    "files": files,
                    "session_id": metadata.get("session_id", ""),
                    "metadata": metadata,
                }
            )
        return {
            "checkpoint_id": self.checkpoint_id,
            "ref": ref,
            "tree": tree,
            "summary": root,
            "sessions": sessions,
            "lacks": self.lacks,
        }

    def note_lack(self, part: str, why: object, kind: str = notice.DAMAGED) -> None:
        """Note a part that is missing or damaged; kind: of notice.warn_lacking()."""
        line = f"{part}: {why}" if part else str(why)
        if line not in self.lacks:
            self.lacks.append(line)
        notice.warn_lacking(f"checkpoint '{self.checkpoint_id}': {line}", kind)

    def read_tree(self, oid: str, part: str = "") -> Tree:
        """The entries of a directory; {} if it is unreadable."""
        if oid in self._known:
            return self._known[oid]
        try:
            return read_tree(self._objects, oid)
        except Error as e:
            self.absent.append(oid)
            self.note_lack(part, e, notice.ABSENT)
            return {}

    def read_blob(self, files: Tree, name: str, folder: str = "") -> bytes | None:
        """The bytes of a file; None if there is none, or it is unreadable."""
        entry = files.get(name)
        if entry is None:
            return None
        where = f"{folder}/{name}" if folder else name
        if entry[0] not in FILES:
            self.note_lack(where, f"it is no file (mode {entry[0]})")
            return None
        try:
            return self._objects.need(entry[1], "blob")
        except Error as e:
            self.absent.append(entry[1])
            is_spoken = name == summary.NAME or chunks.parse_number(name) is not None
            self.note_lack(where, e, notice.TRANSCRIPT if is_spoken else notice.ABSENT)
            return None

    def read_json(
        self,
        files: Tree,
        folder: str = "",
        shape: str = "session",
        name: str = summary.METADATA,
    ) -> dict[str, Any]:
        """What conforms to a shape of schema.SHAPES in a directory's metadata; {} if it is
        unreadable or no JSON object."""
        data = self.read_blob(files, name, folder)
        content = summary.parse_json(data, self._parse) if data is not None else {}
        if content is None:
            self.note_lack(f"{folder}/{name}".strip("/"), "it is no JSON object")
            return {}
        conforming, complaints = late.schema.select_conforming(content, late.schema.SHAPES[shape])
        if complaints:
            self.note_lack(f"{folder}/{name}".strip("/"), _join_complaints(complaints))
        return conforming

    def read_lines(self, entry: SessionEntry) -> dict[str, Any] | None:
        """The lines.json of a session; None if there is none, or it is unreadable."""
        if summary.LINES not in entry["files"]:
            return None
        before = len(self.lacks)
        lines = self.read_json(entry["files"], entry["directory"], "lines", summary.LINES)
        return lines if lines or len(self.lacks) == before else None

    def read_prompts(self, files: Tree, folder: str = "") -> list[str]:
        """The prompts of a session's directory; [] if they are unreadable."""
        prompts = decode_name(self.read_blob(files, summary.PROMPT, folder) or b"")
        return prompts.split(summary.SEPARATOR) if prompts else []

    def read_transcript(self, files: Tree, folder: str = "") -> bytes:
        """The transcript in a session's directory, as far as it can be read."""
        return b"\n".join(_read_chunks(files, lambda name: self.read_blob(files, name, folder)))

    def list_paths(self, entry: Entry | None, part: str) -> list[str]:
        """The paths of the files below a directory, as far as it can be read."""
        paths: list[str] = []
        if entry and entry[0] == TREE:
            try:
                paths += (path for path, _ in list_files(self._objects, entry[1], most=_MOST))
            except Error as e:
                self.note_lack(part, e, notice.ABSENT)
        return paths


def read_checkpoint(repo: Repo, objects: Objects, checkpoint_id: str) -> Checkpoint:
    """A checkpoint by its full id; raises Error if there is none."""
    place = committed_refs.find_checkpoint(repo, objects, checkpoint_id)
    if place is None:
        raise Error(f"no such checkpoint: '{checkpoint_id}'")
    return Parts(objects, checkpoint_id).load_checkpoint(*place)


def _join_complaints(complaints: list[str]) -> str:
    more = f", and {len(complaints) - 1} more" if len(complaints) > 1 else ""
    return complaints[0] + more


def list_session_ids(repo: Repo, objects: Objects, checkpoint_id: str) -> list[str]:
    """The ids of a checkpoint's sessions; [] if there is no such checkpoint."""
    place = committed_refs.find_checkpoint(repo, objects, checkpoint_id)
    checkpoint = Parts(objects, checkpoint_id).load_checkpoint(*place) if place else None
    return [entry["session_id"] for entry in checkpoint["sessions"]] if checkpoint else []


def _build_metadata(files: Tree, stored: dict[str, Any]) -> dict[str, Any]:
    """A session's metadata in today's form; its transcript start is that of what read_pieces()
    reads."""
    metadata = summary.upgrade_metadata(stored)
    if summary.NAME in files and not _list_chunks(files):
        metadata["checkpoint_transcript_start"] = metadata.get("compact_transcript_start", 0)
    return metadata


def find_sole_session(entries: Tree) -> str:
    """The session directory of a checkpoint with one session; "" if there may be several, whose
    order is in the summary."""
    names = [name for name in entries if name not in _BESIDE]
    return names[0] if len(names) == 1 and names == list_numbers(entries) else ""


def read_session(objects: Objects, checkpoint: Checkpoint, which: int | str) -> Content:
    """What one session of a checkpoint stored, by index or session id.

    A wrong hash is no error (doc/formats.md "Committed checkpoint").  Raises Error if the
    checkpoint has no such session.
    """
    entry, parts = pick_session(checkpoint, which), Parts(objects, checkpoint["checkpoint_id"])
    folder = entry["directory"]
    files = parts.read_tree(entry["tree"], folder)
    transcript = parts.read_transcript(files, folder)
    stored = decode_name(parts.read_blob(files, summary.HASH, folder) or b"").strip()
    tasks = files.get("tasks") or parts.read_tree(checkpoint["tree"]).get("tasks")
    return {
        "index": entry["index"],
        "session_id": entry["session_id"],
        "metadata": entry["metadata"],
        "transcript": transcript,
        "prompts": parts.read_prompts(files, folder),
        "context": decode_name(parts.read_blob(files, summary.CONTEXT, folder) or b""),
        "content_hash": stored,
        "hash": _compare_hash(stored, transcript),
        "tasks": _choose_tasks(checkpoint, entry, parts.list_paths(tasks, "tasks")),
        "lacks": parts.lacks,
    }


def _choose_tasks(checkpoint: Checkpoint, entry: SessionEntry, paths: list[str]) -> list[str]:
    """The paths below tasks/ of the tasks that a session's metadata lists; if it lists none, of
    the tasks that no other session lists."""
    listed = {
        session["index"]: set(summary.list_strings((session["metadata"] or {}).get("tasks")))
        for session in checkpoint["sessions"]
    }
    own = listed.pop(entry["index"])
    foreign = set().union(*listed.values())
    tasks = ((path, path.split("/")[0]) for path in paths)
    return [path for path, task in tasks if (task in own if own else task not in foreign)]


def read_task_transcripts(objects: Objects, checkpoint_id: str, tree: str) -> dict[str, bytes]:
    """Tool use id -> the transcript of the subagent that it started, for those that are stored in
    the checkpoint whose directory is tree."""
    parts = Parts(objects, checkpoint_id)
    transcripts: dict[str, bytes] = {}
    mode, oid = parts.read_tree(tree).get("tasks", ("", ""))
    for task, (inner, below) in parts.read_tree(oid, "tasks").items() if mode == TREE else ():
        files = parts.read_tree(below, f"tasks/{task}") if inner == TREE else {}
        for name in files:
            if name.startswith("agent-") and name.endswith(".jsonl"):
                transcripts[task] = parts.read_blob(files, name, f"tasks/{task}") or b""
        if task not in transcripts and (why := _read_reason(parts, files, f"tasks/{task}")):
            parts.note_lack(f"tasks/{task}", f"no transcript: {why}", notice.TRANSCRIPT)
    return transcripts


def _read_reason(parts: Parts, files: Tree, folder: str) -> str:
    """Why the transcript of a subagent was not stored; "" if its task does not say."""
    task = summary.parse_json(parts.read_blob(files, "task.json", folder)) or {}
    return summary.get_text(task, "transcript_unavailable_reason")


def read_pieces(objects: Objects, files: Tree) -> Iterator[bytes]:
    """Yield the chunks of a session's transcript, to be joined with newlines; the lines of the
    compact transcript if only that is stored.  Raises Error if one is missing."""
    return _read_chunks(files, lambda name: objects.need(files[name][1], "blob"))


def _list_chunks(files: Tree) -> list[str]:
    numbered = {n: name for name in files if (n := chunks.parse_number(name)) is not None}
    return [numbered[n] for n in sorted(numbered)]


def _read_chunks(files: Tree, read: Callable[[str], bytes | None]) -> Iterator[bytes]:
    chunk_names = _list_chunks(files)
    yield from (data for name in chunk_names if (data := read(name)) is not None)
    if not chunk_names and summary.NAME in files:
        yield summary.expand_lines(read(summary.NAME) or b"")


def pick_session(checkpoint: Checkpoint, which: int | str) -> SessionEntry:
    """A session of a checkpoint, by index or id; raises Error if there is none."""
    # Some stores have a session twice in one checkpoint: the later one has more.
    matching = [e for e in checkpoint["sessions"] if which in (e["index"], e["session_id"])]
    if matching:
        return matching[-1]
    raise Error(f"no session '{which}' in checkpoint '{checkpoint['checkpoint_id']}'")


def _compare_hash(stored: str, transcript: bytes) -> str:
    if not stored:
        return "absent"
    return "match" if stored == late.transcript.hash_content(transcript) else "differs"
