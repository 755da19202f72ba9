"""The stages of the permanent store: committed checkpoints as records."""

from __future__ import annotations

import json
import os

from gitcp.agents import transcripts
from gitcp.checkpoints import listing, merging, writing
from gitcp.checkpoints import stored as checkpoints
from gitcp.checkpoints.format import schema
from gitcp.checkpoints.format.keys import SESSION_ORDER
from gitcp.checkpoints.redactor import get_redactor, redact_text
from gitcp.checkpoints.share import places, sync
from gitcp.checkpoints.transcripts import store_chunks
from gitcp.commands import make_flag, make_nul, make_value
from gitcp.errors import Error, InputError
from gitcp.git import encode_name
from gitcp.git.objects import Objects, need_commit
from gitcp.git.repo import Repo
from gitcp.link import commits
from gitcp.terminal import cli
from gitcp.text import console, spans
from gitcp.text import ids as ids_
from gitcp.text.console import parse_number
from gitcp.text.short_ids import is_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gitcp.checkpoints.share.places import SharedPlace
    from gitcp.checkpoints.stored import Content, StoredCheckpoint
    from gitcp.checkpoints.writing import SessionData
    from gitcp.text.record_types import Record, Records


def list_checkpoints(_: object, args: Namespace) -> Iterator[Record]:
    """A record for each committed checkpoint, by id."""
    for record in listing.map_checkpoints(Repo.find(), listing.build_record):
        if not args.session or any(is_named(s, args.session) for s in record["sessions"]):
            yield record


def read_checkpoint(_: object, args: Namespace) -> Iterator[Record]:
    """A checkpoint record, then a session record for each session in it; with --transcript no
    records, but the transcripts on standard output, byte for byte."""
    if not args.id and not args.commit:
        args.error("needs the id of a checkpoint, or --commit")
    if args.transcript:
        cli.write_bytes(temporary["transcript"] for temporary in _take_temporary(args))
        for _checkpoint, sessions in _read_stored(args):
            cli.write_bytes(content.transcript for content in sessions)
        return
    for temporary in _take_temporary(args):
        size = len(temporary.pop("transcript"))
        yield {**temporary, "transcript_bytes": size}
    for checkpoint, sessions in _read_stored(args):
        yield listing.build_record(checkpoint) | {"summary": checkpoint["summary"]}
        for content in sessions:
            yield _build_record(checkpoint["checkpoint_id"], content)


def _take_temporary(args: Namespace) -> Iterator[Record]:
    """The temporary checkpoints among the names of args, which are removed from args."""
    repo = Repo.find()
    with Objects(repo):
        for name in list(args.id):
            oid = commits.find_temporary(repo, name)
            if oid:
                args.id.remove(name)
                yield commits.read_temporary(repo, oid)


def _build_record(checkpoint_id: str, content: Content) -> Record:
    if content.lacks:
        lacks = {"lacks": content.lacks}
    else:
        lacks = {}
    return {
        "type": "session",
        "checkpoint_id": checkpoint_id,
        "index": content.index,
        "session_id": content.session_id,
        "metadata": content.metadata,
        "prompts": content.prompts,
        "transcript_bytes": len(content.transcript),
        "content_hash": content.content_hash,
        "hash": content.hash,
        "tasks": content.tasks,
        **lacks,
    }


def _read_stored(args: Namespace) -> Iterator[tuple[StoredCheckpoint, list[Content]]]:
    repo = Repo.find()
    with Objects(repo):
        ids = _resolve_ids(repo, args.id)
        if args.commit:
            ids += _list_linked(repo, args.commit)
        for checkpoint_id in dict.fromkeys(ids):
            checkpoint = checkpoints.read_checkpoint(repo, checkpoint_id)
            keys: list[int | str] = [s["index"] for s in checkpoint["sessions"]]
            if args.session is not None:
                keys = [int(args.session) if args.session.isdecimal() else args.session]
            yield checkpoint, [checkpoints.read_session(repo.objects, checkpoint, k) for k in keys]


def _resolve_ids(repo: Repo, prefixes: Sequence[str]) -> list[str]:
    """The ids that begin with prefixes.  An unknown one among several is a warning only."""
    ids = []
    for prefix in prefixes:
        try:
            ids.append(listing.resolve_id(repo, prefix))
        except Error as e:
            if len(prefixes) == 1:
                raise
            console.warn_lacking(str(e))
    return ids


def _list_linked(repo: Repo, spec: str) -> list[str]:
    ids = listing.list_ids(repo, need_commit(repo.objects, spec)["oid"])
    if not ids:
        raise Error(f"no checkpoint belongs to '{spec}'")
    return ids


