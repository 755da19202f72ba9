"""The list of expired points, whose content is gone: when each was recorded, and by whom.

<common>/gitcp/expired has a JSON object on each line, the newest last, at most MOST.
"""

from __future__ import annotations

import json

from gitcp.agents import transcripts
from gitcp.git.files import read_cache, write_private
from gitcp.record.stream.stream_list import parse_ref, read_chains

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Record, Tip

MOST = 1000


def list_expiring(repo: Repo, tips: Iterable[Tip]) -> dict[str, list[Record]]:
    """ref -> the records of a stream's checkpoints for the list, oldest first.  A record has id,
    kind, time, message, session_id, base_commit, worktree (its hash)."""
    records = {}
    for ref, chain in read_chains(repo, tips).items():
        worktree = parse_ref(ref).worktree
        records[ref] = [_build_record(checkpoint, worktree) for checkpoint in reversed(chain)]
    return records


def _build_record(checkpoint: Record, worktree: str) -> Record:
    keys = ("time", "message", "session_id", "base_commit")
    details = {key: checkpoint[key] for key in keys}
    return {"id": checkpoint["oid"], "kind": "archived", **details, "worktree": worktree}


def add_records(repo: Repo, expired: Iterable[Record]) -> None:
    """Add records to the list, each once."""
    records = {record["id"]: record for record in list_records(repo)}
    records |= {record["id"]: record for record in expired}
    if records:
        _write_records(repo, list(records.values())[-MOST:])


def forget_expired(repo: Repo, sessions: Collection[str]) -> None:
    """Remove the records of these sessions."""
    records = list_records(repo)
    remaining = [record for record in records if record["session_id"] not in sessions]
    if len(remaining) < len(records):
        _write_records(repo, remaining)


def _write_records(repo: Repo, records: Iterable[Record]) -> None:
    lines = (json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    write_private(repo, _get_path(repo), "".join(lines).encode())


def list_records(repo: Repo) -> list[Record]:
    """The records of the list, the newest last."""
    data = read_cache(_get_path(repo))
    records = []
    for line in data.split(b"\n"):
        record = None
        if line:
            record = transcripts.load_entry(line)
        if record and _is_record(record):
            records.append(record)
    return records


def _is_record(record: Record) -> bool:
    texts = ("id", "kind", "message", "session_id", "base_commit", "worktree")
    has_texts = all(isinstance(record.get(key), str) for key in texts)
    return has_texts and isinstance(record.get("time"), int)


def _get_path(repo: Repo) -> str:
    return repo.join_shared("expired")
