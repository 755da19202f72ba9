"""A session in a turn that nobody ends: what a person may want of it once it is ended.

Kept as it is, its work stays on its stream, and a commit takes it like any other's.
"""

from __future__ import annotations

from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store.git import refs
from gitcp.store.journal import open_edits
from gitcp.store.link import session_metadata
from gitcp.store.session import markers, turn_work
from gitcp.store.session import state as states
from gitcp.store.stream import checkpoint, place, shadow_refs
from gitcp.store.v1 import committed_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.context import Context
    from gitcp.core.record_types import State, Stream, Tip
    from gitcp.store.v1.committed_write import SessionData


def condense(ctx: Context, session_id: str) -> str:
    """Store what a session said onto v1 now, under an id that no commit has; the id.

    Its work stays on its stream: the commit that takes it gets a checkpoint of its own, in whose
    tokens those of this one are not counted again.
    """
    state = _state(ctx, session_id)
    stored = turn_work.stored_transcript(ctx.repo, ctx.objects, state, whole=True)
    checkpoint_id = place.fresh_id()
    data: SessionData = {
        "session_id": session_id,
        "transcript": stored,
        "prompts": turn_work.spoken(state, stored),
        "metadata": {
            "cli_version": state.get("cli_version"),
            "session_id": session_id,
            "strategy": "manual-commit",
            "created_at": states.timestamp(),
            "branch": session_metadata.branch(ctx.repo),
            "checkpoints_count": state["checkpoint_count"],
            "files_touched": sorted({path for one in state["streams"] for path in one["files"]}),
            "agent": state.get("agent_type"),
            "turn_id": state.get("turn_id"),
            **session_metadata.spent(state, stored),
        },
    }
    committed_write.write(ctx.repo, ctx.objects, [(checkpoint_id, data)])
    state["last_checkpoint_id"] = checkpoint_id
    ctx.keep(state)
    return checkpoint_id


def discard(ctx: Context, session_id: str) -> None:
    """Let go of a session's work that no commit has: no commit is linked to it any more.  Streams
    that are nobody else's are archived until they expire; the worktree stays as it is."""
    state = _state(ctx, session_id)
    with exclusive(ctx.repo, f"stream-{ctx.repo.worktree_hash}"):
        tips = [tip for stream in state["streams"] if (tip := _alone(ctx, session_id, stream))]
        for tip in tips:
            edits = [place.archive(ctx.repo, tip), (tip["ref"], None, tip["oid"])]
            refs.update(ctx.repo, edits, "gitcp: doctor")
    paths = {path for stream in state["streams"] for path in stream["files"]}
    open_edits.let_go(ctx.repo, session_id, paths)
    state["streams"], state["checkpoint_count"] = [], 0
    checkpoint.clear_verdict(state)
    ctx.keep(state)


def _alone(ctx: Context, session_id: str, stream: Stream) -> Tip | None:
    """The tip of a stream that has a branch, and work of no other session."""
    try:
        tip = shadow_refs.read(ctx.objects, stream["ref"])
    except Error:
        return None  # a branch of the person's, or one that fsck is to mend
    if not tip or tip["stream"] != stream["id"] or not tip["ref"].startswith(shadow_refs.BRANCHES):
        return None
    named = [
        marker["session_id"]
        for marker in markers.read(ctx.repo)
        if any(one["id"] == stream["id"] for one in marker["streams"])
    ]
    return None if set(named) - {session_id} else tip


def _state(ctx: Context, session_id: str) -> State:
    state = ctx.state(session_id)
    if state is None:
        raise Error(f"no such session: '{session_id}'")
    return state