# Keys of the metadata that mean something else in a record; the others may be in it as its own.
_BESIDE = ("checkpoint_id", "session_id", "transcript_path")
_METADATA = [key for key in SESSION_ORDER if key not in _BESIDE]
_EPOCH = "1970-01-01T00:00:00Z"
_DEFAULT = {"strategy": "manual-commit", "created_at": _EPOCH, "checkpoints_count": 0}


def write_committed(records: Records, args: Namespace) -> Iterator[Record]:
    """Write all session records in one commit; its record."""
    sessions = [r for r in records if r.get("type") == "session"]
    if not sessions:
        return
    repo = Repo.find()
    new_id = os.urandom(6).hex()
    words = " ".join((args.message or "").split())
    title = redact_text(repo, words) if words else None
    with Objects(repo):
        items = []
        for record in sessions:
            cid = ids_.check_checkpoint_id(record.get("checkpoint_id", new_id))
            items.append((cid, _build_data(repo, record, cid)))
        tips = writing.write_sessions(repo, items, subject=title)
    stored = dict.fromkeys(checkpoint_id for checkpoint_id, _ in items)
    on_branch = [cid for cid in stored if ids_.build_checkpoint_ref(cid) not in tips]
    for ref, oid in tips.items():
        own = ids_.parse_checkpoint_ref(ref)
        checkpoint_ids = [own] if own else on_branch
        yield {"type": "commit", "oid": oid, "ref": ref, "checkpoint_ids": checkpoint_ids}


def _build_data(repo: Repo, record: Record, checkpoint_id: str) -> SessionData:
    """A session record as the store takes it, redacted."""
    if not isinstance(record.get("session_id"), str):
        raise InputError("a record of type 'session' needs 'session_id'")
    metadata = record.get("metadata", {})
    if not isinstance(metadata, dict):
        raise InputError("'metadata' is not an object")
    metadata = {**{key: record[key] for key in _METADATA if key in record}, **metadata}
    metadata = _check_metadata(repo, metadata, record["session_id"], checkpoint_id)
    data: SessionData = {"session_id": record["session_id"], "metadata": metadata}
    prompts = record.get("prompts")
    if prompts is not None:
        if not isinstance(prompts, list) or not all(isinstance(p, str) for p in prompts):
            raise InputError("'prompts' is not a list of texts")
        data["prompts"] = [redact_text(repo, p, record["session_id"]) for p in prompts]
    transcript = _read_transcript(repo, record)
    if transcript is not None:
        data["transcript"] = store_chunks(repo.objects, transcript)
    return data


def _check_metadata(
    repo: Repo, metadata: Record, session_id: str, checkpoint_id: str
) -> dict[str, Any]:
    """Metadata, redacted.  Raise InputError for types that readers do not expect."""
    redactor = get_redactor(repo, session_id)
    clean: dict[str, Any] = json.loads(redactor.redact_document(json.dumps(metadata).encode()))
    needed = {"checkpoint_id": checkpoint_id, "session_id": session_id, **_DEFAULT}
    for fault, is_variation in schema.check_session({**needed, **clean}, checkpoint_id):
        if not is_variation:
            raise InputError(f"'metadata': {fault}")
    return clean


def _read_transcript(repo: Repo, record: Record) -> bytes | None:
    """The transcript in a record, or in the file that it names, redacted; None for neither."""
    path = record.get("transcript_path") or ""
    for key in ("transcript", "transcript_path"):
        if not isinstance(record.get(key) or "", str):
            raise InputError(f"'{key}' is not a text")
    if record.get("transcript") is not None:
        data = encode_name(record["transcript"])
    elif path:
        try:
            with open(encode_name(path), "rb") as f:
                data = f.read()
        except OSError as e:
            raise InputError(f"cannot read '{path}': {e.strerror}") from None
    else:
        return None
    redactor = get_redactor(repo, record["session_id"])
    if transcripts.is_document(data.partition(b"\n")[0], path):
        return redactor.redact_document(data)
    return redactor.redact_jsonl(data)


def find_commits(records: Records, args: Namespace) -> Iterator[Record]:
    """A commit record for each commit with one of the ids in a trailer or a note."""
    repo = Repo.find()
    with Objects(repo):
        # A full id is not resolved: commits are found even if its checkpoint is gone.
        wanted = [
            name if ids_.is_checkpoint_id(name) else listing.resolve_id(repo, name)
            for name in args.id
        ]
        for record in () if args.id else records:
            if record.get("type") == "checkpoint" and "checkpoint_id" in record:
                if not ids_.is_checkpoint_id(record["checkpoint_id"]):
                    raise InputError(f"not a checkpoint id: '{record['checkpoint_id']}'")
                wanted.append(record["checkpoint_id"])
        for checkpoint_id, oids in listing.find_carriers(repo, wanted).items():
            if not oids and checkpoint_id in args.id:
                listing.resolve_id(repo, checkpoint_id)  # raises if it is unknown
            for oid in oids:
                yield {"type": "commit", "oid": oid, "checkpoint_id": checkpoint_id}


