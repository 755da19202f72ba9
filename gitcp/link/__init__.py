"""Settling what the last event of a session left over (doc/behaviour.md "Events").

An interrupted turn gets its checkpoint, streams follow a HEAD that moved, and transcripts that were
incomplete are completed.
"""

from __future__ import annotations

from gitcp import git
from gitcp.errors import Busy, Error, Moved
from gitcp.git import gitdir, refs
from gitcp.git.files import exclusive
from gitcp.record import make_event, session
from gitcp.record.session import phases
from gitcp.record.stream import list_branches, list_sessions, map_named_paths, peek_tip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.record.looks import Look
    from gitcp.text.record_types import Event, State, Tip

_TRIES = 5


def settle_leftovers(
    repo: Repo,
    state: State,
    event: Event,
    head: str,
    look: Look | None = None,
) -> None:
    """Settle what the session's last event left over, before the event counts.  look: the
    caller's look at the worktree, which found it at head."""
    interrupted = state.get("phase") == phases.ACTIVE and event["event"] == "turn-start"
    if interrupted and not event.get("notification"):
        git.append_trace("settle", f"the turn of '{state['session_id']}' was interrupted")
        write_checkpoint(repo, state, event, head, look)
    follow_head(repo, state, head)
    if interrupted or (state.get("pending_finalize") and session.lacks_transcript(state)):
        from gitcp.link import condense

        condense.finalize(repo, state)


def settle_last_turn(repo: Repo, state: State, event: Event, head: str) -> None:
    """Settle a session that ends: an interrupted turn gets its checkpoint, so that a later commit
    finds the work.  After a kill in here the session is still active."""
    if state.get("phase") == phases.ACTIVE:
        write_checkpoint(repo, state, event, head)
    else:
        follow_head(repo, state, head)


def end_abandoned(ctx: Context, session_id: str) -> None:
    """End the other sessions of this worktree that are in a turn although their agent is gone."""
    for abandoned_id in session.list_abandoned(ctx.repo, session_id):
        try:
            end_session(ctx, abandoned_id)
        except (Error, OSError) as e:  # its data is damaged; the caller's session goes on
            git.append_trace("settle", f"'{abandoned_id}': {e}")
        ctx.leave()  # locks of sessions may not be held in any other than their order


def end_session(ctx: Context, session_id: str) -> None:
    """End a session that is in a turn and whose agent is gone."""
    state = ctx.read_state(session_id)
    if state and state.get("phase") == phases.ACTIVE:
        git.append_trace("settle", f"the agent of '{session_id}' is gone")
        settle_last_turn(ctx.repo, state, make_event("session-end", session_id), ctx.head)

        from gitcp.link import condense

        condense.finalize(ctx.repo, state)
        session.take_event(state, phases.SESSION_END)
        ctx.keep(state)


def write_checkpoint(
    repo: Repo,
    state: State,
    event: Event,
    head: str,
    look: Look | None = None,
) -> str | None:
    """Write the checkpoint of a turn on the stream at HEAD; return its oid, None without a change.

    head: HEAD as it was read before.  look: as for settle_leftovers().  If HEAD moves meanwhile,
    the streams follow it and the worktree is scanned again.  Raises Busy if HEAD keeps moving.
    """
    from gitcp.record.turn import writing

    for _ in range(_TRIES):
        follow_head(repo, state, head)
        try:
            return writing.write_turn(repo, state, event, look)
        except Moved as e:
            git.append_trace("settle", f"again: {e}")
            head = refs.read_base(repo)
            look = None
    raise Busy(f"'{state['session_id']}': HEAD moves faster than the worktree is read")


def follow_head(repo: Repo, state: State, head: str) -> None:
    """If HEAD has moved since the session's last event, link what was committed without our hooks,
    and move the session's streams (doc/behaviour.md "When HEAD moves").  HEAD may have come back
    to where it was."""
    mark = refs.read_mark(state)
    now = refs.mark_head(repo, head)
    moves = refs.list_moves_since(repo, mark, now)
    if mark.oid != head or _has_left_commits(repo, moves, head):
        from gitcp.link import unhooked

        unhooked.link_all(repo, state, mark.oid, head, moves)
    if mark.oid != head:
        with exclusive(repo, f"stream-{repo.worktree_hash}"):
            for tip in _list_tips(repo, state, mark.oid):
                _follow_base(repo, state, tip, head)
    refs.write_mark(state, now)


def _has_left_commits(repo: Repo, moves: Sequence[gitdir.Move], head: str) -> bool:
    """Whether HEAD has left commits that no hook of ours has judged."""
    made = refs.select_made(moves) - {head}
    if not made:
        return False

    from gitcp.record import match

    return bool(made.difference(match.read_judged(repo)))


def _list_tips(repo: Repo, state: State, old: str) -> list[Tip]:
    """The readable tips of the session's streams on the base old."""
    ids = {s["id"] for s in state["streams"]}
    tips: list[Tip] = []
    for ref in list_branches(repo, old):
        tip = peek_tip(repo.objects, ref)
        if tip and tip["stream"] in ids:
            tips.append(tip)
    return tips


def _follow_base(repo: Repo, state: State, tip: Tip, head: str) -> None:
    """Rename a stream for the new base if one of its files still differs from it."""
    files = set[str]()
    for stream in state["streams"]:
        if stream["id"] == tip["stream"]:
            files.update(stream["files"])
    session_ids = list_sessions(repo.objects, tip)
    files.update(*map_named_paths(repo, tip["stream"], session_ids).values())

    from gitcp.record.snapshot import scan

    if not scan.list_dirty(repo, files, head):
        git.append_trace("stream", f"'{tip['ref']}' stays: none of its files is changed here")
        return

    from gitcp.record.stream import writing

    updates = writing.rename_stream(repo, tip, head)
    refs.update_refs(repo, updates, "gitcp: base moved")
    for stream in state["streams"]:
        if stream["id"] == tip["stream"]:
            stream["ref"] = updates[0][0]
            stream["base_commit"] = head
    git.append_trace("stream", f"'{tip['ref']}' -> '{updates[0][0]}': base moved")


def remember_branch(repo: Repo) -> str:
    """Remember where the branch is, whoever moved it; return explain_deletion()."""
    memory = refs.read_ref(repo, refs.MEMORY)
    tip = refs.read_ref(repo, refs.REF)
    if tip and tip != memory and not repo.jj_root:
        try:
            refs.update_refs(repo, [(refs.MEMORY, tip, memory)], "gitcp: the branch was moved")
        except Moved:
            pass  # by another process, which remembers it
    if tip:
        return ""

    from gitcp.checkpoints import stored

    return stored.explain_deletion(repo)
