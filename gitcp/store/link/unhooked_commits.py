"""Commits that our hooks did not see, or did not finish: found when HEAD has moved.

Made by the agent's own client, a GUI, another tool, or while we were killed.  The same match
decides; the link is a note on the commit (behaviour.md §5.8).
"""

from __future__ import annotations

import os

from gitcp import trace
from gitcp.core.decide import line_evidence
from gitcp.core.message import trailers
from gitcp.record import raw
from gitcp.store.git import notes
from gitcp.store.git.commit import read_commit
from gitcp.store.link import commit_match, commit_verdict, condense, line_credit
from gitcp.store.session import markers, phase
from gitcp.store.stream import place
from gitcp.store.v1 import committed_read, committed_refs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gitcp.core.decide.overlap import Staged
    from gitcp.repo import Repo
    from gitcp.store.git.commit import Commit
    from gitcp.store.git.objects import Objects
    from gitcp.store.session.state import State

_MOST = 100  # commits looked at: what HEAD moved over beyond that was not typed by hand


def link_all(repo: Repo, objects: Objects, state: State, old: str, new: str) -> None:
    """Link what a session has in the commits made here between old and new, oldest first.

    The caller holds the session's lock and saves the state.
    """
    if not markers.unsettled(state):
        return
    here = made_here(repo)
    for oid in reversed(_between(repo, old, new)):
        commit = read_commit(objects, oid)
        if commit and oid in here:
            one(repo, objects, state, commit)


def one(
    repo: Repo, objects: Objects, state: State, commit: Commit, olds: Sequence[str] = ()
) -> None:
    """Link what a session has in one commit.  olds: the commits it was rewritten from; then only
    what they did not have counts, and that by evidence: to replay a change is nobody's work."""
    session_id = state["session_id"]
    parent, changes = commit_match.of_commit(objects, commit)
    ids = trailers.read(raw(commit["message"])) or notes.read(repo, objects, commit["oid"])
    mine = [name for name in ids if session_id in known(repo, objects, name)]
    if mine and not olds:
        # Condensed, and killed before the state was saved.
        condense.settle(repo, objects, state, commit, changes, parent)
        line_credit.settle(repo, objects, commit)
        condense.take_over(repo, objects, state, mine[-1], commit["oid"])
        return
    if commit_verdict.pending(repo, ids, parent):
        return  # its own post-commit is about to come
    had = [
        commit_match.of_commit(objects, old)[1]
        for oid in olds
        if (old := read_commit(objects, oid))
    ]
    fresh = {
        path: change
        for path, change in changes.items()
        if not any(path in old and _same(objects, old[path], change) for old in had)
    }
    own = [markers.marker(state)]
    found = commit_match.sessions(repo, objects, fresh, parent, own, agent=False, replay=bool(olds))
    if session_id not in found:
        return
    trace.note("match", f"'{commit['oid']}' was made without our hooks: {found}")
    checkpoint_id = (mine or ids or [place.fresh_id()])[-1]
    linked = found[session_id]
    if not phase.condenses(state, linked["paths"]):
        return
    if not ids:
        notes.add(repo, objects, commit["oid"], checkpoint_id)
    pair = [(state, linked)]
    condense.together(repo, objects, commit, checkpoint_id, pair, noted=not ids)


def _same(objects: Objects, one: Staged, other: Staged) -> bool:
    """Whether two changes of a path are the same, be it on other ground."""
    if one[2:] == other[2:]:
        return True
    told = [[commit_match.content(objects, oid) for oid in (c[1], c[3])] for c in (one, other)]
    return line_evidence.added(*told[0]) == line_evidence.added(*told[1])


def known(repo: Repo, objects: Objects, checkpoint_id: str) -> list[str]:
    """The sessions a committed checkpoint has; [] when there is no such checkpoint."""
    if committed_refs.find(repo, objects, checkpoint_id) is None:
        return []
    found = committed_read.read(repo, objects, checkpoint_id)
    return [entry["session_id"] for entry in found["sessions"]]


def _between(repo: Repo, old: str, new: str) -> list[str]:
    """The commits on new's first-parent line that old has not, newest first; [] when old is
    no ancestor of that line: a rewrite, a reset, another branch."""
    args = ("rev-list", "--first-parent", f"--max-count={_MOST}", new)
    if not old.strip("0"):
        return [oid.decode() for oid in repo.git.lines(*args, sep=b"\n")]
    status, _ = repo.git.run("merge-base", "--is-ancestor", old, new, ok=(0, 1, 128))
    if status:
        return []
    return [oid.decode() for oid in repo.git.lines(*args, f"^{old}", sep=b"\n")]


def made_here(repo: Repo) -> set[str]:
    """What HEAD's reflog calls a commit of this worktree: not pulled, merged in or reset to."""
    try:
        with open(os.path.join(repo.git_dir, "logs", "HEAD"), "rb") as f:
            f.seek(max(0, os.fstat(f.fileno()).st_size - (1 << 16)))
            lines = f.read().splitlines()
    except OSError:
        return set()
    found = set()
    for line in lines:
        head, _, reason = line.partition(b"\t")
        made = reason.startswith((b"commit", b"merge ", b"revert", b"export from jj"))
        if made and not reason.endswith(b": Fast-forward"):
            found.add(head.split(b" ")[1].decode("ascii", "replace"))
    return found
