"""Store a commit that gitcp made and move its streams on; settle one that a kill interrupted."""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import Error
from gitcp.lock import exclusive
from gitcp.store.auto import commit
from gitcp.store.git import notes
from gitcp.store.git.commit import need_commit
from gitcp.store.journal import open_edits
from gitcp.store.journal.work import read_streams
from gitcp.store.link import condense
from gitcp.store.session import intent, phase
from gitcp.store.setup.strategy import AUTO
from gitcp.store.stream import carry_forward
from gitcp.store.v1 import committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gitcp.context import Context
    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import Commit, State
    from gitcp.repo import Repo
    from gitcp.store.session.intent import Intent


def settle_left_over(ctx: Context) -> None:
    """Settle what a killed commit left in this worktree; nothing while its maker lives.

    What cannot be settled waits for the next event: never an error of this one.
    """
    try:
        with ctx:
            ctx.leave()
            with exclusive(ctx.repo, f"auto-{ctx.repo.worktree_hash}", 0):
                settle(ctx)
    except Error as e:
        trace.append_note("auto", f"what was left of a commit waits: {e}")


def settle(ctx: Context) -> None:
    """As settle_left_over(); the caller holds the lock of this worktree's commits."""
    repo, objects = ctx.repo, ctx.objects
    about = intent.read(repo)
    if about is None:
        intent.drop(repo)
        return
    stands = commit.settle(repo, objects, about)
    trace.append_note(
        "auto", f"'{about['commit']}' was killed, and {'stands' if stands else 'is not'}"
    )
    if stands:
        store_commit(ctx, about)
    else:
        commit.put_back(repo, objects, about)
    intent.drop(repo)


def store_commit(ctx: Context, about: Intent) -> None:
    """Put the session of a commit that stands onto v1, once, and move its streams on."""
    repo, objects = ctx.repo, ctx.objects
    commit, state = need_commit(objects, about["commit"]), ctx.read_state(about["session_id"])
    if state is None:
        return
    if about["session_id"] not in committed_read.list_session_ids(
        repo, objects, about["checkpoint_id"]
    ):
        _condense(ctx, state, commit, about)
    _settle_streams(repo, state, about)
    ctx.keep(state)
    ctx.leave()  # streams move on from what the states on disk say
    carry_forward.carry_streams(repo, objects, about["expected"], commit, {about["session_id"]})


def _condense(ctx: Context, state: State, commit: Commit, about: Intent) -> None:
    repo, objects, paths = ctx.repo, ctx.objects, sorted(about["entries"])
    linked: Linked = {"how": "environment", "paths": paths, "reasons": {}}
    extra: dict[str, Any] = {"strategy": AUTO}
    if about["tool_use_id"]:
        extra |= {"is_task": True, "tool_use_id": about["tool_use_id"]}
    phase.take_commit(state, paths)
    if about["noted"]:
        notes.add_link(repo, objects, commit["oid"], about["checkpoint_id"])
    pair = [(state, linked)]
    condense.condense_sessions(
        repo, objects, commit, about["checkpoint_id"], pair, about["noted"], extra=extra
    )


def _settle_streams(repo: Repo, state: State, about: Intent) -> None:
    """What the commit took is done with, also where a hook gave it another form."""
    open_edits.let_edits_go(repo, state["session_id"], about["entries"])
    read_streams(repo, state)
    if not state["streams"]:
        state["checkpoint_count"] = 0
    state["base_commit"] = state["attribution_base_commit"] = about["commit"]
