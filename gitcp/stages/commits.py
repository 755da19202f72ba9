"""The stages of a commit: its sessions, its message, its checkpoint, its streams."""

from __future__ import annotations

from gitcp import context
from gitcp.console import notice
from gitcp.console.options import make_value
from gitcp.errors import format_error
from gitcp.start import late
from gitcp.store.git import commit_changes, reflog
from gitcp.store.git.commit import need_commit
from gitcp.store.journal import open_edits
from gitcp.store.match import commit_memory, lost_commits
from gitcp.store.session import markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping

    from gitcp.context import Context
    from gitcp.core.record_types import Record
    from gitcp.store.git.refs import Update


def match_commit(args: Namespace, records: Iterable[Record]) -> Iterator[Record]:
    """A match record for each event prepare-commit-msg and post-commit; with args.commit one for
    each session that would link to that commit."""
    return _judge_commit(args.commit) if args.commit else _match_events(records)


def _match_events(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        hook = record.get("event")
        if hook not in ("prepare-commit-msg", "post-commit"):
            yield record
            continue
        with context.open_here() as ctx:
            if hook == "prepare-commit-msg":
                _settle_unseen(ctx)
                args = record["args"]
                prepared = late.before_commit.prepare(ctx.repo, ctx.objects, ctx.head, args)
                match: Record = {**prepared, "args": args}
            else:
                match = {**late.after_commit.conclude(ctx.repo, ctx.objects)}
        yield {"type": "match", **match}


def _settle_unseen(ctx: Context) -> None:
    """Link what commits hold that no hook has judged, before the next one settles it."""
    repo, head = ctx.repo, ctx.head
    if all(marker["base_commit"] == head for marker in markers.read_recent(repo)):
        return
    if commit_memory.is_replaying(repo) or not commit_memory.is_unseen(repo, head):
        return
    if head not in commit_memory.read_judged(repo):
        late.reconcile.follow_head(ctx)
        ctx.leave()  # markers are read from the disk


def _judge_commit(commit: str) -> Iterator[Record]:
    """Decide anew what would link to a commit; nothing is written."""
    with context.open_here() as ctx:
        judged = need_commit(ctx.objects, commit)
        parent, changes = commit_changes.read_changes(ctx.objects, judged)
        linked = late.commit_match.match_sessions(
            ctx.repo, ctx.objects, changes, parent, agent=False
        )
    for session_id, why in linked.items():
        yield {"type": "match", "commit": judged["oid"], "session_id": session_id, **why}


def condense_matches(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Condense or dismiss the sessions of each match record of post-commit; pass all on."""
    for record in records:
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            _condense_commit(record)
        yield record


def _condense_commit(match: Record) -> None:
    if match["id"] or match["dismissed"]:
        _store_sessions(match)
    with context.open_here() as ctx:
        for checkpoint_id in match.get("inherited", ()):
            late.notes.add_link(ctx.repo, ctx.objects, match["commit"], checkpoint_id)
        if match["carried"]:
            taken_back = late.commit_sessions.list_taken_back(ctx.repo, match["old"])
            is_whole_list = len(taken_back) < late.commit_sessions.MOST_TAKEN_BACK
            replaced = {match["commit"]: match["merged"] or (taken_back if is_whole_list else ())}
            late.carried.follow_lines(ctx.repo, ctx.objects, [match["commit"]], replaced)
        if (match["id"] or match["carried"]) and reflog.list_stashes(ctx.repo):
            lost_commits.add_stashed(ctx.repo, ctx.objects, match["commit"])
        if not match["id"]:
            late.ai_notes.keep(ctx.repo, [match["commit"]])


def _store_sessions(match: Record) -> None:
    """Store the sessions of a match as its checkpoint, or dismiss them; one that fails is removed
    from the match."""
    failed: dict[str, Exception] = {}
    with context.open_here() as ctx:
        repo, objects, old = ctx.repo, ctx.objects, match["old"]
        commit, states = need_commit(objects, match["commit"]), ctx.read_states(match["sessions"])
        if match["dismissed"]:
            late.commit_sessions.dismiss_sessions(repo, objects, commit, states.values(), old)
        else:
            matched = [(state, match["sessions"][name]) for name, state in states.items()]
            failed = late.commit_sessions.store_sessions(
                repo, objects, commit, match["id"], matched, old, match["noted"]
            )
        for session_id, state in states.items():
            if session_id not in failed:
                ctx.keep(state)
        ctx.leave()  # streams are moved by the states on disk
    if failed:
        _leave_out(match, failed)


def _leave_out(match: Record, failed: Mapping[str, Exception]) -> None:
    """Remove sessions that failed from a match: their own next events store them."""
    for session_id, error in failed.items():
        message = f"session '{session_id}' is left out of its commit for now: {format_error(error)}"
        notice.warn(message)
        late.hook_warnings.warn_here(message)
    stored = {name: why for name, why in match["sessions"].items() if name not in failed}
    match |= {"sessions": stored, "left_out": sorted(failed)}


def carry_forward(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Move the streams of the old base to each match record's commit; a ref record for each ref
    that is written."""
    for record in records:
        yield record
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            for ref, new, old in _move_streams(record):
                yield {"type": "ref", "ref": ref, "oid": new, "old_oid": old}


def _move_streams(match: Record) -> list[Update]:
    with context.open_here() as ctx:
        if commit_memory.is_replaying(ctx.repo):
            return []  # more commits are replayed: the next event moves the streams
        commit = need_commit(ctx.objects, match["commit"])
        changes = commit_changes.read_changes(ctx.objects, commit)[1]
        left_out = match.get("left_out", ())
        open_edits.settle_commit(ctx.repo, ctx.objects, commit, changes, excluded=left_out)
        settled = set(match["sessions"]) if match["linked"] else None
        carry_streams = late.carry_forward.carry_streams
        updates = carry_streams(ctx.repo, ctx.objects, match["old"], commit, settled)
        if not left_out:
            # A merge brings commits that were not judged here.
            old = match["old"] if len(commit["parents"]) < 2 else ""
            commit_memory.add_judged(ctx.repo, commit["oid"], old)
        return updates


STAGES = {
    "match-commit": (
        match_commit,
        make_value("commit", "<commit>", "a commit that is made", nargs="?"),
    ),
    "condense": (condense_matches,),
    "carry-forward": (carry_forward,),
}
