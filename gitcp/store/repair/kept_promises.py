"""A commit names a checkpoint that nobody stored: its hook was killed.  It is stored now."""

from __future__ import annotations

from gitcp.store.git.commit import read_commit
from gitcp.store.relink import unhooked_commits
from gitcp.store.session import markers, process
from gitcp.store.session import state as states
from gitcp.store.v1 import committed_refs

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
    for marker in markers.here(repo):
        name = marker["session_id"]
        if marker["phase"] == "active" and process.alive(marker["agent_process"]):
            continue  # its own next event does it
        with states.held(repo, [name]):
            state = states.load(repo, name)
            if state:
                unhooked_commits.one(repo, objects, state, commit)
                markers.save(repo, state)
    return "stored it" if committed_refs.find(repo, objects, checkpoint_id) else ""
