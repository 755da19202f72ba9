"""What a commit does to the sessions that it matched: they are condensed, or dismissed."""

from __future__ import annotations

from gitcp.git import objects, refs
from gitcp.git.objects import read_commit
from gitcp.link import condense
from gitcp.record import session
from gitcp.record.journal import settling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.git.repo import Repo
    from gitcp.text.record_types import Commit, Linked, State

MOST_TAKEN_BACK = 20  # commits that a reset left


def store_sessions(
    repo: Repo,
    commit: Commit,
    checkpoint_id: str,
    sessions: list[tuple[State, Linked]],
    old: str,
    noted: bool = False,
) -> dict[str, Exception]:
    """Condense the sessions of a commit, each with its part in it, under checkpoint_id.

    Return session -> error for each that failed; raise if all did.  The caller holds the locks, and
    saves the states of the others.  old: HEAD before the commit.  noted: whether a note carries the
    id.  The note is written first: after a kill the next event stores the sessions under the id
    that it finds."""
    failed: dict[str, Exception] = {}
    for state, _ in sessions:
        with condense.Apart(state["session_id"], failed):
            _catch_up(repo, state, commit, old)
    intact = [(state, linked) for state, linked in sessions if state["session_id"] not in failed]
    condense.raise_if_none(failed, intact)
    pairs = [(state, part) for state, part in intact if session.take_commit(state, part["paths"])]
    if pairs and noted:
        from gitcp.checkpoints import notes

        notes.add_link(repo, commit["oid"], checkpoint_id)
    if pairs:
        replaced = _list_replaced(repo, commit, old)
        failed |= condense.condense_sessions(
            repo, commit, checkpoint_id, pairs, noted, replaced=replaced
        )
    return failed


def _list_replaced(repo: Repo, commit: Commit, old: str) -> list[str]:
    """The commits that this one may replace: HEAD before it if the parents are the same, as after
    an amend; else those that a reset left just before."""
    before = None
    if old != commit["oid"]:
        before = read_commit(repo.objects, old)
    if before and before["parents"] == commit["parents"]:
        return [old]
    return list_taken_back(repo, old)


def list_taken_back(repo: Repo, head: str) -> list[str]:
    """The commits that a `git reset` to head has just dropped, newest first."""
    tips = refs.list_reset_from(repo, head)
    if not tips:
        return []
    from gitcp.git.objects.object_lists import list_commits

    args = ("--first-parent", "--ignore-missing", f"--max-count={MOST_TAKEN_BACK}")
    return list_commits(repo, *args, *tips, "--not", head)


def dismiss_sessions(repo: Repo, commit: Commit, sessions: Iterable[State], old: str) -> None:
    """Settle what a commit took of sessions that the person does not want linked to it."""
    dismissed = list(sessions)
    for state in dismissed:
        _catch_up(repo, state, commit, old)
    changes = objects.read_changes(repo.objects, commit)[1]
    settling.settle_commit(repo, commit, changes, [s["session_id"] for s in dismissed])
    for state in dismissed:
        session.take_commit(state, ())
        condense.settle_state(repo, state)
        if session.is_home(repo, state):
            state["base_commit"] = commit["oid"]


def _catch_up(repo: Repo, state: State, commit: Commit, old: str) -> None:
    # A commit before this one whose hooks were killed or did not run would not be found later.
    if session.is_home(repo, state) and state["base_commit"] not in ("", old, commit["oid"]):
        from gitcp.link import unhooked

        unhooked.link_all(repo, state, state["base_commit"], old)
