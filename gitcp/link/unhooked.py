"""Commits that our hooks did not see, or did not finish: found when HEAD has moved.

A client, a graphical program or another tool made them, or our hooks were killed.  The same match
decides; the link is a note on the commit (doc/behaviour.md "Commits without hooks").
"""

from __future__ import annotations

from functools import partial

from gitcp import git, memory
from gitcp.checkpoints import listing, notes, stored
from gitcp.errors import GitError
from gitcp.git import refs
from gitcp.git.objects import object_lists, parse_ident, read_changes, read_commit, read_ident
from gitcp.link import commit as link_commit
from gitcp.link import condense, left_behind
from gitcp.record import match, session
from gitcp.record.journal import find_worktree, settling
from gitcp.record.match import candidates, change, searches
from gitcp.record.match.sources import IN_JJ, MatchCase
from gitcp.record.session import make_id, others
from gitcp.text import value_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from gitcp.git.gitdir import Move
    from gitcp.git.objects import Changes, Objects
    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.record.match.sources import Answer
    from gitcp.text.record_types import Commit, Linked, Marker, Pair, State

_MOST = 100  # commits that HEAD moved over; nobody makes more by hand between two events
_RANGE = 200  # commits of a range
_ALL_PARENTS = "--topo-order", "--max-count=1000"  # with what others made and a merge brought
_SINCE: dict[tuple[str, ...], list[str]] = memory.get_table("commits since")
NEW = "new"  # in place of an id: a checkpoint that has none yet


@value_class
class _Rewritten:
    """A commit that jj made of others."""

    commit: Commit
    old_commits: Sequence[str]


@value_class
class _Link:
    """A link that was made, or would be.  commit: that which is told to have it."""

    state: State
    commit: str
    checkpoint_id: str


def link_all(repo: Repo, state: State, old: str, new: str, since: Sequence[Move] = ()) -> None:
    """Link a session's work in the commits made here between old and new, oldest first, and in
    those that HEAD left: for another branch, or for a rebased or squashed form of them.

    since: the moves of HEAD since the session's last event.  The caller holds the session's lock
    and saves the state.
    """
    if not session.is_unsettled(state):
        return
    rewritten = _link_in_jj(repo, old, new)
    for one in rewritten:
        if one.old_commits:
            link_one(repo, state, one.commit, one.old_commits)
    from_jj = {one.commit["oid"] for one in rewritten}
    _link_made_here(repo, state, old, new, since, from_jj)
    for one in rewritten:
        if not one.old_commits:
            link_one(repo, state, one.commit)


def _link_made_here(
    repo: Repo, state: State, old: str, new: str, since: Sequence[Move], without: Collection[str]
) -> None:
    """link_all() of the commits that were made here and that no hook has judged.  without: those
    that were looked at already."""
    moves = refs.list_head_moves(repo)
    made_here = refs.select_made(moves)
    logged = moves[-1][1] if moves else old
    if logged != new:
        made_here |= {*_list_since(repo, logged, new, "--first-parent", f"--max-count={_MOST}")}
    unjudged = made_here.difference(match.read_judged(repo), without)
    if not unjudged:
        return
    # A forge merges a branch by a merge commit: what was made here is not of its first parent.
    brought = reversed(_list_since(repo, old, new, *_ALL_PARENTS))
    made = left_behind.sort_commits(since, unjudged)[-left_behind.MOST_LEFT :]
    outside = left_behind.list_outside(repo, made, new)
    if repo.jj_root:  # it moves HEAD to what it rewrote
        made = [oid for oid in made if oid in outside]
    # HEAD may have switched, or rebased, before the commits that it has.
    for oid in dict.fromkeys([*brought, *sorted(made, key=outside.__contains__)]):
        if oid not in unjudged:
            continue
        commit = read_commit(repo.objects, oid)
        if commit and may_have_work(repo, state, commit):
            link_one(repo, state, commit)


