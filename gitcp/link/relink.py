"""Giving commits the links that they lack, as notes; no commit is changed
(doc/behaviour.md "Rewritten commits", "Commits without hooks")."""

from __future__ import annotations

from time import monotonic

from gitcp import git
from gitcp.checkpoints import links, listing, notes, stored
from gitcp.errors import Error
from gitcp.git import refs
from gitcp.git.kept import Kept, make_key
from gitcp.git.objects import read_commit
from gitcp.lines import carried
from gitcp.link import condense, follow_head, unhooked
from gitcp.record import session
from gitcp.record.match import has_links, read_looked, searches, write_looked
from gitcp.record.match.sources import AMENDED, LONG, MOST, REWRITE, SECONDS, SETTLE, MatchCase
from gitcp.record.session import others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gitcp.git.repo import Repo
    from gitcp.record import Context
    from gitcp.text.record_types import Commit, Marker, Pair, State


def reconcile(case: MatchCase, when: str) -> list[Pair]:
    """Write notes with the ids that commits lack by the sources asked at that moment, and the lines
    of these commits into their checkpoints, and of those that git copied with their ids without
    our hooks; return the links.  A dry run writes nothing.

    If a person removed an id from an old commit and git copied its trailer to a new one, the note
    removes it there too."""
    made = unhooked.write_answers(case, searches.ask_sources(case, when))
    if when != REWRITE and not case.dry_run:  # git said more of those it rewrote
        moved = [link["commit"] for link in made if link["how"] != "amend"]
        moved = [*dict.fromkeys([*moved, *_list_copied(case, when)])]
        if moved:
            carried.follow_lines(case.repo, moved)
    return made


def _list_copied(case: MatchCase, when: str) -> list[str]:
    """The commits that may have got their ids with a message that git copied."""
    if when == SETTLE:
        return case.list_fresh()
    if not case.among:
        return []
    return [commit["oid"] for commit in unhooked.list_searched(case.repo, "", case.among)]


def link_left_behind(ctx: Context, dry_run: bool = False) -> list[Pair]:
    """Link commits that were made here without hooks, and rebased or squashed before an event of
    ours, and those that have been made of them.  Return the links of the new ones."""
    made = [*unhooked.link_range(ctx, None, dry_run)]
    if dry_run:
        return made
    case = MatchCase(ctx.repo, ctx.head, since=read_looked(ctx.repo), seconds=LONG)
    if made:
        return reconcile(case, SETTLE)
    carried.follow_lines(ctx.repo, case.list_fresh())
    return []


def settle_links(ctx: Context, settled: str = "") -> int:
    """Settle commits that our hooks did not see, for every session here that is not at work, and
    give commits the ids that they lost.  Return the number of links of pulled commits.

    settled: the session that has done so already.
    """
    repo = ctx.repo
    head = ctx.head
    case = MatchCase(repo, head, since=read_looked(repo) or _find_start(repo))
    asked = Kept(repo, "settled", "1")
    markers = others.read_here(repo)
    is_asked = bool(asked.find(_make_key(case, markers)))
    if not is_asked:
        reconcile(case, AMENDED)
    waiting = False
    until = monotonic() + SECONDS
    for marker in markers:
        if marker["session_id"] == settled or marker["base_commit"] == head:
            continue
        if others.is_at_work(repo, marker):
            waiting = True  # it settles at its next event
            continue
        _settle_session(ctx, marker["session_id"], head)
        is_asked = False  # its links are new
        if monotonic() > until:
            waiting = True  # the next event goes on
            break
    made: list[Pair] = []
    if not is_asked:
        made = reconcile(case, SETTLE)
        _settle_removed(ctx, case)
    if case.done and not waiting:
        write_looked(repo, case.done)
    elif case.done == head:
        asked.keep(_make_key(case, others.read_here(repo)), True)
        asked.save()
    restored = [link["commit"] for link in made if link["how"] == "lost"]
    if not restored:
        return 0
    made_here = refs.select_made(refs.list_head_moves(repo))
    return sum(oid not in made_here for oid in restored)


def _make_key(case: MatchCase, markers: Iterable[Marker]) -> bytes:
    """What the links of commits up to HEAD depend on while sessions at work have still to follow
    it."""
    repo = case.repo
    sessions = [(marker["session_id"], marker["base_commit"]) for marker in markers]
    note = refs.read_ref(repo, notes.REF)
    return make_key(repo.git_dir, case.head, case.since, note, sorted(sessions))


