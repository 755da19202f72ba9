"""A commit names a checkpoint that nobody stored, or that lacks a session's part: its hook was
killed, or what it had to read was damaged.  It is stored now."""

from __future__ import annotations

from gitcp.store.git.commit import read_commit
from gitcp.store.relink import open_work, unhooked_commits
from gitcp.store.session import markers
from gitcp.store.session import state as states
from gitcp.store.v1 import committed_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo
    from gitcp.store.git.objects import Objects


def keep(repo: Repo, objects: Objects, oid: str, checkpoint_id: str) -> str:
    """Store what the open sessions here that are not at work have in a commit made here, under
    the id it carries; say so, '' where there is nothing to store."""
    commit = read_commit(objects, oid)
    if commit is None or not repo.top or oid not in unhooked_commits.made_here(repo):
        return ""
    before = committed_read.session_ids(repo, objects, checkpoint_id)
    for name in [marker["session_id"] for marker in open_work.resting(repo)]:
        with states.held(repo, [name]):
            state = states.load(repo, name)
            if state:
                unhooked_commits.link_one(repo, objects, state, commit)
                markers.save(repo, state)
    after = committed_read.session_ids(repo, objects, checkpoint_id)
    return "stored it" if set(after) - set(before) else ""
