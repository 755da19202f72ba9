"""Stages that read and list: an event, sessions, streams, claims."""

from __future__ import annotations

import sys

from gitcp import agents
from gitcp.checkpoints import format, stored
from gitcp.commands import make_flag, make_value
from gitcp.errors import InputError
from gitcp.git import decode_name
from gitcp.git.objects import Lookup, Objects, need_commit
from gitcp.git.objects.object_lists import list_files
from gitcp.git.repo import Repo
from gitcp.guard import claim_records
from gitcp.record import session
from gitcp.record.stream import METADATA, build_ref, stream_list
from gitcp.record.turn import sessions as turn_sessions
from gitcp.steps.whose import open_work
from gitcp.text import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from gitcp.guard.claim_records import ClaimRecord
    from gitcp.text.record_types import Record, Records


def list_claims(_: object, args: Namespace) -> Iterator[ClaimRecord]:
    """A record for each session at work here, and for each path that a call claims."""

    for record in claim_records.list_records(Repo.find_here()):
        if record["path"] or not args.held:
            yield record


def list_streams(_: object, args: Namespace) -> list[Record]:
    """A record for each stream of the repository, newest first (gitcp-record(5))."""
    repo = Repo.find_here()
    with Objects(repo):
        opened, _ = turn_sessions.list_recent(repo, 0)  # settled states have no stream

        streams = stream_list.list_streams(repo, opened)
    if args.session is None:
        return streams
    names = [name for stream in streams for name in stream["sessions"]]

    wanted = turn_sessions.pick_id(args.session, names)
    return [stream for stream in streams if wanted in stream["sessions"]]


def read_stream(records: Records, args: Namespace) -> Iterator[Record]:
    """A record for each checkpoint of a stream, with its prompt and files (gitcp-record(5)).

    Without a name in args the streams are those of records; other records are passed on.
    """
    if args.stream is not None and args.base is not None:
        args.error("needs the name of a stream, or --base")
    if args.worktree is not None and args.base is None:
        args.error("--worktree needs --base")
    if args.stream is not None or args.base is not None:
        yield from _read_history(args, args.stream)
        return
    for record in records:
        if record.get("type") == "stream" and isinstance(record.get("ref"), str):
            yield from _read_history(args, record["ref"])
        else:
            yield record


def _read_history(args: Namespace, name: str | None) -> Iterator[Record]:
    """The checkpoints of the stream of that name, None for the live one of a commit."""
    repo = Repo.find_here()
    with Objects(repo):
        name = _find_live(repo, args) if name is None else name

        tip = stream_list.find_stream(repo, name)
        for checkpoint in stream_list.read_chains(repo, [tip])[tip["ref"]]:
            details = stream_list.read_details(repo.objects, checkpoint)
            yield {**details, **_read_metadata(repo.objects, checkpoint, args)}


def _find_live(repo: Repo, args: Namespace) -> str:
    base = need_commit(repo.objects, args.base)["oid"]
    if args.worktree is None:
        worktree = repo.worktree_id
    else:
        worktree = args.worktree
    return build_ref(repo, base, worktree=ids.hash_worktree(worktree))


def _read_metadata(objects: Objects, checkpoint: Record, args: Namespace) -> Record:
    """The session's metadata and transcript in a checkpoint, as args ask."""
    more: Record = {}
    lookup = Lookup(objects, checkpoint["tree"])
    folder = METADATA + checkpoint["session_id"]
    if args.metadata:
        tree = lookup(folder)
        if tree:
            more["metadata"] = {name: e[1] for name, e in list_files(objects, tree[1])}
        else:
            more["metadata"] = {}
    if args.transcript:
        pieces = stored.read_pieces(objects, lookup.read_folder(folder))
        more["transcript"] = decode_name(b"\n".join(pieces))
    return more


def read_event(_: object, args: Namespace) -> Iterator[Record]:
    """The event record of a payload, a JSON object on standard input; `unknown` for an event that
    gitcp does not use.

    Raise InputError for an unknown agent and for an invalid field.
    """
    client = agents.get_client(args.agent)

    payload = format.parse_json(sys.stdin.buffer.read())
    if payload is None:
        raise InputError("the payload is not a JSON object")
    yield {**client.read_event(args.event, payload)}


def list_sessions(_: object, args: Namespace) -> list[Record]:
    """Session records, the last started first (gitcp-record(5)); nothing is written."""
    repo = Repo.find_here()
    with Objects(repo):
        sessions = turn_sessions.list_sessions(repo, stored=not args.states)
        open_work.set_files(repo, sessions)
    if args.stored:
        sessions = [r for r in sessions if any(c["checkpoint_id"] for c in r["checkpoints"])]
    if args.worktree:
        sessions = [r for r in sessions if "phase" in r and session.is_home(repo, r)]
    if args.session is not None:
        wanted = turn_sessions.pick_id(args.session, [r["session_id"] for r in sessions])
        sessions = [r for r in sessions if r["session_id"] == wanted]
    return sessions


OPTIONS = {
    "read-event": (
        make_value("agent", "<agent>", "whose payload it is, as in 'gitcp enable -h'"),
        make_value("event", "<event>", "the client's own name of it, such as Stop"),
    ),
    "list-sessions": (
        make_value("--session", "<id>", "only this session; the beginning of its id is enough"),
        make_flag("--worktree", "only those at home in this worktree"),
        [
            make_flag("--states", "only those that have a state"),
            make_flag("--stored", "only those in the permanent store"),
        ],
    ),
    "list-streams": (
        make_value("--session", "<id>", "only those it is on; the beginning of its id is enough"),
    ),
    "read-stream": (
        make_value("--base", "<commit>", "the live stream of this commit, in place of its name"),
        make_value(
            "--worktree",
            "<id>",
            "with --base: git's name of a linked worktree, '' for the main one (default: this one)",
        ),
        make_flag("-m --metadata", "add what each keeps of its session: name -> oid"),
        make_flag("-t --transcript", "add the transcript of each"),
        make_value("stream", "<stream>", "its ref, or its id or the beginning of it", nargs="?"),
    ),
    "list-claims": (make_flag("--held", "only paths that a tool call holds now"),),
}
