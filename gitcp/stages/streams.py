"""The stages of streams of temporary checkpoints."""

from __future__ import annotations

from gitcp import context
from gitcp.console import options
from gitcp.console.options import make_flag, make_value
from gitcp.core import ids, stream_rules
from gitcp.record import decode_name
from gitcp.repo import Repo
from gitcp.store.objects import Objects
from gitcp.store.relink import catch_up
from gitcp.store.setup import guard_files
from gitcp.store.stream import streams
from gitcp.store.trees import Lookup, list_files, need_commit
from gitcp.store.turn import turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator

    from gitcp.context import Context
    from gitcp.core.record_types import Record, State, Verdict


def list_streams(args: Namespace, _: object) -> list[Record]:
    """A record for each stream of the repository, newest first (gitcp-record(5))."""
    repo = Repo.find_here()
    with Objects(repo):
        from gitcp.store.turn import sessions

        opened, _ = sessions.list_recent(repo, 0)  # settled states have no stream
        from gitcp.store.stream import stream_list

        streams = stream_list.list_streams(repo, opened)
    if args.session is None:
        return streams
    names = [name for stream in streams for name in stream["sessions"]]
    from gitcp.store.turn import sessions

    wanted = sessions.pick_id(args.session, names)
    return [stream for stream in streams if wanted in stream["sessions"]]


def match_stream(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Decide the stream of each turn-start event; the verdict is stored in the session's state and
    passed on."""
    for record in records:
        is_turn = record.get("type") == "event" and "dirty" in record
        matched = list(_decide_stream(record)) if is_turn else []
        yield record
        yield from matched


def _decide_stream(event: Record) -> Iterator[Record]:
    dirty = {path: tuple(e) if e else None for path, e in event["dirty"]}
    with context.open_here() as ctx:
        state = ctx.read_state(event["session_id"], rebuild=False)
        if state is None:
            return
        from gitcp.store.stream import stream_verdict

        take_verdict = stream_verdict.take_verdict
        verdict = take_verdict(ctx.repo, state, event["head"], dirty)
        stashed = _describe_left(ctx, verdict)
        ctx.keep(state)
    if stashed:
        yield {"type": "say", "message": stashed}
    yield {"type": "match", "session_id": event["session_id"], **verdict}


def _describe_left(ctx: Context, verdict: Verdict) -> str:
    """The message about the stream that the turn leaves, '' for none."""
    if verdict["verdict"] not in ("reset", "new"):
        return ""
    tip = streams.peek_tip(ctx.repo.objects, verdict["ref"])
    if tip is None:
        return ""  # other stages report what cannot be read
    # In suffix mode a branch that is left stays where it is.
    ref = streams.archive_stream(ctx.repo, tip)[0] if verdict["verdict"] == "reset" else tip["ref"]
    from gitcp.store.stream import stream_list

    return stream_list.build_notice(ctx.repo, tip, ref)


def write_checkpoint(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Write a checkpoint of the session's new work for each event, and one for each checkpoint
    record without an oid, by its fields."""
    for record in records:
        if record.get("type") == "checkpoint" and "oid" not in record:
            yield _write_stated(record)
            continue
        # It is written before the next stages get the event, since they end the turn.
        is_event = record.get("type") == "event" and record.get("session_id")
        written = list(_write(record)) if is_event else []
        yield record
        yield from written


def _write_stated(record: Record) -> Record:
    with context.open_here() as ctx:
        from gitcp.store.stream import stream_list

        return stream_list.write_stated(ctx, record)


def _write(event: Record) -> Iterator[Record]:
    with context.open_here() as ctx:
        state, oid = ctx.read_state(event["session_id"]), None
        if state is None:
            return
        if event["event"] != "compact":
            turn.keep_verdict(state)
        if event["event"] == "turn-end":
            yield from _describe_unread(ctx.repo, state)
        known = set(state.get("over_limit", ()))
        if event["event"] in ("turn-end", "subagent-end") and _makes_commits(ctx.repo):
            from gitcp.store import auto

            yield from auto.save_work(ctx, event)
            state = ctx.read_state(event["session_id"], rebuild=False) or state
            yield from _describe_over_limit(state, known)
            return
        oid = catch_up.write_checkpoint(ctx.repo, state, event, ctx.head)
        ctx.keep(state)
    yield from _describe_over_limit(state, known)
    if oid:
        ref, session_id = state["shadow_ref"], state["session_id"]
        yield {"type": "checkpoint", "oid": oid, "ref": ref, "session_id": session_id}


def _describe_unread(repo: Repo, state: State) -> Iterator[Record]:
    """The message about a transcript that cannot be read."""
    from gitcp.store.v1 import stored_transcripts

    if why := stored_transcripts.explain_unreadable(repo, state.get("transcript_path")):
        options.mute(why)
        yield {"type": "say", "message": f"gitcp: {why}"}


def _describe_over_limit(state: State, reported: set[str]) -> Iterator[Record]:
    """The message about files that are too large, without those reported before."""
    if new := {p: why for p, why in state.get("over_limit", {}).items() if p not in reported}:
        yield {"type": "say", "message": stream_rules.format_omission(new)}


def _makes_commits(repo: Repo) -> bool:
    """Whether the strategy makes a real commit of a turn."""
    if repo.config.get_option("gitcp.strategy") == "manual-commit":
        return False
    return guard_files.get_strategy(repo) == guard_files.AUTO


def read_stream(args: Namespace, records: Iterable[Record]) -> Iterator[Record]:
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
        from gitcp.store.stream import stream_list

        tip = stream_list.find_stream(repo, name)
        for checkpoint in stream_list.read_chains(repo, [tip])[tip["ref"]]:
            details = stream_list.read_details(repo.objects, checkpoint)
            yield {**details, **_read_metadata(repo.objects, checkpoint, args)}


def _find_live(repo: Repo, args: Namespace) -> str:
    base = need_commit(repo.objects, args.base)["oid"]
    worktree = repo.worktree_id if args.worktree is None else args.worktree
    return streams.build_ref(repo, base, worktree=ids.hash_worktree(worktree))


def _read_metadata(objects: Objects, checkpoint: Record, args: Namespace) -> Record:
    """The session's metadata and transcript in a checkpoint, as args ask."""
    more: Record = {}
    lookup = Lookup(objects, checkpoint["tree"])
    folder = streams.METADATA + checkpoint["session_id"]
    if args.metadata:
        tree = lookup(folder)
        more["metadata"] = {name: e[1] for name, e in list_files(objects, tree[1])} if tree else {}
    if args.transcript:
        from gitcp.store.v1 import checkpoints

        pieces = checkpoints.read_pieces(objects, lookup.read_folder(folder))
        more["transcript"] = decode_name(b"\n".join(pieces))
    return more


STAGES = {
    "list-streams": (
        list_streams,
        make_value("--session", "<id>", "only those it is on; the beginning of its id is enough"),
    ),
    "match-stream": (match_stream,),
    "write-checkpoint": (write_checkpoint,),
    "read-stream": (
        read_stream,
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
}
