"""What a commit of ours does to the sessions it was matched with: condensed, or dismissed."""

from __future__ import annotations

from gitcp.start import late
from gitcp.store.git import commit_changes, notes, reflog
from gitcp.store.git.commit import list_commits, read_commit
from gitcp.store.journal import open_edits
from gitcp.store.link import condense
from gitcp.store.session import markers, phase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gitcp.core.decide.overlap import Linked
    from gitcp.core.record_types import Commit, State
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects

MOST = 20  # commits that are looked at
_LEFT = ("--first-parent", "--ignore-missing", f"--max-count={MOST}")


def store_sessions(
    repo: Repo,
    objects: Objects,
    commit: Commit,
    checkpoint_id: str,
    sessions: list[tuple[State, Linked]],
    old: str,
    noted: bool = False,
) -> dict[str, Exception]:
    """Condense every session of a commit, each with its part in it, under checkpoint_id.

    The caller holds the locks and saves the states, but of those returned, which an error kept
    out; raises it where it is all of them.  old: what HEAD was before.  noted: the commit does not
    carry the id, a note is to; that comes first, so that killed in between the next event stores
    under the id that is there.
    """
    failed: dict[str, Exception] = {}
    for state, _ in sessions:
        with condense.Apart(state["session_id"], failed):
            _catch_up(repo, objects, state, commit, old)
    well = [(state, linked) for state, linked in sessions if state["session_id"] not in failed]
    condense.raise_if_none(failed, well)
    pairs = [(state, linked) for state, linked in well if phase.take_commit(state, linked["paths"])]
    if pairs and noted:
        notes.add_link(repo, objects, commit["oid"], checkpoint_id)
    if pairs:
        about = repo, objects, commit, checkpoint_id, pairs, noted
        failed |= condense.condense_sessions(
            *about, replaced=_list_replaced(repo, objects, commit, old)
        )
    return failed


def _list_replaced(repo: Repo, objects: Objects, commit: Commit, old: str) -> list[str]:
    """What this commit may stand in place of: what it amends, HEAD before with the same parents;
    or the commits that a reset had left just before."""
    before = read_commit(objects, old) if old != commit["oid"] else None
    if before and before["parents"] == commit["parents"]:
        return [old]
    return list_taken_back(repo, old)


def list_taken_back(repo: Repo, head: str) -> list[str]:
    """The commits, newest first, that a reset to head has left, where that was the last."""
    left = reflog.list_reset_from(repo, head)
    return list_commits(repo, *_LEFT, *left, "--not", head) if left else []


def dismiss_sessions(
    repo: Repo, objects: Objects, commit: Commit, sessions: Iterable[State], old: str
) -> None:
    """The person took the line out: nothing is linked, what is fully committed is settled."""
    dismissed = list(sessions)
    for state in dismissed:
        _catch_up(repo, objects, state, commit, old)
    changes = commit_changes.read_changes(objects, commit)[1]
    open_edits.settle_commit(repo, objects, commit, changes, [s["session_id"] for s in dismissed])
    for state in dismissed:
        phase.take_commit(state, ())
        condense.settle_state(repo, state)
        if markers.is_home(repo, state):
            state["base_commit"] = commit["oid"]


def _catch_up(repo: Repo, objects: Objects, state: State, commit: Commit, old: str) -> None:
    # A commit before this one that was killed, or had no hooks: it would be out of sight.
    if markers.is_home(repo, state) and state["base_commit"] not in ("", old, commit["oid"]):
        late.unhooked.link_all(repo, objects, state, state["base_commit"], old)
