"""Links that commits lack, given to them: one table of sources, one question, one writer.

Nothing here touches a commit: a link that its message lacks is a note
(doc/behaviour.md "Rewritten commits", "Commits without hooks").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import Error
from gitcp.store.git import commit_changes, notes
from gitcp.store.git.commit import read_commit
from gitcp.store.link import finalize, unhooked
from gitcp.store.match import commit_memory, inherited_ids
from gitcp.store.relink import catch_up
from gitcp.store.relink.sources import AMENDED, SETTLE, SOURCES, Case
from gitcp.store.session import markers
from gitcp.store.v1 import committed_read, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gitcp.context import Context
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects
    from gitcp.store.relink.sources import Candidates


def reconcile(case: Case, when: str) -> list[Pair]:
    """Note on commits the ids that they lack by the sources that are asked then; each link.
    A dry run notes nothing."""
    done: list[Pair] = []
    for source, times, find in SOURCES:
        for group in find(case) if when in times else ():
            for new, ids in _ask(case, group):
                links: list[Pair] = [
                    {"commit": new, "checkpoint_id": one, "how": source or how}
                    for one, how in ids.items()
                ]
                if not case.dry_run:
                    write_links(case.repo, case.objects, links)
                    _take_away(case.repo, case.objects, new, group.olds)
                done += links
    return done


def _ask(case: Case, group: Candidates) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The new commits, each with the ids that it lacks and what shows them."""
    if group.search:
        yield from group.search.find_missing(group.news)
        return
    for new in group.news:
        but = {*group.but, *find_commits.linked(case.objects, new)}
        ids = [one for old in group.olds for one in _inherited(case, old, new)]
        yield new, {one: case.rewrite.command for one in ids if one not in but}


def _inherited(case: Case, old: str, new: str) -> list[str]:
    """The ids of an old commit that are the new one's as well, because that has some of its
    content: an amend may leave the content out, and of a commit that was skipped git says that it
    became the one before it."""
    ids = find_commits.linked(case.objects, old)
    was, now = read_commit(case.objects, old), read_commit(case.objects, new)
    if not (ids and was and now):
        return ids
    changes = commit_changes.read_changes(case.objects, now)
    gone = inherited_ids.left_out(case.repo, case.objects, ids, was, *changes)
    return [one for one in ids if one not in gone]


def write_links(repo: Repo, objects: Objects, links: Iterable[Pair]) -> None:
    """Note links on their commits."""
    for link in links:
        notes.add_link(repo, objects, link["commit"], link["checkpoint_id"])


def _take_away(repo: Repo, objects: Objects, new: str, olds: Sequence[str]) -> None:
    """Take off a commit what a person took off those that it was made of, where git has copied
    the line of its message."""
    there = find_commits.linked(objects, new) if olds else ()
    for one, why in find_commits.refused(objects, olds).items() if there else ():
        if one in there:
            notes.deny_link(repo, objects, new, one, why)


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
    for marker in markers.here(repo):
        if marker["session_id"] == but or marker["base_commit"] == head:
            continue
        if markers.at_work(repo, marker):
            waiting = True  # its own next event does it
            continue
        _settle_session(ctx, marker["session_id"], head)
    links = reconcile(case, SETTLE)
    if case.done and not waiting:
        commit_memory.write_looked(repo, case.done)
    again = [link["commit"] for link in links if link["how"] == "lost"]
    here = unhooked.made_here(repo) if again else ()
    return sum(oid not in here for oid in again)


def _settle_session(ctx: Context, session_id: str, head: str) -> None:
    state = ctx.state(session_id)
    try:
        if state and state.get("base_commit") != head:
            catch_up.moved(ctx.repo, ctx.objects, state, head)
            finalize.finalize(ctx.repo, ctx.objects, state)
            ctx.keep(state)
    except (Error, OSError) as e:  # of its data: nothing of who looks
        trace.note("settle", f"'{session_id}': {e}")


def list_amended_sessions(repo: Repo, objects: Objects, new: Iterable[str]) -> list[str]:
    """The sessions of the checkpoints of commits that were amended."""
    ids = {one for oid in new for one in find_commits.linked(objects, oid)}
    return sorted({s for one in ids for s in committed_read.session_ids(repo, objects, one) if s})


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
