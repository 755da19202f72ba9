"""Commits that passed our hooks by, settled for every session here that is not at work.

Made by a GUI, by plumbing, by a git without hooks, or while ours were killed: any session's
start or prompt finds them, be their own session long over
(doc/behaviour.md "Commits without hooks").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import Error
from gitcp.store.git import notes, reflog
from gitcp.store.git.commit import read_commit, rev_list
from gitcp.store.link import commit_changes, commit_verdict, finalize, find_commits
from gitcp.store.relink import dismissed, judged, rewritten, taken_back
from gitcp.store.session import catch_up, markers, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.context import Context
    from gitcp.core.record_types import Marker
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


_MOST = 50  # commits that are looked at


def settle(ctx: Context, but: str = "") -> None:
    """Link what the sessions here that are not at work have in such commits, and give amended
    commits the ids they lost.  but: a session that has settled by itself."""
    repo, head = ctx.repo, ctx.head
    mend(repo, ctx.objects, since=judged.looked(repo))
    waiting = False
    for marker in markers.here(repo):
        if marker["session_id"] == but or marker["base_commit"] == head:
            continue
        if _at_work(marker):
            waiting = True  # its own next event does it
            continue
        _one(ctx, marker["session_id"], head)
    _give_back(repo, ctx.objects, head)
    taken_back.ids(repo, ctx.objects, head, {})  # a later reset may hide the one there was
    if not waiting:
        judged.look(repo, head)


def _give_back(repo: Repo, objects: Objects, head: str) -> None:
    """Note on commits nobody has judged the ids of what was taken back and is in them again."""
    looked, known, refused = judged.looked(repo), set(judged.read(repo)), dismissed.read(repo)
    since = [f"^{looked}"] if looked and read_commit(objects, looked) else []
    args = ("--first-parent", "--reverse", f"--max-count={_MOST}", head, *since)
    for oid in rev_list(repo, *args) if since else ():
        commit = read_commit(objects, oid)
        if commit is None or commit["oid"] in known:
            continue
        parent, changes = commit_changes.of_commit(objects, commit)
        has = {*find_commits.linked(objects, commit["oid"]), *refused}
        for one in taken_back.ids(repo, objects, parent, changes):
            if one not in has:
                notes.add(repo, objects, commit["oid"], one)


def _one(ctx: Context, session_id: str, head: str) -> None:
    state = ctx.state(session_id)
    try:
        if state and state.get("base_commit") != head:
            catch_up.moved(ctx.repo, ctx.objects, state, head)
            finalize.finalize(ctx.repo, ctx.objects, state)
            ctx.keep(state)
    except (Error, OSError) as e:  # of its data: nothing of who looks
        trace.note("settle", f"'{session_id}': {e}")


def _at_work(marker: Marker) -> bool:
    return bool(marker["phase"] == "active" and process.alive(marker["agent_process"]))


def mend(
    repo: Repo, objects: Objects, dry_run: bool = False, since: str = ""
) -> list[tuple[str, str]]:
    """Note the ids on amended commits that lost them to a kill; (commit, id) of each.

    A line that the person took out stays out.  since: where HEAD was when all before was well.
    """
    done = []
    everywhere = dismissed.read(repo)
    entries = reflog.head(repo)
    seen = [at for at, (_, new, _) in enumerate(entries) if new == since]
    for old, new, reason in entries[seen[-1] + 1 if seen else 0 :]:
        after = read_commit(objects, new) if reason.startswith(b"commit (amend)") else None
        if after is None or find_commits.linked(objects, new):
            continue
        refused = everywhere | commit_verdict.refused(repo, old, after)
        if since:
            rewritten.remember(repo, objects, old, after, refused)
        for one in rewritten.carried_over(repo, objects, old, new):
            if one not in refused:
                done.append((new, one))
    for commit, one in () if dry_run else done:
        notes.add(repo, objects, commit, one)
    return done