def _link_in_jj(repo: Repo, old: str, new: str) -> list[_Rewritten]:
    """Give the commits that jj rewrote the ids of those that it made them of; return each that came
    between old and new: it may have taken in open edits, as an amend does."""
    if not repo.jj_root:
        return []
    case = MatchCase(repo, new, since=match.read_looked(repo))
    answers = [*searches.ask_sources(case, IN_JJ)]
    if not answers:
        return []
    write_answers(case, answers)
    # jj goes back to commits of which the session has been asked, as HEAD seldom does.
    bounds = [new]
    if old.strip("0"):
        bounds.append(f"^{old}")
    came = set(object_lists.list_commits(repo, *bounds))
    rewritten: list[_Rewritten] = []
    for answer in answers:
        commit = read_commit(repo.objects, answer.target.oid)
        if commit and commit["oid"] in came:
            rewritten.append(_Rewritten(commit, answer.old_commits))
    return rewritten


def write_answers(case: MatchCase, answers: Iterable[Answer]) -> list[Pair]:
    """Write notes with the ids that the commits of answers lack; return the links, as
    relink.reconcile() does."""
    links: dict[tuple[str, str], Pair] = {}
    repo = case.repo
    for answer in answers:
        oid = answer.target.oid
        for checkpoint_id, how in answer.ids.items():
            link: Pair = {"commit": oid, "checkpoint_id": checkpoint_id, "how": how}
            links.setdefault((oid, checkpoint_id), link)
            if not case.dry_run:
                notes.add_link(repo, oid, checkpoint_id)
        if answer.excluded and not case.dry_run:
            _deny_links(repo, answer)
    return list(links.values())


def _deny_links(repo: Repo, answer: Answer) -> None:
    """Note that a commit is not linked to ids that it has and that a person removed from a commit
    that it was made of."""
    present = answer.target.list_ids()
    for checkpoint_id, reason in answer.excluded.items():
        if checkpoint_id in present and reason is not None:
            notes.deny_link(repo, answer.target.oid, checkpoint_id, reason)


def link_one(
    repo: Repo,
    state: State,
    commit: Commit,
    sources: Sequence[str] = (),
    dry_run: bool = False,
) -> str:
    """Link a session's work in one commit; return its checkpoint, '' if nothing is new.

    Only evidence counts: the worktree is no longer as it was.  sources: the commits it was
    rewritten from, whose work does not count.  dry_run: write nothing; NEW without id."""
    session_id = state["session_id"]
    own_markers = [session.build_marker(state)]
    parent, changes = read_changes(repo.objects, commit)
    ids = listing.list_linked(repo.objects, commit["oid"])
    own: list[str] = []
    missing: list[str] = []  # checkpoints that are not stored
    for checkpoint_id in ids:
        session_ids = stored.list_session_ids(repo, checkpoint_id)
        if session_id in session_ids:
            own.append(checkpoint_id)
        if not session_ids:
            missing.append(checkpoint_id)
    is_known = own and not missing and not sources
    if is_known and not _has_more_work(repo, changes, parent, own_markers, own):
        if not dry_run:
            _settle_killed(repo, state, commit, own[-1])
        return ""
    if match.is_pending(repo, ids, parent):
        return ""  # its own post-commit is about to run
    changes = _subtract_sources(repo.objects, changes, sources)
    is_replay = bool(sources)
    matched = link_commit.match_sessions(
        repo, changes, parent, own_markers, is_made_now=False, is_replay=is_replay, is_past=True
    )
    matched = link_commit.leave_out_merged(repo, commit, matched, own_markers)
    linked = matched.get(session_id) or _find_decided(repo, parent, ids, session_id)
    if not linked or not session.take_commit(state, linked["paths"]):
        return ""
    known = missing or own or ids
    if dry_run:
        return known[-1] if known else NEW
    checkpoint_id = known[-1] if known else make_id()
    git.append_trace("match", f"'{commit['oid']}' was made without our hooks: {linked}")
    if not ids:
        notes.add_link(repo, commit["oid"], checkpoint_id)
    condense.condense_sessions(repo, commit, checkpoint_id, [(state, linked)], not ids)
    return checkpoint_id


def may_have_work(repo: Repo, state: State, commit: Commit) -> bool:
    """Whether a commit changes a file that a session has written and not committed, or may have one
    of them, or lines of it, under another name; True if the session was at work."""
    if state.get("phase") == "active" or state.get("late_calls") or state.get("visits"):
        return True
    changes = read_changes(repo.objects, commit)[1]
    written = {*(state.get("unstored") or ())}
    for stream in state["streams"]:
        written.update(stream["files"])
    if written and len(changes) <= change.MOST_SEARCHED:
        return True
    is_gone = partial(link_commit.is_gone, repo)
    return change.Change(changes, repo.objects.read_blob, is_gone).may_hold(written)


