"""Commits that our hooks did not see, or did not finish: found when HEAD has moved.

A client, a graphical program or another tool made them, or our hooks were killed.  The same match
decides; the link is a note on the commit (doc/behaviour.md "Commits without hooks").
"""

from __future__ import annotations

import os
from functools import partial

from gitcp import git, memory
from gitcp.agents import find_client
from gitcp.checkpoints import listing, notes, stored
from gitcp.errors import Error, GitError
from gitcp.git import files, refs
from gitcp.git.objects import object_lists, parse_ident, read_changes, read_commit, read_ident
from gitcp.git.objects.object_lists import is_ancestor, list_commits
from gitcp.link import commit as link_commit
from gitcp.link import condense
from gitcp.link.commit import locate_template
from gitcp.record import match, session
from gitcp.record.journal import find_worktree, settling
from gitcp.record.match import candidates, holding, sources
from gitcp.record.match.sources import MatchCase
from gitcp.record.session import make_id, others
from gitcp.text import prompt_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Sequence

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


def link_all(repo: Repo, state: State, old: str, new: str, since: Sequence[Move] = ()) -> None:
    """Link a session's work in the commits made here between old and new, oldest first, and in
    those that HEAD left: for another branch, or for a rebased or squashed form of them.

    since: the moves of HEAD since the session's last event.  The caller holds the session's lock
    and saves the state.
    """
    if not session.is_unsettled(state):
        return
    if repo.jj_root:
        rewritten = [*_link_in_jj(repo, old, new)]
    else:
        rewritten = []
    for one, old_commits in rewritten:
        if old_commits:
            link_one(repo, state, one, old_commits)
    from_jj = {commit["oid"] for commit, _ in rewritten}
    moves = refs.list_head_moves(repo)
    logged = moves[-1][1] if moves else old
    args = logged, new, "--first-parent", f"--max-count={_MOST}"
    made_here = refs.select_made(moves).union(_list_since(repo, *args) if logged != new else ())
    unjudged = made_here.difference(match.read_judged(repo), from_jj)
    # A forge merges a branch by a merge commit: what was made here is not of its first parent.
    brought = reversed(_list_since(repo, old, new, *_ALL_PARENTS)) if unjudged else ()
    made = _sort_commits(since, unjudged)[-_MOST_LEFT:]
    outside = _list_outside(repo, made, new)
    if repo.jj_root:  # it moves HEAD to what it rewrote
        made = [oid for oid in made if oid in outside]
    # HEAD may have switched, or rebased, before the commits that it has.
    for oid in dict.fromkeys([*brought, *sorted(made, key=outside.__contains__)]):
        commit = None
        if oid in unjudged:
            commit = read_commit(repo.objects, oid)
        if commit and may_have_work(repo, state, commit):
            link_one(repo, state, commit)
    for one, old_commits in rewritten:
        if not old_commits:
            link_one(repo, state, one)


def _link_in_jj(repo: Repo, old: str, new: str) -> Iterator[tuple[Commit, Sequence[str]]]:
    """Give the commits that jj rewrote the ids of those that it made them of, and yield each that
    came between old and new with these: it may have taken in open edits, as an amend does."""
    case = MatchCase(repo, new, since=match.read_looked(repo))
    answers = [*sources.ask_sources(case, sources.IN_JJ)]
    write_answers(case, answers)
    if not answers:
        return
    # jj goes back to commits of which the session has been asked, as HEAD seldom does.
    bounds = [new]
    if old.strip("0"):
        bounds.append(f"^{old}")
    came = set(list_commits(repo, *bounds))
    for target, _, _, old_commits in answers:
        commit = read_commit(repo.objects, target.oid)
        if commit and commit["oid"] in came:
            yield commit, old_commits


def write_answers(case: MatchCase, answers: Iterable[Answer]) -> list[Pair]:
    """Write notes with the ids that the commits of answers lack; return the links, as
    relink.reconcile() does."""
    links: dict[tuple[str, str], Pair] = {}
    repo = case.repo
    for target, ids, excluded, _ in answers:
        for checkpoint_id, how in ids.items():
            link: Pair = {"commit": target.oid, "checkpoint_id": checkpoint_id, "how": how}
            links.setdefault((target.oid, checkpoint_id), link)
            if not case.dry_run:
                notes.add_link(repo, target.oid, checkpoint_id)
        if excluded and not case.dry_run:
            present = target.list_ids()
        else:
            present = ()
        for checkpoint_id, reason in excluded.items():
            if checkpoint_id in present and reason is not None:
                notes.deny_link(repo, target.oid, checkpoint_id, reason)
    return list(links.values())


