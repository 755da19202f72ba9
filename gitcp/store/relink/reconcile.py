"""Links that commits lack, given to them: one table of sources, one question, one writer.

Nothing here touches a commit: a link that its message lacks is a note
(doc/behaviour.md "Rewritten commits", "Commits without hooks").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import Error
from gitcp.store.git import notes
from gitcp.store.git.commit import read_commit
from gitcp.store.link import finalize, unhooked
from gitcp.store.match import commit_memory, sources
from gitcp.store.match.case import Case
from gitcp.store.match.sources import AMENDED, SETTLE
from gitcp.store.relink import catch_up
from gitcp.store.session import markers
from gitcp.store.v1 import committed_read, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.context import Context
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def reconcile(case: Case, when: str) -> list[Pair]:
    """Note on commits the ids that they lack by the sources that are asked then; each link.
    A dry run notes nothing.

    What a person took off the commits that one was made of is taken off it as well, where git has
    copied the line of its message."""
    done: dict[tuple[str, str], Pair] = {}
    repo, objects = case.repo, case.objects
    for target, ids, left, _ in sources.ask_sources(case, when):
        for one, how in ids.items():
            link: Pair = {"commit": target.oid, "checkpoint_id": one, "how": how}
            done.setdefault((target.oid, one), link)
            if not case.dry_run:
                notes.add_link(repo, objects, target.oid, one)
        there = target.list_ids() if left and not case.dry_run else ()
        for one, why in left.items():
            if one in there and why is not None:
                notes.deny_link(repo, objects, target.oid, one, why)
    return list(done.values())


def settle(ctx: Context, but: str = "") -> int:
    """Settle commits that passed our hooks by, for every session here that is not at work, and
    give commits the ids they lost; how many links of pulled commits that gave.

    Made by a GUI, by plumbing, by a git without hooks, by a forge and pulled, or while our hooks
    were killed: any session's start or prompt finds them.  but: a session that has settled.
    """
    repo, head = ctx.repo, ctx.head
    case = Case(repo, ctx.objects, head, since=commit_memory.read_looked(repo))
    reconcile(case, AMENDED)
    waiting = False
    for marker in markers.read_here(repo):
        if marker["session_id"] == but or marker["base_commit"] == head:
            continue
        if markers.is_at_work(repo, marker):
            waiting = True  # its own next event does it
            continue
        _settle_session(ctx, marker["session_id"], head)
    links = reconcile(case, SETTLE)
    if case.done and not waiting:
        commit_memory.write_looked(repo, case.done)
    again = [link["commit"] for link in links if link["how"] == "lost"]
    here = unhooked.list_made_here(repo) if again else ()
    return sum(oid not in here for oid in again)


def _settle_session(ctx: Context, session_id: str, head: str) -> None:
    state = ctx.read_state(session_id)
    try:
        if state and state.get("base_commit") != head:
            catch_up.follow_head(ctx.repo, ctx.objects, state, head)
            finalize.finalize(ctx.repo, ctx.objects, state)
            ctx.keep(state)
    except (Error, OSError) as e:  # of its data: nothing of who looks
        trace.append_note("settle", f"'{session_id}': {e}")


def list_amended_sessions(repo: Repo, objects: Objects, new: Iterable[str]) -> list[str]:
    """The sessions of the checkpoints of commits that were amended."""
    ids = {one for oid in new for one in find_commits.list_linked(objects, oid)}
    return sorted(
        {s for one in ids for s in committed_read.list_session_ids(repo, objects, one) if s}
    )


def link_replayed(
    repo: Repo, objects: Objects, state: State, replayed: Mapping[str, Sequence[str]]
) -> None:
    """Look for a session's work in what a rebase made (new -> olds): all of what it stopped for
    or an exec committed; of what it rewrote, what was put in on the way.

    The caller holds the session's lock and saves the state.
    """
    for oid, olds in replayed.items():
        if commit := read_commit(objects, oid):
            unhooked.link_one(repo, objects, state, commit, olds)
