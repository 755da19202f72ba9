"""Stores an auto-commit and moves its streams on; settles one that a kill interrupted."""

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
    """Settle a killed commit of this worktree, unless its process still runs.

    A failure is traced, and the next event tries again.
    """
    try:
        with ctx:
            ctx.leave()
            with exclusive(ctx.repo, f"auto-{ctx.repo.worktree_hash}", 0):
                settle(ctx)
    except Error as e:
        trace.append_note("auto", f"what was left of a commit waits: {e}")


def settle(ctx: Context) -> None:
    """Settle a killed commit; the caller holds the lock of this worktree's commits."""
    repo, objects = ctx.repo, ctx.objects
    plan = intent.read(repo)
    if plan is None:
        intent.drop(repo)
        return
    stands = commit.settle(repo, objects, plan)
    fate = "stands" if stands else "is not"
    trace.append_note("auto", f"'{plan['commit']}' was killed, and {fate}")
    if stands:
        store_commit(ctx, plan)
    else:
        commit.put_back(repo, objects, plan)
    intent.drop(repo)


def store_commit(ctx: Context, plan: Intent) -> None:
    """Store the session of a commit that exists, once, and move its streams on."""
    repo, objects = ctx.repo, ctx.objects
    commit, state = need_commit(objects, plan["commit"]), ctx.read_state(plan["session_id"])
    if state is None:
        return
    stored = committed_read.list_session_ids(repo, objects, plan["checkpoint_id"])
    if plan["session_id"] not in stored:
        _condense(ctx, state, commit, plan)
    _settle_streams(repo, state, plan)
    ctx.keep(state)
    ctx.leave()  # carry_streams() reads the states from disk
    carry_forward.carry_streams(repo, objects, plan["expected"], commit, {plan["session_id"]})


def _condense(ctx: Context, state: State, commit: Commit, plan: Intent) -> None:
    repo, objects, paths = ctx.repo, ctx.objects, sorted(plan["entries"])
    linked: Linked = {"how": "environment", "paths": paths, "reasons": {}}
    extra: dict[str, Any] = {"strategy": AUTO}
    if plan["tool_use_id"]:
        extra |= {"is_task": True, "tool_use_id": plan["tool_use_id"]}
    phase.take_commit(state, paths)
    if plan["noted"]:
        notes.add_link(repo, objects, commit["oid"], plan["checkpoint_id"])
    pair = [(state, linked)]
    condense.condense_sessions(
        repo, objects, commit, plan["checkpoint_id"], pair, plan["noted"], extra=extra
    )


def _settle_streams(repo: Repo, state: State, plan: Intent) -> None:
    """Settle the paths that the commit took, even if a hook has changed their content."""
    open_edits.let_edits_go(repo, state["session_id"], plan["entries"])
    read_streams(repo, state)
    if not state["streams"]:
        state["checkpoint_count"] = 0
    state["base_commit"] = state["attribution_base_commit"] = plan["commit"]
