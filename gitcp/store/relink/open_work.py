"""Work of sessions in commits that passed our hooks by, looked for where a person says."""

from __future__ import annotations

from gitcp.errors import Error, GitError
from gitcp.store.git.commit import read_commit
from gitcp.store.link import commit_changes, commit_match, find_commits
from gitcp.store.relink import judged, unhooked_commits
from gitcp.store.session import markers, process
from gitcp.store.v1 import committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gitcp.context import Context
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import Commit, State

_MOST = 200  # commits looked at


def link(ctx: Context, among: str, dry_run: bool) -> Iterator[Pair]:
    """Link what sessions here that are not at work have in commits of a range, by default in
    those made here that no hook has judged; tell each link, made or (dry_run) to be made."""
    commits = _commits(ctx, among)
    for marker in markers.here(ctx.repo) if commits else ():
        if marker["phase"] == "active" and process.alive(marker["agent_process"]):
            continue
        state = ctx.state(marker["session_id"])
        if state is None:
            continue
        since = None if among else _since(ctx, state)
        for commit in commits:
            if since is None or commit["oid"] in since:
                one = _one(ctx, state, commit, dry_run)
                if one:
                    yield {"commit": commit["oid"], "checkpoint_id": one, "how": "content"}
        if not dry_run:
            ctx.keep(state)


def _since(ctx: Context, state: State) -> set[str]:
    """The commits made since the session looked last: what was there before is not its work."""
    return set(unhooked_commits.between(ctx.repo, state.get("base_commit") or "", ctx.head))


def _one(ctx: Context, state: State, commit: Commit, dry_run: bool) -> str:
    """The checkpoint that a session has now, or would have, in a commit; '' for none, or one
    that it had before."""
    repo, objects, session_id = ctx.repo, ctx.objects, state["session_id"]
    ids = find_commits.linked(objects, commit["oid"])
    if any(session_id in committed_read.session_ids(repo, objects, one) for one in ids):
        return ""
    if dry_run:
        parent, changes = commit_changes.of_commit(objects, commit)
        own = [markers.marker(state)]
        would = commit_match.sessions(repo, objects, changes, parent, own, agent=False)
        return (ids or ["new"])[-1] if session_id in would else ""
    unhooked_commits.one(repo, objects, state, commit)
    ids = find_commits.linked(objects, commit["oid"])
    return next((i for i in ids if session_id in committed_read.session_ids(repo, objects, i)), "")


def _commits(ctx: Context, among: str) -> list[Commit]:
    """Those of a range without a checkpoint that is stored, oldest first; of those that no hook
    has judged also such as lack the part of a session, whose data was damaged then."""
    where = ["--end-of-options", among, "--"] if among else [ctx.head]
    if not among and not ctx.head.strip("0"):
        return []
    args = ("rev-list", "--first-parent", "--reverse", f"--max-count={_MOST}")
    try:
        oids = [oid.decode() for oid in ctx.repo.git.lines(*args, *where, sep=b"\n")]
    except GitError as e:
        raise Error(e.complaint.removeprefix("fatal: ").partition("\n")[0]) from None
    if not among:
        here = unhooked_commits.made_here(ctx.repo).difference(judged.read(ctx.repo))
        oids = [oid for oid in oids if oid in here]
    every = (read_commit(ctx.objects, oid) for oid in oids)
    return [commit for commit in every if commit and not (among and _stored(ctx, commit))]


def _stored(ctx: Context, commit: Commit) -> bool:
    ids = find_commits.linked(ctx.objects, commit["oid"])
    return any(committed_read.session_ids(ctx.repo, ctx.objects, one) for one in ids)
