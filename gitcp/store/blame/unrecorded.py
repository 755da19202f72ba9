"""Checkpoints that recorded no lines: what their transcripts prove of a commit."""

from __future__ import annotations

from gitcp.core.v1 import summary
from gitcp.errors import Error
from gitcp.store.v1 import committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.core.blame.authors import Record
    from gitcp.repo import Repo
    from gitcp.store.git.prefetch import Prefetched

_LARGEST = 4 << 20  # bytes of a transcript that is read for it


def completed(repo: Repo, objects: Prefetched, commit: str, records: list[Record]) -> list[Record]:
    """The records of a commit, those without lines with what their transcripts prove."""
    whole = [record for record in records if record["lines"] is not None]
    if len(whole) == len(records):
        return records
    from gitcp.core.blame import proven  # what reads transcripts, and few need it

    lacking = (record for record in records if record["lines"] is None)
    proved = [_proven(repo, objects, commit, record) for record in lacking]
    silent = [record for record in proved if record["lines"] is None]
    return [*whole, *silent, *proven.alone([r for r in proved if r["lines"] is not None])]


def touched(record: Record) -> set[str]:
    """The paths that a session touched, by a checkpoint's metadata."""
    files = record["metadata"].get("files")
    listed = summary.strings(record["metadata"].get("files_touched"))
    return {*listed, *(files if isinstance(files, dict) else ())}


def _proven(repo: Repo, objects: Prefetched, commit: str, record: Record) -> Record:
    specs = {f"{commit}:{path}": path for path in touched(record)}
    contents = {}
    for spec, oid in objects.resolve(specs).items():
        blob = objects.read(oid) if oid else None
        if oid and blob and blob[1] == "blob":
            contents[specs[spec]] = oid, blob[2]
    if not contents:
        return record
    try:
        checkpoint = committed_read.read(repo, objects, record["checkpoint_id"])
        transcript = committed_read.session(objects, checkpoint, record["session_id"])["transcript"]
    except Error:
        return record
    if len(transcript) > _LARGEST:
        return record
    from gitcp.core.blame import proven

    return proven.recorded(record, transcript, contents)
