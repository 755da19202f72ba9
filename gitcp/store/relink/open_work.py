"""Work of sessions in commits that passed our hooks by, looked for where a person says."""

from __future__ import annotations

from gitcp.errors import GitError
from gitcp.store.git import refs
from gitcp.store.git.commit import read_commit, rev_list
from gitcp.store.link import commit_changes, commit_match, find_commits
from gitcp.store.relink import judged, unhooked_commits
from gitcp.store.session import markers, process
from gitcp.store.v1 import committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gitcp.context import Context
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import Commit, Marker, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

_MOST = 200  # commits looked at
_NEW = "new"  # in place of an id: a checkpoint that has none yet


def link(ctx: Context, among: str, dry_run: bool) -> Iterator[Pair]:
    """Link what sessions here that are not at work have in commits of a range, by default in
    those made here that no hook has judged; tell each link, made or (dry_run) to be made."""
    commits = _commits(ctx.repo, ctx.objects, ctx.head, among)
    for marker in resting(ctx.repo) if commits else ():
        state = ctx.state(marker["session_id"])
        if state is None:
            continue
        since = None if among else _since(ctx.repo, state, ctx.head)
        for commit in commits:
            if since is None or commit["oid"] in since:
                one = _one(ctx.repo, ctx.objects, state, commit, dry_run)
                if one:
                    yield {"commit": commit["oid"], "checkpoint_id": one, "how": "content"}
        if not dry_run:
            ctx.keep(state)


def left_out(
    repo: Repo, objects: Objects, states: Iterable[State]
) -> Iterator[tuple[str, str, str]]:
    """(commit, checkpoint, session) where a commit made here names the checkpoint, and it lacks
    the part of one of these sessions, which none of its events has put in yet."""
    head = refs.head(repo) or ""
    commits = _commits(repo, objects, head) if head else []
    idle = {marker["session_id"] for marker in resting(repo)} if commits else set[str]()
    for state in (state for state in states if state["session_id"] in idle):
        since = _since(repo, state, head)
        for commit in (commit for commit in commits if commit["oid"] in since):
            one = _one(repo, objects, state, commit, dry_run=True)
            if one and one != _NEW:
                yield commit["oid"], one, state["session_id"]


def resting(repo: Repo) -> Iterator[Marker]:
    """The sessions here with something unsettled that no agent works for: the others' own next
    event does it."""
    for marker in markers.here(repo):
        if marker["phase"] != "active" or not process.alive(marker["agent_process"]):
            yield marker


def _since(repo: Repo, state: State, head: str) -> set[str]:
    """The commits made since the session looked last: what was there before is not its work."""
    return set(unhooked_commits.between(repo, state.get("base_commit") or "", head))


def _one(repo: Repo, objects: Objects, state: State, commit: Commit, dry_run: bool) -> str:
    """The checkpoint that a session has now, or would have, in a commit; '' for none, or one
    that it had before."""
    session_id = state["session_id"]
    ids = find_commits.linked(objects, commit["oid"])
    if any(session_id in committed_read.session_ids(repo, objects, one) for one in ids):
        return ""
    if dry_run:
        parent, changes = commit_changes.of_commit(objects, commit)
        own = [markers.marker(state)]
        would = commit_match.sessions(repo, objects, changes, parent, own, agent=False)
        return (ids or [_NEW])[-1] if session_id in would else ""
    unhooked_commits.link_one(repo, objects, state, commit)
    ids = find_commits.linked(objects, commit["oid"])
    return next((i for i in ids if session_id in committed_read.session_ids(repo, objects, i)), "")


def _commits(repo: Repo, objects: Objects, head: str, among: str = "") -> list[Commit]:
    """Those of a range without a checkpoint that is stored, oldest first; of those that no hook
    has judged also such as lack the part of a session, whose data was damaged then."""
    where = ["--end-of-options", among, "--"] if among else [head]
    if not among and not head.strip("0"):
        return []
    try:
        oids = rev_list(repo, "--first-parent", "--reverse", f"--max-count={_MOST}", *where)
    except GitError as e:
        raise e.plain() from None
    if not among:
        here = unhooked_commits.made_here(repo).difference(judged.read(repo))
        oids = [oid for oid in oids if oid in here]
    every = (read_commit(objects, oid) for oid in oids)
    return [commit for commit in every if commit and not (among and _stored(repo, objects, commit))]


def _stored(repo: Repo, objects: Objects, commit: Commit) -> bool:
    ids = find_commits.linked(objects, commit["oid"])
    return any(committed_read.session_ids(repo, objects, one) for one in ids)
