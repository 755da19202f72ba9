"""Giving commits the links that they lack, as notes; no commit is changed
(doc/behaviour.md "Rewritten commits", "Commits without hooks")."""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import Error
from gitcp.store.git import notes
from gitcp.store.git.commit import read_commit
from gitcp.store.link import finalize, unhooked
from gitcp.store.match import commit_memory, sources
from gitcp.store.match.case import LONG, Case
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
    """Write notes with the ids that commits lack by the sources asked at that moment; return the
    links.  A dry run writes nothing.

    If a person removed an id from an old commit and git copied its trailer to a new one, the note
    removes it there too."""
    links: dict[tuple[str, str], Pair] = {}
    repo, objects = case.repo, case.objects
    for target, ids, excluded, _ in sources.ask_sources(case, when):
        for checkpoint_id, how in ids.items():
            link: Pair = {"commit": target.oid, "checkpoint_id": checkpoint_id, "how": how}
            links.setdefault((target.oid, checkpoint_id), link)
            if not case.dry_run:
                notes.add_link(repo, objects, target.oid, checkpoint_id)
        present = target.list_ids() if excluded and not case.dry_run else ()
        for checkpoint_id, reason in excluded.items():
            if checkpoint_id in present and reason is not None:
                notes.deny_link(repo, objects, target.oid, checkpoint_id, reason)
    return list(links.values())


def link_left_behind(ctx: Context, dry_run: bool = False) -> list[Pair]:
    """Link commits that were made here without hooks, and rebased or squashed before an event of
    ours, and those that have been made of them.  Return the links of the new ones."""
    links = unhooked.link_left_behind(ctx, dry_run)
    if dry_run:
        return [{"commit": new, "checkpoint_id": i, "how": "content"} for new, i in links]
    looked = commit_memory.read_looked(ctx.repo)
    case = Case(ctx.repo, ctx.objects, ctx.head, since=looked, seconds=LONG)
    return reconcile(case, SETTLE) if links else []


def settle(ctx: Context, settled: str = "") -> int:
    """Settle commits that our hooks did not see, for every session here that is not at work, and
    give commits the ids that they lost.  Return the number of links of pulled commits.

    settled: the session that has done so already.
    """
    repo, head = ctx.repo, ctx.head
    case = Case(repo, ctx.objects, head, since=commit_memory.read_looked(repo))
    reconcile(case, AMENDED)
    waiting = False
    for marker in markers.read_here(repo):
        if marker["session_id"] == settled or marker["base_commit"] == head:
            continue
        if markers.is_at_work(repo, marker):
            waiting = True  # it settles at its next event
            continue
        _settle_session(ctx, marker["session_id"], head)
    links = reconcile(case, SETTLE)
    if case.done and not waiting:
        commit_memory.write_looked(repo, case.done)
    restored = [link["commit"] for link in links if link["how"] == "lost"]
    made_here = unhooked.list_made_here(repo) if restored else ()
    return sum(oid not in made_here for oid in restored)


def follow_head(ctx: Context) -> None:
    """Have every session here follow a HEAD that moved, also those at work."""
    for marker in markers.read_here(ctx.repo):
        if marker["base_commit"] != ctx.head:
            is_over = not markers.is_at_work(ctx.repo, marker)
            _settle_session(ctx, marker["session_id"], ctx.head, is_over)


def _settle_session(ctx: Context, session_id: str, head: str, is_over: bool = True) -> None:
    """Have a session follow HEAD.  is_over: whether its turn is, so its transcript is complete."""
    state = ctx.read_state(session_id)
    try:
        if state and state.get("base_commit") != head:
            catch_up.follow_head(ctx.repo, ctx.objects, state, head)
            if is_over:
                finalize.finalize(ctx.repo, ctx.objects, state)
            ctx.keep(state)
    except (Error, OSError) as e:  # its data is damaged; the others go on
        trace.append_note("settle", f"'{session_id}': {e}")


def list_amended_sessions(repo: Repo, objects: Objects, new: Iterable[str]) -> list[str]:
    """The sessions of the checkpoints of commits that were amended."""
    ids = {i for oid in new for i in find_commits.list_linked(objects, oid)}
    return sorted({s for i in ids for s in committed_read.list_session_ids(repo, objects, i) if s})


def link_replayed(
    repo: Repo, objects: Objects, state: State, replayed: Mapping[str, Sequence[str]]
) -> None:
    """Link a session's work in the commits that a rebase made (new -> its old commits): in
    rewritten ones only work that was added during the rebase.

    The caller holds the session's lock and saves the state.
    """
    for oid, old_commits in replayed.items():
        if commit := read_commit(objects, oid):
            unhooked.link_one(repo, objects, state, commit, old_commits)
