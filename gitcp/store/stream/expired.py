"""What expired: of a point whose content is gone, a list can still say when it was, and whose.

<common>/gitcp/expired, a JSON object a line, the newest last; of more than MOST the oldest go.
"""

from __future__ import annotations

import json

from gitcp.core.transcript import transcript_scan
from gitcp.store.git import private
from gitcp.store.stream import stream_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from gitcp.core.record_types import Record, Tip
    from gitcp.repo import Repo

MOST = 1000


def list_expiring(repo: Repo, tips: Iterable[Tip]) -> dict[str, list[Record]]:
    """ref -> records of a stream's checkpoints, oldest first, for the list of what expired.  Each
    has id, kind, time, message, session_id, base_commit, worktree (its hash)."""
    return {
        ref: [
            _build_record(checkpoint, stream_list.parse_ref(ref)[1])
            for checkpoint in reversed(chain)
        ]
        for ref, chain in stream_list.read_chains(repo, tips).items()
    }


def _build_record(checkpoint: Record, worktree: str) -> Record:
    keys = ("time", "message", "session_id", "base_commit")
    of_it = {key: checkpoint[key] for key in keys}
    return {"id": checkpoint["oid"], "kind": "archived", **of_it, "worktree": worktree}


def add_records(repo: Repo, gone: Iterable[Record]) -> None:
    """Add these to the list, each once."""
    known = {one["id"]: one for one in list_records(repo)}
    known |= {one["id"]: one for one in gone}
    lines = (json.dumps(one, separators=(",", ":")) for one in list(known.values())[-MOST:])
    if known:
        private.write_private(
            repo, _get_path(repo), "".join(f"{line}\n" for line in lines).encode()
        )


def forget(repo: Repo, sessions: Collection[str]) -> None:
    """Take these sessions off the list."""
    known = list_records(repo)
    left = [one for one in known if one["session_id"] not in sessions]
    if len(left) < len(known):
        lines = (json.dumps(one, separators=(",", ":")) for one in left)
        private.write_private(
            repo, _get_path(repo), "".join(f"{line}\n" for line in lines).encode()
        )


def list_records(repo: Repo) -> list[Record]:
    """The records of the list, in the order in which they expired."""
    data = private.read_cache(_get_path(repo))
    loaded = (transcript_scan.load(line) for line in data.split(b"\n") if line)
    return [one for one in loaded if one and _is_record(one)]


def _is_record(record: Record) -> bool:
    texts = ("id", "kind", "message", "session_id", "base_commit", "worktree")
    return all(isinstance(record.get(key), str) for key in texts) and isinstance(
        record.get("time"), int
    )


def _get_path(repo: Repo) -> str:
    return repo.join_shared("expired")
