"""Commits that passed our hooks by, settled for every session here that is not at work.

Made by a GUI, by plumbing, by a git without hooks, by a forge and pulled, or while our hooks were
killed: any session's start or prompt finds them, be their own session long over
(doc/behaviour.md "Commits without hooks").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import Error
from gitcp.store.git import notes, reflog
from gitcp.store.git.commit import read_commit, rev_list
from gitcp.store.link import commit_verdict, finalize, lost_commits, unhooked
from gitcp.store.match import commit_memory
from gitcp.store.match.candidates import Search
from gitcp.store.relink import catch_up, rewritten
from gitcp.store.session import markers
from gitcp.store.v1 import find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.context import Context
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import Commit
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


_MOST = 50  # commits that are looked at


def settle(ctx: Context, but: str = "") -> int:
    """Link what the sessions here that are not at work have in such commits, and give commits the
    ids they lost; how many of those were pulled.  but: a session that has settled by itself."""
    repo, head = ctx.repo, ctx.head
    mend(repo, ctx.objects, since=commit_memory.read_looked(repo))
    waiting = False
    for marker in markers.here(repo):
        if marker["session_id"] == but or marker["base_commit"] == head:
            continue
        if markers.at_work(repo, marker):
            waiting = True  # its own next event does it
            continue
        _settle_session(ctx, marker["session_id"], head)
    pulled, done = _give_back(repo, ctx.objects, head)
    if done and not waiting:
        commit_memory.write_looked(repo, done)
    return pulled


def _give_back(repo: Repo, objects: Objects, head: str) -> tuple[int, str]:
    """Note on commits nobody has judged the ids whose work is in them again: of commits that HEAD
    lost or never had.  (How many links were pulled, the last commit there was time for, '' for
    none.)"""
    looked, known = commit_memory.read_looked(repo), set(commit_memory.read_judged(repo))
    since = [f"^{looked}"] if looked and read_commit(objects, looked) else []
    lost = lost_commits.find(repo, objects, head)
    args = ("--first-parent", "--reverse", "--no-merges", f"--max-count={_MOST}", head, *since)
    fresh = [oid for oid in rev_list(repo, *args) if oid not in known] if since else []
    commits = [commit for oid in fresh if (commit := read_commit(objects, oid))]
    if fresh and repo.jj_root:
        rewritten.follow_jj(repo, objects, fresh)
    here = unhooked.made_here(repo)
    pulled = {c["oid"] for c in commits if c["oid"] not in here}
    beside = _beside(repo, objects, commits) if commits else []
    if not (lost or beside):
        return 0, head
    search, links, done = Search(repo, objects, [*beside, *lost]), 0, ""
    for commit, ids in search.find_missing(commits):
        for one in ids:
            notes.add(repo, objects, commit["oid"], one)
            links += commit["oid"] in pulled
        done = commit["oid"]
    if not commits or done == commits[-1]["oid"]:
        done = head
    search.commits = lost
    lost_commits.keep(repo, objects, search, head, {})
    return links, done


def _beside(repo: Repo, objects: Objects, fresh: list[Commit]) -> list[Commit]:
    """The commits with an id that were made here, or are on a branch, and that HEAD has not,
    where none of the commits that came to it has the id: a forge squashed or rebased them."""
    moves = reflog.head(repo)[-_MOST:]
    tips = dict.fromkeys(new for _, new, reason in moves if read_commit(objects, new))
    there = {one for commit in fresh for one in find_commits.linked(objects, commit["oid"])}
    return [
        commit
        for commit in find_commits.beside(repo, objects, tips)
        if not there.issuperset(find_commits.linked(objects, commit["oid"]))
    ]


def _settle_session(ctx: Context, session_id: str, head: str) -> None:
    state = ctx.state(session_id)
    try:
        if state and state.get("base_commit") != head:
            catch_up.moved(ctx.repo, ctx.objects, state, head)
            finalize.finalize(ctx.repo, ctx.objects, state)
            ctx.keep(state)
    except (Error, OSError) as e:  # of its data: nothing of who looks
        trace.note("settle", f"'{session_id}': {e}")


def mend(repo: Repo, objects: Objects, dry_run: bool = False, since: str = "") -> list[Pair]:
    """Note the ids on amended commits that lost them to a kill; each link.

    A line that the person took out stays out.  since: where HEAD was when all before was well.
    """
    done: list[Pair] = []
    everywhere, entries = commit_memory.read_refused(repo), reflog.head(repo)
    seen = [at for at, (_, new, _) in enumerate(entries) if new == since]
    for old, new, reason in entries[seen[-1] + 1 if seen else 0 :]:
        after = read_commit(objects, new) if reason.startswith(b"commit (amend)") else None
        if after and not dry_run:
            rewritten.take_away(repo, objects, new, [old])
        if after and not find_commits.linked(objects, new):
            refused = everywhere | commit_verdict.refused(repo, old, after)
            if since:
                rewritten.remember(repo, objects, old, after, refused)
            done += rewritten.hand_on(repo, objects, new, [old], "amend", refused, dry_run)
    return done