def _subtract_sources(objects: Objects, changes: Changes, sources: Sequence[str]) -> Changes:
    """What a commit changes, without what the commits did that it was made of."""
    return object_lists.subtract_changes(
        objects, changes, left_behind.read_all_commits(objects, sources)
    )


def _settle_killed(repo: Repo, state: State, commit: Commit, checkpoint_id: str) -> None:
    """Settle a session whose hook was killed between condensing a commit and saving the state."""
    changes = read_changes(repo.objects, commit)[1]
    settling.settle_commit(repo, commit, changes, {state["session_id"]})
    condense.settle_state(repo, state)
    condense.take_over(repo, state, checkpoint_id, commit["oid"])


def _has_more_work(
    repo: Repo,
    changes: Changes,
    parent: str,
    own_markers: list[Marker],
    ids: Sequence[str],
) -> bool:
    """Whether a commit has work of the session that its checkpoints lack: an id may have come back
    with the content of an earlier commit.

    No question of holding.hold(): it is about the commit's files, not about those of the work."""
    matched = link_commit.match_sessions(repo, changes, parent, own_markers, is_made_now=False)
    held: set[tuple[str, str | None]] = set()
    for checkpoint_id in ids:
        for edit in candidates.read_edits(repo, checkpoint_id):
            held.add((edit["path"], edit["oid"]))
    for linked in matched.values():
        for path in linked["paths"]:
            _, _, _, oid = changes[path]
            if (path, oid) not in held:
                return True
    return False


def _find_decided(repo: Repo, parent: str, ids: Sequence[str], session_id: str) -> Linked | None:
    """The session's part by the stored verdict, if a killed hook has not obeyed it."""
    verdict = match.load_verdict(repo)
    if verdict is None or verdict.parent != parent or verdict.id not in ids:
        return None
    return verdict.sessions.get(session_id)


def _list_since(repo: Repo, old: str, new: str, *options: str) -> list[str]:
    """The commits of new that are not in old, newest first; [] unless old is an ancestor of new, or
    only commits and amends lead from old to new."""
    key = (repo.git_dir, old, new, *options)  # sessions that settle together ask the same
    if key not in _SINCE:
        _SINCE[key] = []
        if not old.strip("0"):
            _SINCE[key] = object_lists.list_commits(repo, *options, new)
        elif object_lists.is_ancestor(repo, old, new) or refs.find_committed_head(repo, old) == new:
            _SINCE[key] = object_lists.list_commits(repo, *options, new, f"^{old}")
    return _SINCE[key]


def link_range(ctx: Context, among: str | None, dry_run: bool) -> Iterator[Pair]:
    """Link the open work of this worktree's idle sessions in commits; yield the links.

    among: the range of the commits, in which sessions of removed worktrees are linked too; '' for
    those made here that no hook has judged, None for those of them that were rebased or squashed
    since, in whose place a link names the newer commit.  dry_run: make none."""
    markers = [*list_resting(ctx.repo)]
    if among:
        markers += list_removed(ctx.repo)
    states = (ctx.read_state(marker["session_id"]) for marker in markers)
    for link in _link_each(ctx.repo, filter(None, states), among, dry_run):
        if not dry_run:
            ctx.keep(link.state)
        yield {"commit": link.commit, "checkpoint_id": link.checkpoint_id, "how": "content"}


def list_missing(
    repo: Repo, states: Iterable[State], among: str | None = ""
) -> list[tuple[str, str, str]]:
    """(commit, checkpoint, session) of each link that link_range() makes of these sessions; NEW for
    a checkpoint that the commit has not got yet."""
    resting = {marker["session_id"] for marker in list_resting(repo)}
    chosen = (state for state in states if state["session_id"] in resting)
    links = _link_each(repo, chosen, among, dry_run=True)
    return [(link.commit, link.checkpoint_id, link.state["session_id"]) for link in links]


def _link_each(
    repo: Repo, states: Iterable[State], among: str | None, dry_run: bool
) -> Iterator[_Link]:
    """Yield each link that link_range() makes."""
    head = refs.read_head(repo) or ""
    if among is None:
        yield from _link_replaced(repo, states, head, dry_run)
        return
    commits = list_searched(repo, head, among)
    if not commits:
        return
    for state in states:
        for commit in _select_commits(repo, state, commits, "" if among else head):
            checkpoint_id = link_one(repo, state, commit, dry_run=dry_run)
            if checkpoint_id:
                yield _Link(state, commit["oid"], checkpoint_id)


