"""gitcp-write-committed - write a committed checkpoint from records"""

from __future__ import annotations

import os
import sys

from gitcp.console import cli
from gitcp.core.git import ids
from gitcp.errors import InputError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from gitcp.core.record_types import Record, Stage
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1.committed_write import SessionData

_METADATA = """strategy branch created_at checkpoints_count files_touched agent turn_id is_task
tool_use_id checkpoint_transcript_start transcript_identifier_at_start token_usage summary
initial_attribution""".split()
# What a record need not say: the store has a value for it.
_DEFAULT = {
    "strategy": "manual-commit",
    "created_at": "1970-01-01T00:00:00Z",
    "checkpoints_count": 0,
}


def parser() -> cli.Parser:
    p = cli.Parser("write-committed")
    p.add_argument("-m", "--message", metavar="<subject>", help="the subject of the commit")
    return p


def bind(argv: Sequence[str]) -> Stage:
    """All session records go into one commit, which comes out as a record."""
    opts = parser().parse_args(argv)
    subject = " ".join(opts.message.split()) if opts.message else None
    return lambda records: _write(records, subject)


def _write(records: Iterable[Record], subject: str | None) -> Iterator[Record]:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.v1 import committed_write, redaction

    given = [r for r in records if r.get("type") == "session"]
    if not given:
        return
    repo, fresh = Repo.find(), os.urandom(6).hex()
    subject = redaction.text(repo, subject) if subject else None
    with Objects(repo) as objects:
        items = []
        for record in given:
            cid = ids.checkpoint_id(record.get("checkpoint_id", fresh))
            items.append((cid, _data(repo, objects, record, cid)))
        tips = committed_write.write(repo, objects, items, subject=subject)
    stored = list(dict.fromkeys(checkpoint_id for checkpoint_id, _ in items))
    for ref, oid in tips.items():
        own = ids.parse_checkpoint_ref(ref)
        held = [own] if own else [i for i in stored if ids.checkpoint_ref(i) not in tips]
        yield {"type": "commit", "oid": oid, "ref": ref, "checkpoint_ids": held}


def _data(repo: Repo, objects: Objects, record: Record, checkpoint_id: str) -> SessionData:
    """A session record as the store takes it; all of it is redacted here."""
    from gitcp.store.v1 import redaction
    from gitcp.store.v1.transcript import Given

    if not isinstance(record.get("session_id"), str):
        raise InputError("a record of type 'session' needs 'session_id'")
    metadata = record.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InputError("'metadata' is not an object")
    metadata = {**{key: record[key] for key in _METADATA if key in record}, **metadata}
    metadata = _checked(repo, metadata, record["session_id"], checkpoint_id)
    data: SessionData = {"session_id": record["session_id"], "metadata": metadata}
    prompts = record.get("prompts")
    if prompts is not None:
        if not isinstance(prompts, list) or not all(isinstance(p, str) for p in prompts):
            raise InputError("'prompts' is not a list of texts")
        data["prompts"] = [redaction.text(repo, prompt) for prompt in prompts]
    transcript = _transcript(repo, record)
    if transcript is not None:
        data["transcript"] = Given(objects, transcript)
    return data


def _checked(repo: Repo, metadata: Record, session_id: str, checkpoint_id: str) -> dict[str, Any]:
    """Metadata, redacted; InputError where it is not of the types that readers rely on."""
    import json

    from gitcp.core.v1 import schema
    from gitcp.store.v1 import redaction

    redacted = redaction.redactor(repo).document(json.dumps(metadata).encode())
    clean: dict[str, Any] = json.loads(redacted)
    needed = {"checkpoint_id": checkpoint_id, "session_id": session_id, **_DEFAULT}
    for what, variation in schema.session({**needed, **clean}, checkpoint_id):
        if not variation:
            raise InputError(f"'metadata': {what}")
    return clean


def _transcript(repo: Repo, record: Record) -> bytes | None:
    """The transcript a record has, or names as a file; redacted."""
    from gitcp.core.transcript import chunks
    from gitcp.record import raw
    from gitcp.store.v1 import redaction

    path = record.get("transcript_path") or ""
    for key in ("transcript", "transcript_path"):
        if not isinstance(record.get(key) or "", str):
            raise InputError(f"'{key}' is not a text")
    if record.get("transcript") is not None:
        data = raw(record["transcript"])
    elif path:
        try:
            with open(raw(path), "rb") as f:
                data = f.read()
        except OSError as e:
            raise InputError(f"cannot read '{path}': {e.strerror}") from None
    else:
        return None
    redactor = redaction.redactor(repo)
    if chunks.is_document(data.partition(b"\n")[0], path):
        return redactor.document(data)
    return redactor.jsonl(data)


def main() -> int:
    return cli.filter_main(bind, sys.argv[1:])