def _find_left_behind(
    repo: Repo, state: State, moves: Sequence[Move], head: str
) -> Iterator[tuple[Commit, str]]:
    """Yield the commits made here whose rebased or squashed form HEAD has, with that, as
    find_replaced() finds them."""
    unjudged = refs.select_made(moves).difference(match.read_judged(repo))
    if unjudged and session.is_unsettled(state):
        made_here = _sort_commits(moves, unjudged)
        base = state.get("base_commit") or ""
        yield from find_replaced(repo, made_here, base, head)


def _sort_commits(moves: Sequence[Move], commits: Container[str]) -> list[str]:
    """Those of the commits to which HEAD moved, in that order, without amended ones."""
    amended = {old for old, _, reason in moves if reason.startswith(b"commit (amend)")}
    return [*dict.fromkeys(new for _, new, _ in moves if new in commits and new not in amended)]


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
    session_ids = {i: stored.list_session_ids(repo, i) for i in ids}
    own = [i for i in ids if session_id in session_ids[i]]
    missing = [i for i in ids if not session_ids[i]]
    if own and not (missing or sources or _has_more_work(repo, changes, parent, own_markers, own)):
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
    checkpoint_id = (missing or own or ids or [NEW if dry_run else make_id()])[-1]
    if not dry_run:
        git.append_trace("match", f"'{commit['oid']}' was made without our hooks: {linked}")
        if not ids:
            notes.add_link(repo, commit["oid"], checkpoint_id)
        part = [(state, linked)]
        noted = not ids
        condense.condense_sessions(repo, commit, checkpoint_id, part, noted)
    return checkpoint_id


def may_have_work(repo: Repo, state: State, commit: Commit) -> bool:
    """Whether a commit changes a file that a session has written and not committed, or may have one
    of them, or lines of it, under another name; True if the session was at work."""
    if state.get("phase") == "active" or state.get("late_calls") or state.get("visits"):
        return True
    changes = read_changes(repo.objects, commit)[1]
    written = set()
    for stream in state["streams"]:
        for path in stream["files"]:
            written.add(path)
    written.update(state.get("unstored") or ())
    if written and len(changes) <= holding.MOST_SEARCHED:
        return True
    is_gone = partial(link_commit.is_gone, repo)
    return holding.Change(changes, repo.objects.read_blob, is_gone).may_hold(written)


def _subtract_sources(objects: Objects, changes: Changes, sources: Sequence[str]) -> Changes:
    commits = filter(None, (read_commit(objects, oid) for oid in sources))
    return object_lists.subtract_changes(objects, changes, [*commits])


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
    paths = {path for linked in matched.values() for path in linked["paths"]}
    edits = (edit for i in ids for edit in candidates.read_edits(repo, i))
    held = {(edit["path"], edit["oid"]) for edit in edits}
    return any((path, changes[path][3]) not in held for path in paths)


def _find_decided(repo: Repo, parent: str, ids: Sequence[str], session_id: str) -> Linked | None:
    """The session's part by the stored verdict, if a killed hook has not obeyed it."""
    verdict = match.load_verdict(repo)
    if not verdict or verdict["parent"] != parent or verdict["id"] not in ids:
        return None
    return verdict["sessions"].get(session_id)


def _list_since(repo: Repo, old: str, new: str, *options: str) -> list[str]:
    """The commits of new that are not in old, newest first; [] unless old is an ancestor of new, or
    only commits and amends lead from old to new."""
    key = (repo.git_dir, old, new, *options)  # sessions that settle together ask the same
    if key not in _SINCE:
        bounds = (new, f"^{old}") if old.strip("0") else (new,)
        leads = len(bounds) == 1 or is_ancestor(repo, old, new)
        leads = leads or refs.find_committed_head(repo, old) == new
        if leads:
            _SINCE[key] = list_commits(repo, *options, *bounds)
        else:
            _SINCE[key] = []
    return _SINCE[key]