def _link_replaced(
    repo: Repo, states: Iterable[State], head: str, dry_run: bool
) -> Iterator[_Link]:
    """_link_each() of the commits whose rebased or squashed form HEAD has; a link names that."""
    if not head:
        return
    moves = refs.list_head_moves(repo)
    for state in states:
        for pair in left_behind.find_left_behind(repo, state, moves, head):
            checkpoint_id = link_one(repo, state, pair.commit, dry_run=dry_run)
            if checkpoint_id:
                yield _Link(state, pair.replaced_by, checkpoint_id)


def _select_commits(
    repo: Repo, state: State, commits: Iterable[Commit], head: str
) -> Iterator[Commit]:
    """Those of the commits that no checkpoint with a part of the session has; with a head, only
    those made since the session's last event."""
    since = set[str]()
    if head:
        mark = refs.read_mark(state)
        moves = refs.list_moves_since(repo, mark, refs.mark_head(repo, head))
        since = {*_list_since(repo, mark.oid, head, *_ALL_PARENTS), *refs.select_made(moves)}
    for commit in commits:
        if head and commit["oid"] not in since:
            continue
        if not may_have_work(repo, state, commit):
            continue
        if state["session_id"] not in _list_stored_sessions(repo, commit):
            yield commit


def list_resting(repo: Repo) -> Iterator[Marker]:
    """The unsettled sessions here that no agent works for; the others settle at their next
    event."""
    for marker in others.read_here(repo):
        if not others.is_at_work(repo, marker):
            yield marker


def list_removed(repo: Repo) -> Iterator[Marker]:
    """The sessions whose worktree was removed: no event of their own settles them."""
    for marker in others.read_markers(repo):
        home = str(marker.get("worktree_id") or "")
        if not (session.is_home(repo, marker) or find_worktree(repo, home)):
            yield marker


def list_searched(repo: Repo, head: str, among: str) -> list[Commit]:
    """The commits that may lack a session, oldest first: of a range, those of select_own(); without
    one, those made here that no hook has judged."""
    if not (among or head):
        return []
    if among:
        options = ["--first-parent", f"--max-count={_RANGE}"]
        args = ["--end-of-options", among, "--"]
    else:
        options = [*_ALL_PARENTS]
        args = [head]
    try:
        oids = object_lists.list_commits(repo, "--reverse", *options, *args)
    except GitError as e:
        raise e.shorten() from None
    if among:
        return select_own(repo, oids)
    unjudged = refs.select_made(refs.list_head_moves(repo)).difference(match.read_judged(repo))
    return left_behind.read_all_commits(repo.objects, [oid for oid in oids if oid in unjudged])


def select_own(repo: Repo, oids: Iterable[str]) -> list[Commit]:
    """Those of the commits that were made here, or that a person who commits here made and that
    merge nothing: no session here can have open work in others."""
    made_here = refs.select_made(refs.list_head_moves(repo))
    authors = _list_authors(repo, made_here)
    own: list[Commit] = []
    for commit in left_behind.read_all_commits(repo.objects, oids):
        if commit["oid"] in made_here or _is_plain_of(commit, authors):
            own.append(commit)
    return own


def _list_authors(repo: Repo, made_here: Collection[str]) -> set[str]:
    """The person who commits here, as `Name <mail>`, also under the names of earlier commits."""
    repo.objects.read_ahead(made_here)
    idents = [read_ident(repo, "AUTHOR")]
    idents += [commit["author"] for commit in left_behind.read_all_commits(repo.objects, made_here)]
    return {parse_ident(ident)[0] for ident in idents}


def _is_plain_of(commit: Commit, authors: Collection[str]) -> bool:
    """Whether one of these people made a commit that merges nothing."""
    return len(commit["parents"]) < 2 and parse_ident(commit["author"])[0] in authors


def _list_stored_sessions(repo: Repo, commit: Commit) -> set[str]:
    """The sessions of all stored checkpoints that a commit is linked to."""
    found: set[str] = set()
    for checkpoint_id in listing.list_linked(repo.objects, commit["oid"]):
        found.update(stored.list_session_ids(repo, checkpoint_id))
    return found