def merge_checkpoints(_: object, args: Namespace) -> Iterator[Record]:
    """The record of a commit that merges both histories; no ref is moved."""
    repo = Repo.find()
    with Objects(repo):
        a, b = (need_commit(repo.objects, spec)["oid"] for spec in (args.ours, args.theirs))
        join = merging.unite_lines if args.notes else None
        merged = need_commit(repo.objects, merging.merge_histories(repo, a, b, join))
        yield {"type": "commit", **{key: merged[key] for key in ("oid", "tree", "parents")}}


_SECONDS = "give up after so many seconds (default: gitcp.push-timeout, 30)"
TIMEOUT = make_value("--timeout", "<n>", _SECONDS, type=parse_number)


def choose_timeout(repo: Repo, seconds: int | None = None) -> float:
    """The seconds that a conversation with a remote may take."""
    if seconds is None:
        return int(repo.config.get_option("gitcp.push-timeout"))
    return seconds


def fetch_checkpoints(_: object, args: Namespace) -> Iterator[Record]:
    """A record for each ref of gitcp after fetching; with --list, for those of the remote."""
    repo = Repo.find()
    seconds = choose_timeout(repo, args.timeout)
    tips: dict[str, str] = {}
    for place in _choose_sources(repo, args.remote):
        if args.list:
            tips |= sync.list_there(repo, place, seconds)
            continue
        with Objects(repo):
            tips = sync.fetch_store(repo, place, seconds)
        if args.all:
            _fetch_absent(repo, place, seconds)
    for ref, oid in tips.items():
        yield {"type": "ref", "ref": ref, "oid": oid}


def _choose_sources(repo: Repo, remote: str | None) -> list[SharedPlace]:
    """Where to fetch from: a remote or URL if it is given, else the places that were agreed to or
    the remote that `git push` uses.  Raises Error if there is none."""
    if remote:
        return places.find_places(repo, remote)
    settled = places.settle(repo)
    if settled:
        console.tell(settled)
    usual = places.find_usual_remote(repo)
    if places.list_agreed(repo) or not usual:
        return places.need_destinations(repo)
    return places.find_places(repo, usual)


def _fetch_absent(repo: Repo, place: SharedPlace, seconds: float) -> None:
    came, left = sync.fetch_absent(repo, place, seconds)
    count_noun = spans.count_noun
    console.tell(f"fetched {count_noun(came, 'missing part')} of checkpoints")
    if left:
        console.warn_lacking(
            f"'{place.label}' lacks {count_noun(left, 'part')} of checkpoints, too"
        )


OPTIONS = {
    "list-checkpoints": (
        make_value("-s --session", "<id>", "only those of sessions whose id begins with <id>"),
        make_nul("checkpoint_id", "write the ids alone, each ended by NUL"),
    ),
    "read-checkpoint": (
        make_value("-c --commit", "<commit>", "read the checkpoints of a commit"),
        make_value(
            "-s --session",
            "<session>",
            "only this session: its number in the checkpoint, from 0, or its id",
        ),
        make_flag("-t --transcript", "write the stored transcript itself, byte for byte"),
        make_value("id", "<id>", "a checkpoint, by its id or the beginning of it", nargs="*"),
    ),
    "write-committed": (make_value("-m --message", "<subject>", "the subject of the commit"),),
    "find-commits": (
        make_nul("oid", "write the commits alone, each ended by NUL"),
        make_value(
            "id",
            "<id>",
            "a checkpoint, by its id or the beginning of it (default: those of the records read)",
            nargs="*",
        ),
    ),
    "merge-checkpoints": (
        make_flag("--notes", "merge notes, not checkpoints"),
        make_value("ours", "<ours>", "a commit, the first parent of a merge"),
        make_value("theirs", "<theirs>", "another commit"),
    ),
    "fetch-checkpoints": (
        make_flag("--list", "list what is there, by git-ls-remote(1), and fetch nothing"),
        make_flag("--all", "bring also the transcripts and other parts that this clone lacks"),
        TIMEOUT,
        make_value(
            "remote",
            "<remote>",
            "a remote or its URL (default: the places, else the remote git push would take)",
            nargs="?",
        ),
    ),
}