def link_range(ctx: Context, among: str | None, dry_run: bool) -> Iterator[Pair]:
    """Link the open work of this worktree's idle sessions in commits; yield the links.

    among: the range of the commits, in which sessions of removed worktrees are linked too; '' for
    those made here that no hook has judged, None for those of them that were rebased or squashed
    since, in whose place a link names the newer commit.  dry_run: make none."""
    markers = [*list_resting(ctx.repo), *(list_removed(ctx.repo) if among else ())]
    states = (ctx.read_state(marker["session_id"]) for marker in markers)
    for state, oid, checkpoint_id in _link_each(ctx.repo, filter(None, states), among, dry_run):
        if not dry_run:
            ctx.keep(state)
        yield {"commit": oid, "checkpoint_id": checkpoint_id, "how": "content"}


def list_missing(
    repo: Repo, states: Iterable[State], among: str | None = ""
) -> list[tuple[str, str, str]]:
    """(commit, checkpoint, session) of each link that link_range() makes of these sessions; NEW for
    a checkpoint that the commit has not got yet."""
    resting = {marker["session_id"] for marker in list_resting(repo)}
    chosen = (state for state in states if state["session_id"] in resting)
    links = _link_each(repo, chosen, among, dry_run=True)
    return [(oid, checkpoint_id, state["session_id"]) for state, oid, checkpoint_id in links]


def _link_each(
    repo: Repo, states: Iterable[State], among: str | None, dry_run: bool
) -> Iterator[tuple[State, str, str]]:
    """Yield (state, commit, checkpoint) for each link that link_range() makes."""
    head = refs.read_head(repo) or ""
    if among is None:
        moves = refs.list_head_moves(repo)
        commits = []
    else:
        moves = []
        commits = list_searched(repo, head, among)
    if commits or (among is None and head):
        for state in states:
            pairs = _find_left_behind(repo, state, moves, head)
            if among is not None:
                pairs = _select_commits(repo, state, commits, "" if among else head)
            for commit, shown in pairs:
                checkpoint_id = link_one(repo, state, commit, dry_run=dry_run)
                if checkpoint_id:
                    yield state, shown, checkpoint_id


def _select_commits(
    repo: Repo, state: State, commits: Iterable[Commit], head: str
) -> Iterator[tuple[Commit, str]]:
    """Those of the commits, each with its oid, that no checkpoint with a part of the session has;
    with a head, only those made since the session's last event."""
    since = set[str]()
    if head:
        mark = refs.read_mark(state)
        moves = refs.list_moves_since(repo, mark, refs.mark_head(repo, head))
        since = {*_list_since(repo, mark.oid, head, *_ALL_PARENTS), *refs.select_made(moves)}
    for commit in commits:
        is_candidate = (not head or commit["oid"] in since) and may_have_work(repo, state, commit)
        if is_candidate and state["session_id"] not in _list_stored_sessions(repo, commit):
            yield commit, commit["oid"]


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
        oids = list_commits(repo, "--reverse", *options, *args)
    except GitError as e:
        raise e.shorten() from None
    if among:
        return select_own(repo, oids)
    unjudged = refs.select_made(refs.list_head_moves(repo)).difference(match.read_judged(repo))
    commits = (read_commit(repo.objects, oid) for oid in oids if oid in unjudged)
    return [*filter(None, commits)]


def select_own(repo: Repo, oids: Iterable[str]) -> list[Commit]:
    """Those of the commits that were made here, or that a person who commits here made and that
    merge nothing: no session here can have open work in others."""
    made_here = refs.select_made(refs.list_head_moves(repo))
    authors = _list_authors(repo, made_here)
    commits = filter(None, (read_commit(repo.objects, oid) for oid in oids))
    return [one for one in commits if one["oid"] in made_here or _is_plain_of(one, authors)]


def _list_authors(repo: Repo, made_here: Collection[str]) -> set[str]:
    """The person who commits here, as `Name <mail>`, also under the names of earlier commits."""
    repo.objects.read_ahead(made_here)
    commits = [commit for oid in made_here if (commit := read_commit(repo.objects, oid))]
    idents = [read_ident(repo, "AUTHOR"), *(commit["author"] for commit in commits)]
    return {parse_ident(ident)[0] for ident in idents}


