"""Commits that our hooks did not see, or did not finish: found when HEAD has moved.

Made by the agent's own client, a GUI, another tool, or while we were killed.  The same match
decides; the link is a note on the commit (doc/behaviour.md "Commits without hooks").
"""

from __future__ import annotations

from gitcp import trace
from gitcp.errors import GitError
from gitcp.store.git import commit_changes, notes, reflog, refs
from gitcp.store.git.commit import list_commits, read_commit
from gitcp.store.journal import open_edits
from gitcp.store.link import commit_match, condense
from gitcp.store.match import candidates, commit_memory
from gitcp.store.session import markers, phase
from gitcp.store.stream import place
from gitcp.store.v1 import committed_read, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gitcp.context import Context
    from gitcp.core.decide.overlap import Linked
    from gitcp.core.decide.relink_rules import Pair
    from gitcp.core.record_types import Commit, Marker, State
    from gitcp.repo import Repo
    from gitcp.store.git.commit_changes import Changes
    from gitcp.store.git.objects import Objects

# Reasons in a reflog by which HEAD comes to commits that others made, or that were there.
_ELSEWHERE = (
    b"pull", b"reset:", b"checkout:", b"switch:", b"clone:", b"fetch", b"rebase", b"am:",
    b"cherry-pick", b"branch", b"Branch", b"initial pull", b"update by push", b"stash", b"bisect",
)  # fmt: skip
_MOST = 100  # commits looked at: what HEAD moved over beyond that was not typed by hand
_RANGE = 200  # commits of a range that are looked at
NEW = "new"  # in place of an id: a checkpoint that has none yet


def link_all(repo: Repo, objects: Objects, state: State, old: str, new: str) -> None:
    """Link what a session has in the commits made here between old and new, oldest first.

    The caller holds the session's lock and saves the state.
    """
    if not markers.is_unsettled(state):
        return
    moves = reflog.list_head_moves(repo)
    last = moves[-1][1] if moves else old
    unlogged = set(list_between(repo, last, new)) if last != new else set[str]()
    here = _select_made_here(moves).union(unlogged).difference(commit_memory.read_judged(repo))
    for oid in reversed(list_between(repo, old, new)) if here else ():
        commit = read_commit(objects, oid)
        if commit and oid in here:
            link_one(repo, objects, state, commit, logged=oid not in unlogged)


def link_one(
    repo: Repo,
    objects: Objects,
    state: State,
    commit: Commit,
    olds: Sequence[str] = (),
    logged: bool = True,
    dry_run: bool = False,
) -> str:
    """Link what a session has in one commit; the checkpoint that has it now, or would have it
    (dry_run; NEW without an id), '' for none, or for one that had it before.

    olds: the commits it was rewritten from; then only what they did not have counts.  logged: the
    reflog tells that it was made here.  With olds, or unlogged, only evidence counts."""
    session_id, own = state["session_id"], [markers.build_marker(state)]
    parent, changes = commit_changes.read_changes(objects, commit)
    ids = find_commits.list_linked(objects, commit["oid"])
    stored = {name: committed_read.list_session_ids(repo, objects, name) for name in ids}
    mine = [name for name in ids if session_id in stored[name]]
    promised = [name for name in ids if not stored[name]]
    if mine and not (promised or olds or _has_more_work(repo, objects, changes, parent, own, mine)):
        if not dry_run:
            _settle_killed(repo, objects, state, commit, mine[-1])
        return ""
    if commit_memory.is_pending(repo, ids, parent):
        return ""  # its own post-commit is about to come
    had = [old for oid in olds if (old := read_commit(objects, oid))]
    about = repo, objects, commit_changes.subtract_changes(objects, changes, had), parent, own
    matched = commit_match.match_sessions(*about, agent=False, replay=bool(olds) or not logged)
    linked = matched.get(session_id) or _find_decided(repo, parent, ids, session_id)
    if not linked or not phase.take_commit(state, linked["paths"]):
        return ""
    checkpoint_id = (promised or mine or ids or [NEW if dry_run else place.make_id()])[-1]
    if not dry_run:
        trace.append_note("match", f"'{commit['oid']}' was made without our hooks: {linked}")
        if not ids:
            notes.add_link(repo, objects, commit["oid"], checkpoint_id)
        pair = [(state, linked)]
        condense.condense_sessions(repo, objects, commit, checkpoint_id, pair, noted=not ids)
    return checkpoint_id


def _settle_killed(
    repo: Repo, objects: Objects, state: State, commit: Commit, checkpoint_id: str
) -> None:
    """A commit was condensed, and the hook killed before the session's state was saved."""
    changes = commit_changes.read_changes(objects, commit)[1]
    open_edits.settle_commit(repo, objects, commit, changes, {state["session_id"]})
    condense.settle_state(repo, state)
    condense.take_over(repo, objects, state, checkpoint_id, commit["oid"])


def _has_more_work(
    repo: Repo,
    objects: Objects,
    changes: Changes,
    parent: str,
    own: list[Marker],
    ids: Sequence[str],
) -> bool:
    """Whether a commit has work of the session that none of these checkpoints of its holds: an id
    may have come back with the content of an earlier commit."""
    matched = commit_match.match_sessions(repo, objects, changes, parent, own, agent=False)
    paths = {path for linked in matched.values() for path in linked["paths"]}
    held = {(e["path"], e["oid"]) for one in ids for e in candidates.read_edits(repo, objects, one)}
    return any((path, changes[path][3]) not in held for path in paths)


