"""Temporary checkpoints that a script describes instead of the worktree."""

from __future__ import annotations

from gitcp.core.git.ids import check_path, check_session_id
from gitcp.core.git.porcelain import EXECUTABLE, FILE, LINK
from gitcp.core.transcript import chunks
from gitcp.errors import InputError
from gitcp.store.git.tree import Lookup, find_tree
from gitcp.store.journal import open_edits
from gitcp.store.session import state as states
from gitcp.store.stream import branches, checkpoint
from gitcp.store.v1 import redaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.context import Context
    from gitcp.core.record_types import Entry, Record
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_MODES = (FILE, EXECUTABLE, LINK)


def write(ctx: Context, record: Record) -> Record:
    """Write the checkpoint that a record describes, and save its session's state; a record of
    type "checkpoint".

    files: path -> [mode, oid], or None for deleted, for every path that differs from HEAD.
    metadata: name -> text, which is redacted here.  A new session is created.  Raises InputError,
    with nothing written.
    """
    repo, objects = ctx.repo, ctx.objects
    session_id = check_session_id(record.get("session_id"))
    message = record.get("message")
    if not isinstance(message, str) or not message.strip():
        raise InputError("'message' of a checkpoint must be a text that is not empty")
    files, metadata = _parse_files(objects, record), _store_metadata(repo, objects, record)
    state = ctx.read_state(session_id) or states.make_state(
        repo, session_id, str(record.get("agent") or ""), ctx.head
    )
    head_tree = find_tree(objects, ctx.head)
    head_lookup = Lookup(objects, head_tree)
    tip = branches.find_current(repo, objects, state, ctx.head)
    content: checkpoint.Content = {
        "head": ctx.head,
        "head_tree": head_tree,
        "entries": files,
        "seen": tip["oid"] if tip else None,
        "mine": {path: entry for path, entry in files.items() if entry != head_lookup(path)},
        "undone": set(),
        "away": {},
        "start": {},
        "metadata": metadata,
        "subject": redaction.redact_text(repo, message, session_id).partition("\n")[0],
        "trailers": [],
    }
    stated_files = {
        path: (entry, state.get("turn_id", "")) for path, entry in content["mine"].items()
    }
    open_edits.record_edits(repo, objects, session_id, ctx.head, stated_files)
    oid = checkpoint.write(repo, objects, state, content)
    ctx.keep(state)
    return {"type": "checkpoint", "oid": oid, "ref": state["shadow_ref"], "session_id": session_id}


def _parse_files(objects: Objects, record: Record) -> dict[str, Entry | None]:
    files = record.get("files")
    if not isinstance(files, dict):
        raise InputError("'files' of a checkpoint must be an object")
    entries: dict[str, Entry | None] = {}
    for path, entry in files.items():
        entries[check_path(path)] = None if entry is None else _parse_entry(objects, path, entry)
    return entries


def _parse_entry(objects: Objects, path: str, entry: object) -> Entry:
    if not isinstance(entry, list) or len(entry) != 2 or not all(isinstance(e, str) for e in entry):
        raise InputError(f"'files' has no mode and oid for {path!a}")
    mode, oid = entry
    blob = objects.read(oid) if mode in _MODES and len(oid) >= 40 else None
    if blob is None or blob[1] != "blob":
        raise InputError(f"'files' names no blob for {path!a}")
    return mode, oid


def _store_metadata(repo: Repo, objects: Objects, record: Record) -> dict[str, Entry]:
    metadata = record.get("metadata", {})
    if not isinstance(metadata, dict) or not all(isinstance(t, str) for t in metadata.values()):
        raise InputError("'metadata' of a checkpoint must be an object of texts")
    redactor, entries = redaction.Lazy(repo, str(record.get("session_id"))), {}
    for name, text in metadata.items():
        redact = redactor.redact_jsonl if name.startswith(chunks.NAME) else redactor.redact_text
        data = redact(text.encode("utf-8", "surrogateescape"))
        entries[check_path(name)] = (FILE, objects.write("blob", data))
    return entries
