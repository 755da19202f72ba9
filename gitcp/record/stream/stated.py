"""Temporary checkpoints that a script describes instead of the worktree."""

from __future__ import annotations

from gitcp.agents import transcripts
from gitcp.checkpoints.redactor import Lazy, redact_text
from gitcp.errors import InputError
from gitcp.git.objects import Lookup, find_tree
from gitcp.record.journal import edits
from gitcp.record.stream import find_current, writing
from gitcp.text.ids import EXECUTABLE, FILE, LINK, check_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.git.objects import Objects
    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Entry, Passed, State, WrittenCheckpoint

_MODES = (FILE, EXECUTABLE, LINK)


def write_stated(repo: Repo, state: State, head: str, record: Passed) -> WrittenCheckpoint:
    """Write the checkpoint of a session that a record describes; a record of type "checkpoint".

    head: HEAD when the process began.  files: path -> [mode, oid], or None for deleted, for every
    path that differs from HEAD.  metadata: name -> text, which is redacted here.  Raises
    InputError, with nothing written.
    """
    session_id = state["session_id"]
    message = record.get("message")
    if not isinstance(message, str) or not message.strip():
        raise InputError("'message' of a checkpoint must be a text that is not empty")
    files = _parse_files(repo.objects, record)
    metadata = _store_metadata(repo, record)
    head_tree = find_tree(repo.objects, head)
    head_lookup = Lookup(repo.objects, head_tree)
    tip = find_current(repo, state, head)
    mine = {path: entry for path, entry in files.items() if entry != head_lookup(path)}
    content: writing.Content = {
        "head": head,
        "head_tree": head_tree,
        "entries": files,
        "seen": tip["oid"] if tip else None,
        "mine": mine,
        "undone": set(),
        "away": {},
        "start": {},
        "metadata": metadata,
        "subject": redact_text(repo, message, session_id).partition("\n")[0],
        "trailers": [],
    }
    stated_files = {
        path: (entry, state.get("turn_id", "")) for path, entry in content["mine"].items()
    }
    edits.record_edits(repo, session_id, head, stated_files)
    oid = writing.write_checkpoint(repo, state, content)
    return {"type": "checkpoint", "oid": oid, "ref": state["shadow_ref"], "session_id": session_id}


def _parse_files(objects: Objects, record: Passed) -> dict[str, Entry | None]:
    files = record.get("files")
    if not isinstance(files, dict):
        raise InputError("'files' of a checkpoint must be an object")
    entries: dict[str, Entry | None] = {}
    for path, entry in files.items():
        name = check_path(path)
        if entry is None:
            entries[name] = None
        else:
            entries[name] = _parse_entry(objects, path, entry)
    return entries


def _parse_entry(objects: Objects, path: str, entry: object) -> Entry:
    parts = entry if isinstance(entry, list) else []
    if len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise InputError(f"'files' has no mode and oid for {path!a}")
    mode, oid = parts
    blob = None
    if mode in _MODES and len(oid) >= 40:
        blob = objects.read(oid)
    if blob is None or blob[1] != "blob":
        raise InputError(f"'files' names no blob for {path!a}")
    return mode, oid


def _store_metadata(repo: Repo, record: Passed) -> dict[str, Entry]:
    metadata = record.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(t, str) for t in metadata.values()):
        raise InputError("'metadata' of a checkpoint must be an object of texts")
    redactor = Lazy(repo, str(record.get("session_id")))
    entries = {}
    for name, text in metadata.items():
        if name.startswith(transcripts.NAME):
            redact = redactor.redact_jsonl
        else:
            redact = redactor.redact_text
        data = redact(text.encode("utf-8", "surrogateescape"))
        entries[check_path(name)] = (FILE, repo.objects.write("blob", data))
    return entries
