"""The stages of a commit: its sessions, its message, its checkpoint, its streams."""

from __future__ import annotations

import os

from gitcp import context
from gitcp.console import options
from gitcp.console.options import make_value
from gitcp.core import linking
from gitcp.errors import format_error
from gitcp.repo import Repo
from gitcp.store import refs, trees
from gitcp.store.journal import open_edits
from gitcp.store.link import commit as link_commit
from gitcp.store.match import commit_memory, sources
from gitcp.store.session import states
from gitcp.store.trees import need_commit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator, Mapping

    from gitcp.context import Context
    from gitcp.core.record_types import Record
    from gitcp.store.refs import Update


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
                moved, args = _settle_unseen(ctx), record["args"]
                prepared = link_commit.prepare_commit(ctx.repo, ctx.head, args, moved)
                match: Record = {**prepared, "args": args}
            else:
                match = {**link_commit.conclude_commit(ctx.repo)}
        yield {"type": "match", **match}


def _settle_unseen(ctx: Context) -> bool:
    """Link what commits hold that no hook has judged, before the next one settles it; return
    whether HEAD has moved since the last event of a session."""
    repo, head = ctx.repo, ctx.head
    if all(marker["base_commit"] == head for marker in states.read_recent(repo)):
        return False
    if commit_memory.is_replaying(repo) or not commit_memory.is_unseen(repo, head):
        return True
    if head not in commit_memory.read_judged(repo):
        from gitcp.store.relink import relink

        relink.follow_head_everywhere(ctx)
        ctx.leave()  # markers are read from the disk
    return True


def _judge_commit(commit: str) -> Iterator[Record]:
    """Decide anew what would link to a commit; nothing is written."""
    with context.open_here() as ctx:
        judged = need_commit(ctx.repo.objects, commit)
        parent, changes = trees.read_changes(ctx.repo.objects, judged)
        linked = link_commit.match_sessions(ctx.repo, changes, parent, agent=False)
    for session_id, why in linked.items():
        yield {"type": "match", "commit": judged["oid"], "session_id": session_id, **why}


def condense_matches(args: object, records: Iterable[Record]) -> Iterator[Record]:
    """Condense or dismiss the sessions of each match record of post-commit; pass all on, and tell
    the person what a commit was linked to."""
    for record in records:
        said = ""
        if record.get("type") == "match" and record.get("commit") and "old" in record:
            _condense_commit(record)
            said = linking.describe_links(record["sessions"]) if _is_watched(record) else ""
        yield record
        if said:
            yield {"type": "say", "message": said}


def _is_watched(match: Record) -> bool:
    """Whether a person makes this one commit and is at the terminal."""
    if not match.get("linked") or match.get("replays") or not os.isatty(2) or os.environ.get("CI"):
        return False
    repo, sessions = Repo.find_here(), match["sessions"].values()
    if any(linked["how"] != "content" for linked in sessions):  # an agent commits
        return False
    if os.path.exists(os.path.join(repo.git_dir, "sequencer")):
        return False
    return bool(repo.config.get_option("gitcp.say")) and not link_commit.is_quiet(repo)


def _condense_commit(match: Record) -> None:
    if match["id"] or match["dismissed"]:
        _store_sessions(match)
    with context.open_here() as ctx:
        for checkpoint_id in match.get("inherited", ()):
            from gitcp.store import notes

            notes.add_link(ctx.repo, match["commit"], checkpoint_id)
        if match["carried"]:
            from gitcp.store.link import commit_sessions

            taken_back = commit_sessions.list_taken_back(ctx.repo, match["old"])
            is_whole_list = len(taken_back) < commit_sessions.MOST_TAKEN_BACK
            replaced = {match["commit"]: match["merged"] or (taken_back if is_whole_list else ())}
            from gitcp.store.lines import carried

            carried.follow_lines(ctx.repo, [match["commit"]], replaced)
        if (match["id"] or match["carried"]) and refs.list_stashes(ctx.repo):
            sources.add_stashed(ctx.repo, match["commit"])
        if not match["id"]:
            from gitcp.store.lines import commit_lines

            commit_lines.keep_ai_note(ctx.repo, [match["commit"]])


def _store_sessions(match: Record) -> None:
    """Store the sessions of a match as its checkpoint, or dismiss them; one that fails is removed
    from the match."""
    failed: dict[str, Exception] = {}
    with context.open_here() as ctx:
        repo, old = ctx.repo, match["old"]
        commit, states = (
            need_commit(repo.objects, match["commit"]),
            ctx.read_states(match["sessions"]),
        )
        if match["dismissed"]:
            from gitcp.store.link import commit_sessions

            commit_sessions.dismiss_sessions(repo, commit, states.values(), old)
        else:
            matched = [(state, match["sessions"][name]) for name, state in states.items()]
            from gitcp.store.link import commit_sessions

            failed = commit_sessions.store_sessions(
                repo, commit, match["id"], matched, old, match["noted"]
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
        options.warn(message)
        from gitcp.store import hook_warnings

        hook_warnings.warn_here(message)
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
        commit = need_commit(ctx.repo.objects, match["commit"])
        changes = trees.read_changes(ctx.repo.objects, commit)[1]
        left_out = match.get("left_out", ())
        open_edits.settle_commit(ctx.repo, commit, changes, excluded=left_out)
        settled = set(match["sessions"]) if match["linked"] else None
        from gitcp.store.stream import writing

        carry_streams = writing.carry_streams
        updates = carry_streams(ctx.repo, match["old"], commit, settled)
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
