"""Reading committed checkpoints, in every shape they were ever written
(doc/formats.md "Accepted variations")."""

from __future__ import annotations

from gitcp.core import json
from gitcp.core.transcript import chunks
from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.record import decode_name
from gitcp.store.git.tree import TREE
from gitcp.store.v1 import committed_refs
from gitcp.store.v1.committed_tree import list_numbers
from gitcp.store.v1.parts import Parts
from gitcp.store.v1.transcript import hash_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypedDict

    from gitcp.core.record_types import Tree
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


def read_checkpoint(repo: Repo, objects: Objects, checkpoint_id: str) -> Checkpoint:
    """A checkpoint by its full id; raises Error if there is none."""
    place = committed_refs.find_checkpoint(repo, objects, checkpoint_id)
    if place is None:
        raise Error(f"no such checkpoint: '{checkpoint_id}'")
    return load_checkpoint(objects, checkpoint_id, *place)


def list_session_ids(repo: Repo, objects: Objects, checkpoint_id: str) -> list[str]:
    """The ids of a checkpoint's sessions; [] if there is no such checkpoint."""
    place = committed_refs.find_checkpoint(repo, objects, checkpoint_id)
    sessions = load_checkpoint(objects, checkpoint_id, *place)["sessions"] if place else []
    return [entry["session_id"] for entry in sessions]


def load_checkpoint(
    objects: Objects,
    checkpoint_id: str,
    ref: str,
    tree: str,
    trees: Mapping[str, Tree] | None = None,
    brief: bool = False,
    parse: Callable[[bytes], Any] = json.loads,
) -> Checkpoint:
    """The checkpoint whose directory is tree, as far as it can be read; trees, parse: as for Parts.

    brief: leave summary empty if there is only one session, which is found without it.
    """
    parts = Parts(objects, checkpoint_id, trees, parse)
    entries = parts.read_tree(tree)
    only = find_sole_session(entries) if brief else ""
    root = {} if only else parts.read_json(entries)
    sessions: list[SessionEntry] = []
    for name in [only] if only else list_directories(entries, root):
        folder = entries[name][1] if name else tree
        files = parts.read_tree(folder, name) if name else entries
        metadata = _build_metadata(files, parts.read_json(files, name) if name else root)
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
        "checkpoint_id": checkpoint_id,
        "ref": ref,
        "tree": tree,
        "summary": root,
        "sessions": sessions,
        "lacks": parts.lacks,
    }


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
    names = list(entries.keys() - {summary.METADATA, "tasks"})
    return names[0] if len(names) == 1 and names == list_numbers(entries) else ""


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
    own = [""] if "session_id" in root and "sessions" not in root else []
    return list(dict.fromkeys([*own, *listed, *folders]))


def read_session(objects: Objects, checkpoint: Checkpoint, which: int | str) -> Content:
    """What one session of a checkpoint stored, by index or session id.

    A wrong hash is no error (doc/formats.md "Committed checkpoint").  Raises Error if the
    checkpoint has no such session.
    """
    entry, parts = pick_session(checkpoint, which), Parts(objects, checkpoint["checkpoint_id"])
    folder = entry["directory"]
    files = parts.read_tree(entry["tree"], folder)
    transcript = b"\n".join(_read_chunks(files, lambda name: parts.read_blob(files, name, folder)))
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
        "tasks": _choose_tasks(checkpoint, entry, parts.list_files(tasks, "tasks")),
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
            parts.note_lack(f"tasks/{task}", f"no transcript: {why}")
    return transcripts


def _read_reason(parts: Parts, files: Tree, folder: str) -> str:
    """Why the transcript of a subagent was not stored; "" if its task does not say."""
    task = summary.parse_json(parts.read_blob(files, "task.json", folder)) or {}
    return summary.get_text(task, "transcript_unavailable_reason")


def read_pieces(objects: Objects, files: Tree) -> Iterator[bytes]:
    """Yield the chunks of a session's transcript, to be joined with newlines; the lines of the
    compact transcript if only that is stored."""
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
    return "match" if stored == hash_content(transcript) else "differs"
