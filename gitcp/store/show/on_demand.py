"""Checkpoints that are not here, brought from the destination when a person asks for one."""

from __future__ import annotations

from gitcp.console import notice
from gitcp.core.git import ids
from gitcp.errors import Error
from gitcp.store.git import partial
from gitcp.store.git.commit import list_commits
from gitcp.store.git.objects import Objects
from gitcp.store.share import sync
from gitcp.store.show import lookup
from gitcp.store.v1 import committed_refs, destination, find_commits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitcp.repo import Repo

_SECONDS = 5.0


def fetch_missing(repo: Repo, name: str, depth: int = 1, *, offline: bool = False) -> None:
    """Fetch the store where name is a checkpoint, or a commit with one, that is not here, and of
    one that is here what a partial clone has left out.

    depth: how many first parents are looked at for a commit that has one.  It says so on standard
    error, and why it could not; it waits 5 seconds at most for each.  offline: nothing is fetched.
    """
    if offline:
        partial.forbid_fetch(repo)
        return
    _fetch_store(repo, name, depth)
    if remote := partial.find_remote(repo):
        _fetch_parts(repo, remote, name, depth)


def _fetch_parts(repo: Repo, remote: str, name: str, depth: int) -> None:
    with Objects(repo) as objects:
        names = _list_ids(repo, objects, name, depth)
        places = filter(None, (committed_refs.find_checkpoint(repo, objects, one) for one in names))
        trees = [tree for _, tree in places]
    if not trees or not partial.lacks_objects(repo, trees):
        return
    notice.tell(f"fetching transcripts from '{remote}'")
    if not partial.fetch_missing(repo, remote, trees, _SECONDS, walk=True):
        partial.forbid_fetch(repo)
        notice.warn_lacking(f"'{remote}' did not answer in {_SECONDS:g} seconds")


def _fetch_store(repo: Repo, name: str, depth: int) -> None:
    lacking = _list_lacking(repo, name, depth)
    if not lacking or not (source := destination.find_source(repo)):
        return
    label = destination.hide_password(source)
    notice.tell(f"fetching checkpoints from '{label}'")
    try:
        with Objects(repo) as objects:
            sync.fetch_store(repo, objects, source, _SECONDS, lacking)
    except Error as e:
        notice.warn_lacking(str(e))
        return
    if _list_lacking(repo, name, depth):
        notice.tell(f"'{label}' does not have what is missing")


def _list_lacking(repo: Repo, name: str, depth: int) -> list[str]:
    """The ids of the checkpoints that are meant and not here."""
    with Objects(repo) as objects:
        names = _list_ids(repo, objects, name, depth)
        return [one for one in names if committed_refs.find_checkpoint(repo, objects, one) is None]


def _list_ids(repo: Repo, objects: Objects, name: str, depth: int) -> list[str]:
    return [name] if ids.is_checkpoint_id(name) else _list_linked_ids(repo, objects, name, depth)


def _list_linked_ids(repo: Repo, objects: Objects, name: str, depth: int) -> list[str]:
    """The ids on a commit, or on the first of its first parents that has any."""
    try:
        kind, oid = lookup.resolve_name(repo, objects, name)
    except Error:
        return []
    if kind != "commit":
        return []
    commits = list_commits(repo, "--first-parent", f"--max-count={depth}", oid)
    every = (find_commits.list_ids(repo, objects, commit) for commit in commits)
    return next(filter(None, every), [])