def _find_decided(repo: Repo, parent: str, ids: Sequence[str], session_id: str) -> Linked | None:
    """What was decided before the commit, where that was killed before it could be obeyed."""
    verdict = commit_memory.load_verdict(repo)
    if not verdict or verdict["parent"] != parent or verdict["id"] not in ids:
        return None
    return verdict["sessions"].get(session_id)


def list_between(repo: Repo, old: str, new: str) -> list[str]:
    """The commits on new's first-parent line that old has not, newest first; [] when neither old
    is an ancestor of that line nor commits and amends alone lead there: a rewrite, a reset, another
    branch."""
    args = ("--first-parent", f"--max-count={_MOST}", new)
    if not old.strip("0"):
        return list_commits(repo, *args)
    status, _ = repo.git.run("merge-base", "--is-ancestor", old, new, ok=(0, 1, 128))
    if status and reflog.find_committed_head(repo, old) != new:
        return []
    return list_commits(repo, *args, f"^{old}")


def list_made_here(repo: Repo) -> set[str]:
    """The commits that HEAD's reflog calls made in this worktree, whatever made them: not
    pulled, merged in, reset to or switched to."""
    return _select_made_here(reflog.list_head_moves(repo))


def _select_made_here(moves: Sequence[reflog.Move]) -> set[str]:
    return {new for _, new, reason in moves if not _comes_from_elsewhere(reason)}


def _comes_from_elsewhere(reason: bytes) -> bool:
    if reason.startswith(b"merge "):
        return reason.endswith(b": Fast-forward")
    return reason.startswith(_ELSEWHERE)


def link_range(ctx: Context, among: str, dry_run: bool) -> Iterator[Pair]:
    """Link what sessions here that are not at work have in commits of a range, by default in
    those made here that no hook has judged; tell each link, made or (dry_run) to be made."""
    resting = (ctx.read_state(marker["session_id"]) for marker in list_resting(ctx.repo))
    states = (state for state in resting if state)
    for state, commit, one in _link_each(ctx.repo, ctx.objects, states, among, dry_run):
        if not dry_run:
            ctx.keep(state)
        yield {"commit": commit, "checkpoint_id": one, "how": "content"}


def list_left_out(
    repo: Repo, objects: Objects, states: Iterable[State]
) -> Iterator[tuple[str, str, str]]:
    """(commit, checkpoint, session) where a commit made here names the checkpoint, and it lacks
    the part of one of these sessions, which none of its events has put in yet."""
    idle = {marker["session_id"] for marker in list_resting(repo)}
    chosen = (state for state in states if state["session_id"] in idle)
    for state, commit, one in _link_each(repo, objects, chosen, "", dry_run=True):
        if one != NEW:
            yield commit, one, state["session_id"]


def _link_each(
    repo: Repo, objects: Objects, states: Iterable[State], among: str, dry_run: bool
) -> Iterator[tuple[State, str, str]]:
    """(session's state, commit, checkpoint) of what sessions have in commits of a range; without
    a range, in those made since the session looked last: what was there before is not its work."""
    head = refs.read_head(repo) or ""
    commits = _list_unjudged(repo, objects, head, among)
    for state in states if commits else ():
        since = None if among else {*list_between(repo, state.get("base_commit") or "", head)}
        for commit in commits:
            if since is None or commit["oid"] in since:
                one = _link_in(repo, objects, state, commit, dry_run)
                if one:
                    yield state, commit["oid"], one


def list_resting(repo: Repo) -> Iterator[Marker]:
    """The sessions here with something unsettled that no agent works for: the others' own next
    event does it."""
    for marker in markers.read_here(repo):
        if not markers.is_at_work(repo, marker):
            yield marker


def _link_in(repo: Repo, objects: Objects, state: State, commit: Commit, dry_run: bool) -> str:
    """The checkpoint that a session has now, or would have, in a commit; '' for none, or one
    that it had before."""
    ids = find_commits.list_linked(objects, commit["oid"])
    if any(
        state["session_id"] in committed_read.list_session_ids(repo, objects, one) for one in ids
    ):
        return ""
    return link_one(repo, objects, state, commit, dry_run=dry_run)


def _list_unjudged(repo: Repo, objects: Objects, head: str, among: str) -> list[Commit]:
    """Those of a range without a checkpoint that is stored, oldest first; of those that no hook
    has judged also such as lack the part of a session, whose data was damaged then."""
    where = ["--end-of-options", among, "--"] if among else [head]
    if not (among or head):
        return []
    try:
        oids = list_commits(repo, "--first-parent", "--reverse", f"--max-count={_RANGE}", *where)
    except GitError as e:
        raise e.shorten() from None
    if not among:
        here = list_made_here(repo).difference(commit_memory.read_judged(repo))
        oids = [oid for oid in oids if oid in here]
    every = (read_commit(objects, oid) for oid in oids)
    return [
        commit for commit in every if commit and not (among and _has_stored(repo, objects, commit))
    ]


def _has_stored(repo: Repo, objects: Objects, commit: Commit) -> bool:
    ids = find_commits.list_linked(objects, commit["oid"])
    return any(committed_read.list_session_ids(repo, objects, one) for one in ids)