def _is_plain_of(commit: Commit, authors: Collection[str]) -> bool:
    """Whether one of these people made a commit that merges nothing."""
    return len(commit["parents"]) < 2 and parse_ident(commit["author"])[0] in authors


def _list_stored_sessions(repo: Repo, commit: Commit) -> set[str]:
    """The sessions of all stored checkpoints that a commit is linked to."""
    ids = listing.list_linked(repo.objects, commit["oid"])
    found: set[str] = set()
    for i in ids:
        for s in stored.list_session_ids(repo, i):
            found.add(s)
    return found


# The lines of a message that name the agents of a commit (gitcp.disclose).
_TAIL = 1 << 20  # bytes of a transcript in which the last model is looked for


def format_lines(repo: Repo, key: str, session_ids: Iterable[str]) -> list[str]:
    """A line `key: agent (model)` for each agent and model of these sessions, once."""
    read = filter(None, (others.peek_state(repo, session_id) for session_id in session_ids))
    return list(dict.fromkeys(f"{key}: {_describe(state)}" for state in read))


def _describe(state: State) -> str:
    agent = prompt_text.join_words(state.get("agent_type") or "an agent")
    turns = state.get("turns") or {}
    model = turns.get(state.get("turn_id") or "", {}).get("model")
    models = [turn["model"] for turn in turns.values() if turn.get("model")]
    model = model or (models[-1] if models else _read_model(state))
    if model:
        return f"{agent} ({prompt_text.join_words(model)})"
    return agent


def _read_model(state: State) -> str:
    """The model of the last answer at the end of the transcript; "" if there is none."""
    path = state.get("transcript_path")
    try:
        data = None
        if path:
            data = files.read_file(path, tail=_TAIL)
    except Error:
        return ""
    if not data:
        return ""
    if len(data) < _TAIL:
        lines = data
    else:
        lines = data.partition(b"\n")[2]
    return find_client(state.get("agent_type", "")).scan(lines).get("model") or ""


def request_check(repo: Repo) -> None:
    """Have check-message read the coming message, which may get no other text."""
    path = locate_template(repo)
    if not os.path.exists(path):
        files.write_private(repo, path, b"")


# Commits that our hooks did not see and that HEAD left for another form of them, before an event
# of ours: rebased, or squashed by a forge and pulled (doc/behaviour.md "Commits without hooks").
#
# Their sessions are linked to the commits that were made here, as if those had been seen.  What
# searches for lost links then finds the new ones by them.
_MOST_LEFT = 50  # commits on either side


def find_replaced(
    repo: Repo, made_here: Sequence[str], old: str, new: str
) -> Iterator[tuple[Commit, str]]:
    """Yield each of the commits made here that HEAD, now at new, has left and that others have
    replaced, with the last of these.

    made_here: oids, oldest first; the newest are looked at.  The others came since HEAD was at old,
    and were not made here."""
    commits = [one for oid in made_here[-_MOST_LEFT:] if (one := read_commit(repo.objects, oid))]
    lost = _list_outside(repo, [commit["oid"] for commit in commits], new)
    if not lost:
        return
    if read_commit(repo.objects, old):
        base = [f"^{old}"]
    else:
        base = []
    newer = list_commits(repo, "--no-merges", f"--max-count={_MOST_LEFT}", new, *base)
    brought = [
        one for oid in newer if oid not in made_here and (one := read_commit(repo.objects, oid))
    ]
    if brought:
        changed = object_lists.read_many_changes(repo, brought)
    else:
        changed = {}
    if changed:
        for commit in commits:
            if commit["oid"] not in lost:
                continue
            work = candidates.Work(
                repo.objects, commit, candidates.list_edits(repo.objects, commit)
            )
            for other in brought:
                changes = changed.get(other["oid"], {})
                change = match.build_change(repo.objects, "".join(other["parents"][:1]), changes)
                if work.find_enough(change, candidates.relate(commit, other, is_named=True)):
                    yield commit, other["oid"]
                    break


def _list_outside(repo: Repo, oids: Collection[str], head: str) -> set[str]:
    """Those of the commits that are not in the history of head."""
    if not oids:
        return set()
    return {*list_commits(repo, *oids, f"^{head}")}.intersection(oids)