def _find_start(repo: Repo) -> str:
    """Where HEAD was before the newest moves, in a clone in which no session has been yet and that
    has checkpoints of others; '' in another one."""
    if not has_links(repo):
        return ""
    moves = refs.list_head_moves(repo)[-MOST:]
    if not moves:
        return ""
    old, new, _ = moves[0]
    if old.strip("0"):
        return old
    return new


def link_pulled(ctx: Context, excluded: str = "") -> str:
    """Settle commits that came to HEAD without gitcp's hooks; return a message about those that
    were pulled, or ''.  excluded: a session that settles by itself."""
    ctx.leave()
    pulled = settle_links(ctx, excluded)
    subject = "commits that were pulled are"
    if pulled == 1:
        subject = "a commit that was pulled is"
    if pulled:
        return f"{subject} linked again by a note: {pulled}, 'gitcp log' shows them"
    return ""


def _settle_removed(ctx: Context, case: MatchCase) -> None:
    """Link the open work of sessions whose worktree was removed in commits that are new here, as
    far as the case has searched them: a branch of that worktree was merged, and no hook may have
    seen its commits."""
    fresh = case.list_fresh()
    if case.done in fresh:
        fresh = fresh[: fresh.index(case.done) + 1]
    elif not case.done:
        fresh = []
    if not fresh:
        return
    commits: list[Commit] | None = None  # listed for the first session that may have work in them
    for marker in unhooked.list_removed(ctx.repo):
        state = ctx.read_state(marker["session_id"])
        if state is None or not session.is_unsettled(state):
            continue
        try:
            if commits is None:
                commits = unhooked.select_own(ctx.repo, fresh)
            _settle_in_commits(ctx, state, commits)
        except (Error, OSError) as e:  # its data is damaged; the others go on
            git.append_trace("settle", f"'{marker['session_id']}': {e}")


def _settle_in_commits(ctx: Context, state: State, commits: Iterable[Commit]) -> None:
    """Link a session's open work in commits."""
    for commit in commits:
        if not unhooked.may_have_work(ctx.repo, state, commit):
            continue
        if unhooked.link_one(ctx.repo, state, commit):
            condense.finalize(ctx.repo, state)
            ctx.keep(state)


def follow_head_everywhere(ctx: Context) -> None:
    """Have every session here follow a HEAD that moved, also those at work."""
    for marker in others.read_here(ctx.repo):
        if marker["base_commit"] != ctx.head:
            is_over = not others.is_at_work(ctx.repo, marker)
            _settle_session(ctx, marker["session_id"], ctx.head, is_over)


def _settle_session(ctx: Context, session_id: str, head: str, is_over: bool = True) -> None:
    """Have a session follow HEAD.  is_over: whether its turn is, so its transcript is complete."""
    state = ctx.read_state(session_id)
    try:
        if state and state.get("base_commit") != head:
            follow_head(ctx.repo, state, head)
            if is_over:
                condense.finalize(ctx.repo, state)
            ctx.keep(state)
    except (Error, OSError) as e:  # its data is damaged; the others go on
        git.append_trace("settle", f"'{session_id}': {e}")


def copy_unknown(repo: Repo, old_by_new: Mapping[str, Sequence[str]]) -> None:
    """Note on rewritten commits (new -> its old ones) that they have lines by a session of another
    repository, as the notes of the old ones say."""
    reader = notes.Reader(repo.objects)
    marked: list[str] = []
    for new, old_commits in old_by_new.items():
        texts = [reader.read_note(oid) or b"" for oid in old_commits]
        if any(map(links.has_unknown, texts)):
            marked.append(new)
    if marked:
        edits = dict.fromkeys(marked, lambda note: links.add_unknown(note or b""))
        notes.edit_notes(repo, edits)


def list_amended_sessions(repo: Repo, new: Iterable[str]) -> list[str]:
    """The sessions of the checkpoints of commits that were amended."""
    ids: set[str] = set()
    for oid in new:
        ids.update(listing.list_linked(repo.objects, oid))
    sessions: set[str] = set()
    for checkpoint_id in ids:
        sessions.update(filter(None, stored.list_session_ids(repo, checkpoint_id)))
    return sorted(sessions)


def link_replayed(repo: Repo, state: State, replayed: Mapping[str, Sequence[str]]) -> None:
    """Link a session's work in the commits that a rebase made (new -> its old commits): in
    rewritten ones only work that was added during the rebase.

    The caller holds the session's lock and saves the state.
    """
    for oid, old_commits in replayed.items():
        commit = read_commit(repo.objects, oid)
        if commit:
            unhooked.link_one(repo, state, commit, old_commits)
